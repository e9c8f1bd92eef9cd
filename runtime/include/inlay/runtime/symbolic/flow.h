/// Data flow of machine code: a workgroup's registers and LDS as terms, driven by somebody who knows what the code is for.
///
/// `check_order` asks when something happens; this asks what it is. All waves run with symbols, lanes enumerated, from one
/// meeting point to the next (barrier, head of a loop, end). Values of memory and of matrix instructions come from the
/// client, as terms of its own (`Terms::datum`); copies, spills to accumulation registers, renamings and LDS carry them
/// along. Conditions that the symbols leave open are put to the client, and a copy of the `Flow` is a fork.
///
///     Flow flow(object, kernel, {.maxima = {{"k", 1 << 21}}});
///     switch (flow.run(client)) {
///     case Flow::Stop::fork: { Flow other = flow; other.assume(false); flow.assume(true); ... }
///     case Flow::Stop::head: ...            // all waves stand at flow.at(), which a loop comes back to
///     case Flow::Stop::ended: ...
///     case Flow::Stop::failed: flow.why()   // what is not followed
///     }
///
/// Waves take turns between meeting points. That is one schedule; it stands for all of them when `check_order` has validated
/// the order, because then no other schedule lets any instruction see something else. Waits do nothing here for that reason.
///
/// What is not followed ends in `failed`, never in a value: flat accesses, scratch accesses but of whole words by lanes that are on
/// for all sizes, at places that the instruction says, LDS addresses that are no numbers or
/// lie beyond the workgroup's LDS, lanes switched off by sizes at an LDS access, waves that meet at different places, indirect jumps.
#pragma once

#include <inlay/runtime/code_object.h>
#include <inlay/runtime/device.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/term.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inlay::runtime::symbolic {

struct FlowOptions {
  Extent3 block{0, 0, 0}; ///< zeros: what the kernel requires
  std::uint32_t dynamic_lds = 0;
  /// The greatest value of arguments and of workgroup_x, workgroup_y, workgroup_z, by name: what the launch promises.
  std::map<std::string, std::uint32_t> maxima;
  /// Arguments and workgroup ids that are numbers.
  std::map<std::string, std::uint32_t> values;
  /// An argument that points to a table with an entry for each workgroup_z: what scalar loads of it bring, a name a word.
  struct Table {
    std::string argument;
    std::vector<std::string> words;
  };
  std::vector<Table> tables;
  /// The whole argument segment as a launch packs it, when all arguments are numbers (kernarg.h).
  std::vector<std::uint8_t> arguments;
  /// Waves meet at heads of loops, too, each at that of its copy of the loop; or the first ones there, and the others, which are barriers
  /// after, at one in the same loop, always the same. Otherwise at barriers alone, wherever each of them
  /// has its own; who has ended is not waited for.
  bool heads = true;
  /// Floating-point instructions are functions even of numbers, so that nothing is rounded.
  bool reals = true;
  /// Workgroups that wait for others are followed: a loop that does nothing but read a word with a scope until it says that it is
  /// left is gone through once, and left (FlowClient::left); fences are told. Otherwise such a loop is a loop.
  bool meets = false;
  /// Registers that a launch does not set hold numbers that follow from this, small ones where it is odd, and so does memory
  /// that is no argument, and the address of the arguments is one; without it, nothing is known of them.
  std::optional<std::uint32_t> garbage;
  std::uint64_t max_instructions = 20'000'000;  ///< of waves, in all copies together
  std::size_t max_bytes = std::size_t{1} << 30; ///< of formulas, in all copies together
  /// Hears of wave instructions as they are executed, some hundreds at once; what it throws, unless a std::runtime_error, ends `run`.
  std::function<void(std::uint64_t)> executed{};
};

/// What a store does with what is there: nothing, or adds its words to it by an atomic; f16 and bf16 two in a word.
enum class FlowAdd : std::uint8_t { none, f32, i32, f16, bf16 };

/// A vector memory instruction of one wave. With garbage also a store or an atomic by scalars, as lane 0's, a pointer's.
struct FlowAccess {
  std::size_t instruction = 0; ///< index in the program
  std::uint32_t wave = 0;
  unsigned bytes = 0;  ///< of a lane
  bool buffer = false; ///< by a descriptor; otherwise by pointer
  bool plain = true;   ///< raw and unformatted: no index but one times 0, no thread id in the address
  FlowAdd adds = FlowAdd::none;                    ///< of a store
  bool device_scope = false, system_scope = false; ///< isa::of_device_scope, isa::of_system_scope
  bool polls = false;                              ///< FlowOptions::meets: the load that decides such a loop
  bool landed = false; ///< likewise: every store of the wave before it has been waited for
  std::optional<unsigned>
      typed; ///< without an index, by a format of so many bytes that is a number; 0: a format of nothing
  std::array<Term, 4> descriptor{};
  Term soffset = 0;              ///< wide
  std::array<Term, 64> offset{}; ///< buffer: register + immediate, a word; pointer: the whole address, wide
  std::array<Term, 64> guard{};  ///< condition under which the lane takes part; 0: it does not
  /// A number has been drawn (FlowClient::draw) and waited for, the drawing wave has met the others at a barrier since (alone it needs none),
  /// and after that this wave has made its caches forget what they had of memory (buffer_inv sc1): what others released before theirs is seen.
  bool acquired = false;
  std::vector<std::pair<Term, bool>> settled{}; ///< answers to FlowClient::open
};

/// What orders a wave's accesses for other workgroups, or for the waves of this one; with FlowOptions::meets.
struct FlowFence {
  enum class Kind : std::uint8_t { write_back, invalidate, barrier };
  Kind kind = Kind::barrier;
  std::size_t instruction = 0;
  std::uint32_t wave = 0;
  bool device = false, system = false; ///< for whom
  bool landed = false; ///< every store and write-back of the wave before it has been waited for
};

/// One execution of a matrix instruction. Operands are [register][lane].
struct FlowMatrix {
  std::size_t instruction = 0;
  std::uint32_t wave = 0;
  std::vector<std::array<Term, 64>> a, b, c;          ///< c is empty when it is a constant
  std::vector<std::array<Term, 64>> scale_a, scale_b; ///< v_mfma_scale: one register each
  std::vector<std::array<Term, 64>> d;                ///< to be filled
};

class FlowClient {
public:
  virtual ~FlowClient() = default;
  /// A condition that a load depends on and that has to be settled before it, as that of a branch; 0: none. Asked again with the answer.
  virtual Term open(const FlowAccess&) { return 0; }
  /// Fills words[register][lane] for the lanes that take part.
  virtual void load(const FlowAccess& access, std::vector<std::array<Term, 64>>& words) = 0;
  virtual void store(const FlowAccess& access, const std::vector<std::array<Term, 64>>& words) = 0;
  virtual void matrix(FlowMatrix& execution) = 0;
  virtual void fence(const FlowFence&) {}
  /// A wave leaves the loop of the load `poll`. `stays`: of each lane that took part, the condition under which what it has read sends
  /// it around again.
  virtual void left(const FlowAccess& poll, const std::array<Term, 64>& stays) {
    static_cast<void>(poll);
    static_cast<void>(stays);
  }
  /// global_atomic_inc of one lane, which counts up to `limit` and then from 0 again: the word that comes back, what was there before.
  /// `released`: whatever any wave has stored in memory was written back to where others see it (buffer_wbl2 sc1) and waited for before the
  /// last barrier, or the draw of a wave that is alone. Nothing: it is not followed; it is asked for once on a path.
  virtual std::optional<Term> draw(const FlowAccess& access, Term limit, bool released) {
    static_cast<void>(access), static_cast<void>(limit), static_cast<void>(released);
    return std::nullopt;
  }
  /// The value of a condition, when it is the same for everything that is still possible here.
  virtual std::optional<bool> decide(Term condition) = 0;
};

class Flow {
public:
  enum class Stop { head, fork, ended, failed };

  Flow(const CodeObject& object, const Kernel& kernel, const FlowOptions& options);
  Flow(const Flow& other);
  Flow& operator=(const Flow& other);
  Flow(Flow&&) noexcept;
  Flow& operator=(Flow&&) noexcept;
  ~Flow();

  [[nodiscard]] Stop run(FlowClient& client);
  /// Index of the loop head at which the first wave stands, and others at theirs.
  [[nodiscard]] std::size_t at() const;
  /// The condition that a fork asks for, and its answer.
  [[nodiscard]] Term question() const;
  void assume(bool value);
  /// What has been assumed or decided, in order.
  [[nodiscard]] const std::vector<std::pair<Term, bool>>& path() const;
  [[nodiscard]] const std::string& why() const;
  struct Place {
    std::size_t instruction = 0;
    std::uint32_t wave = 0, lane = 0; ///< lane: where one lane was the reason
  };
  /// What was executed last.
  [[nodiscard]] Place stopped_at() const;

  [[nodiscard]] Terms& terms() const; ///< shared by copies
  /// What a copy takes, without the terms: registers of all waves and LDS.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] const isa::Program& program() const;
  [[nodiscard]] bool rounds_to_nearest() const; ///< floats of 32 bits, from beginning to end
  /// Sources of a vector instruction with which `Terms::function` was called: operand number, in the order of arguments.
  [[nodiscard]] const isa::Instruction& instruction(std::size_t index) const;

  // ---- the state, for invariants of loops
  [[nodiscard]] unsigned waves() const;
  static constexpr unsigned scalars = 128, rows = 512;
  [[nodiscard]] Term scalar(unsigned wave, unsigned index);
  void set_scalar(unsigned wave, unsigned index, Term value);
  [[nodiscard]] Term scc(unsigned wave);
  void set_scc(unsigned wave, Term value);
  [[nodiscard]] Term vector(unsigned wave, unsigned row, unsigned lane);
  void set_vector(unsigned wave, unsigned row, unsigned lane, Term value);
  /// Whether a row holds the same in both, as far as that is seen without terms.
  [[nodiscard]] bool surely_same(const Flow& other, unsigned wave, unsigned row) const;
  /// LDS by words; 0: nothing was written.
  [[nodiscard]] std::vector<Term>& lds();
  /// Whether all words of scratch surely hold the same in both.
  [[nodiscard]] bool same_scratch(const Flow& other) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace inlay::runtime::symbolic
