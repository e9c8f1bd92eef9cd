/// `Operation`: what a running operation knows about itself, for errors and obligations.
///
/// The bodies in this folder are the algebra: one template per operation over the integer domain (`Int`,
/// `BigInt`, `Sym`), used by the functions of ops/ and by constant expressions (literal.h). A body asks its
/// domain; a precondition goes through `require_divides` or `require_le`, which does nothing on `yes`, throws
/// a `LayoutError` with the operands on `no`, and records an `Obligation` on `unknown`. Operands are
/// remembered by address and become text only then.
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/prover.h>

#include <array>
#include <string>

namespace inlay {

class Operation {
public:
  constexpr explicit Operation(const char* name) : name_(name) {}
  /// A trial run inside an error report: it explains nothing, so that explanations do not nest.
  [[nodiscard]] static constexpr Operation trial() { return Operation(nullptr); }
  [[nodiscard]] constexpr bool is_trial() const { return name_ == nullptr; }
  /// The same operation with one operand more, of at most four. Requires: `value` outlives the operation.
  template <class X>
  [[nodiscard]] constexpr Operation with(const char* name, const X& value) const {
    Operation o = *this;
    o.operands_.at(o.count_++) = {
        name, &value, [](const void* p) -> std::string { return to_string(*static_cast<const X*>(p)); }};
    return o;
  }

  /// Throws the `LayoutError` with these facts. In a constant expression: the compile error that shows the
  /// call.
  [[noreturn]] void fail(const char* code, const char* summary, std::string where = "", std::string hint = "",
                         std::vector<std::pair<std::string, std::string>> numbers = {}) const;
  void oblige(ClaimKind kind, Sym a, Sym b, std::string where) const;

  /// a divides b, or `code: summary`. `where()` is text and called only when needed.
  template <class S, class Where>
  constexpr void require_divides(const S& a, const S& b, const char* code, const char* summary,
                                 Where where) const {
    require(divides(a, b), ClaimKind::divides, a, b, code, summary, where);
  }
  /// a <= b, or `code: summary`.
  template <class S, class Where>
  constexpr void require_le(const S& a, const S& b, const char* code, const char* summary,
                            Where where) const {
    require(le(a, b), ClaimKind::less_equal, a, b, code, summary, where);
  }

private:
  template <class S, class Where>
  constexpr void require(Truth t, ClaimKind kind, const S& a, const S& b, const char* code,
                         const char* summary, Where where) const {
    if (t == Truth::yes) return;
    if (t == Truth::no) fail(code, summary, where());
    if constexpr (std::same_as<S, Sym>) oblige(kind, a, b, where());
  }

  struct Operand {
    const char* name = nullptr;
    const void* value = nullptr;
    std::string (*text)(const void*) = nullptr;
  };
  const char* name_;
  std::array<Operand, 4> operands_;
  std::size_t count_ = 0;
};

namespace detail {
/// The error of a composition whose extent does not divide, with the extents that would.
[[noreturn]] void throw_extent_cut(const Operation& op, std::span<const BasicMode<Int>> left, Int s, Int d,
                                   std::size_t leaf, std::size_t k, Int rest_s, Int rest_d);
} // namespace detail

template <class S>
using Modes = SmallVector<BasicMode<S>, 8>;
template <class S>
using LayoutBuilder = TupleBuilder<BasicMode<S>>;

namespace body {

template <class S>
[[nodiscard]] constexpr BasicLayout<S> finish(LayoutBuilder<S>&& b) {
  return BasicLayout<S>::from_modes(std::move(b).finish());
}

/// A flat list of modes as a layout: one mode is unwrapped, none is `1:0`.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> unwrapped(const Modes<S>& modes) {
  if (modes.empty()) return {};
  LayoutBuilder<S> b;
  if (modes.size() == 1) {
    b.leaf(modes[0]);
  } else {
    b.profile(Profile::flat(modes.size()).view());
    b.leaves().append(modes.span());
  }
  return finish(std::move(b));
}

/// Appends the top-level modes of a view to an open tuple and returns how many there were.
template <class T>
constexpr std::size_t append_modes(TupleBuilder<T>& b, TupleView<T> view) {
  for (TupleView<T> mode : view) b.append(mode);
  return view.rank();
}

/// The layout whose modes are the arguments: `(a, b)`.
template <class S>
[[nodiscard]] constexpr BasicLayout<S> pair(LayoutView<S> a, LayoutView<S> b) {
  LayoutBuilder<S> out;
  const std::size_t at = out.open();
  out.append(a);
  out.append(b);
  out.close(at, 2);
  return finish(std::move(out));
}

template <class S>
[[nodiscard]] constexpr S product(std::span<const BasicMode<S>> modes) {
  S n = 1;
  for (const BasicMode<S>& m : modes) n *= m.extent;
  return n;
}

template <class S>
[[nodiscard]] constexpr bool is_one(const S& s) {
  return eq(s, S(1)) == Truth::yes;
}
template <class S>
[[nodiscard]] constexpr bool is_zero(const S& s) {
  return eq(s, S(0)) == Truth::yes;
}

/// Surely negative, for every value of the symbols.
template <class S>
[[nodiscard]] constexpr bool is_negative(const S& s) {
  return le(s, S(-1)) == Truth::yes;
}

} // namespace body
} // namespace inlay
