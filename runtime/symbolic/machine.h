/// One wave with symbols: the emulator's registers for what is a number, terms beside them for what is not.
///
/// An instruction whose inputs are numbers is executed by the emulator itself, all 64 lanes at once; only where an input
/// is a term is the result one, made by integer.cpp for the integer instructions that addresses and conditions are made
/// of. Everything else becomes a function of its inputs, named by its instruction: equal inputs, equal result.
/// What memory holds is unknown, except the kernel's arguments (symbols) and what scalar loads read (a term of the
/// address: constant while the kernel runs).
#pragma once

#include "emulator/engine.h"

#include <inlay/runtime/symbolic/term.h>

namespace inlay::runtime::symbolic {

using emulator::lanes;
using emulator::Operation;
using emulator::u16;
using emulator::u32;
using emulator::u64;
using emulator::u8;
using emulator::vector_rows;

/// What stands still while waves run: code, kernel, the block, and the names of things.
struct Setting {
  std::unique_ptr<emulator::PreparedProgram> code;
  isa::Program program;
  Kernel kernel;
  isa::Arch arch{};
  EmulatorOptions options;
  LaunchGeometry geometry;
  emulator::Launch launch; ///< what the emulator's handlers look at
  emulator::Workgroup group;
  u32 entry = 0;
  u32 lds_bytes = 0;
  Terms terms;
  Term kernarg = 0;                  ///< wide: its address
  std::map<u64, Term> argument;      ///< by offset, one a dword
  std::map<std::string, u32> maxima; ///< of arguments and workgroup ids, where somebody promises them
  std::map<std::string, u32> values; ///< of those that are numbers
  /// Tables by workgroup_z (FlowOptions::tables): names of the words of an entry, by argument.
  std::map<std::string, std::vector<std::string>> tables;
  std::vector<u8> segment; ///< of arguments that are numbers, all of them; or empty
  bool garbage = false;    ///< see use_garbage
  bool reals = false;      ///< floating-point instructions are functions even of numbers: nothing is rounded
  std::map<u32, std::string>
      not_reserved; ///< instructions that no wave can execute on every machine, and why
  u64 instructions = 0;
  u64 rests = 0; ///< symbols for what nothing is known of, where a part of it stays

  Setting(const CodeObject& object, const Kernel& kernel, const Extent3& block, u32 dynamic_lds);
  Term argument_word(u64 offset);
  /// What is at that address of a table, 0 for other addresses.
  Term table_word(Term address);
  /// Memory that is no argument holds numbers, whatever they are; so do the addresses of the arguments and of the packet.
  void use_garbage();
  Term packet = 0; ///< wide: the address of the dispatch packet
  /// Whether floats of 32 bits are rounded to nearest from beginning to end.
  [[nodiscard]] bool rounds_to_nearest() const;
  /// The symbol of that name: at most what `maxima` says.
  Term named(const std::string& name, u32 most) {
    if (const auto v = values.find(name); v != values.end()) return terms.constant(v->second);
    const auto at = maxima.find(name);
    return terms.symbol(name, at == maxima.end() ? most : std::min(most, at->second));
  }
};

struct Shadow {
  std::array<u64, vector_rows> symbolic{}; ///< lanes that are not numbers
  std::array<u64, vector_rows> top{};      ///< of these, unknown ones
  std::array<std::array<Term, lanes>, vector_rows> term;
};

class Machine {
public:
  Machine(Setting& setting, u32 wave);
  Machine(const Machine& other);
  Machine(Machine&&) = default;
  Machine& operator=(Machine&&) = default;

  [[nodiscard]] emulator::Wave& wave() { return *wave_; }
  [[nodiscard]] const emulator::Wave& wave() const { return *wave_; }

  // ---- registers
  [[nodiscard]] Term scalar(unsigned index);
  [[nodiscard]] bool scalar_is_number(unsigned index) const { return scalar_[index] == 0; }
  [[nodiscard]] Term scalar64(unsigned index) { return t().join(scalar(index), scalar(index + 1)); }
  /// Whether two machines hold the same in a lane of a row, as far as that is seen without terms.
  [[nodiscard]] bool surely_same(const Machine& other, unsigned row) const;
  void set_scalar(unsigned index, Term value);
  [[nodiscard]] Term scc();
  void set_scc(Term value);
  [[nodiscard]] Term vector(unsigned row, unsigned lane);
  void set_vector(unsigned row, unsigned lane, Term value);
  /// Under the condition under which the lane is active.
  void write_vector(unsigned row, unsigned lane, Term value);
  void forget(unsigned row, u64 mask);

  /// Lanes that may be active, and under which condition each is.
  [[nodiscard]] u64 may() const { return wave_->exec(); }
  [[nodiscard]] bool exec_is_number() const {
    return scalar_[emulator::exec_lo] == 0 && scalar_[emulator::exec_lo + 1] == 0;
  }
  [[nodiscard]] Term guard(unsigned lane);
  /// The value where `guard` holds.
  [[nodiscard]] Term under(Term guard, Term value) const;

  /// Executes what is not a branch, barrier, wait or memory instruction. False: it cannot.
  bool execute(const Operation& op);
  /// Executes an LDS instruction on numbers, LDS being that of the workgroup (`Setting::group`). False: an input is none.
  bool execute_lds(const Operation& op);
  /// The condition on which the LDS addresses of all lanes that may be active hang alike: x + (c ? a : b). 0: there is none.
  [[nodiscard]] Term lds_choice(const Operation& op);
  /// x + a, or x + b, in their register, where the condition is decided.
  void choose(const Operation& op, Term condition, bool value);
  /// The condition under which a conditional branch is taken.
  [[nodiscard]] Term branch_condition(const Operation& op);
  /// Where a scalar memory instruction goes: wide terms.
  struct ScalarPlace {
    Term address = 0, offset = 0, records = 0; ///< records: of a load through a descriptor, else 0
    unsigned bytes = 0;
    bool exact =
        false; ///< false: the low two bits may be set, which it drops, or the descriptor has a stride
  };
  /// Nothing: it does not access memory.
  [[nodiscard]] std::optional<ScalarPlace> scalar_place(const Operation& op);
  /// Whether the address is a constant offset in the arguments' segment or the dispatch packet.
  [[nodiscard]] bool in_launch(Term address);
  /// Loads scalars. False: the address is unknown.
  void scalar_load(const Operation& op);
  [[nodiscard]] Term scalar_operand(const isa::Operand& o);
  [[nodiscard]] Term scalar_operand64(const isa::Operand& o);

private:
  [[nodiscard]] Terms& t() { return setting_->terms; }
  bool execute_scalar(const Operation& op);
  /// s_setreg: false where it may change what instructions do.
  bool set_hardware_register(const Operation& op);
  bool execute_vector(const Operation& op);
  bool scalar_formula(const Operation& op);
  void vector_formula(const Operation& op, u64 mask);
  void lane_instruction(const Operation& op);
  /// The bits that an instruction writes when it does not write a whole word; the others become 0, the sign, or stay.
  struct Part {
    unsigned shift = 0, width = 16;
    u8 others = 2; ///< as dst_unused of SDWA
  };
  [[nodiscard]] static std::optional<Part> written_part(const Operation& op);
  /// What a lane holds, for keeping a part of it: a symbol of its own where nothing is known of it.
  [[nodiscard]] Term kept(Term value) {
    return value == Terms::unknown ? t().symbol("unknown." + std::to_string(setting_->rests++)) : value;
  }
  Term source(const Operation& op, std::size_t index, unsigned lane, unsigned word, Term guard);
  void exec_changed();
  void set_mask(unsigned index, const std::array<Term, lanes>& bits);

  Setting* setting_;
  std::unique_ptr<emulator::Wave> wave_;
  std::unique_ptr<Shadow> shadow_;
  std::array<Term, 132> scalar_{}; ///< 0: the number in wave_
  Term scc_ = 0;
};

} // namespace inlay::runtime::symbolic
