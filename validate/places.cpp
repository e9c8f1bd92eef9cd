#include "places.h"

#include <stdexcept>

namespace inlay::kernels::validate {

const std::vector<std::vector<Places::Digit>>& Places::digits(const codegen::Tensor& t) {
  auto& out = digits_[t.id];
  if (!out.empty()) return out;
  const SymLayout& inner = t.place.inner();
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    const SymLayout mode = t.shape.size() == 1 ? inner : inner.mode(axis);
    out.emplace_back();
    for (const auto& m : mode.modes())
      out.back().push_back(
          {evaluate(m.extent, *numbers_).value(), evaluate(m.stride.scale, *numbers_).value()});
  }
  return out;
}

std::int64_t Places::of(const codegen::Tensor& t, std::span<const std::int64_t> coordinate) {
  const auto& axes = digits(t);
  std::int64_t sum = evaluate(t.place.offset(), *numbers_).value();
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    std::int64_t rest = coordinate[axis];
    for (std::size_t k = 0; k < axes[axis].size(); ++k) {
      const auto [extent, stride] = axes[axis][k];
      const bool last = k + 1 == axes[axis].size();
      const std::int64_t digit = last ? rest : ((rest % extent) + extent) % extent;
      sum += digit * stride;
      if (!last) rest = (rest - digit) / extent;
    }
  }
  const Swizzle* s = t.place.swizzle();
  if (s == nullptr) throw std::invalid_argument("the place of " + t.name + " is no swizzle of a layout");
  if (s->is_identity()) return sum;
  const auto field = [&](int at) { return (sum >> at) & ((std::int64_t{1} << s->bits()) - 1); };
  const int base = s->base(), shift = s->shift();
  return shift >= 0 ? sum ^ (field(base + shift) << base) : sum ^ (field(base) << (base - shift));
}

std::optional<std::vector<std::int64_t>> Places::seen(const codegen::Tensor& window,
                                                      std::span<const std::int64_t> coordinate) const {
  const auto number = [&](Sym s) { return evaluate(s, *numbers_).value(); };
  std::vector<std::int64_t> at;
  for (const Sym& o : window.look_origin) at.push_back(number(o));
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    std::int64_t rest = coordinate[axis];
    const auto& looks = window.looks[axis].looks;
    for (std::size_t d = 0; d < looks.size(); ++d) {
      const std::int64_t extent = number(looks[d].extent),
                         digit = d + 1 == looks.size() ? rest : ((rest % extent) + extent) % extent;
      at[static_cast<std::size_t>(looks[d].axis)] += number(looks[d].step) * digit;
      if (d + 1 < looks.size()) rest = (rest - digit) / extent;
    }
  }
  const codegen::Tensor& of = program_->tensor(window.of);
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    if (at[axis] < 0 || at[axis] >= number(of.shape[axis])) return std::nullopt;
  return at;
}

Sym Places::formula(const codegen::Tensor& t, std::span<const Sym> coordinate, std::vector<Sym>* quotients) {
  const Swizzle* s = t.place.swizzle();
  if (s == nullptr || !s->is_identity())
    throw std::invalid_argument("the place of " + t.name + " is swizzled, and no sum of digits");
  const SymLayout& inner = t.place.inner();
  Sym sum = t.place.offset();
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    const SymLayout mode = t.shape.size() == 1 ? inner : inner.mode(axis);
    Sym rest = coordinate[axis];
    for (std::size_t k = 0; k < mode.modes().size(); ++k) {
      const auto& m = mode.modes()[k];
      const bool last = k + 1 == mode.modes().size();
      const Sym next = last ? Sym(0) : floor_div(rest, m.extent);
      if (quotients != nullptr && !last) quotients->push_back(next);
      sum += (last ? rest : rest - m.extent * next) * m.stride.scale;
      rest = next;
    }
  }
  return sum;
}

std::vector<Sym> Places::seen_formula(const codegen::Tensor& window, std::span<const Sym> coordinate,
                                      std::vector<Sym>* quotients) {
  std::vector<Sym> at = window.look_origin;
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    Sym rest = coordinate[axis];
    const auto& looks = window.looks[axis].looks;
    for (std::size_t d = 0; d < looks.size(); ++d) {
      const bool last = d + 1 == looks.size();
      const Sym next = last ? Sym(0) : floor_div(rest, looks[d].extent);
      if (quotients != nullptr && !last) quotients->push_back(next);
      at[static_cast<std::size_t>(looks[d].axis)] +=
          looks[d].step * (last ? rest : rest - looks[d].extent * next);
      rest = next;
    }
  }
  return at;
}

std::vector<std::int64_t> Places::along(const Layout& threads, int count, std::size_t axis) {
  std::vector<std::int64_t> out;
  for (int thread = 0; thread < count; ++thread) {
    std::int64_t rest = thread, sum = 0;
    for (const Mode& m : threads.modes()) {
      const std::int64_t extent = m.extent.value();
      if (m.stride.is_basis() && m.stride.axis[0] == axis) sum += rest % extent * m.stride.scale.value();
      rest /= extent;
    }
    out.push_back(sum);
  }
  return out;
}

} // namespace inlay::kernels::validate
