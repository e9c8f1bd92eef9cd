#include "code_run.h"
#include "expression_values.h"
#include "guards.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/symbol_kinds.h>
#include <inlay/codegen/top_network.h>

#include <algorithm>
#include <numeric>

namespace inlay::kernels::validate {

using codegen::Access;
using codegen::CodeRegion;
using codegen::Expr;
using codegen::ExprNode;
using codegen::Fn;
using codegen::Inst;
using codegen::InstKind;
using codegen::Monoid;
using codegen::Reg;
using codegen::Tensor;

// ---- code -----------------------------------------------------------------------------------------------------------

CodeRun::CodeRun(const codegen::Code& code, std::vector<std::pair<AtomId, Sym>> sizes)
    : code_(code), p_(*code.program), sizes_(std::move(sizes)),
      tid_(*codegen::work_item(*code.program).as_atom()), threads_(code.program->threads()) {
  for (const CodeRegion& r : code.regions)
    for (const Inst& i : r.body) multiplies_ = multiplies_ || i.kind == InstKind::mma;
  std::set<int> loaded;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list)
        if ((i.kind == InstKind::load || i.kind == InstKind::store) &&
            p_.tensor(i.access.tensor).space != codegen::Space::lds)
          (i.kind == InstKind::load ? loaded : in_place).insert(p_.tensor(i.access.tensor).memory());
  std::erase_if(in_place, [&](int t) { return !loaded.contains(t); });
  int epoch = 0;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue}) {
      epochs_[list] = epoch;
      for (const Inst& i : *list) epoch += is_fence(p_, i) ? 1 : 0;
    }
  if (epoch != 0 && p_.tickets().empty()) // who draws a number acquires once what others have released
    for (const Tensor& t : p_.tensors())
      if (t.space == codegen::Space::global && (t.output || t.device >= 0)) names.shared.insert(t.id);
  for (const int t : words_of_order(p_)) names.shared.erase(t); // which are compared one after another
  for (const codegen::Uniform& u : p_.uniforms())
    if (codegen::is_bound(code, u)) bounds_.insert(u.tensor);
  for (const auto& [atom, value] : sizes_)
    if (const auto v = value.constant()) {
      salt_ = salt_ * 31 + static_cast<std::uint64_t>(v->value());
      numbers_.set(atom, *v);
    }
  if (concrete()) find_tables();
}

/// Tables whose entries are coordinates: at the end of the axis and outside of it, where all accesses through them have masks.
void CodeRun::find_tables() {
  const auto use = [&](int table, const Access& access, std::size_t axis) {
    if (bounds_.contains(table)) return;
    constexpr std::int64_t exact = 1 << 24; // what a number here holds without rounding
    const std::int64_t extent =
        std::min(evaluate(p_.tensor(access.tensor).shape[axis], numbers_).value(), exact);
    const bool any = axis < access.masked.size() && access.masked[axis];
    const auto [at, fresh] = tables_.try_emplace(table, Table{extent, any});
    at->second.extent = std::min(at->second.extent, extent);
    at->second.any = at->second.any && any && at->second.extent == extent;
  };
  std::map<int, int> loaded; // register -> tensor
  const auto each = [&](auto f) {
    for (const CodeRegion& r : code_.regions)
      for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
        for (const Inst& i : *list) f(i);
  };
  each([&](const Inst& i) {
    if (i.kind == InstKind::load) loaded[i.def.id] = i.access.tensor;
  });
  each([&](const Inst& i) {
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
      if (i.access.gathered(axis))
        if (const auto at = loaded.find(i.uses[static_cast<std::size_t>(i.access.rows[axis])].id);
            at != loaded.end())
          use(at->second, i.access, axis);
      for (const codegen::Uniform& u : p_.uniforms())
        if (i.access.origin[axis] == u.symbol) use(u.tensor, i.access, axis);
    }
  });
}

Number CodeRun::hash(std::span<const Number> values, bool real) {
  Number h = values.size();
  for (const Number n : values) {
    const Number v = real ? n >> 32 : n; // without its error
    h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  return random_of(h, values.size());
}

ElementAccess AccessNames::of(int tensor, Sym address, Sym room, Sym step, Formulas::Condition inside) {
  if (formulas_ != nullptr || by_factors_) {
    const auto one_form = [&](Sym s) {
      return Formulas::without_factors(formulas_ != nullptr ? formulas_->canonical(s) : s);
    };
    address = one_form(address);
    room = one_form(room);
    step = one_form(step);
  }
  ElementAccess a;
  a.byte = address.constant_term().value();
  a.left = room.constant_term().value();
  AccessName name{tensor, false, address - Sym(a.byte), room - Sym(a.left), step, std::move(inside), 0};
  if (shared.contains(tensor)) name.epoch = epoch;
  Number h = random_of(static_cast<std::uint64_t>(tensor), stable_hash(name.address));
  h = random_of(h, stable_hash(name.room) + static_cast<Number>(name.epoch));
  h = random_of(h, stable_hash(name.step) + (name.inside.never ? 1 : 0));
  for (const Sym& d : name.inside.all) h = random_of(h, stable_hash(d));
  a.hash = h;
  const auto [first, last] = known_.equal_range(h);
  for (auto at = first; at != last; ++at)
    if (*at->second == name) a.name = at->second.get();
  if (a.name == nullptr) {
    const auto has = [&](Sym s) { return watched(s); };
    if (!watched_.empty())
      name.by_trips = has(name.address) || has(name.room) || has(name.step) ||
                      std::any_of(name.inside.all.begin(), name.inside.all.end(), has);
    a.name = known_.emplace(h, std::make_unique<AccessName>(std::move(name)))->second.get();
  }
  return a;
}

bool AccessNames::watched(Sym s) const {
  const auto in = symbols(s);
  return std::any_of(watched_.begin(), watched_.end(),
                     [&](AtomId w) { return std::find(in.begin(), in.end(), w) != in.end(); });
}

double CodeRun::rounding(Element format, Number v) {
  const double x = std::fabs(RealArithmetic::real(v));
  if (std::isinf(x)) return 0; // the empty element of a maximum is itself in every format
  // A whole unit of the last place, so that a conversion may cut off; below the smallest normal number, of that.
  const auto unit = [&](int bits, int least, double most) {
    return x > most ? INFINITY : std::ldexp(std::fmax(x, std::ldexp(1.0, least)), -bits);
  };
  switch (format) {
  case Element::f16: return unit(10, -14, 65504);
  case Element::bf16: return unit(7, -126, 3e38) + RealArithmetic::flushed(x);
  case Element::f32:
  case Element::f64: return RealArithmetic::flushed(x);
  case Element::i32: return x < 16'000'000 ? 0 : INFINITY;
  case Element::i8: return x > 127 ? INFINITY : 1;
  default: return bits(format) == 8 ? unit(2, 1 - codegen::facts(format).bias, 200) : INFINITY;
  }
}

Number CodeRun::with_rounding(Element format, Number v) {
  // What the format holds as it is, no rounding changes; smaller ones may be flushed.
  const double x = RealArithmetic::real(v);
  if (RealArithmetic::error(v) == 0 && format != Element::f32 && std::isfinite(x) &&
      (x == 0 || std::fabs(x) >= 0x1p-6) && std::fabs(x) <= 128 &&
      codegen::decode(format, codegen::encode(format, x)) == x)
    return v;
  return RealArithmetic::number(RealArithmetic::real(v), RealArithmetic::error(v) + rounding(format, v));
}

Number CodeRun::converted(const Reg& from, Element to, Number v) const {
  const Element format = code_.registers[static_cast<std::size_t>(from.id)].element;
  return concrete() && format != to ? with_rounding(to, v) : v;
}

double CodeRun::real_at(int tensor, std::int64_t byte, int bit) const {
  if (const auto at = chosen.find({tensor, byte}); at != chosen.end()) return static_cast<double>(at->second);
  const Number h =
      random_of(static_cast<std::uint64_t>(tensor) + 77, static_cast<std::uint64_t>(8 * byte + bit));
  const int width = bits(p_.tensor(tensor).element);
  // For half of the sizes beyond everything, so that the branch is taken; some are negative.
  if (bounds_.contains(tensor))
    return (h + salt_) % 2 == 0 ? 1 << 20 : static_cast<double>((h + salt_) / 2 % 256) - 32;
  if (const auto at = tables_.find(tensor); at != tables_.end())
    return static_cast<double>(entry_of_table(h + salt_, at->second.extent, at->second.any));
  if (p_.tensor(tensor).element == Element::e8m0) return std::ldexp(1.0, static_cast<int>(h % 5) - 2);
  if (multiplies_ || width == 8 || p_.tensor(tensor).element == Element::i32)
    return static_cast<double>(h % 5) - 2;
  return (static_cast<double>(h % 65) - 32) / 8;
}

Number CodeRun::value_of(const ElementAccess& a) const {
  if (a.name->inside.never) return 0; // of both arithmetics
  if (concrete()) {
    return RealArithmetic::number(real_at(a.name->tensor, a.byte, a.bit));
  }
  return random_of(random_of(a.hash, static_cast<std::uint64_t>(a.left)),
                   static_cast<std::uint64_t>(8 * a.byte + a.bit));
}

const MatrixProduct& CodeRun::product(const codegen::Atom& atom) {
  auto at = products_of_.find(&atom);
  if (at == products_of_.end()) at = products_of_.emplace(&atom, MatrixProduct(*atom.mma)).first;
  return at->second;
}

CodeRun::Prepared& CodeRun::prepared(const Inst& i) {
  auto [at, fresh] = prepared_.try_emplace(&i);
  Prepared& p = at->second;
  if (!fresh) return p;
  const Tensor& t = p_.tensor(i.access.tensor);
  if (t.space == codegen::Space::lds) {
    std::vector<std::vector<std::int64_t>> coordinate;
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
      coordinate.push_back(Places::along(i.access.threads, threads_, axis));
      const auto origin = i.access.origin[axis].constant();
      if (!origin) throw NotFollowed{"an LDS place that depends on sizes"};
      for (std::int64_t& c : coordinate.back()) c += origin->value();
    }
    std::vector<std::int64_t> c(coordinate.size());
    for (int th = 0; th < threads_; ++th)
      for (const auto& e : i.access.elements) {
        for (std::size_t axis = 0; axis < c.size(); ++axis)
          c[axis] = coordinate[axis][static_cast<std::size_t>(th)] + e[axis];
        p.places.push_back(static_cast<int>(places_.of(t, c)));
      }
    return p;
  }
  p.window = t.space == codegen::Space::window;
  p.by_place = p.window || codegen::is_far(p_, i.access);
  if (concrete() || p.by_place)
    for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis)
      p.threads.push_back(Places::along(i.access.threads, threads_, axis));
  for (std::size_t axis = 0; axis < i.access.rows.size(); ++axis)
    if (i.access.gathered(axis)) {
      const Reg& row = i.uses[static_cast<std::size_t>(i.access.rows[axis])];
      p.rows.push_back({axis, *codegen::row_symbol(p_, t, axis, row).as_atom(), row});
    }
  if (concrete()) return p;
  if (p.window) {
    if (!p.rows.empty()) throw NotFollowed{"loads of the window " + t.name + " at rows that a table names"};
  }
  if (p.by_place) return p;
  p.split = codegen::split(coordinates_, i.access, i.uses);
  for (int th = 0; th < threads_; ++th) {
    const std::pair<AtomId, Sym> tid[] = {{tid_, Sym(th)}};
    p.lane.push_back(bytes_of(substitute(p.split->lane, tid) + Sym(p.split->immediate), t.element));
    p.coordinate.emplace_back();
    for (const auto& q : p.split->predicates) p.coordinate.back().push_back(substitute(q.coordinate, tid));
  }
  return p;
}

Sym CodeRun::bytes_of(Sym elements, Element element) const {
  const int width = bits(element);
  if (width % 8 == 0) return elements * Sym(width / 8);
  Sym s = fixed(elements);
  if (!concrete()) s = formulas->canonical(s);
  const Int in_a_byte(8 / width);
  if (8 % width != 0) throw NotFollowed{"elements of " + std::to_string(width) + " bits"};
  Sym out(floor_div(s.constant_term(), in_a_byte));
  for (const Term& t : s.terms()) {
    if (!(floor_div(t.coefficient, in_a_byte) * in_a_byte == t.coefficient))
      throw NotFollowed{"an address in the middle of a byte: " + to_string(s) + " elements"};
    out += s.context()->product(floor_div(t.coefficient, in_a_byte), t.factors());
  }
  if (!(floor_div(s.constant_term(), in_a_byte) * in_a_byte == s.constant_term()))
    throw NotFollowed{"an address in the middle of a byte: " + to_string(s) + " elements"};
  return out;
}

Sym CodeRun::coordinate(Number value) const {
  return concrete() ? Sym(static_cast<std::int64_t>(RealArithmetic::real(value))) : formulas->element(value);
}

void CodeRun::read_uniforms() {
  if (!uniforms_.empty()) return;
  for (const codegen::Uniform& u : p_.uniforms()) {
    const Tensor& t = p_.tensor(u.tensor);
    const Sym behind = t.at(std::vector<Sym>{t.shape[0] - Sym(1)}) + Sym(1),
              at = bytes_of(fixed(u.at), t.element), end = bytes_of(fixed(behind), t.element);
    const ElementAccess a = concrete() ? names.of(u.tensor, at, Sym(0), Sym(0), {})
                                       : names.of(u.tensor, at, end - at, Sym(0), {});
    const Number v = value_of(a);
    of_uniforms_[a] = {nullptr, 0, v};
    entries.emplace_back(t.name + "[" + to_string(u.at) + "]", v);
    const Sym number = !codegen::is_bound(code_, u) ? coordinate(v)
                       : concrete()                 ? max(coordinate(v), Sym(0))
                                                    : formulas->bound(v);
    uniforms_.emplace_back(*u.symbol.as_atom(), number);
  }
}

std::string CodeRun::with_entries(std::string text) const {
  for (const auto& [name, value] : entries)
    for (const auto of : {codegen::SymbolKind::word, codegen::SymbolKind::element}) {
      const std::string symbol = name_of(of, {value});
      for (std::size_t at = 0; (at = text.find(symbol, at)) != std::string::npos; at += name.size()) {
        const std::size_t end = at + symbol.size();
        if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0)
          text.replace(at, symbol.size(), name);
      }
    }
  return text;
}

ElementAccess CodeRun::place_of(int tensor, const std::vector<Sym>& coordinate) {
  const Tensor& t = p_.tensor(tensor);
  return names.endless(tensor, bytes_of(fixed(t.at(coordinate)), t.element), {});
}

std::set<int> words_of_order(const codegen::Program& p) {
  std::set<int> out(p.together().flags.begin(), p.together().flags.end());
  for (const codegen::Turn& t : p.turns()) out.insert(t.tensor);
  return out;
}

bool is_fence(const codegen::Program& p, const Inst& i) {
  // Without scopes a release is the wait for the stores alone; then the turn that is passed on stands for it.
  return i.kind == InstKind::acquire || i.kind == (p.target().scopes ? InstKind::release : InstKind::signal);
}

void CodeRun::begin() {
  read_uniforms();
  for (const auto& [key, event] : of_uniforms_) loads.try_emplace(key, event);
}

bool CodeRun::is_seen(int tensor) const {
  return std::any_of(p_.tensors().begin(), p_.tensors().end(),
                     [&](const Tensor& t) { return t.space == codegen::Space::window && t.of == tensor; });
}

namespace {
/// How many elements from `first` on lie along one axis, one after the other.
std::size_t run_at(const std::vector<std::vector<int>>& elements, std::size_t first) {
  const auto after = [&](std::size_t k) -> int { // the axis along which it comes after the one before, or -1
    int axis = -1;
    for (std::size_t x = 0; x < elements[k].size(); ++x) {
      const int step = elements[k][x] - elements[k - 1][x];
      if (step == 0) continue;
      if (step != 1 || axis >= 0) return -1;
      axis = static_cast<int>(x);
    }
    return axis;
  };
  std::size_t end = first + 1;
  const int axis = end < elements.size() ? after(end) : -1;
  while (axis >= 0 && end < elements.size() && after(end) == axis) ++end;
  return end - first;
}
} // namespace

const std::vector<ElementAccess>& CodeRun::by_place(const Inst& i, Prepared& p, int number) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const Tensor& of = p.window ? p_.tensor(t.of) : t;
  std::vector<Sym> origin, extent, end, key;
  for (const Sym& o : i.access.origin) origin.push_back(now(o));
  for (const Sym& s : t.shape) extent.push_back(fixed(s));
  for (const Sym& s : of.shape) end.push_back(fixed(s));
  if (p.rows.empty()) { // none where a coordinate comes from a register
    key = origin;
    key.insert(key.end(), extent.begin(), extent.end());
    key.insert(key.end(), end.begin(), end.end());
  }
  const auto [found, fresh] = p.done.try_emplace(key);
  std::vector<ElementAccess>& out = found->second;
  if (!fresh && !key.empty()) return out;
  out.clear();
  std::vector<Sym> c(origin.size());
  for (int th = 0; th < threads_; ++th) {
    std::vector<Sym> at;
    for (std::size_t axis = 0; axis < c.size(); ++axis)
      at.push_back(origin[axis] + Sym(p.threads[axis][static_cast<std::size_t>(th)]));
    for (const Prepared::Row& r : p.rows)
      at[r.axis] = origin[r.axis] + coordinate(element_of(r.holds, number, static_cast<std::size_t>(th)));
    struct Named {
      ElementAccess access;
      std::vector<Sym> quotients, required; // d >= 0
    };
    const auto of_element = [&](const std::vector<int>& element) {
      Named made;
      Formulas::Condition inside;
      const auto within = [&](Sym x, Sym size) {
        for (const Sym& d : {x, size - Sym(1) - x}) {
          formulas->require(inside, d);
          made.required.push_back(d);
        }
      };
      for (std::size_t axis = 0; axis < c.size(); ++axis) {
        c[axis] = at[axis] + Sym(element[axis]);
        if (axis < i.access.masked.size() && i.access.masked[axis]) within(c[axis], extent[axis]);
      }
      std::vector<Sym> seen = p.window ? Places::seen_formula(t, c, &made.quotients) : c;
      for (std::size_t axis = 0; p.window && axis < seen.size(); ++axis) {
        seen[axis] = fixed(seen[axis]);
        within(seen[axis], end[axis]);
      }
      const Sym place = bytes_of(fixed(Places::formula(of, seen, &made.quotients)), of.element);
      for (Sym& q : made.quotients) q = fixed(q);
      made.access = names.endless(t.memory(), place, formulas->left_open(inside));
      return made;
    };
    // Those between the ends of a run along one axis have the names of the ends: the quotients are the same, so that all is
    // linear, and each condition is the same or holds at both ends in every launch.
    const auto alike = [&](const Named& a, const Named& b, std::int64_t apart) {
      if (a.quotients != b.quotients || !(b.access == a.access.further(apart))) return false;
      Formulas::Condition ends;
      for (std::size_t k = 0; k < a.required.size(); ++k)
        if (!(a.required[k] == b.required[k])) {
          formulas->require(ends, a.required[k]);
          formulas->require(ends, b.required[k]);
        }
      return formulas->left_open(ends) == Formulas::Condition{};
    };
    const auto& elements = i.access.elements;
    for (std::size_t e = 0; e < elements.size();) {
      const std::size_t run = run_at(elements, e), after = e + run;
      const Named first = of_element(elements[e]);
      out.push_back(first.access);
      const auto apart = [&](std::size_t k) { return static_cast<std::int64_t>(k) * bits(of.element); };
      if (run > 2 && alike(first, of_element(elements[after - 1]), apart(run - 1))) {
        for (std::size_t k = 1; k < run; ++k) out.push_back(first.access.further(apart(k)));
        e = after;
      } else {
        while (++e < after) out.push_back(of_element(elements[e]).access);
      }
    }
  }
  return out;
}

const std::vector<ElementAccess>& CodeRun::accesses(const Inst& i, Prepared& p, int number) {
  if (p.by_place) return by_place(i, p, number);
  const Tensor& t = p_.tensor(i.access.tensor);
  const codegen::AddressSplit& s = *p.split;
  const bool endless = !s.ends() && is_seen(i.access.tensor);
  const Sym base = bytes_of(now(s.base + s.step), t.element);
  const Sym records = s.ends() ? bytes_of(fixed(s.records), t.element) : Sym((std::int64_t{1} << 31) - 1);
  const Sym step = bytes_of(now(s.step), t.element);
  std::vector<Sym> room;
  for (const auto& q : s.predicates) room.push_back(now(q.room) - Sym(1));
  std::vector<Sym> key; // none where a work-item's address comes from a register
  if (p.rows.empty()) {
    key = {base, records, step, fixed(s.lane)};
    for (std::size_t q = 0; q < room.size(); ++q) {
      key.push_back(room[q]);
      key.push_back(fixed(s.predicates[q].coordinate));
    }
  }
  const auto [found, fresh] = p.done.try_emplace(key);
  std::vector<ElementAccess>& out = found->second;
  if (!fresh && !key.empty()) return out;
  out.clear();
  for (std::size_t th = 0; th < p.lane.size(); ++th) {
    Sym lane = fixed(p.lane[th]);
    std::vector<std::pair<AtomId, Sym>> rows;
    for (const Prepared::Row& r : p.rows)
      rows.emplace_back(r.symbol, coordinate(element_of(r.holds, number, th)));
    if (!rows.empty()) lane = substitute(lane, rows);
    Formulas::Condition inside;
    for (std::size_t q = 0; q < room.size(); ++q) {
      const Sym coordinate = rows.empty() ? p.coordinate[th][q] : substitute(p.coordinate[th][q], rows);
      formulas->require(inside, room[q] - fixed(coordinate));
    }
    out.push_back(endless ? names.endless(i.access.tensor, base + lane, formulas->left_open(inside))
                          : names.of(i.access.tensor, base + lane, records - lane, step,
                                     names.without_sure(*formulas, formulas->canonical(inside))));
  }
  return out;
}

std::vector<Number>& CodeRun::registers(const Reg& r, int number) {
  const auto& info = code_.registers[static_cast<std::size_t>(r.id)];
  auto& v = state.registers[{r.id, info.outside ? 0 : number + r.ahead}];
  v.resize(static_cast<std::size_t>(threads_ * info.count));
  return v;
}
Number CodeRun::element_of(const Reg& r, int number, std::size_t thread) {
  const auto count = static_cast<std::size_t>(code_.registers[static_cast<std::size_t>(r.id)].count);
  return held(r, number)[thread * count + static_cast<std::size_t>(r.first)];
}
const std::vector<Number>& CodeRun::held(const Reg& r, int number) {
  const auto& info = code_.registers[static_cast<std::size_t>(r.id)];
  const auto at = state.registers.find({r.id, info.outside ? 0 : number + r.ahead});
  if (at == state.registers.end())
    throw NotFollowed{"the code reads v" + std::to_string(r.id) + " before it is written"};
  return at->second;
}

void CodeRun::run(const std::vector<Inst>& list, const CodeRegion& region, int number, Sym trip,
                  const std::map<std::pair<Sym, int>, bool>& versions) {
  begin();
  trip_.clear();
  if (region.is_loop) trip_.emplace_back(*region.trip.as_atom(), trip);
  const auto stages = codegen::lds_stages(code_);
  const auto threads = static_cast<std::size_t>(threads_);
  const auto count_of = [&](const Reg& r) {
    return static_cast<std::size_t>(code_.registers[static_cast<std::size_t>(r.id)].count);
  };
  names.epoch = epochs_.at(&list);
  tops_.first = nullptr;
  for (const Inst& i : list) {
    if (is_fence(p_, i)) ++names.epoch;
    if (i.kind != InstKind::top) tops_.first = nullptr;
    // Of a role's instructions the other waves see nothing: they load, store and write no register.
    if (steps != nullptr)
      steps->take(Steps::element * threads *
                  (1 + std::max(i.access.elements.size(), i.def.id < 0 ? 0 : count_of(i.def))) / 8);
    const auto runs = [&](std::size_t th) { return i.waves.contains(static_cast<int>(th / 64)); };
    switch (i.kind) {
    case InstKind::fill: {
      auto& d = registers(i.def, number);
      const Number v = i.value == 0 ? 0 : arithmetic->constant(i.value);
      for (std::size_t k = 0; k < d.size(); ++k)
        if (runs(k / count_of(i.def))) d[k] = v;
      break;
    }
    case InstKind::load:
    case InstKind::store: {
      if (i.when) {
        const auto v = versions.find({i.when->size, i.when->modulus});
        if (v == versions.end()) throw NotFollowed{"a version that was not decided"};
        if (v->second != i.when->divides) break;
      }
      if (i.combine && *i.combine != Monoid::sum)
        throw NotFollowed{"the code combines with memory otherwise than by a sum"};
      Prepared& p = prepared(i);
      const auto n = i.access.elements.size();
      const bool is_load = i.kind == InstKind::load;
      std::vector<Number>* to = is_load ? &registers(i.def, number) : nullptr;
      const std::vector<Number>* from = is_load ? nullptr : &held(i.uses[0], number);
      const Reg& r = is_load ? i.def : i.uses[0];
      const std::int64_t size = bits(p_.tensor(i.access.tensor).element);
      if (!is_load && size % 8 != 0) throw NotFollowed{"stores of elements below a byte"};
      const Tensor& tensor = p_.tensor(i.access.tensor);
      const std::vector<ElementAccess>* first = concrete() ? nullptr : &accesses(i, p, number);
      // With numbers: places and masks by enumeration, and nothing that formulas are made of.
      std::vector<std::int64_t> origin, extent, c(i.access.origin.size());
      ElementAccess inside, outside;
      std::int64_t end = INT64_MAX; // of a table: what lies past it is 0 in a machine, and names a row
      if (concrete()) {
        for (std::size_t axis = 0; axis < i.access.origin.size(); ++axis) {
          origin.push_back(now(i.access.origin[axis]).constant().value().value());
          extent.push_back(fixed(tensor.shape[axis]).constant().value().value());
        }
        if (is_load && tables_.contains(tensor.id)) {
          std::vector<std::int64_t> last = extent;
          for (std::int64_t& x : last) --x;
          end = places_.of(tensor, last) + 1;
        }
        Formulas::Condition never;
        never.never = true;
        inside = names.of(tensor.memory(), Sym(0), Sym(0), Sym(0), {});
        outside = names.of(tensor.memory(), Sym(0), Sym(0), Sym(0), never);
      }
      for (std::size_t th = 0; th < threads; ++th) {
        if (!runs(th) || !i.access.acts(static_cast<int>(th))) continue;
        std::vector<std::pair<std::size_t, std::int64_t>> rows;
        for (const Prepared::Row& row : p.rows)
          if (concrete())
            rows.emplace_back(row.axis, coordinate(element_of(row.holds, number, th)).constant()->value());
        for (std::size_t e = 0; e < n; ++e) {
          ElementAccess a = concrete()   ? inside
                            : p.by_place ? (*first)[th * n + e]
                                         : (*first)[th].further(static_cast<std::int64_t>(e) * size);
          if (concrete()) {
            bool moved = true;
            for (std::size_t axis = 0; axis < c.size(); ++axis) {
              c[axis] = origin[axis] + i.access.elements[e][axis];
              if (!i.access.gathered(axis)) c[axis] += p.threads[axis][th];
              for (const auto& [of_row, holds] : rows)
                if (of_row == axis) c[axis] += holds;
              moved = moved && !(axis < i.access.masked.size() && i.access.masked[axis] &&
                                 (c[axis] < 0 || c[axis] >= extent[axis]));
            }
            const bool window = tensor.space == codegen::Space::window;
            const auto seen = moved && window ? places_.seen(tensor, c) : std::nullopt;
            if (moved && (!window || seen)) {
              const std::int64_t place =
                  seen ? places_.of(p_.tensor(tensor.of), *seen) : places_.of(tensor, c);
              const Int bit(place * size);
              a.byte = floor_div(bit, Int(8)).value();
              a.bit = static_cast<int>(floor_mod(bit, Int(8)).value());
              if (place >= end) a = outside;
            } else {
              a = outside;
            }
          }
          const std::size_t at = th * count_of(r) + static_cast<std::size_t>(r.first) + e;
          if (is_load) {
            const Number v = value_of(a);
            (*to)[at] = v;
            if (!a.name->inside.never) loads[a] = {&i, static_cast<int>(th), v};
          } else if (!a.name->inside.never) { // what never happens is no store
            const auto [was, fresh] = stores.try_emplace(a);
            const Event& before = was->second;
            if (!fresh && (before.adds != 0) != i.combine.has_value())
              throw NotFollowed{"the code stores an element and adds to it"};
            const bool again = i.combine && !fresh;
            const Element element = p_.tensor(i.access.tensor).element;
            const Number part = i.combine ? converted(r, element, (*from)[at]) : (*from)[at];
            Number all = again ? arithmetic->sum(before.value, part) : part;
            if (again && concrete() && bits(element) < 32) all = with_rounding(element, all);
            const int thread = static_cast<int>(th);
            const bool unordered = before.inst == &i || before.thread / 64 != thread / 64,
                       contested =
                           !fresh && !i.combine && (before.contested || (unordered && before.value != part));
            was->second = {&i, thread, all, i.combine ? before.adds + 1 : 0, contested};
          }
        }
      }
      break;
    }
    case InstKind::lds_read:
    case InstKind::lds_write: {
      if (i.combine) throw NotFollowed{"atomics that add to " + p_.tensor(i.access.tensor).name + " in LDS"};
      Prepared& p = prepared(i);
      const Tensor& t = p_.tensor(i.access.tensor);
      const int ring = stages.at(i.access.tensor);
      const int slot = ring > 1 && region.is_loop ? (((number + i.access.slot) % ring) + ring) % ring : 0;
      auto& lds = state.lds[{i.access.tensor, slot}];
      if (lds.empty()) lds.resize(static_cast<std::size_t>(t.stage_elements()), apply(Function::fresh, 1));
      const bool is_read = i.kind == InstKind::lds_read;
      std::vector<Number>* to = is_read ? &registers(i.def, number) : nullptr;
      const std::vector<Number>* from = is_read ? nullptr : &held(i.uses[0], number);
      const Reg& r = is_read ? i.def : i.uses[0];
      const auto n = i.access.elements.size();
      for (std::size_t th = 0; th < threads; ++th) {
        if (!runs(th) || !i.access.acts(static_cast<int>(th))) continue;
        for (std::size_t e = 0; e < n; ++e) {
          const std::size_t at = th * count_of(r) + static_cast<std::size_t>(r.first) + e;
          const auto place = static_cast<std::size_t>(p.places[th * n + e]);
          if (is_read) {
            (*to)[at] = lds[place];
          } else {
            lds[place] = converted(r, t.element, (*from)[at]);
          }
        }
      }
      break;
    }
    case InstKind::mma: {
      const MatrixProduct& f = product(*i.atom);
      // Operands in one register or in two halves; with scales in one, and each scale in a register after them.
      const bool scaled = i.atom->mma->scaled;
      const std::size_t parts = codegen::operand_parts(i);
      std::vector<const std::vector<Number>*> held_by;
      for (const Reg& r : i.uses) held_by.push_back(&held(r, number));
      const auto value_of = [&](std::size_t operand, std::size_t th, std::size_t v, std::size_t values) {
        const std::size_t part = values / parts, u = operand * parts + v / part;
        const Number n =
            (*held_by[u])[th * count_of(i.uses[u]) + static_cast<std::size_t>(i.uses[u].first) + v % part];
        return converted(i.uses[u], operand == 0 ? i.atom->mma->a_element : i.atom->mma->b_element, n);
      };
      auto& c = registers(i.def, number);
      const auto av = static_cast<std::size_t>(f.a_values), bv = static_cast<std::size_t>(f.b_values),
                 cv = static_cast<std::size_t>(f.c_values);
      std::vector<Number> x(64 * av), y(64 * bv), z(64 * cv), d(64 * cv);
      for (std::size_t wave = 0; wave < threads / 64; ++wave) {
        if (!runs(64 * wave)) continue;
        for (std::size_t l = 0; l < 64; ++l) {
          const std::size_t th = wave * 64 + l;
          for (std::size_t v = 0; v < av; ++v) x[l * av + v] = value_of(0, th, v, av);
          for (std::size_t v = 0; v < bv; ++v) y[l * bv + v] = value_of(1, th, v, bv);
          for (std::size_t v = 0; v < cv; ++v)
            z[l * cv + v] = c[th * count_of(i.def) + static_cast<std::size_t>(i.def.first) + v];
        }
        for (std::size_t operand = 0; scaled && operand < 2; ++operand) {
          const Reg& r = i.uses[2 * parts + operand];
          const std::vector<Number>& scales = held(r, number);
          std::vector<Number>& values = operand == 0 ? x : y;
          for (std::size_t at = 0; at < values.size(); ++at) {
            const std::size_t th =
                wave * 64 + static_cast<std::size_t>(f.scale_of(static_cast<int>(operand))[at]);
            values[at] =
                arithmetic->product(values[at], scales[th * count_of(r) + static_cast<std::size_t>(r.first)]);
          }
        }
        if (concrete())
          f.real(x, y, z, d);
        else
          f(x, y, z, d);
        products[hash(d, concrete())] = &i;
        ++products_made;
        for (std::size_t l = 0; l < 64; ++l)
          for (std::size_t v = 0; v < cv; ++v)
            c[(wave * 64 + l) * count_of(i.def) + static_cast<std::size_t>(i.def.first) + v] = d[l * cv + v];
      }
      break;
    }
    case InstKind::map: map(i, number); break;
    case InstKind::top: top(i, number); break;
    case InstKind::fold_values: {
      std::vector<Number> out(threads), of;
      const bool is_extreme = i.monoid == codegen::Monoid::max || i.monoid == codegen::Monoid::min;
      for (std::size_t th = 0; th < threads; ++th) {
        of.clear();
        std::size_t left = i.lane_mask > 0 ? th / static_cast<std::size_t>(i.lane_mask) : i.uses.size();
        for (const Reg& r : i.uses) {
          if (left-- == 0) break;
          const auto& from = held(r, number);
          for (int e = 0; e < r.count; ++e)
            of.push_back(from[th * count_of(r) + static_cast<std::size_t>(r.first + e)]);
        }
        if (of.empty()) of.push_back(is_extreme ? arithmetic->constant(codegen::empty_element(i.monoid)) : 0);
        out[th] = folded(i.monoid, of);
      }
      auto& d = registers(i.def, number);
      for (std::size_t th = 0; th < threads; ++th)
        if (runs(th)) d[th * count_of(i.def) + static_cast<std::size_t>(i.def.first)] = out[th];
      break;
    }
    case InstKind::fold_lanes: {
      const auto own = held(i.uses.front(), number), from = held(i.uses.back(), number);
      auto& d = registers(i.def, number);
      const auto mask = static_cast<std::size_t>(i.lane_mask);
      for (std::size_t th = 0; th < threads; ++th) {
        if (!runs(th)) continue;
        const auto get = [&](const auto& all, const Reg& r, std::size_t x) {
          return all[x * count_of(r) + static_cast<std::size_t>(r.first)];
        };
        const Number both[] = {get(own, i.uses.front(), th), get(from, i.uses.back(), th ^ mask)};
        d[th * count_of(i.def) + static_cast<std::size_t>(i.def.first)] =
            i.uses.size() == 2 && (th & mask) == 0 ? both[0] : folded(i.monoid, both);
      }
      break;
    }
    case InstKind::exchange_lanes: {
      const auto n = static_cast<std::size_t>(i.def.count), unit = n / 2;
      const auto mask = static_cast<std::size_t>(i.lane_mask);
      const std::vector<Number> low = held(i.uses[0], number), high = held(i.uses[1], number);
      auto& d = registers(i.def, number);
      for (std::size_t th = 0; th < threads; ++th)
        for (std::size_t e = 0; runs(th) && e < n; ++e) {
          const bool set = (th & mask) != 0;
          const Reg& r = i.uses[set ? 1 : 0];
          const std::size_t from = e >= unit ? th | mask : th & ~mask;
          d[th * count_of(i.def) + static_cast<std::size_t>(i.def.first) + e] =
              (set ? high : low)[from * count_of(r) + static_cast<std::size_t>(r.first) + e % unit];
        }
      break;
    }
    case InstKind::ticket: {
      const Number drawn = number_of(fixed(p_.tickets()[static_cast<std::size_t>(i.ticket)].symbol));
      for (Number& n : registers(i.def, number)) n = drawn;
      break;
    }
    case InstKind::wait:
    case InstKind::barrier:
    case InstKind::release: // what they order is compared by itself
    case InstKind::acquire:
    case InstKind::await:
    case InstKind::signal:
    case InstKind::meet:
    case InstKind::priority: break;
    default:
      throw NotFollowed{std::string("instructions of the kind '") + to_string(i.kind) + "' in the code"};
    }
  }
}

void CodeRun::map(const Inst& i, int number) {
  const auto n = static_cast<std::size_t>(i.def.count);
  const std::size_t operands = i.uses.size() / n;
  std::vector<const std::vector<Number>*> from;
  for (const Reg& r : i.uses) from.push_back(&held(r, number));
  std::vector<Number> out(static_cast<std::size_t>(threads_) * n), x(operands);
  const auto runs = [&](std::size_t th) { return i.waves.contains(static_cast<int>(th / 64)); };
  for (int th = 0; th < threads_; ++th)
    for (std::size_t e = 0; runs(static_cast<std::size_t>(th)) && e < n; ++e) {
      for (std::size_t k = 0; k < operands; ++k) {
        const Reg& r = i.uses[k * n + e];
        const auto count = code_.registers[static_cast<std::size_t>(r.id)].count;
        x[k] = (*from[k * n + e])[static_cast<std::size_t>(th * count + r.first)];
      }
      out[static_cast<std::size_t>(th) * n + e] = map_value({i, x, th, static_cast<int>(e)}, i.map);
    }
  const Element format = code_.registers[static_cast<std::size_t>(i.def.id)].element;
  if (concrete())
    for (Number& v : out) v = with_rounding(format, v);
  auto& d = registers(i.def, number);
  const auto count = static_cast<std::size_t>(code_.registers[static_cast<std::size_t>(i.def.id)].count);
  for (std::size_t th = 0; th < static_cast<std::size_t>(threads_); ++th)
    for (std::size_t e = 0; runs(th) && e < n; ++e)
      d[th * count + static_cast<std::size_t>(i.def.first) + e] = out[th * n + e];
}

// Where sizes are numbers, the elements themselves say which are the greatest; else it is what comparisons in that order make of them.
void CodeRun::top(const Inst& i, int number) {
  const auto threads = static_cast<std::size_t>(threads_), n = i.position.size();
  const bool has_beside = i.uses.size() > n;
  std::vector<std::uint32_t> of_lane(threads, 0), of_use(n, 0);
  for (std::size_t a = 0; a < i.access.extents.size(); ++a) {
    const auto extent = static_cast<std::uint32_t>(i.access.extents[a]);
    const std::vector<int> along = codegen::thread_coordinates(i.access.threads, a);
    for (std::size_t th = 0; th < threads; ++th)
      of_lane[th] = extent * of_lane[th] + static_cast<std::uint32_t>(along[th]);
    for (std::size_t e = 0; e < n; ++e)
      of_use[e] = extent * of_use[e] + static_cast<std::uint32_t>(i.position[e][a]);
  }
  const auto element = [&](std::size_t th, std::size_t e) {
    const Reg& r = i.uses[e];
    const auto count = static_cast<std::size_t>(code_.registers[static_cast<std::size_t>(r.id)].count);
    return held(r, number)[th * count + static_cast<std::size_t>(r.first)];
  };
  auto& d = registers(i.def, number);
  const auto count = static_cast<std::size_t>(code_.registers[static_cast<std::size_t>(i.def.id)].count);
  const auto runs = [&](std::size_t th) { return i.waves.contains(static_cast<int>(th / 64)); };
  const auto put = [&](std::size_t th, Number v) {
    if (runs(th)) d[th * count + static_cast<std::size_t>(i.def.first)] = v;
  };
  const auto rank = static_cast<std::size_t>(i.rank), mask = static_cast<std::size_t>(i.lane_mask);
  if (concrete()) {
    struct Placed {
      Number first = 0;
      std::uint32_t second = 0;
      Number other = 0;
      bool operator==(const Placed&) const = default;
    };
    for (std::size_t th = 0; th < threads; ++th) {
      std::vector<Placed> all;
      for (std::size_t lane = 0; lane <= mask; ++lane)
        for (std::size_t e = 0; e < n && (lane & ~mask) == 0; ++e) {
          const std::size_t from = (th & ~mask) | lane;
          all.push_back(
              {element(from, e), of_lane[from] + of_use[e], has_beside ? element(from, n + e) : Number{}});
        }
      std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
        const double x = RealArithmetic::real(a.first), y = RealArithmetic::real(b.first);
        return x != y ? x > y : a.second < b.second;
      });
      const Placed found = all[rank];
      const bool sure = std::all_of(all.begin(), all.end(), [&](const Placed& a) {
        return a == found || arithmetic->at_least(a.first, found.first);
      });
      const Number v = i.place ? RealArithmetic::number(found.second) : i.beside ? found.other : found.first;
      put(th, sure ? v : RealArithmetic::number(RealArithmetic::real(v), INFINITY));
    }
    return;
  }
  const codegen::Inst* const before = tops_.first;
  if (before == nullptr || before->uses != i.uses || before->top != i.top || before->position != i.position ||
      before->lane_mask != i.lane_mask || before->access.extents != i.access.extents ||
      !(before->access.threads == i.access.threads) || before->places != i.places) {
    std::uint32_t lanes = 0, uses = 0;
    for (const std::uint32_t p : of_lane) lanes |= p;
    for (const std::uint32_t p : of_use) uses |= p;
    const bool apart = (lanes & uses) == 0;
    const auto greater = [&](Number a, Number b) { return arithmetic->extreme(a, b, true); };
    const auto less = [&](Number a, Number b) { return arithmetic->extreme(a, b, false); };
    const codegen::TopNetwork<Number, decltype(greater), decltype(less)> network(
        static_cast<std::size_t>(i.top), greater, less);
    if (steps != nullptr) steps->take(threads * n * static_cast<std::size_t>(i.top) * Steps::element);
    std::vector<std::vector<Number>> lists(threads);
    for (std::size_t th = 0; th < threads; ++th) {
      std::vector<Number> all;
      for (std::size_t e = 0; e < n; ++e)
        if (!i.places) {
          all.push_back(element(th, e));
        } else {
          const Number v = ranked_at(element(th, e), apart ? of_use[e] : of_lane[th] + of_use[e]);
          all.push_back(has_beside ? beside(v, element(th, n + e)) : v);
        }
      lists[th] = network.of(all);
      for (Number& v : lists[th]) v = apart && i.places ? at_place(v, of_lane[th]) : v;
    }
    for (const int step : codegen::lane_steps(i.lane_mask)) {
      const std::vector<std::vector<Number>> last = lists;
      for (std::size_t th = 0; th < threads; ++th)
        lists[th] = network.merged(last[th], last[th ^ static_cast<std::size_t>(step)]);
    }
    tops_ = {&i, std::move(lists)};
  }
  for (std::size_t th = 0; th < threads; ++th)
    put(th, i.places ? apply(i.place    ? Function::top_place
                             : i.beside ? Function::top_beside
                                        : Function::top_value,
                             tops_.second[th][rank])
                     : tops_.second[th][rank]);
}

const CodeRun::Position& CodeRun::positions(const Inst& i, int thread, int element) {
  auto& all = positions_[&i];
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(threads_) * i.position.size());
    const std::size_t axes = i.position.empty() ? 0 : i.position[0].size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const AtomId symbol =
          *p_.symbols()
               .symbol(codegen::Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt})
               .as_atom();
      const Sym coordinate = coordinates_(i.access.threads, axis);
      for (int th = 0; th < threads_; ++th) {
        const std::pair<AtomId, Sym> tid[] = {{tid_, Sym(th)}};
        const Sym of_thread = substitute(coordinate, tid);
        for (std::size_t e = 0; e < i.position.size(); ++e)
          all[static_cast<std::size_t>(th) * i.position.size() + e].emplace_back(
              symbol, of_thread + Sym(i.position[e][axis]));
      }
    }
  }
  return all[static_cast<std::size_t>(thread) * i.position.size() + static_cast<std::size_t>(element)];
}

Number CodeRun::number_of(Sym s) {
  if (const auto c = s.constant()) return arithmetic->constant(static_cast<double>(c->value()));
  const Number n = apply(Function::number, stable_hash(s));
  conditions.try_emplace(n);
  return n;
}

Number CodeRun::map_value(const MapAt& m, Expr e) {
  const ExprNode& n = e.node();
  const auto arg = [&](std::size_t k) { return map_value(m, {e.arena, n.args[k]}); };
  Arithmetic& do_ = *arithmetic;
  const auto f32 = [&](double x) { return constant_of_f32(do_, x); };
  switch (n.fn) {
  case Fn::constant: return f32(n.value);
  case Fn::number: return number_of(formula_at(m, n.sym));
  case Fn::parameter: return m.operands[static_cast<std::size_t>(n.tensor)];
  case Fn::inside: {
    Formulas::Condition c;
    formulas->require(c, formula_at(m, n.index[1] - n.index[0]) - Sym(1));
    if (concrete()) return c.never ? f32(n.value) : arg(0);
    c = formulas->canonical(c);
    for (const Sym& d : c.all) conditions.try_emplace(ValuesOfWords::of(d));
    const Number holds = ValuesOfWords::of(c);
    return choose(holds, arg(0), f32(n.value));
  }
  case Fn::select: return do_.choice(arg(0), arg(1), arg(2), arg(3));
  default: break;
  }
  if (n.fn >= Fn::nearest) return map_integer(m, e);
  if (!n.args.empty())
    if (const auto v = function_number(n.fn, n.value, arg(0), n.args.size() > 1 ? arg(1) : Number{0}, do_))
      return *v;
  throw NotFollowed{"a map with an operation that is not read"};
}

} // namespace inlay::kernels::validate
