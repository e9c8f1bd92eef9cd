#include "tokens.h"

#include <inlay/codegen/address.h>
#include <inlay/codegen/nest.h>

#include <inlay/algebra/print.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

namespace inlay::mutate {
namespace {

using namespace codegen;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A number in (0.5, 1.5) that depends on everything given, by splitmix64.
double random_number(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return 0.5 + static_cast<double>(x >> 11) * 0x1p-53;
}

class Machine {
public:
  Machine(const Code& code, const Sizes& sizes, std::uint64_t seed)
      : code_(code), p_(*code.program), random_(seed), mode_(static_cast<int>(seed % 3)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) at_.set(p_.sizes()[i].symbol, Int(sizes[i]));
    for (const Tensor& t : p_.tensors())
      if (t.space == Space::global) fill(t);
    for (const auto& s : p_.specifications()) {
      tables(s.value);
      if (s.table >= 0) table(s.table, number(p_.tensor(s.tensor).shape[0]));
      if (s.replaces) once(s.table, number(p_.tensor(s.tensor).shape[0]));
    }
    counted();
    bounds(seed);
    lengths(seed);
  }

  void run() {
    std::vector<std::int64_t> counts(3, 1);
    for (const GridAxis& g : p_.grid())
      counts[static_cast<std::size_t>(g.axis)] = (number(g.extent) + g.tile - 1) / g.tile;
    if (p_.shares()) counts = {p_.shares()->workers, 1, 1};
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t z = 0; z < counts[2]; ++z)
      for (std::int64_t y = 0; y < counts[1]; ++y)
        for (std::int64_t x = 0; x < counts[0]; ++x) all.push_back({x, y, z});
    if (!p_.tickets().empty() || !p_.turns().empty())
      std::shuffle(all.begin(), all.end(), random_); // whoever comes last
    // Who waits for a turn goes on after those before it.
    std::set<std::vector<std::int64_t>> through;
    const auto may = [&](const std::vector<std::int64_t>& id) {
      return std::all_of(p_.turns().begin(), p_.turns().end(), [&](const Turn& t) {
        std::vector<std::int64_t> before = id;
        return --before[static_cast<std::size_t>(t.axis)] < 0 || through.contains(before);
      });
    };
    while (!all.empty()) {
      const auto next = std::find_if(all.begin(), all.end(), may);
      workgroup(*next);
      through.insert(*next);
      all.erase(next);
    }
    for (const auto& s : p_.specifications()) check(s);
  }

private:
  std::int64_t number(Sym s) const { return evaluate(s, at_).value(); }

  // ---------------------------------------------------------------------------------------------------- memory

  /// The offset of a coordinate by the digits of each mode; the swizzle by its definition.
  std::int64_t place(const Tensor& t, const std::vector<std::int64_t>& coordinate) const {
    std::int64_t sum = 0;
    const auto& axes = modes(t);
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
      std::int64_t rest = coordinate[axis];
      for (std::size_t k = 0; k < axes[axis].size(); ++k) {
        const auto [extent, stride] = axes[axis][k];
        if (k + 1 == axes[axis].size()) {
          sum += rest * stride;
        } else {
          std::int64_t digit = rest % extent;
          if (digit < 0) digit += extent;
          sum += digit * stride;
          rest = (rest - digit) / extent;
        }
      }
    }
    const Swizzle& s = *t.place.swizzle();
    if (s.is_identity()) return sum;
    const std::int64_t field = (std::int64_t{1} << s.bits()) - 1;
    return sum ^ (((sum >> (s.base() + s.shift())) & field) << s.base());
  }

  using Modes = std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>; ///< [axis]: extent, stride
  const Modes& modes(const Tensor& t) const {
    Modes& out = modes_[t.id];
    if (!out.empty()) return out;
    const SymLayout& inner = t.place.inner();
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      const SymLayout mode = t.shape.size() == 1 ? inner : inner.mode(axis);
      out.emplace_back();
      for (const auto& m : mode.modes()) out.back().emplace_back(number(m.extent), number(m.stride.scale));
    }
    return out;
  }

  struct Memory {
    std::vector<double> value;
    std::vector<double> before; ///< of a tensor in place: what the specification reads
    std::vector<double> shared; ///< of an output that others read after a ticket: what they see of it
    std::vector<int> written;
    std::map<std::size_t, int> writer; ///< the wave that wrote last, of a tensor in place
  };
  const std::vector<std::int64_t>& shape(const Tensor& t) const {
    std::vector<std::int64_t>& out = shapes_[t.id];
    if (out.empty())
      for (const Sym& s : t.shape) out.push_back(number(s));
    return out;
  }
  template <class F>
  void each(const std::vector<std::int64_t>& extents, F f) {
    std::vector<std::int64_t> c(extents.size(), 0);
    while (true) {
      f(c);
      std::size_t i = 0;
      while (i < c.size() && ++c[i] == extents[i]) c[i++] = 0;
      if (i == c.size()) return;
    }
  }
  void fill(const Tensor& t) {
    Memory& m = memory_[t.id];
    std::uint64_t n = 0;
    double count = 1;
    for (const std::int64_t extent : shape(t)) count *= static_cast<double>(extent);
    each(shape(t), [&](const auto& c) {
      const auto at = static_cast<std::size_t>(place(t, c));
      if (place(t, c) < 0) throw std::runtime_error(t.name + " has an element before its address");
      if (m.value.size() <= at) m.value.resize(at + 1, nan), m.written.resize(at + 1, 0);
      const double number = random_number(static_cast<std::uint64_t>(t.id) + 1, n);
      // Of both signs, or all negative: then a maximum of nothing is not 0. These grow, so that the last is the least of all.
      const double size = mode_ == 1 ? 0.5 + (static_cast<double>(n) + 0.5 * number) / count : number;
      m.value[at] = t.output && !t.in_place ? nan : mode_ == 1 || random_number(99, n) < 1 ? -size : size;
      ++n;
    });
    if (t.in_place) m.before = m.value;
    m.shared.assign(m.value.size(), nan);
  }
  // Where a coordinate of a window lies in what it looks at, digit by digit; nowhere outside of that.
  std::optional<std::vector<std::int64_t>> looked(const Tensor& w, const std::vector<std::int64_t>& c) const {
    std::vector<std::int64_t> at;
    for (const Sym& o : w.look_origin) at.push_back(number(o));
    for (std::size_t axis = 0; axis < c.size(); ++axis) {
      std::int64_t rest = c[axis];
      const std::vector<Look>& looks = w.looks[axis].looks;
      for (std::size_t d = 0; d < looks.size(); ++d) {
        const std::int64_t extent = number(looks[d].extent),
                           digit = d + 1 < looks.size() ? rest % extent : rest;
        at[static_cast<std::size_t>(looks[d].axis)] += digit * number(looks[d].step);
        rest /= extent;
      }
    }
    const std::vector<std::int64_t> extents = shape(p_.tensor(w.of));
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      if (at[axis] < 0 || at[axis] >= extents[axis]) return std::nullopt;
    return at;
  }
  double element(const Tensor& t, const std::vector<std::int64_t>& c) {
    if (t.space == Space::window) {
      const auto at = looked(t, c);
      return at ? element(p_.tensor(t.of), *at) : 0;
    }
    const Memory& m = memory_[t.id];
    return (t.in_place ? m.before : m.value)[static_cast<std::size_t>(place(t, c))];
  }
  // Tables hold indices, some of which the tensor does not have.
  void tables(Expr e) {
    const ExprNode& n = e.node();
    for (std::size_t axis = 0; axis < n.through.size(); ++axis)
      if (n.through[axis] >= 0) table(n.through[axis], number(p_.tensor(n.tensor).shape[axis]));
    if (n.fn == Fn::load && p_.tensor(n.tensor).space == Space::paged)
      table(p_.tensor(n.tensor).table, number(p_.tensor(p_.tensor(n.tensor).cache).shape[0]));
    for (const int a : n.args) tables({e.arena, a});
  }
  // Entries that name elements of a tile in LDS.
  void counted() {
    each_op(p_.body(), [&](const Op& op) {
      const auto* add = std::get_if<CopyOp>(&op.what);
      if (!add || !add->to || !add->combine || p_.tensor(add->to->tensor).space != Space::lds) return;
      for (const Tensor& t : p_.tensors()) // what is added is whole
        if (t.element == Element::i8 && t.space == Space::global)
          for (double& v : memory_[t.id].value) v = std::floor(8 * v);
      each_op(p_.body(), [&](const Op& other) {
        const auto* load = std::get_if<CopyOp>(&other.what);
        if (load && load->from && load->to_fragment == add->to->rows[0])
          table(load->from->tensor, number(p_.tensor(add->to->tensor).shape[0]));
      });
    });
  }
  // What is the same in all workgroups is a bound of an axis: not negative, and perhaps beyond its end.
  void bounds(std::uint64_t seed) {
    std::vector<double> tiles{static_cast<double>(p_.threads())};
    for (const GridAxis& g : p_.grid()) tiles.push_back(static_cast<double>(g.tile));
    for (const auto& size : p_.sizes()) seed = 31 * seed + static_cast<std::uint64_t>(number(size.symbol));
    for (const Uniform& u : p_.uniforms()) {
      if (!trips_of(p_, u).empty())
        for (double& v : memory_[u.tensor].value) v = std::floor(v);
      if (!u.at.constant()) continue;
      std::int64_t most = 1;
      for (const Tensor& t : p_.tensors())
        if (t.output) most = std::max(most, number(t.shape[0]));
      for (double& v : memory_[u.tensor].value) {
        ++seed;
        const double tile = tiles[seed % tiles.size()], any = random_number(78, seed) - 0.5;
        v = std::floor(any * static_cast<double>(most + 2));
        // Often none, one, or where a tile ends or just before or after that.
        const double which = random_number(79, seed) - 0.5;
        if (which < 0.25) {
          v = which < 0.15 ? 0 : 1;
        } else if (which < 0.6) {
          v = std::max(0.0,
                       std::floor(v / tile) * tile + std::floor(3 * (random_number(80, seed) - 0.5)) - 1);
        }
      }
      at_.set(u.symbol, Int(static_cast<std::int64_t>(element(p_.tensor(u.tensor), {number(u.at)}))));
    }
  }
  // How far the elements of a row count, row by row: none, one, all, some, or more than there are.
  void lengths(std::uint64_t seed) {
    for (const Entry& v : p_.values()) {
      std::int64_t most = 1;
      for (const Tensor& t : p_.tensors())
        if (t.space != Space::lds)
          for (const Sym& extent : t.shape) most = std::max(most, number(extent));
      std::uint64_t k = 1000 * seed;
      for (double& x : memory_[v.tensor].value) {
        ++k;
        const double which = random_number(91, k) - 0.5;
        x = which < 0.15   ? 0
            : which < 0.25 ? 1
            : which < 0.4  ? static_cast<double>(most)
                           : std::floor((random_number(92, k) - 0.5) * static_cast<double>(most + 3));
      }
    }
  }
  void table(int tensor, std::int64_t extent) {
    std::uint64_t k = 0;
    for (double& v : memory_[tensor].value) {
      ++k;
      v = std::floor((random_number(77, k) - 0.5) * static_cast<double>(extent + 2)) - (k % 7 == 0 ? 1 : 0);
    }
  }
  // No two entries of a table name one row: what does again is none.
  void once(int tensor, std::int64_t extent) {
    std::set<double> named;
    std::uint64_t k = 0;
    for (double& v : memory_[tensor].value)
      if (v >= 0 && v < static_cast<double>(extent) && !named.insert(v).second)
        v = ++k % 2 == 0 ? -1 : static_cast<double>(extent);
  }

  // --------------------------------------------------------------------------------------------- specification

  // Folds, and sums that have some, once for all that they depend on: the elements of a product of matrices are sums of products again.
  double value(Expr e, std::map<AtomId, std::int64_t>& bound, const std::vector<double>& operand) {
    const Fn fn = e.node().fn;
    if (fn != Fn::fold && (fn != Fn::add || !operand.empty() || !depends_on(e).folds))
      return computed(e, bound, operand);
    std::pair<int, std::vector<std::int64_t>> key(e.id, {});
    for (const AtomId a : depends_on(e).symbols)
      if (const auto found = bound.find(a);
          found != bound.end() && !(fn == Fn::fold && a == *e.node().sym.as_atom()))
        key.second.push_back(found->second);
    if (const auto found = folds_.find(key); found != folds_.end()) return found->second;
    const double out = computed(e, bound, operand);
    folds_.emplace(std::move(key), out);
    return out;
  }
  // A formula of the sizes, of what is bound, and of the entries of tables that it names.
  std::int64_t number(Sym s, const std::map<AtomId, std::int64_t>& bound) {
    if (const auto constant = s.constant()) return constant->value();
    if (const auto atom = s.as_atom())
      if (const auto found = bound.find(*atom); found != bound.end()) return found->second;
    const auto [of, fresh] = symbols_.try_emplace(s);
    if (fresh) of->second = symbols(s);
    Assignment a = at_;
    for (const AtomId atom : of->second)
      if (const auto found = bound.find(atom); found != bound.end()) a.set(atom, Int(found->second));
    for (const Entry& v : p_.values())
      if (std::find(of->second.begin(), of->second.end(), *v.symbol.as_atom()) != of->second.end())
        a.set(v.symbol, Int(static_cast<std::int64_t>(element(p_.tensor(v.tensor), {number(v.at, bound)}))));
    return evaluate(s, a).value();
  }
  double computed(Expr e, std::map<AtomId, std::int64_t>& bound, const std::vector<double>& operand) {
    const ExprNode& n = e.node();
    const auto index = [&](Sym s) { return number(s, bound); };
    const auto arg = [&](std::size_t i) { return value({e.arena, n.args[i]}, bound, operand); };
    switch (n.fn) {
    case Fn::constant: return n.value;
    case Fn::number: return static_cast<double>(index(n.sym));
    case Fn::parameter: return operand.at(static_cast<std::size_t>(n.tensor));
    case Fn::load: {
      if (const Tensor& t = p_.tensor(n.tensor); t.space == Space::paged) {
        const Tensor &table = p_.tensor(t.table), &cache = p_.tensor(t.cache);
        const std::int64_t slots = number(cache.shape[1]);
        std::vector<std::int64_t> entry, c{0};
        for (std::size_t axis = 0; axis < n.index.size(); ++axis)
          (axis < table.shape.size() ? entry : c).push_back(index(n.index[axis]));
        c.insert(c.begin() + 1, entry.back() % slots);
        entry.back() /= slots;
        c[0] = static_cast<std::int64_t>(element(table, entry));
        return c[0] < 0 || c[0] >= number(cache.shape[0]) ? 0 : element(cache, c);
      }
      std::vector<std::int64_t> c;
      const auto extents = shape(p_.tensor(n.tensor));
      for (std::size_t axis = 0; axis < n.index.size(); ++axis) {
        c.push_back(index(n.index[axis]));
        if (n.through.empty() || n.through[axis] < 0) continue;
        const Tensor& table = p_.tensor(n.through[axis]);
        auto entry = shape(table); // by its number, row by row
        for (std::size_t a = entry.size(); a-- > 0;)
          entry[a] = a == 0 ? c.back() : std::exchange(c.back(), c.back() / entry[a]) % entry[a];
        c.back() = static_cast<std::int64_t>(element(table, entry));
        if (c.back() < 0 || c.back() >= extents[axis]) return 0;
      }
      return element(p_.tensor(n.tensor), c);
    }
    case Fn::add: return arg(0) + arg(1);
    case Fn::sub: return arg(0) - arg(1);
    case Fn::mul: return arg(0) * arg(1);
    case Fn::div: return arg(0) / arg(1);
    case Fn::power: return std::pow(arg(0), n.value);
    case Fn::exp: return std::exp(arg(0));
    case Fn::exp2: return std::exp2(arg(0));
    case Fn::log: return std::log(arg(0));
    case Fn::log2: return std::log2(arg(0));
    case Fn::max: return std::max(arg(0), arg(1));
    case Fn::min: return std::min(arg(0), arg(1));
    case Fn::select: return arg(0) >= arg(1) ? arg(2) : arg(3);
    case Fn::inside: return index(n.index[0]) < index(n.index[1]) ? arg(0) : n.value;
    case Fn::fold: {
      double out = empty_element(n.monoid);
      const AtomId k = *n.sym.as_atom();
      const bool part = n.index.size() == 3; // of it
      const std::int64_t extent = index(n.index[0]), first = part ? index(n.index[1]) : 0,
                         end = part ? std::min(extent, index(n.index[2])) : extent;
      for (std::int64_t i = first; i < end; ++i) {
        bound[k] = i;
        out = combine(n.monoid, out, arg(0));
      }
      bound.erase(k);
      return out;
    }
    case Fn::nearest: return std::nearbyint(arg(0));
    default: break;
    }
    return of_integers(n, arg);
  }
  // The symbols of an expression and of the entries of tables that it names, and whether it has folds; a walk over all of its nodes, so
  // once each.
  struct Depends {
    std::vector<AtomId> symbols;
    bool folds = false;
  };
  const Depends& depends_on(Expr e) {
    const auto [at, fresh] = depends_.try_emplace(e.id);
    if (!fresh) return at->second;
    Depends out{e.arena->symbols(e)};
    for (const Entry& v : p_.values())
      if (std::find(out.symbols.begin(), out.symbols.end(), *v.symbol.as_atom()) != out.symbols.end())
        for (const AtomId a : symbols(v.at)) out.symbols.push_back(a);
    const ExprNode& n = e.node();
    out.folds = n.fn == Fn::fold || std::any_of(n.args.begin(), n.args.end(), [&](int a) {
                  return depends_on({e.arena, a}).folds;
                });
    return depends_[e.id] = std::move(out);
  }
  // Integers are numbers from 0 to 2^32 - 1; what is poison stays that.
  static double of_integers(const ExprNode& n, const std::function<double(std::size_t)>& arg) {
    if (n.fn == Fn::integer) return n.value;
    if (n.fn == Fn::choose) {
      const double condition = arg(0);
      return std::isnan(condition) ? nan : arg(condition == 0 ? 2 : 1);
    }
    std::vector<double> x;
    for (std::size_t i = 0; i < n.args.size(); ++i) {
      x.push_back(arg(i));
      if (std::isnan(x.back())) return nan;
    }
    const auto modulo = [](std::int64_t v) { return static_cast<double>(v & 0xffffffff); };
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(x[i]); };
    const auto sign = [&](std::size_t i) {
      return whole(i) >= 0x80000000 ? whole(i) - 0x100000000 : whole(i);
    };
    const auto product = [&] {
      return static_cast<unsigned __int128>(whole(0)) * static_cast<unsigned __int128>(whole(1));
    };
    const std::int64_t by = x.size() > 1 ? whole(1) % 32 : 0;
    switch (n.fn) {
    case Fn::word: // tokens are numbers between 0 and 2
      return x[0] == std::floor(x[0]) ? modulo(whole(0)) : modulo(static_cast<std::int64_t>(x[0] * 0x1p40));
    case Fn::truncated:
      return modulo(x[0] >= 2147483647 ? 2147483647 : x[0] <= -2147483648.0 ? -2147483648 : whole(0));
    case Fn::float_bits: return std::bit_cast<std::uint32_t>(static_cast<float>(x[0]));
    case Fn::from_bits: return std::bit_cast<float>(static_cast<std::uint32_t>(whole(0)));
    case Fn::to_number: return static_cast<double>(sign(0));
    case Fn::to_number_unsigned: return x[0];
    case Fn::word_sub: return modulo(whole(0) - whole(1));
    case Fn::word_mul_hi: return static_cast<double>(static_cast<std::uint64_t>(product() >> 32));
    case Fn::word_shl: return modulo(whole(0) << by);
    case Fn::word_shr: return static_cast<double>(whole(0) >> by);
    case Fn::word_sar: return modulo(sign(0) >> by);
    case Fn::popcount: return std::popcount(static_cast<std::uint64_t>(whole(0)));
    case Fn::leading_zeros: return std::countl_zero(static_cast<std::uint32_t>(whole(0)));
    case Fn::trailing_zeros: return std::countr_zero(static_cast<std::uint32_t>(whole(0)));
    case Fn::word_less: return x[0] < x[1] ? 1 : 0;
    case Fn::word_less_signed: return sign(0) < sign(1) ? 1 : 0;
    case Fn::word_equal: return x[0] == x[1] ? 1 : 0;
    default: break;
    }
    std::int64_t out = whole(0);
    for (std::size_t i = 1; i < x.size(); ++i) switch (n.fn) {
      case Fn::word_add: out = (out + whole(i)) & 0xffffffff; break;
      case Fn::word_mul:
        out = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(out) * static_cast<std::uint64_t>(whole(i)) & 0xffffffff);
        break;
      case Fn::word_and: out &= whole(i); break;
      case Fn::word_or: out |= whole(i); break;
      case Fn::word_xor: out ^= whole(i); break;
      default: throw std::logic_error("tokens have no rule for a function of integers");
      }
    if (x.size() < 2) throw std::logic_error("tokens have no rule for a function of one integer");
    return static_cast<double>(out);
  }
  // As a register of i32 holds it: what differs by a multiple of 2^32, from -2^31 on. Tokens of what is added as numbers are less.
  static double wrapped(double v) {
    constexpr double modulus = 0x1p32;
    return v - modulus * std::floor((v + modulus / 2) / modulus);
  }
  // An element of a wrapping sum, as integer(x) has it.
  static double element_of(Monoid m, double v) {
    if (!is_of_i32(m) || v == std::floor(v) || std::isnan(v)) return v;
    return wrapped(static_cast<double>(static_cast<std::int64_t>(v * 0x1p40) & 0xffffffff));
  }
  static double combine(Monoid m, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return nan;
    if (m == Monoid::wrapping_sum) return wrapped(a + b);
    if (is_of_i32(m)) return combined(m, a, b);
    return m == Monoid::sum ? a + b : m == Monoid::max ? std::max(a, b) : std::min(a, b);
  }

  /// Rows that a table names: the sums of what is added to each, and nothing elsewhere.
  void check_sums(const Program::Specification& s) {
    const Tensor& t = p_.tensor(s.tensor);
    const auto extents = shape(t);
    auto entries = extents;
    entries[0] = shape(p_.tensor(s.table))[0];
    std::map<std::size_t, std::pair<double, double>> wanted; // and its size
    each(entries, [&](const auto& c) {
      auto to = c;
      to[0] = static_cast<std::int64_t>(element(p_.tensor(s.table), {c[0]}));
      if (to[0] < 0 || to[0] >= extents[0]) return;
      std::map<AtomId, std::int64_t> bound;
      for (std::size_t i = 0; i < c.size(); ++i) bound[*s.coordinate[i].as_atom()] = c[i];
      const double v = value(s.value, bound, {});
      auto& [sum, size] = wanted[static_cast<std::size_t>(place(t, to))];
      sum += v, size += std::abs(v);
    });
    const Memory& m = memory_[t.id];
    each(extents, [&](const auto& c) {
      const auto at = static_cast<std::size_t>(place(t, c));
      const double is = m.written[at] == 0 ? 0 : m.value[at];
      const auto& [sum, size] = wanted[at];
      if (!(size < 1e12)) return;
      if (!(std::abs(is - sum) <= 1e-9 * (1 + size)))
        throw Wrong(t.name + ": element " + std::to_string(at) + " is " + std::to_string(is) + ", not " +
                    std::to_string(sum));
    });
  }
  /// Rows that a table names hold what was stored, once, and the others what was there.
  void check_rows(const Program::Specification& s) {
    const Tensor& t = p_.tensor(s.tensor);
    const auto extents = shape(t);
    auto entries = extents;
    entries[0] = shape(p_.tensor(s.table))[0];
    const Memory& m = memory_[t.id];
    std::vector<double> wanted = m.before;
    std::vector<int> times(wanted.size(), 0);
    each(entries, [&](const auto& c) {
      auto to = c;
      to[0] = static_cast<std::int64_t>(element(p_.tensor(s.table), {c[0]}));
      if (to[0] < 0 || to[0] >= extents[0]) return;
      std::map<AtomId, std::int64_t> bound;
      for (std::size_t i = 0; i < c.size(); ++i) bound[*s.coordinate[i].as_atom()] = c[i];
      const auto at = static_cast<std::size_t>(place(t, to));
      wanted[at] = value(s.value, bound, {});
      ++times[at];
    });
    each(extents, [&](const auto& c) {
      const auto at = static_cast<std::size_t>(place(t, c));
      if (m.written[at] != times[at])
        throw Wrong(t.name + ": element " + std::to_string(at) + " is written " +
                    std::to_string(m.written[at]) + " times, and named " + std::to_string(times[at]));
      if (differs(m.value[at], wanted[at]))
        throw Wrong(t.name + ": element " + std::to_string(at) + " is " + std::to_string(m.value[at]) +
                    ", not " + std::to_string(wanted[at]));
    });
  }
  // Of a large number rounding is all there is; an infinity is that one.
  static bool differs(double got, double wanted) {
    if (std::isinf(wanted)) return got != wanted;
    return std::abs(wanted) < 1e12 && !(std::abs(got - wanted) <= 1e-9 * (1 + std::abs(wanted)));
  }
  void check(const Program::Specification& s) {
    if (s.table >= 0) return s.replaces ? check_rows(s) : check_sums(s);
    const Tensor& t = p_.tensor(s.tensor);
    each(shape(t), [&](const auto& c) {
      const auto at = static_cast<std::size_t>(place(t, c));
      const Memory& m = memory_[t.id];
      if (m.written[at] != 1)
        throw Wrong(t.name + ": element " + std::to_string(at) + " is written " +
                    std::to_string(m.written[at]) + " times");
      std::map<AtomId, std::int64_t> bound;
      for (std::size_t i = 0; i < c.size(); ++i) bound[*s.coordinate[i].as_atom()] = c[i];
      const double wanted = value(s.value, bound, {});
      if (differs(m.value[at], wanted))
        throw Wrong(t.name + ": element " + std::to_string(at) + " is " + std::to_string(m.value[at]) +
                    ", not " + std::to_string(wanted));
    });
  }

  // ------------------------------------------------------------------------------------------------- execution

  struct Step {
    const Inst* inst;
    std::int64_t trip;
    int ring;
    int base;     ///< registers of iterations are named base + ahead
    int tile = 0; ///< of the workgroup's
    int numbers =
        -1; ///< which of `tiles_` says what symbols are: the tile's, or those of a trip around loops
  };
  struct Wave {
    int number = 0;
    std::size_t next = 0;
    int barriers = 0;
    std::map<std::pair<int, std::int64_t>, std::vector<double>> regs; ///< lane by lane
    struct Stored {
      int tensor;
      std::size_t at;
      double value;
    };
    std::vector<Stored> stored,
        released; ///< what is there, and what others see of it from the next ticket on
    bool acquired = false;
    // Of peers: whether it knows that they have begun, its loads that are under way, after how many barriers it told all devices that there
    // are none, and how many meetings its last load of them has not had.
    bool knows_peers = false;
    int peer_loads = 0, told_peers = -1;
    bool owes_meeting = false;
    std::deque<std::function<void()>> vm, lgkm;
  };

  // What bounds something is no negative number.
  void read(const Uniform& u) {
    const auto v = static_cast<std::int64_t>(element(p_.tensor(u.tensor), {number(u.at)}));
    at_.set(u.symbol, Int(trips_of(p_, u).empty() ? v : std::max<std::int64_t>(v, 0)));
  }
  // What it runs for a tile, after what it runs before.
  void tile(const std::vector<std::int64_t>& id, std::vector<Step>& steps, std::vector<Step>& upper) {
    if (const auto& map = p_.tile_map()) define(map->numbering), define(map->stretching), define(map->tiling);
    for (const GridAxis& g : p_.grid())
      if (!p_.tile_map() || g.axis == 2) at_.set(g.symbol, Int(id[static_cast<std::size_t>(g.axis)]));
    for (const Uniform& u : p_.uniforms())
      if (trips_of(p_, u).empty()) read(u);
    // Workgroups run one after the other: which number one will draw is known before it begins.
    tickets_.clear();
    for (const Ticket& k : p_.tickets()) {
      tickets_.push_back(counters_[{k.tensor, group(k.axis)}]++);
      at_.set(k.symbol, Int(tickets_.back()));
    }
    tiles_.push_back(at_);
    const int numbers = static_cast<int>(tiles_.size()) - 1, number_of_tile = begun_++;
    int offset = 100'000'000 * number_of_tile;
    INLAY_CHECK(number_of_tile < 20, "few tiles for a workgroup");
    const std::size_t before = steps.size();
    regions(0, code_.regions.size(), {}, offset, steps, upper);
    for (auto* list : {&steps, &upper})
      for (std::size_t n = before; n < list->size(); ++n) {
        (*list)[n].tile = number_of_tile;
        if ((*list)[n].numbers < 0) (*list)[n].numbers = numbers;
      }
  }
  // Those of a loop that holds loops once for each of its trips, whose number is one of the tile's numbers.
  void regions(std::size_t from, std::size_t to, std::set<int> open, int& offset, std::vector<Step>& steps,
               std::vector<Step>& upper) {
    for (std::size_t at_region = from; at_region < to; ++at_region) {
      const CodeRegion& r = code_.regions[at_region];
      const auto nest = std::find_if(nests_.begin(), nests_.end(), [&](const Nest& n) {
        return !open.contains(n.op) && regions_of(n, code_).first == at_region;
      });
      if (nest != nests_.end()) {
        const std::size_t end = regions_of(*nest, code_).second;
        std::set<int> inside = open;
        inside.insert(nest->op);
        for (std::int64_t t = 0; t < number(nest->trips()); ++t) {
          at_.set(nest->t, Int(t));
          for (const Uniform& u : p_.uniforms()) {
            const auto of = trips_of(p_, u);
            const auto open_here = [&](AtomId atom) {
              return std::any_of(nests_.begin(), nests_.end(), [&](const Nest& n) {
                return inside.contains(n.op) && *n.t.as_atom() == atom;
              });
            };
            if (std::find(of.begin(), of.end(), *nest->t.as_atom()) != of.end() &&
                std::all_of(of.begin(), of.end(), open_here))
              read(u);
          }
          tiles_.push_back(at_);
          const int numbers = static_cast<int>(tiles_.size()) - 1;
          const std::size_t before = steps.size();
          regions(at_region, end, inside, offset, steps, upper);
          for (auto* list : {&steps, &upper})
            for (std::size_t n = before; n < list->size(); ++n)
              if ((*list)[n].numbers < 0) (*list)[n].numbers = numbers;
        }
        at_region = end - 1;
        continue;
      }
      bool runs = true;
      for (const Guard& g : r.guards)
        for (const Ticket& k : p_.tickets())
          for (const Sym& side : {g.condition.a, g.condition.b})
            for (const AtomId a : symbols(side))
              if (a == *k.symbol.as_atom() && !std::any_of(steps.begin(), steps.end(), [&](const Step& s) {
                    return s.inst->kind == InstKind::acquire && s.inst->ticket >= 0 &&
                           &p_.tickets()[static_cast<std::size_t>(s.inst->ticket)] == &k;
                  }))
                throw Wrong("a branch by a number that the workgroup does not have");
      for (const Guard& g : r.guards)
        runs = runs && (number(g.condition.a) < number(g.condition.b)) == g.holds;
      if (!runs) continue;
      if (!r.is_loop) {
        for (const Inst& i : r.body) {
          if (i.when && (number(i.when->size) % i.when->modulus == 0) != i.when->divides) continue;
          steps.push_back({&i, 0, 1, offset});
        }
        upper.insert(upper.end(), steps.begin() + static_cast<std::ptrdiff_t>(upper.size()), steps.end());
        continue;
      }
      for (const Inst& i : r.prologue) steps.push_back({&i, 0, r.ring, offset});
      const std::int64_t trips = number(r.trips);
      for (std::int64_t j = 0; j + 1 < trips; ++j)
        for (const Inst& i : r.body) steps.push_back({&i, j, r.ring, offset + static_cast<int>(j)});
      upper.insert(upper.end(), steps.begin() + static_cast<std::ptrdiff_t>(upper.size()), steps.end());
      if (!r.staggered.empty()) {
        if (r.staggered.size() != r.body.size()) throw Wrong("another order that is none of the loop");
        auto at = upper.end() - (trips - 1) * static_cast<std::ptrdiff_t>(r.body.size());
        for (std::int64_t j = 0; j + 1 < trips; ++j)
          for (const int n : r.staggered) (at++)->inst = &r.body.at(static_cast<std::size_t>(n));
      }
      for (const Inst& i : r.epilogue)
        steps.push_back({&i, trips - 1, r.ring, offset + static_cast<int>(trips - 1)});
      upper.insert(upper.end(), steps.begin() + static_cast<std::ptrdiff_t>(upper.size()), steps.end());
      offset += 1000000;
    }
  }
  void define(const std::vector<TileMap::Definition>& all) {
    for (const auto& d : all) at_.set(d.symbol, Int(number(d.value)));
  }
  void workgroup(const std::vector<std::int64_t>& id) {
    lds_.clear();
    waited_.clear(), passed_.clear(), own_.clear();
    met_ = -1;
    origin_of_ = nullptr;
    tiles_.clear();
    begun_ = 0;
    std::vector<Step> steps, upper;         // of the lower half of the waves, and of the upper one
    if (const auto& shares = p_.shares()) { // one tile after the other, as one list
      at_.set(shares->worker, Int(id[0]));
      define(p_.tile_map()->counts), define(shares->once);
      for (std::int64_t turn = 0; turn < number(shares->turns); ++turn) {
        at_.set(shares->turn, Int(turn));
        define(shares->each);
        tile(id, steps, upper);
      }
    } else {
      if (const auto& map = p_.tile_map()) {
        at_.set(map->id_x, Int(id[0])), at_.set(map->id_y, Int(id[1]));
        define(map->counts);
      }
      tile(id, steps, upper);
    }
    const int waves = p_.threads() / p_.target().wave_size;
    std::vector<Wave> all(static_cast<std::size_t>(waves));
    waves_ = &all;
    draws_ = 0;
    for (int w = 0; w < waves; ++w) all[static_cast<std::size_t>(w)].number = w;
    std::size_t current = 0;
    while (true) {
      std::vector<std::size_t> ready;
      int least = std::numeric_limits<int>::max();
      for (const Wave& w : all)
        if (w.next < steps.size()) least = std::min(least, w.barriers);
      for (std::size_t w = 0; w < all.size(); ++w)
        if (all[w].next < steps.size() && all[w].barriers == least) ready.push_back(w);
      if (ready.empty()) {
        for (const Wave& w : all)
          if (w.barriers != all[0].barriers) throw Wrong("a barrier that some waves do not come to");
        for (const Wave& w : all)
          if (w.owes_meeting) throw Wrong("a launch ends while its memory is read by another device");
        return;
      }
      if (mode_ == 2 || random_() % 8 == 0 || std::find(ready.begin(), ready.end(), current) == ready.end())
        current = ready[random_() % ready.size()];
      Wave& w = all[current];
      if (w.barriers > least) continue;
      step(w, (2 * w.number < waves ? steps : upper)[w.next++]);
    }
  }

  std::vector<double>& reg(Wave& w, const Reg& r, const Step& s) {
    const bool outside = code_.registers[static_cast<std::size_t>(r.id)].outside;
    auto& v = w.regs[{r.id, outside ? -s.tile : std::int64_t{s.base} + r.ahead + 1}];
    const int total = code_.registers[static_cast<std::size_t>(r.id)].count;
    if (v.empty()) v.assign(static_cast<std::size_t>(total * lanes()), nan);
    return v;
  }
  int lanes() const { return p_.target().wave_size; }
  double& at(std::vector<double>& v, const Reg& r, int lane, int e) {
    // A change may give an instruction a register of another size.
    const int count = code_.registers[static_cast<std::size_t>(r.id)].count;
    if (r.first < 0 || r.first + e >= count) throw Wrong("an element outside of its register");
    return v[static_cast<std::size_t>(lane * code_.registers[static_cast<std::size_t>(r.id)].count + r.first +
                                      e)];
  }

  std::vector<std::int64_t> coordinate(const Inst& i, const Step& s, int thread, std::size_t e) {
    if (&s != origin_of_ || thread != thread_of_) {
      if (&s != origin_of_) {
        Assignment a = tiles_[static_cast<std::size_t>(s.numbers)];
        for (const CodeRegion& r : code_.regions)
          if (r.is_loop) a.set(r.trip, Int(s.trip));
        origin_.clear();
        for (const Sym& o : i.access.origin) origin_.push_back(evaluate(o, a).value());
        origin_of_ = &s;
      }
      thread_.clear();
      for (std::size_t axis = 0; axis < origin_.size(); ++axis)
        thread_.push_back(origin_[axis] + along(i.access.threads, thread, axis));
      thread_of_ = thread;
    }
    std::vector<std::int64_t> c = thread_;
    for (std::size_t axis = 0; axis < c.size(); ++axis) c[axis] += i.access.elements[e][axis];
    return c;
  }
  static int along(const Layout& threads, int thread, std::size_t axis) {
    int sum = 0;
    for (const Mode& m : threads.modes()) {
      const int extent = static_cast<int>(m.extent.value());
      if (m.stride.is_basis() && m.stride.axis[0] == axis)
        sum += thread % extent * static_cast<int>(m.stride.scale.value());
      thread /= extent;
    }
    return sum;
  }
  // The number of a thread among those that hold the same, by the digits of the layout.
  static bool acts(const Inst& i, int thread) {
    if (!i.access.idle) return true;
    std::int64_t sum = 0;
    for (const Mode& m : i.access.idle->modes()) {
      sum += thread % m.extent.value() * m.stride.scale.value();
      thread /= static_cast<int>(m.extent.value());
    }
    return sum == 0;
  }
  // The coordinate of an access, with what registers hold where they are the coordinate.
  std::vector<std::int64_t> where(Wave& w, const Inst& i, const Step& s, int lane, std::size_t e) {
    std::vector<std::int64_t> c = coordinate(i, s, w.number * lanes() + lane, e);
    for (std::size_t axis = 0; axis < i.access.rows.size(); ++axis)
      if (i.access.rows[axis] >= 0) {
        const Reg& r = i.uses[static_cast<std::size_t>(i.access.rows[axis])];
        const double v = at(reg(w, r, s), r, lane, 0);
        if (std::isnan(v)) throw Wrong("a coordinate is used before it is there");
        c[axis] +=
            static_cast<std::int64_t>(v); // to a tile that begins at 0, and does not move with the work-item
      }
    return c;
  }
  bool ends(const Inst& i) {
    const auto [known, fresh] = ends_.try_emplace(&i, false);
    if (fresh) known->second = split(coordinates_, i.access, i.uses).ends();
    return known->second;
  }
  bool inside(const Inst& i, const Tensor& t, const std::vector<std::int64_t>& c) {
    const auto& extents = shape(t);
    bool in = true;
    for (std::size_t axis = 0; axis < c.size(); ++axis) {
      const bool named = axis < i.access.rows.size() && i.access.rows[axis] >= 0;
      const bool one = std::any_of(p_.uniforms().begin(), p_.uniforms().end(),
                                   [&](const Uniform& u) { return u.symbol == i.access.origin[axis]; });
      // Masks and descriptors end a tensor, and what a table holds is compared without sign: nothing else keeps a tile
      // from beginning before it.
      if (c[axis] < 0 && !named && !one)
        throw Wrong(t.name + ": a tile begins before it, at " + std::to_string(c[axis]));
      in = in && !(i.access.masked[axis] && (c[axis] < 0 || c[axis] >= extents[axis]));
    }
    return in;
  }
  std::vector<double>& stage(const Inst& i, const Step& s) {
    const Tensor& t = p_.tensor(i.access.tensor);
    const std::int64_t n = ((s.trip + i.access.slot) % s.ring + s.ring) % s.ring;
    auto& v = lds_[{t.id, n}];
    if (v.empty()) v.assign(65536, nan);
    return v;
  }

  void now_or_later(std::deque<std::function<void()>>& queue, std::function<void()> f) {
    queue.push_back(std::move(f));
    // Late: as far as waits allow. Early: at once. In between: at random, in order.
    if (mode_ == 1 || (mode_ == 2 && random_() % 3 == 0))
      while (!queue.empty()) queue.front()(), queue.pop_front();
  }

  void step(Wave& w, const Step& s) {
    const Inst& i = *s.inst;
    const int first = w.number * lanes();
    if (i.waves.count > 0) {
      if (w.number < i.waves.first || w.number >= i.waves.first + i.waves.count) return;
    }
    switch (i.kind) {
    case InstKind::wait:
      if (i.vm >= 0)
        while (static_cast<int>(w.vm.size()) > i.vm) w.vm.front()(), w.vm.pop_front();
      if (i.lgkm >= 0)
        while (static_cast<int>(w.lgkm.size()) > i.lgkm) w.lgkm.front()(), w.lgkm.pop_front();
      return;
    case InstKind::barrier: ++w.barriers; return;
    case InstKind::priority:
    case InstKind::check:
    case InstKind::print: return;
    case InstKind::release:
      w.released.insert(w.released.end(), w.stored.begin(), w.stored.end());
      for (const auto& x : w.stored) own_[{x.tensor, x.at}] = {x.value, w.number, w.barriers};
      w.stored.clear();
      if (i.system && w.peer_loads == 0) w.told_peers = w.barriers;
      return;
    case InstKind::meet: { // on every device at the same place, this one's; work-items of the first wave
      if (w.number != 0) return;
      std::vector<std::int64_t> mine;
      for (const GridAxis& g : p_.grid()) mine.push_back(number(g.symbol));
      mine.push_back(number(p_.together().rank));
      for (int l = 0; l < lanes(); ++l)
        if (coordinate(i, s, first + l, 0) != mine || i.access.tensor != p_.together().flags.at(0))
          throw Wrong("a flag of another workgroup or device");
      for (Wave& other : *waves_) {
        if (other.told_peers < 0 || other.told_peers >= w.barriers)
          throw Wrong("a device is told that it may go on before all waves are through");
        other.owes_meeting = false;
        other.told_peers = -1;
      }
      met_ = w.barriers;
      return;
    }
    case InstKind::ticket: {
      auto* v = &reg(w, i.def, s);
      const Ticket& k = p_.tickets()[static_cast<std::size_t>(i.ticket)];
      if (i.access.tensor != k.tensor) throw Wrong("a ticket of another counter");
      const std::vector<std::int64_t> at_group = group(k.axis);
      for (int l = 0; l < lanes(); ++l) {
        at(*v, i.def, l, 0) = nan;
        if (!acts(i, first + l)) continue;
        if (coordinate(i, s, first + l, 0) != at_group) throw Wrong("a ticket of another group");
        if (++draws_ > 1) throw Wrong("two numbers are drawn");
        publish();
      }
      now_or_later(w.vm, [this, v, &i, first] {
        for (int l = 0; l < lanes(); ++l)
          if (acts(i, first + l))
            at(*v, i.def, l, 0) = static_cast<double>(tickets_[static_cast<std::size_t>(i.ticket)]);
      });
      return;
    }
    case InstKind::await:
    case InstKind::signal: {
      const Turn& k = p_.turns()[static_cast<std::size_t>(i.turn)];
      if (i.access.tensor != k.tensor) throw Wrong("a turn of another counter");
      const std::int64_t mine = number(p_.axis(k.axis).symbol);
      for (int l = 0; l < lanes(); ++l) {
        if (!acts(i, first + l)) continue;
        if (coordinate(i, s, first + l, 0) != group(k.axis)) throw Wrong("a turn of another group");
        std::int64_t& now = counters_[{k.tensor, group(k.axis)}];
        if (i.kind == InstKind::await) {
          if (now != mine || !waited_.emplace(i.turn, w.barriers).second)
            throw Wrong("a workgroup waits for ever");
        } else {
          const auto waited = waited_.find(i.turn);
          if (waited == waited_.end() || waited->second >= w.barriers || !passed_.insert(i.turn).second)
            throw Wrong("a turn is passed on by a workgroup that does not have it");
          now = mine + 1 == number(p_.count(k.axis)) ? 0 : mine + 1;
          publish();
        }
      }
      return;
    }
    case InstKind::acquire:
      if (i.system) {
        if (met_ < 0 || met_ >= w.barriers) throw Wrong("a wave goes on before the devices have met");
        w.knows_peers = true;
        return;
      }
      if (i.turn >= 0) {
        const auto waited = waited_.find(i.turn);
        if (waited == waited_.end() || waited->second >= w.barriers)
          throw Wrong("a wave goes on before its workgroup's turn");
        w.acquired = true;
        return;
      }
      for (int l = 0; l < lanes(); ++l)
        if (at(reg(w, i.uses[0], s), i.uses[0], l, 0) !=
            static_cast<double>(tickets_[static_cast<std::size_t>(i.ticket)]))
          throw Wrong("a work-item has another number than its workgroup drew");
      w.acquired = true;
      return;
    case InstKind::fill: {
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l)
        for (int e = 0; e < i.def.count; ++e) at(v, i.def, l, e) = i.value;
      return;
    }
    case InstKind::load: {
      const Tensor& t = p_.tensor(i.access.tensor);
      auto* v = &reg(w, i.def, s);
      const Memory* m = &memory_[t.memory()];
      const bool of_peer = p_.tensor(t.memory()).device >= 0;
      if (of_peer) {
        if (!w.knows_peers) throw Wrong(t.name + ": read before its device has begun");
        ++w.peer_loads, w.told_peers = -1, w.owes_meeting = true;
      }
      std::vector<std::pair<std::int64_t, double>> from;
      for (int l = 0; l < lanes(); ++l)
        for (std::size_t e = 0; e < i.access.elements.size(); ++e) {
          const auto c = where(w, i, s, l, e);
          std::int64_t n = -1;
          if (inside(i, t, c)) {
            const auto seen = t.space == Space::window ? looked(t, c) : std::optional(c);
            n = seen ? place(p_.tensor(t.memory()), *seen) : -1;
          }
          const bool there = n >= 0 && n < static_cast<std::int64_t>(m->value.size());
          // Loads ahead are of trips that there need not be: their descriptor ends with the tensor. So it may elsewhere, and that it
          // does is for the emulator to see.
          if (!there && n >= 0 && i.ahead == 0 && !ends(i) &&
              std::find(i.access.masked.begin(), i.access.masked.end(), true) == i.access.masked.end())
            throw Wrong(t.name + ": read outside, and nothing masks it");
          const bool of_others = t.output && !t.in_place;
          const double seen = !there       ? 0
                              : !of_others ? m->value[static_cast<std::size_t>(n)]
                              : w.acquired ? seen_by(w, t.id, static_cast<std::size_t>(n))
                                           : nan;
          from.emplace_back(n, seen);
          at(*v, i.def, l, static_cast<int>(e)) = nan;
        }
      const auto land = [this, v, m, from, number = w.number, &i, &w,
                         of_peer] { // what another wave has written by then
        w.peer_loads -= of_peer;
        for (int l = 0; l < lanes(); ++l)
          for (int e = 0; e < i.def.count; ++e) {
            const auto& [n, read] = from[static_cast<std::size_t>(l * i.def.count + e)];
            const auto by = m->writer.find(static_cast<std::size_t>(n));
            at(*v, i.def, l, e) = by == m->writer.end() || by->second == number ? read : m->value[by->first];
          }
      };
      if (i.direct) {
        land(); // on its way to LDS: what is late is the write
      } else {
        now_or_later(w.vm, land);
      }
      return;
    }
    case InstKind::store: {
      const Tensor& t = p_.tensor(i.access.tensor);
      auto& v = reg(w, i.uses[0], s);
      std::vector<Wave::Stored> landed;
      for (int l = 0; l < lanes(); ++l) {
        if (!acts(i, first + l)) continue;
        for (std::size_t e = 0; e < i.access.elements.size(); ++e) {
          const auto c = where(w, i, s, l, e);
          if (!inside(i, t, c)) continue;
          const std::int64_t to = place(t, c);
          Memory& m = memory_[t.id];
          if (to < 0 || to >= static_cast<std::int64_t>(m.value.size())) continue; // the descriptor
          double& there = m.value[static_cast<std::size_t>(to)];
          if (t.in_place) m.writer[static_cast<std::size_t>(to)] = w.number;
          landed.push_back({t.id, static_cast<std::size_t>(to), at(v, i.uses[0], l, static_cast<int>(e))});
          const double x = at(v, i.uses[0], l, static_cast<int>(e));
          if (i.combine) { // to what other workgroups added before; the first finds 0
            there = (m.written[static_cast<std::size_t>(to)] == 0 ? 0 : there) + x;
            if (t.element == Element::i32) there = wrapped(there);
            m.written[static_cast<std::size_t>(to)] = 1;
          } else {
            there = x;
            ++m.written[static_cast<std::size_t>(to)];
          }
        }
      }
      now_or_later(w.vm, [&w, landed] { w.stored.insert(w.stored.end(), landed.begin(), landed.end()); });
      return;
    }
    case InstKind::lds_write: {
      const Tensor& t = p_.tensor(i.access.tensor);
      auto& v = reg(w, i.uses[0], s);
      auto* to = &stage(i, s);
      std::vector<std::pair<std::int64_t, double>> data;
      for (int l = 0; l < lanes(); ++l) {
        if (!acts(i, first + l)) continue;
        for (std::size_t e = 0; e < i.access.elements.size(); ++e) {
          const std::vector<std::int64_t> c =
              i.combine ? this->where(w, i, s, l, e) : coordinate(i, s, first + l, e);
          if (i.combine && (c[0] < 0 || c[0] >= t.shape[0].constant()->value()))
            continue; // no element of the tile
          const std::int64_t where = place(t, c);
          if (where < 0 || where >= 65536) throw Wrong(t.name + ": write outside");
          data.emplace_back(where, at(v, i.uses[0], l, static_cast<int>(e)));
        }
      }
      now_or_later(i.direct ? w.vm : w.lgkm, [to, data, adds = i.combine.has_value()] {
        for (const auto& [where, x] : data) {
          double& there = (*to)[static_cast<std::size_t>(where)];
          there = adds ? there + x : x;
        }
      });
      return;
    }
    case InstKind::lds_read: {
      const Tensor& t = p_.tensor(i.access.tensor);
      auto* v = &reg(w, i.def, s);
      auto* from = &stage(i, s);
      std::vector<std::int64_t> where;
      for (int l = 0; l < lanes(); ++l)
        for (std::size_t e = 0; e < i.access.elements.size(); ++e) {
          where.push_back(place(t, coordinate(i, s, first + l, e)));
          if (where.back() < 0 || where.back() >= 65536) throw Wrong(t.name + ": read outside");
          at(*v, i.def, l, static_cast<int>(e)) = nan;
        }
      for (int n = lds_reads(i, code_.registers); n > 1; --n) now_or_later(w.lgkm, [] {});
      now_or_later(w.lgkm, [this, v, from, where, &i] {
        for (int l = 0; l < lanes(); ++l)
          for (int e = 0; e < i.def.count; ++e)
            at(*v, i.def, l, e) =
                (*from)[static_cast<std::size_t>(where[static_cast<std::size_t>(l * i.def.count + e)])];
      });
      return;
    }
    case InstKind::mma: {
      // D[r][c] += sum over q of X[r][q] Y[c][q]: row r = lane % m, q by lane group and value, as the ISA guide draws it.
      const codegen::Mma& m = *i.atom->mma;
      const int values = m.a_values(), results = m.c_values(), rows = m.m;
      // An operand may be in halves: the first ones are the first values of each lane. Scales stand after both operands: a lane has
      // that of block number lane / m of its row. Of 8 bits its own values are of two other blocks, 16 and 16 of them.
      const std::size_t parts = i.uses.size() / 2 - (m.scaled ? 1 : 0);
      const bool apart = m.scaled && bits(m.a_element) == 8;
      const int half = values / static_cast<int>(parts);
      auto& d = reg(w, i.def, s);
      const auto value_of = [&](std::size_t operand, int lane, int v) -> double {
        const Reg& from = i.uses[operand * parts + static_cast<std::size_t>(v / half)];
        return at(reg(w, from, s), from, lane, v % half);
      };
      std::vector<double> a(static_cast<std::size_t>(rows * m.k)), b(a.size());
      for (int l = 0; l < lanes(); ++l)
        for (int v = 0; v < values; ++v) {
          const int k = apart ? 64 * (v / 16) + 16 * (l / rows) + v % 16 : l / rows * values + v;
          const auto q = static_cast<std::size_t>(l % rows * m.k + k);
          const auto scale = [&](std::size_t operand) {
            const Reg& from = i.uses[std::min(2 * parts + operand, i.uses.size() - 1)];
            return m.scaled ? at(reg(w, from, s), from, l % rows + rows * (k / 32), 0) : 1;
          };
          a[q] = value_of(0, l, v) * scale(0);
          b[q] = value_of(1, l, v) * scale(1);
        }
      for (int l = 0; l < lanes(); ++l)
        for (int v = 0; v < results; ++v) {
          const int column = l % rows, // f64: four rows of four lanes each, one after the other
              row = m.c_element == codegen::Element::f64
                        ? l / rows + 4 * v
                        : 4 * (l / rows) + v % 4 + 4 * (lanes() / rows) * (v / 4);
          double sum = at(d, i.def, l, v);
          for (int q = 0; q < m.k; ++q)
            sum += a[static_cast<std::size_t>(row * m.k + q)] * b[static_cast<std::size_t>(column * m.k + q)];
          at(d, i.def, l, v) = sum;
        }
      return;
    }
    case InstKind::map: {
      const auto n = static_cast<std::size_t>(i.def.count);
      std::vector<double> out;
      for (int l = 0; l < lanes(); ++l)
        for (std::size_t e = 0; e < n; ++e) {
          std::vector<double> operand;
          for (std::size_t k = 0; k < i.uses.size() / n; ++k)
            operand.push_back(at(reg(w, i.uses[k * n + e], s), i.uses[k * n + e], l, 0));
          std::map<AtomId, std::int64_t> bound;
          for (std::size_t axis = 0; e < i.position.size() && axis < i.position[e].size(); ++axis)
            bound[*p_.symbols()
                       .symbol(Program::position_name(static_cast<int>(axis)), {Int(0), std::nullopt})
                       .as_atom()] = along(i.access.threads, first + l, axis) + i.position[e][axis];
          for (const CodeRegion& r : code_.regions)
            if (r.is_loop) bound[*r.trip.as_atom()] = s.trip;
          for (const Nest& nest : nests_)
            if (nest.op < i.op && i.op <= nest.last)
              bound[*nest.t.as_atom()] =
                  evaluate(nest.t, tiles_[static_cast<std::size_t>(s.numbers)]).value();
          const double made = value(i.map, bound, operand);
          const bool in_i32 = code_.registers[static_cast<std::size_t>(i.def.id)].element == Element::i32;
          out.push_back(in_i32 ? wrapped(made) : made);
        }
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l)
        for (std::size_t e = 0; e < n; ++e)
          at(v, i.def, l, static_cast<int>(e)) = out[static_cast<std::size_t>(l) * n + e];
      return;
    }
    case InstKind::fold_values: {
      std::vector<double> out;
      for (int l = 0; l < lanes(); ++l) {
        const auto element = [&](std::size_t e) {
          return element_of(i.monoid, at(reg(w, i.uses[e], s), i.uses[e], l, 0));
        };
        double x = empty_element(i.monoid);
        const int before = (w.number * lanes() + l) / std::max(i.lane_mask, 1); // with a mask: only those
        for (std::size_t e = 0; e < i.uses.size(); ++e)
          if (i.lane_mask == 0 || static_cast<int>(e) < before)
            x = e == 0 ? element(0) : combine(i.monoid, x, element(e));
        out.push_back(x);
      }
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l) at(v, i.def, l, 0) = out[static_cast<std::size_t>(l)];
      return;
    }
    case InstKind::exchange_lanes: {
      const int unit = i.def.count / 2;
      std::vector<double> out;
      for (int l = 0; l < lanes(); ++l)
        for (int e = 0; e < 2 * unit; ++e) {
          const bool upper = e >= unit, set = (l & i.lane_mask) != 0;
          const int from = upper == set ? l : l ^ i.lane_mask;
          const Reg& r = i.uses[set ? 1 : 0];
          out.push_back(at(reg(w, r, s), r, from, e % unit));
        }
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l)
        for (int e = 0; e < 2 * unit; ++e)
          at(v, i.def, l, e) = out[static_cast<std::size_t>(l * 2 * unit + e)];
      return;
    }
    case InstKind::top: { // sorts them all
      std::vector<double> out;
      for (int l = 0; l < lanes(); ++l) {
        std::vector<std::pair<double, int>> all; // (-element, place)
        for (int from = 0; from < lanes(); ++from)
          for (std::size_t e = 0; ((from ^ l) & ~i.lane_mask) == 0 && e < i.uses.size(); ++e) {
            int place = 0;
            for (std::size_t a = 0; a < i.access.extents.size(); ++a)
              place = i.access.extents[a] * place + i.position[e][a] +
                      thread_coordinates(i.access.threads, a)[static_cast<std::size_t>(first + from)];
            const double x = at(reg(w, i.uses[e], s), i.uses[e], from, 0);
            all.emplace_back(std::isnan(x) ? INFINITY : -x, place);
          }
        std::sort(all.begin(), all.end());
        const auto& [element, place] = all.at(static_cast<std::size_t>(i.rank));
        out.push_back(i.place ? place : -element);
      }
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l) at(v, i.def, l, 0) = out[static_cast<std::size_t>(l)];
      return;
    }
    case InstKind::fold_lanes: {
      std::vector<double> out;
      auto &own = reg(w, i.uses.front(), s), &x = reg(w, i.uses.back(), s);
      for (int l = 0; l < lanes(); ++l) {
        const double mine = at(own, i.uses.front(), l, 0);
        out.push_back(i.uses.size() == 2 && (l & i.lane_mask) == 0
                          ? mine
                          : combine(i.monoid, mine, at(x, i.uses.back(), l ^ i.lane_mask, 0)));
      }
      auto& v = reg(w, i.def, s);
      for (int l = 0; l < lanes(); ++l) at(v, i.def, l, 0) = out[static_cast<std::size_t>(l)];
      return;
    }
    }
  }

  // The workgroup's numbers along the other axes.
  std::vector<std::int64_t> group(int axis) const {
    std::vector<std::int64_t> out;
    for (const GridAxis& g : p_.grid())
      if (g.axis != axis) out.push_back(number(g.symbol));
    if (out.empty()) out.push_back(0);
    return out;
  }
  // Of an output: what this workgroup's waves released before a barrier, and else what others did.
  double seen_by(const Wave& w, int tensor, std::size_t at) {
    const auto own = own_.find({tensor, at});
    const bool there =
        own != own_.end() && (own->second.wave == w.number || own->second.barriers < w.barriers);
    return there ? own->second.value : memory_[tensor].shared[at];
  }
  // Who comes later sees what is released by now.
  void publish() {
    for (const Wave& wave : *waves_)
      for (const auto& x : wave.released) memory_[x.tensor].shared[x.at] = x.value;
  }

  const Step* origin_of_ = nullptr; ///< of which step `origin_` and `thread_` are
  int thread_of_ = -1;
  std::vector<std::int64_t> origin_, thread_;
  const Code& code_;
  const Program& p_;
  ThreadCoordinates coordinates_{p_};
  std::map<const Inst*, bool> ends_; ///< whether the descriptor does
  std::mt19937_64 random_;
  int mode_;
  Assignment at_;
  std::vector<Assignment> tiles_; ///< the numbers of the workgroup's tiles, and of trips around loops
  int begun_ = 0;                 ///< of its tiles
  std::vector<Nest> nests_ = nests_of(p_);
  mutable std::map<int, Modes> modes_;
  mutable std::map<int, std::vector<std::int64_t>> shapes_;
  std::map<Sym, std::vector<AtomId>> symbols_;
  std::map<std::pair<int, std::vector<std::int64_t>>, double> folds_; ///< and sums, of the specification
  std::map<int, Depends> depends_;                                    ///< of its expressions
  std::map<int, Memory> memory_;
  std::map<std::pair<int, std::vector<std::int64_t>>, std::int64_t>
      counters_;                      ///< of tickets and turns, by group
  std::vector<std::int64_t> tickets_; ///< the workgroup's numbers
  std::vector<Wave>* waves_ = nullptr;
  int met_ = -1;              ///< the devices: after how many barriers
  int draws_ = 0;             ///< of the workgroup, of one ticket
  std::map<int, int> waited_; ///< turns of the workgroup: after how many barriers it waited
  std::set<int> passed_;      ///< turns
  struct Own {
    double value;
    int wave, barriers; ///< who released it, and after how many
  };
  std::map<std::pair<int, std::size_t>, Own> own_; ///< by tensor and place
  std::map<std::pair<int, std::int64_t>, std::vector<double>> lds_;
};

} // namespace

std::string run_tokens(const Code& code, const Sizes& sizes, std::uint64_t seed) {
  try {
    Machine(code, sizes, seed).run();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

} // namespace inlay::mutate
