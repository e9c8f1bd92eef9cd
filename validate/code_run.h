/// `Code` run with numbers of a field in place of elements: what the machine code is held against.
///
/// Plain loops over work-items and elements. Loads are named by what they access: byte address, room to the end of the
/// descriptor and predicates, all as formulas, so that equal names are equal elements; names are what both sides share.
#pragma once

#include "flat.h"
#include "formulas.h"
#include "integers.h"
#include "matrix_words.h"
#include "places.h"
#include "values_of_words.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/code.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace inlay::kernels::validate {

/// Where an element lies and what guards it, as formulas without their constants, so that neighbours share one.
struct AccessName {
  int tensor = -1;
  bool by_trips = false; ///< says something of what `AccessNames::watch` was given; no part of the name
  Sym address{};         ///< bytes from the tensor's pointer
  Sym room{};            ///< bytes to the end of the descriptor
  Sym step{}; ///< the scalar offset: the part of the address that the hardware may or may not compare
  Formulas::Condition inside{};
  int epoch = 0; ///< see AccessNames::epoch
  friend bool operator==(const AccessName& a, const AccessName& b) {
    return a.tensor == b.tensor && a.epoch == b.epoch && a.address == b.address && a.room == b.room &&
           a.step == b.step && a.inside == b.inside;
  }
};

/// One element in memory: `byte` further on, `left` more to the end.
struct ElementAccess {
  const AccessName* name = nullptr; ///< one object for equal names
  Number hash = 0;                  ///< of the name's content, the same in every run
  std::int64_t byte = 0, left = 0;
  int bit = 0; ///< of the byte

  /// The element that many bits further on, of a first one that begins with its byte.
  [[nodiscard]] ElementAccess further(std::int64_t bits) const {
    return {name, hash, byte + bits / 8, left - bits / 8, static_cast<int>(bits % 8)};
  }
  friend bool operator==(const ElementAccess& a, const ElementAccess& b) {
    return a.name == b.name && a.byte == b.byte && a.left == b.left && a.bit == b.bit;
  }
};
struct HashAccess {
  std::size_t operator()(const ElementAccess& a) const {
    std::uint64_t h = a.hash + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(a.left) +
                      static_cast<std::uint64_t>(8 * a.byte + a.bit);
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ULL;
    return h ^ (h >> 32);
  }
};

/// The names of both sides.
class AccessNames {
public:
  [[nodiscard]] ElementAccess of(int tensor, Sym address, Sym room, Sym step, Formulas::Condition inside);
  /// Symbols of which each name made from now on says whether it has one.
  void watch(const std::vector<AtomId>& symbols) {
    watched_.insert(watched_.end(), symbols.begin(), symbols.end());
  }
  [[nodiscard]] bool watched(Sym s) const;
  /// Without conditions with a quotient that hold in every launch, as 2 (n / 2) - n + 1 >= 0: a compiler leaves them out. Those of
  /// what is watched have another form where that is a number.
  [[nodiscard]] Formulas::Condition without_sure(Formulas& formulas, const Formulas::Condition& c) const {
    return formulas.asked(c, [&](Sym d) { return Formulas::has_quotient(d) && !watched(d); });
  }
  /// Of what no descriptor ends: the address, and what has to hold.
  [[nodiscard]] ElementAccess endless(int tensor, Sym address, Formulas::Condition inside) {
    return of(tensor, address, Sym(std::int64_t{1} << 60) - address, Sym(0), std::move(inside));
  }
  /// Tensors that other workgroups or devices write or read while this one runs. Of them an element has another name after each fence:
  /// what was written back before it, or may be seen after it, is not the same as what lies there at another time.
  std::set<int> shared;
  int epoch = 0; ///< fences so far, of who accesses now
  /// Addresses in sizes as multiples, too: k / 2 bytes of k elements that are halves of bytes.
  void by_multiples(const Formulas& formulas) { formulas_ = &formulas; }
  /// Addresses without factors of minima: of scales, whose rows are numbered in blocks of 32 and in blocks of 16.
  void by_factors() { by_factors_ = true; }

private:
  const Formulas* formulas_ = nullptr;
  bool by_factors_ = false;
  std::vector<AtomId> watched_;
  std::unordered_multimap<Number, std::unique_ptr<AccessName>> known_;
};

/// What is accessed, where in the code it stands, and by whom.
struct Event {
  const codegen::Inst* inst = nullptr;
  int thread = 0;
  Number value = 0; ///< the sum of what is added
  int adds = 0;     ///< how often, by atomics; 0: a store
  /// Another wave, or another lane of the instruction, stores another value: rows that a table names twice. Which is later nothing says.
  bool contested = false;
};
using Events = Flat<ElementAccess, Event, HashAccess>;

/// Tensors by which workgroups and devices tell each other where they are.
[[nodiscard]] std::set<int> words_of_order(const codegen::Program& program);

/// Whether it is an instruction of its own in the machine code after which other accesses are ordered otherwise for other workgroups or
/// devices.
[[nodiscard]] bool is_fence(const codegen::Program& program, const codegen::Inst& inst);

class CodeRun {
public:
  /// `sizes`: symbols that are numbers, or none. Numbers of elements outside are then 0.
  CodeRun(const codegen::Code& code, std::vector<std::pair<AtomId, Sym>> sizes);

  struct State {
    std::map<std::pair<int, int>, std::vector<Number>> registers; ///< (register, iteration)
    std::map<std::pair<int, int>, std::vector<Number>> lds;       ///< (tensor, stage)
  };
  State state;
  Events loads, stores;
  AccessNames names;
  /// What tables say for this workgroup, `lengths[wg_x]`, by the numbers that stand for it.
  std::vector<std::pair<std::string, Number>> entries;
  /// Numbers of tables by (tensor, byte), in the place of drawn ones where sizes are numbers.
  using Entries = std::map<std::pair<int, std::int64_t>, std::int64_t>;
  Entries chosen;
  /// With these in the place of formulas' symbols for them.
  [[nodiscard]] std::string with_entries(std::string text) const;
  Flat<Number, const codegen::Inst*> products; ///< by the hash of a wave's result
  std::size_t products_made = 0;
  std::set<int> in_place;        ///< tensors that the code loads from and stores to
  Flat<Number, bool> conditions; ///< of maps, and numbers that are formulas

  /// One list of instructions. `number`, `trip`: of the current trip, for stages and for formulas.
  void run(const std::vector<codegen::Inst>& list, const codegen::CodeRegion& region, int number, Sym trip,
           const std::map<std::pair<Sym, int>, bool>& versions);
  /// A number for an element: random in the field; a small integer where sizes are numbers.
  [[nodiscard]] Number value_of(const ElementAccess& access) const;
  /// -2 to 2, so that sums of products are exact; eighths up to 4 where nothing is multiplied.
  [[nodiscard]] double real_at(int tensor, std::int64_t byte, int bit = 0) const;
  [[nodiscard]] const MatrixProduct& product(const codegen::Atom& atom);
  [[nodiscard]] Sym fixed(Sym s) const {
    if (!sizes_.empty()) s = substitute(s, sizes_);
    if (!given.empty()) s = substitute(s, given);
    if (!uniforms_.empty()) s = substitute(s, uniforms_);
    return known.empty() ? s : substitute(s, known);
  }
  /// The two sides of a branch's condition.
  [[nodiscard]] codegen::Condition fixed(const codegen::Condition& c) {
    begin();
    return {fixed(c.a), fixed(c.b)};
  }
  /// What every workgroup loads first, whatever it does then: numbers from tables.
  void begin();
  [[nodiscard]] bool concrete() const { return !sizes_.empty(); }
  [[nodiscard]] static Number hash(std::span<const Number> values, bool real = false);
  /// How far a real number of that format may be off what was to be converted to it.
  [[nodiscard]] static double rounding(codegen::Element format, Number v);
  /// Whether the tensor is looked at by windows: what has no end that a descriptor compares is then named by its address alone.
  [[nodiscard]] bool is_seen(int tensor) const;
  Arithmetic* arithmetic = nullptr;
  Formulas* formulas = nullptr;
  Integers* integers = nullptr; ///< where sizes are symbols
  Steps* steps = nullptr;
  /// What else is replaced in formulas: the number of trips where it is known.
  std::vector<std::pair<AtomId, Sym>> known;
  /// Sizes that are given as numbers while others are symbols: the device's.
  std::vector<std::pair<AtomId, Sym>> given;
  /// The byte at which one element of a tensor lies, named as one that no descriptor ends.
  [[nodiscard]] ElementAccess place_of(int tensor, const std::vector<Sym>& coordinate);

private:
  struct Prepared {
    bool window = false;
    bool by_place =
        false; ///< no `split`, `lane` nor `coordinate`: from the places alone; windows, 64-bit addresses
    std::optional<codegen::AddressSplit> split;
    std::vector<Sym> lane; ///< of each work-item: lane + immediate, in bytes
    std::vector<std::vector<Sym>> coordinate;
    std::vector<std::vector<std::int64_t>>
        threads;             ///< [axis][work-item], when sizes are numbers, and by places
    std::vector<int> places; ///< LDS: element number of [thread][element]
    struct Row {
      std::size_t axis;
      AtomId symbol;
      codegen::Reg holds;
    };
    std::vector<Row> rows; ///< coordinates that come from registers
    /// What has been made of the formulas that the accesses are made of: the same on every path that ends alike.
    std::map<std::vector<Sym>, std::vector<ElementAccess>> done;
  };
  Prepared& prepared(const codegen::Inst& inst);
  void find_tables();
  /// So many elements in bytes; of elements below a byte as many as fill bytes.
  [[nodiscard]] Sym bytes_of(Sym elements, codegen::Element element) const;
  std::vector<Number>& registers(const codegen::Reg& reg, int number);
  const std::vector<Number>& held(const codegen::Reg& reg, int number);
  /// Each element of every work-item, by the tensors' places alone.
  const std::vector<ElementAccess>& by_place(const codegen::Inst& inst, Prepared& p, int number);
  /// The first element of every work-item.
  const std::vector<ElementAccess>& accesses(const codegen::Inst& inst, Prepared& p, int number);
  /// A formula of the current trip.
  [[nodiscard]] Sym now(Sym s) const { return fixed(trip_.empty() ? s : substitute(s, trip_)); }
  /// What a register holds as a coordinate, and numbers of the workgroup that come from tables.
  [[nodiscard]] Sym coordinate(Number value) const;
  void read_uniforms();
  [[nodiscard]] static Number with_rounding(codegen::Element format, Number v);
  /// What a register holds, used as a number of that format.
  [[nodiscard]] Number converted(const codegen::Reg& from, codegen::Element to, Number v) const;
  Number element_of(const codegen::Reg& reg, int number, std::size_t thread);
  void map(const codegen::Inst& inst, int number);
  void top(const codegen::Inst& inst, int number);
  /// Of the last instruction of that kind, work-item by work-item: what its lists are. Nothing: another kind came after it.
  std::pair<const codegen::Inst*, std::vector<std::vector<Number>>> tops_{};
  // What an element's position is, by its symbols.
  using Position = std::vector<std::pair<AtomId, Sym>>;
  const Position& positions(const codegen::Inst& i, int thread, int element);
  /// One element that a map makes.
  struct MapAt {
    const codegen::Inst& inst;
    std::span<const Number> operands;
    int thread = 0, element = 0;
  };
  Number map_value(const MapAt& at, codegen::Expr e);
  /// A formula of a map, of that element.
  [[nodiscard]] Sym formula_at(const MapAt& at, Sym s) {
    const std::size_t elements = at.inst.position.size();
    if (elements == 0) return now(s);
    auto& of = placed_[{&at.inst, s}];
    if (of.empty()) of.resize(static_cast<std::size_t>(threads_) * elements);
    auto& placed = of[static_cast<std::size_t>(at.thread) * elements + static_cast<std::size_t>(at.element)];
    if (!placed) placed = substitute(s, positions(at.inst, at.thread, at.element));
    return now(*placed);
  }
  [[nodiscard]] Number number_of(Sym s);
  // Integers of a map (code_integers.cpp).
  Number map_integer(const MapAt& at, codegen::Expr e);
  /// A formula that is congruent to it modulo 2^32.
  Sym integer(const MapAt& at, codegen::Expr e);
  /// As a number with a sign.
  Number signed_value(const MapAt& at, codegen::Expr e);
  Sym operation(TermKind kind, Sym a, Sym b);
  /// That it is not 0; nothing where that has no formula.
  std::optional<Formulas::Condition> condition(const MapAt& at, codegen::Expr e);
  /// 1 where it is not 0, else 0.
  Number truth(const MapAt& at, codegen::Expr e);
  /// In [0, 2^32), or of another expression its value; NaN where that is not sure.
  double integer_at_sizes(const MapAt& at, codegen::Expr e);
  /// Of what a register holds, an element of memory, or what was truncated.
  Sym symbol_of(Number value);
  Integers::Names names_of_integers();
  Number holds(const Formulas::Condition& condition);
  /// Requires: one element at least.
  Number folded(codegen::Monoid monoid, std::span<const Number> elements);

  const codegen::Code& code_;
  const codegen::Program& p_;
  codegen::ThreadCoordinates coordinates_{p_};
  std::vector<std::pair<AtomId, Sym>> sizes_, uniforms_, trip_;
  Events of_uniforms_;
  std::map<const std::vector<codegen::Inst>*, int> epochs_; ///< fences before a list of instructions
  Assignment numbers_;                                      ///< the same as `sizes_`
  Places places_{p_, numbers_};
  struct Table {
    std::int64_t extent;
    bool any; ///< entries may be outside
  };
  std::map<int, Table> tables_; ///< of coordinates, when sizes are numbers
  std::set<int> bounds_;        ///< tables of bounds: what is negative counts as 0
  std::uint64_t salt_ = 0;      ///< of these sizes
  AtomId tid_;
  bool multiplies_ = false; ///< has matrix products
  int threads_;
  std::unordered_map<const codegen::Inst*, Prepared> prepared_;
  std::unordered_map<const codegen::Inst*, std::vector<Position>> positions_; ///< [work-item][element]
  std::map<std::pair<const codegen::Inst*, Sym>, std::vector<std::optional<Sym>>>
      placed_; ///< formulas of maps with the position of [work-item][element]
  std::map<const codegen::Atom*, MatrixProduct> products_of_;
  friend class Matcher;
};

} // namespace inlay::kernels::validate
