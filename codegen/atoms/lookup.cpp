#include "tables.h"

#include <inlay/machine/target.h>

#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>

#include <algorithm>
#include <set>

namespace inlay::codegen {
namespace {

// Which targets have an atom for which `wanted` holds: an error's "CDNA4 has it".
template <class Wanted>
std::string who_has(Wanted wanted) {
  std::uint8_t members = 0;
  for (const Atom& a : Atom::all())
    if (wanted(a)) members = static_cast<std::uint8_t>(members | a.targets.members);
  return TargetSet{members}.names();
}

template <class Wanted>
const Atom* first(const Target& target, Wanted wanted, const std::deque<Atom>& of = Atom::all()) {
  for (const Atom& a : of)
    if (a.targets.contains(target) && wanted(a)) return &a;
  return nullptr;
}

// Those of them that copy: of the others, atomics and matrix instructions with their layouts, most kernels ask for none or few.
const std::deque<Atom>& copies() {
  static const std::deque<Atom> atoms = [] {
    std::deque<Atom> out;
    append_copies(out);
    return out;
  }();
  return atoms;
}

std::string joined(const std::set<int>& numbers) {
  std::string out;
  for (const int n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

// Errors of load, store and lds_dma: the widths that there are, and who else has this one.
template <class Kind>
const Atom& by_width(const Target& target, const char* what, Addressing addressing, int bits, Kind kind) {
  const auto exact = [&](const Atom& a) { return kind(a) && a.bits == bits; };
  if (const Atom* a = first(target, exact, copies())) return *a;
  std::set<int> there;
  for (const Atom& a : Atom::all())
    if (a.targets.contains(target) && kind(a)) there.insert(a.bits);
  const std::string elsewhere = who_has(exact);
  throw CodegenError(std::string(what) + ": no instruction of that width",
                     "width  " + std::to_string(bits) + " bits a lane, " + to_string(addressing) + ", on " +
                         std::string(target.name),
                     (there.empty() ? "no width at all" : joined(there)) +
                         (elsewhere.empty() ? "" : "; " + elsewhere + " has this one"));
}

std::string shape(const Mma& m) {
  return std::to_string(m.m) + "x" + std::to_string(m.n) + "x" + std::to_string(m.k);
}

// Dense, without scales, one block.
bool is_plain(const Mma& m) { return !m.sparse && !m.scaled && m.blocks == 1; }
bool has_types(const Mma& m, Element a, Element b, Element c) {
  return m.a_element == a && m.b_element == b && m.c_element == c;
}

[[noreturn]] void no_mma(const Target& target, Element a, Element b, Element c, const std::string& wanted,
                         int m, int k) {
  std::string there;
  for (const Atom& atom : Atom::all())
    if (atom.mma && is_plain(*atom.mma) && has_types(*atom.mma, a, b, c) && atom.targets.contains(target))
      there += (there.empty() ? "" : ", ") + shape(*atom.mma);
  const std::string elsewhere = who_has([&](const Atom& atom) {
    return atom.mma && is_plain(*atom.mma) && has_types(*atom.mma, a, b, c) && atom.mma->m == m &&
           (k == 0 || atom.mma->k == k);
  });
  throw CodegenError("no such matrix instruction",
                     "asked  " + wanted + " of " + to_string(a) + " and " + to_string(b) + " to " +
                         to_string(c) + " on " + std::string(target.name),
                     (there.empty() ? "none for these types" : "there are " + there) +
                         (elsewhere.empty() ? "" : "; " + elsewhere + " has it"));
}

} // namespace

int Mma::a_values() const { return m * (sparse ? k / 2 : k) * blocks / 64; }
int Mma::b_values() const { return n * k * blocks / 64; }
int Mma::c_values() const { return m * n * blocks / 64; }
std::int64_t Mma::multiply_adds() const { return std::int64_t{m} * n * k * blocks; }

std::string_view Atom::mnemonic() const { return std::string_view(name).substr(0, name.find(' ')); }

const std::deque<Atom>& Atom::all() {
  static const std::deque<Atom> atoms = [] {
    std::deque<Atom> out;
    append_mma(out);
    append_copies(out);
    append_atomics(out);
    append_relayouts(out);
    return out;
  }();
  return atoms;
}

std::vector<const Atom*> Atom::on(const Target& target) {
  std::vector<const Atom*> out;
  for (const Atom& a : all())
    if (a.targets.contains(target)) out.push_back(&a);
  return out;
}

const Atom* Atom::find(const Target& target, std::string_view name) {
  return first(target, [&](const Atom& a) { return a.name == name; });
}

const Atom& Atom::named(const Target& target, std::string_view name) {
  if (const Atom* a = find(target, name)) return *a;
  const std::string elsewhere = who_has([&](const Atom& a) { return a.name == name; });
  if (!elsewhere.empty())
    throw CodegenError("the target does not have this instruction",
                       "atom   " + std::string(name) + " on " + std::string(target.name),
                       elsewhere + " has it");
  // The names with the longest common beginning.
  std::size_t best = 4;
  std::vector<std::string> near;
  for (const Atom* a : on(target)) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(a->name.begin(), a->name.end(), name.begin(), name.end()).first - a->name.begin());
    if (common > best) best = common, near.clear();
    if (common == best && near.size() < 5) near.push_back(a->name);
  }
  std::string hint;
  for (const std::string& n : near) hint += (hint.empty() ? "near: " : ", ") + n;
  throw CodegenError("unknown atom", "atom   " + std::string(name) + " on " + std::string(target.name),
                     hint.empty() ? "names are the assembler's: ds_read_b128" : hint);
}

const Atom& Atom::mma_of(const Target& target, Element a, Element b, Element c, int m, int k) {
  const Atom* found = first(target, [&](const Atom& atom) {
    return atom.mma && is_plain(*atom.mma) && has_types(*atom.mma, a, b, c) && atom.mma->m == m &&
           atom.mma->k == k;
  });
  if (found) return *found;
  no_mma(target, a, b, c, std::to_string(m) + "x" + std::to_string(m) + "x" + std::to_string(k), m, k);
}

const Atom& Atom::mma_scaled(const Target& target, Element a, Element b, int m) {
  const auto wanted = [&](const Atom& atom) {
    return atom.mma && atom.mma->scaled && has_types(*atom.mma, a, b, Element::f32) && atom.mma->m == m;
  };
  if (const Atom* found = first(target, wanted)) return *found;
  const std::string elsewhere = who_has(wanted);
  throw CodegenError("no such matrix instruction with scales",
                     "asked  " + std::to_string(m) + " rows of " + to_string(a) + " and " + to_string(b) +
                         " with scales of 32 k on " + std::string(target.name),
                     elsewhere.empty() ? "8 bits and below, 16 or 32 rows" : elsewhere + " has it");
}

const Atom& Atom::mma_best(const Target& target, Element a, Element b, Element c, int m) {
  const Atom* found = nullptr;
  for (const Atom& atom : all())
    if (atom.mma && is_plain(*atom.mma) && has_types(*atom.mma, a, b, c) && atom.mma->m == m &&
        atom.targets.contains(target) && (!found || atom.mma->k > found->mma->k))
      found = &atom;
  if (found) return *found;
  no_mma(target, a, b, c, std::to_string(m) + "x" + std::to_string(m) + "x?", m, 0);
}

const Atom& Atom::load(const Target& target, Addressing from, int bits) {
  return by_width(target, "load", from, bits, [&](const Atom& a) {
    return a.kind == Atom::Kind::copy && a.source.addressing == from &&
           a.destination.addressing == Addressing::none && a.parts == 1 && !a.sign_extends &&
           a.source.data == a.destination.data;
  });
}

const Atom& Atom::store(const Target& target, Addressing to, int bits) {
  return by_width(target, "store", to, bits, [&](const Atom& a) {
    return a.is_store() && a.destination.addressing == to && a.parts == 1;
  });
}

const Atom& Atom::lds_dma(const Target& target, Addressing from, int bits) {
  return by_width(target, "memory to LDS", from, bits, [&](const Atom& a) {
    return a.kind == Atom::Kind::copy && a.forced_place() && a.source.addressing == from;
  });
}

const Atom& Atom::transposing_read(const Target& target, int element_bits) {
  const std::string suffix = "_tr_b" + std::to_string(element_bits);
  const auto wanted = [&](const Atom& a) { return a.kind == Atom::Kind::copy && a.name.ends_with(suffix); };
  if (const Atom* a = first(target, wanted)) return *a;
  const std::string elsewhere = who_has(wanted);
  throw CodegenError("no transposing read for elements of that size",
                     "element  " + std::to_string(element_bits) + " bits on " + std::string(target.name),
                     elsewhere.empty()
                         ? "4, 6, 8 or 16 bits, on " + machine::with(&Target::transposes_lds).names()
                         : elsewhere + " has it");
}

const Atom& Atom::atomic(const Target& target, Addressing to, Combine combine, Element element, bool packed,
                         bool returns) {
  const int bits = codegen::bits(element) * (packed ? 2 : 1);
  const auto wanted = [&](const Atom& a) {
    return a.kind == Atom::Kind::atomic && a.destination.addressing == to && a.combine == combine &&
           a.element == element && a.bits == bits && a.returns == returns;
  };
  if (const Atom* a = first(target, wanted)) return *a;
  std::set<std::string> there;
  for (const Atom* a : on(target))
    if (a->kind == Atom::Kind::atomic && a->destination.addressing == to && a->combine == combine)
      there.insert(to_string(a->element) + (a->bits > codegen::bits(a->element) ? " packed" : "") +
                   (a->returns ? " returning" : ""));
  std::string hint;
  for (const std::string& t : there) hint += (hint.empty() ? "there are " : ", ") + t;
  const std::string elsewhere = who_has(wanted);
  throw CodegenError("no such atomic instruction",
                     "asked  " + to_string(combine) + " of " + to_string(element) +
                         (packed ? " packed" : "") + (returns ? " returning" : "") + ", " + to_string(to) +
                         ", on " + std::string(target.name),
                     hint + (elsewhere.empty() ? "" : "; " + elsewhere + " has it"));
}

std::string to_string(Atom::Kind kind) {
  static constexpr const char* names[] = {"mma", "copy", "atomic", "relayout"};
  return names[static_cast<std::size_t>(kind)];
}
std::string to_string(AtomSpace space) {
  static constexpr const char* names[] = {"registers", "scalar registers", "memory", "LDS"};
  return names[static_cast<std::size_t>(space)];
}
std::string to_string(Addressing addressing) {
  static constexpr const char* names[] = {"none", "descriptor", "pointer", "flat",
                                          "lds",  "m0",         "scalar",  "scalar descriptor"};
  return names[static_cast<std::size_t>(addressing)];
}
std::string to_string(Counter counter) {
  static constexpr const char* names[] = {"none", "vmcnt", "lgkmcnt", "vmcnt and lgkmcnt"};
  return names[static_cast<std::size_t>(counter)];
}
std::string to_string(Combine combine) {
  static constexpr const char* names[] = {"none", "add",          "sub",       "min",      "max",
                                          "umin", "umax",         "and",       "or",       "xor",
                                          "swap", "compare_swap", "increment", "decrement"};
  return names[static_cast<std::size_t>(combine)];
}

} // namespace inlay::codegen
