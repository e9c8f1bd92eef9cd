// Options, forms and programs that kernels of rows share.
#include "row.h"

#include "../data.h"
#include "../least_number.h"

#include <bit>

namespace inlay::kernels {

void check_rows(const std::string& kernel, const RowSpec& s) {
  const auto refuse = [&](const std::string& field, const std::string& value, const std::string& hint) {
    throw std::invalid_argument(
        fmt::format("{}: {} = {} is not supported\n  hint   {}", kernel, field, value, hint));
  };
  if (s.type != Element::f16 && s.type != Element::bf16 && s.type != Element::f32)
    refuse("type", to_string(s.type), "f16, bf16 or f32; the arithmetic is f32 in any case");
  if (s.threads < 64 || s.threads > 1024 || !std::has_single_bit(static_cast<unsigned>(s.threads)))
    refuse("threads", std::to_string(s.threads), "64, 128, 256, 512 or 1024");
  const int v = s.vector_length();
  if (v < 1 || v > 16 / bytes_of(s.type) || !std::has_single_bit(static_cast<unsigned>(v)))
    refuse("vector", std::to_string(s.vector), "1, 2, 4, and 8 elements of 16 bits; 0 for 16 bytes");
  if (s.vectors < 1 || s.vectors * v > 128)
    refuse("vectors", std::to_string(s.vectors), fmt::format("1 to {}: 128 elements", 128 / v));
  if (!(s.epsilon >= 0) || std::isinf(s.epsilon))
    refuse("epsilon", std::to_string(s.epsilon), "a number that is not negative");
  const codegen::Target& target = codegen::Target::named(s.arch);
  if (s.quantised && *s.quantised != Element::i8 &&
      (!target.has_fp8() || *s.quantised != codegen::fp8(target)))
    refuse("quantised", to_string(*s.quantised),
           target.has_fp8() ? "i8, or " + to_string(codegen::fp8(target)) + " on " + s.arch
                            : "i8: " + s.arch + " has no float of 8 bits");
  if (s.in_place && s.quantised && !s.residual)
    refuse("in_place", "yes", "a residual, which H replaces; a Y of 8 bits cannot take the place of X");
  if (s.streamed && (s.in_place || s.residual || s.quantised))
    refuse("streamed", "yes", "without in_place, residual and quantised: those keep the row in registers");
  if (s.in_place && kernel == "silu_and_mul")
    refuse("in_place", "yes", "another buffer: Y is half as long as X");
}

std::vector<Flags> row_forms(const RowAsked& asked, const Flags& fixed, bool folds) {
  std::vector<Flags> all;
  const auto given = [&](const char* option, std::int64_t otherwise) {
    return fixed.contains(option) ? std::stoll(fixed.at(option)) : otherwise;
  };
  int vector = 128 / codegen::bits(asked.type);
  while (asked.n % vector != 0) vector /= 2;
  for (const std::int64_t threads : {64, 128, 256, 512, 1024}) {
    if (given("threads", threads) != threads && threads != 256) continue;
    const auto add = [&](std::int64_t vectors, int of_vector, bool whole) {
      const std::int64_t moved = of_vector == 128 / codegen::bits(asked.type) ? 0 : of_vector;
      Flags one = {{"threads", std::to_string(given("threads", threads))},
                   {"vectors", std::to_string(given("vectors", vectors))},
                   {"vector", std::to_string(given("vector", moved))}};
      if (folds) one["stream"] = fixed.contains("stream") ? fixed.at("stream") : whole ? "no" : "yes";
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
    };
    const std::int64_t of_row = up(asked.n, given("threads", threads) * vector);
    for (const std::int64_t vectors : {of_row, std::int64_t{2}, std::int64_t{4}}) {
      const bool whole = vectors >= of_row;
      if (vectors * vector > 128 || (vectors != of_row && whole == folds)) continue;
      add(vectors, vector, whole);
    }
    // Where every row has a unit for itself, twice as many lanes with half a vector each are done sooner.
    const int half = vector / 2;
    if (half >= 2 && folds && asked.m <= codegen::Target::named(asked.arch).compute_units &&
        up(asked.n, threads * half) == 1 && of_row == 1)
      add(1, half, true);
  }
  return all;
}

double row_clocks(const RowAsked& asked, bool folds, double moved_of) {
  if (folds && !asked.streamed && asked.n > asked.capacity())
    throw std::invalid_argument("a row is longer than the capacity");
  // A workgroup's latencies (launch, load, folds across waves), and instructions of memory of those that share a unit.
  const double trips = folds ? static_cast<double>(up(asked.n, asked.capacity())) : 1;
  const std::int64_t groups = folds ? asked.m : asked.m * up(asked.n, asked.capacity());
  const int waves = asked.threads / 64, resident = std::clamp(16 / waves, 1, 16);
  const double moved = waves * asked.vectors * 16.0 * moved_of;
  const double alone = 2200 + (folds && waves > 1 ? 250 : 0) + (trips - 1) * 1000, busy = trips * moved;
  return rounds(asked.arch, groups, resident) * std::max(alone + busy, resident * busy);
}

Row::Row(codegen::Program& k, const RowSpec& spec, Sym number, Sym columns)
    : k_(k), number_(number), columns_(columns), capacity_(spec.capacity()), vector_(spec.vector_length()),
      streamed_(spec.streamed), tv_(codegen::rows_tv(1, capacity_, vector_, spec.threads)) {}

double additions(const RowSpec& spec, std::int64_t n) {
  const auto trips = spec.streamed ? static_cast<double>(n) / spec.capacity() + 1 : 0;
  return spec.vectors * spec.vector_length() + 6 + spec.threads / 64 + trips;
}

codegen::View Row::part_of(const RowOf& of, Sym part) const {
  const Sym row = of.tensor.shape[0] == Sym(1) ? Sym(0) : number_;
  if (of.half < 0) return k_.tile(of.tensor, {1, capacity_}, {row, part});
  return k_.tile(of.tensor, {1, 1, capacity_}, {row, of.half, part}).keep({0, 2});
}

std::vector<Fragment> Row::loaded(const std::vector<RowOf>& of, const std::vector<Fragment>& with, Sym part) {
  std::vector<Fragment> out;
  for (const RowOf& o : of) {
    const std::pair key(o.tensor.id, o.half);
    if (const auto kept = kept_.find(key); kept != kept_.end()) {
      out.push_back(kept->second);
      continue;
    }
    out.push_back(k_.load(part_of(o, part), tv_, std::min(vector_, 128 / codegen::bits(o.tensor.element))));
    if (!streamed_) kept_.emplace(key, out.back());
  }
  out.insert(out.end(), with.begin(), with.end());
  return out;
}

Fragment Row::fold(Monoid monoid, const std::vector<RowOf>& of, const std::vector<Fragment>& with,
                   const Body& body, Where where) {
  const double beyond = codegen::empty_element(monoid);
  const auto part = [&](Sym t) {
    const Sym column = streamed_ ? capacity_ * t + k_.position(1) : k_.position(1);
    const Fragment x = k_.map(
        loaded(of, with, t),
        [&](const Exprs& a) { return inside(column, columns_, body(a, column), beyond); }, Element::f32,
        where);
    return k_.fold(monoid, x, 1, where);
  };
  if (!streamed_) return part(Sym(0));
  const Fragment all = k_.full(beyond, of_row(), {1, 1}, where);
  k_.loop(
      columns_, capacity_, {.distance = 0, .ring = 1},
      [&](Sym t) {
        k_.update(
            all, {part(t)},
            [&](const Exprs& a) {
              return monoid == Monoid::sum   ? a[0] + a[1]
                     : monoid == Monoid::max ? max(a[0], a[1])
                                             : min(a[0], a[1]);
            },
            where);
      },
      where);
  return all;
}

void Row::store(const Tensor& to, const std::vector<RowOf>& of, const std::vector<Fragment>& with,
                const Body& body, Where where) {
  const int most = std::min(vector_, 128 / codegen::bits(to.element));
  const auto part = [&](Sym t) {
    const Sym column = streamed_ ? capacity_ * t + k_.position(1) : k_.position(1);
    k_.store(k_.map(
                 loaded(of, with, t), [&](const Exprs& a) { return body(a, column); }, Element::f32, where),
             part_of(to, t), most, where);
  };
  if (!streamed_) return part(Sym(0));
  k_.loop(columns_, capacity_, {.distance = 0, .ring = 1}, part, where);
}

Fragment Row::load(const Tensor& of, Where where) {
  return k_.load(k_.tile(of, {1, 1}, {number_, 0}), of_row(), 1, where);
}
void Row::store(const Fragment& value, const Tensor& to, Where where) {
  k_.store(value, k_.tile(to, {1, 1}, {number_, 0}), 1, where);
}

std::pair<Fragment, Fragment> Row::exponentials(const Tensor& of) {
  const auto from = [](const Exprs& a) { return exp(a[0] - a[1]); };
  const auto number = [](const Exprs& a) { return least_number(a[0]); };
  if (!streamed_) {
    const Fragment most = fold(Monoid::max, {of}, {}, [](const Exprs& a, Sym) { return a[0]; });
    return {most, fold(Monoid::sum, {of}, {most}, [&](const Exprs& a, Sym) { return from(a); })};
  }
  // The sum is scaled by the maximum so far, and the first parts may be minus infinity all of them.
  const Fragment m = k_.full(-INFINITY, of_row(), {1, 1}), l = k_.zeros(Element::f32, of_row(), {1, 1});
  k_.loop(columns_, capacity_, {.distance = 0, .ring = 1}, [&](Sym t) {
    const Fragment x = k_.fill(loaded({of}, {}, t)[0], 1, capacity_ * t, columns_, -INFINITY);
    const Fragment most = k_.map(
        {m, k_.fold(Monoid::max, x, 1)}, [](const Exprs& a) { return max(a[0], a[1]); }, Element::f32);
    const Fragment least = k_.map({most}, number, Element::f32),
                   scale = k_.map(
                       {m, least},
                       [&](const Exprs&a) {
                         return from({number(a), a[1]});
                       },
                       Element::f32),
                   sum = k_.fold(Monoid::sum, k_.map({x, least}, from, Element::f32), 1);
    k_.update(l, {scale, sum}, [](const Exprs& a) { return a[0] * a[1] + a[2]; });
    k_.update(m, {most}, [](const Exprs& a) { return a[1]; });
  });
  return {k_.map({m}, number, Element::f32), l};
}

} // namespace inlay::kernels
