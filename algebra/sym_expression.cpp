// Expressions over symbols. Arguments are cut at top-level commas and read by the parsers of symbolic text, so that a formula
// means the same here and there.
#include "text_reader.h"

#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/construct.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/ops/inverse.h>
#include <inlay/algebra/ops/product.h>
#include <inlay/algebra/ops/recast.h>
#include <inlay/algebra/ops/select.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym_expression.h>

#include <array>

namespace inlay {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

[[noreturn]] void refuse(const std::string& summary, std::string_view text) {
  throw LayoutError(
      {"argument", "expression", summary, {{"text", std::string(text.substr(0, 120))}}, "", {}, ""});
}

// The name of a call `name(...)` that spans the whole text, else nothing.
std::string_view call_name(std::string_view text) {
  std::size_t n = 0;
  const auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (n < text.size() && part(text[n])) ++n;
  const std::string_view name = text.substr(0, n);
  if (n == 0 || n == text.size() || text[n] != '(' || text.back() != ')') return {};
  if ((name[0] >= '0' && name[0] <= '9') || name == "min" || name == "max") return {};
  int depth = 0;
  for (std::size_t i = n; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1 == text.size() ? name : std::string_view{};
  }
  return {};
}

// Cut at commas outside of all brackets. `<` opens a bracket only at the start of an entry, where no formula can have it.
std::vector<std::string_view> entries(std::string_view text) {
  std::vector<std::string_view> out;
  int round = 0;
  int angle = 0;
  std::size_t begin = 0;
  bool at_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') ++round;
    if (c == ')') --round;
    if (c == '<' && (at_start || (i >= 2 && text.substr(i - 2, 2) == "Sw") ||
                     (i >= 7 && text.substr(i - 7, 7) == "Swizzle")))
      ++angle;
    else if (c == '>' && angle > 0 && (i == 0 || text[i - 1] != '>'))
      --angle;
    if (c == ',' && round == 0 && angle == 0) {
      out.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    at_start = (c == ',' || c == '(' || c == '<' || (at_start && c == ' '));
  }
  if (!trimmed(text).empty() || !out.empty()) out.push_back(trimmed(text.substr(begin)));
  return out;
}

class Reader {
public:
  Reader(SymContext& context, UnknownSymbol unknown) : context_(context), unknown_(unknown) {}

  SymComposedLayout composed(std::string_view text, std::size_t depth = 0) {
    text = trimmed(text);
    if (depth > 32) detail::throw_limit("nesting of an expression", depth, 32);
    const std::string_view name = call_name(text);
    if (name.empty()) {
      // The layout of a swizzled one is its last part; reading it first says which symbols are not declared.
      const std::size_t last = text.rfind(" o ");
      SymLayout inner =
          parse_sym_layout(context_, last == std::string_view::npos ? text : text.substr(last + 3), unknown_);
      if (last == std::string_view::npos) return {Swizzle(), Sym(0), std::move(inner)};
      return parse_sym_composed_layout(context_, text);
    }
    std::vector<std::string_view> arguments =
        entries(text.substr(name.size() + 1, text.size() - name.size() - 2));
    return apply(name, arguments, depth);
  }

private:
  using Arguments = std::vector<std::string_view>;

  SymLayout layout(const Arguments& a, std::size_t i, std::size_t depth) {
    const SymComposedLayout c = composed(at(a, i), depth + 1);
    if (!c.is_plain()) refuse("expected a layout without a swizzle", at(a, i));
    return c.inner();
  }
  static std::string_view at(const Arguments& a, std::size_t i) {
    if (i >= a.size()) throw LayoutError({"argument", "expression", "too few arguments", {}, "", {}, ""});
    return a[i];
  }
  BasicIntTuple<Sym> tuple(std::string_view text) { return parse_sym_tuple(context_, text, unknown_); }
  static std::size_t index(std::string_view text) {
    const Int n = parse_int(text);
    if (n < 0 || n > Int(max_leaves)) refuse("not the number of a mode", text);
    return static_cast<std::size_t>(n.value());
  }
  static std::vector<std::size_t> indices(std::string_view text) {
    std::vector<std::size_t> out;
    const IntTuple t = parse_int_tuple(text);
    for (const Int n : t.leaves()) out.push_back(index(to_string(n)));
    return out;
  }
  // `_`, an extent, a layout, or a list in <> or () of them.
  SymTile tile(std::string_view text, std::size_t depth) {
    text = trimmed(text);
    if (depth > 32) detail::throw_limit("nesting of an expression", depth, 32);
    if (text == "_") return SymTile::keep();
    const bool angled = text.size() >= 2 && text.front() == '<' && text.back() == '>';
    if (angled || (text.size() >= 2 && text.front() == '(' && whole_bracket(text))) {
      std::vector<SymTile> parts;
      for (const std::string_view e : entries(text.substr(1, text.size() - 2)))
        parts.push_back(tile(e, depth + 1));
      return SymTile::by_mode(parts);
    }
    if (text.find(':') == std::string_view::npos && call_name(text).empty())
      return SymTile(parse_sym(context_, text, unknown_));
    const SymComposedLayout c = composed(text, depth + 1);
    if (!c.is_plain()) refuse("expected a tile", text);
    return SymTile(c.inner());
  }
  static bool is_swizzle(std::string_view text) {
    for (const std::string_view prefix : {"Sw<", "S<", "Swizzle<"})
      if (text.substr(0, prefix.size()) == prefix) return text.find(':') == std::string_view::npos;
    return false;
  }
  static bool whole_bracket(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i + 1 == text.size();
    }
    return false;
  }

  SymComposedLayout apply(std::string_view name, const Arguments& a, std::size_t depth) {
    // Operations on the inner layout alone.
    const auto inner = [&](auto f) {
      const SymComposedLayout c = composed(at(a, 0), depth + 1);
      return c.with_inner(f(c.inner()));
    };
    const auto plain = [](SymLayout l) { return SymComposedLayout(Swizzle(), Sym(0), std::move(l)); };
    const auto tiled = [&](auto f) {
      return inner([&](const SymLayout& l) { return f(l, tile(at(a, 1), depth)); });
    };
    if (name == "coalesce")
      return inner([&](const SymLayout& l) {
        return a.size() > 1 ? coalesce(l, parse_int_tuple(a[1])) : coalesce(l);
      });
    if (name == "flatten") return inner([](const SymLayout& l) { return flatten(l); });
    if (name == "filter") return inner([](const SymLayout& l) { return filter(l); });
    // CuTe's composition(Swizzle<3,4,3>, (8,n):(n,1)), and with an offset between the two.
    if (name == "composition" && a.size() >= 2 && is_swizzle(a[0])) {
      const SymComposedLayout c = composed(a.back(), depth + 1);
      if (!c.is_plain() || a.size() > 3) refuse("a swizzle of a layout that has one already", a.back());
      return {parse_swizzle(a[0]), a.size() == 3 ? parse_sym(context_, a[1], unknown_) : Sym(0), c.inner()};
    }
    if (name == "composition")
      return tiled([](const SymLayout& l, const SymTile& t) { return composition(l, t); });
    if (name == "complement") {
      const SymLayout l = layout(a, 0, depth);
      return plain(a.size() > 1 ? complement(l, tuple(a[1])) : complement(l));
    }
    if (name == "right_inverse") return plain(right_inverse(layout(a, 0, depth)));
    if (name == "left_inverse") return plain(left_inverse(layout(a, 0, depth)));
    if (name == "nullspace") return plain(nullspace(layout(a, 0, depth)));
    if (name == "logical_divide")
      return tiled([](const SymLayout& l, const SymTile& t) { return logical_divide(l, t); });
    if (name == "zipped_divide")
      return tiled([](const SymLayout& l, const SymTile& t) { return zipped_divide(l, t); });
    if (name == "tiled_divide")
      return tiled([](const SymLayout& l, const SymTile& t) { return tiled_divide(l, t); });
    if (name == "flat_divide")
      return tiled([](const SymLayout& l, const SymTile& t) { return flat_divide(l, t); });
    if (name == "logical_product")
      return tiled([](const SymLayout& l, const SymTile& t) { return logical_product(l, t); });
    if (name == "zipped_product")
      return tiled([](const SymLayout& l, const SymTile& t) { return zipped_product(l, t); });
    if (name == "tiled_product")
      return tiled([](const SymLayout& l, const SymTile& t) { return tiled_product(l, t); });
    if (name == "flat_product")
      return tiled([](const SymLayout& l, const SymTile& t) { return flat_product(l, t); });
    if (name == "blocked_product")
      return inner([&](const SymLayout& l) { return blocked_product(l, layout(a, 1, depth)); });
    if (name == "raked_product")
      return inner([&](const SymLayout& l) { return raked_product(l, layout(a, 1, depth)); });
    if (name == "tile_to_shape")
      return inner([&](const SymLayout& l) {
        return a.size() > 2 ? tile_to_shape(l, tuple(a[1]), parse_int_tuple(a[2]))
                            : tile_to_shape(l, tuple(at(a, 1)));
      });
    if (name == "select") return inner([&](const SymLayout& l) { return select(l, indices(at(a, 1))); });
    if (name == "get") return inner([&](const SymLayout& l) { return get(l, indices(at(a, 1))); });
    if (name == "take")
      return inner([&](const SymLayout& l) { return take(l, index(at(a, 1)), index(at(a, 2))); });
    if (name == "group")
      return inner([&](const SymLayout& l) { return group(l, index(at(a, 1)), index(at(a, 2))); });
    if (name == "append") return inner([&](const SymLayout& l) { return append(l, layout(a, 1, depth)); });
    if (name == "prepend") return inner([&](const SymLayout& l) { return prepend(l, layout(a, 1, depth)); });
    if (name == "zip") return inner([](const SymLayout& l) { return zip(l); });
    if (name == "upcast") return plain(upcast(layout(a, 0, depth), parse_sym(context_, at(a, 1), unknown_)));
    if (name == "downcast")
      return plain(downcast(layout(a, 0, depth), parse_sym(context_, at(a, 1), unknown_)));
    if (name == "make_ordered_layout")
      return plain(make_ordered_layout(tuple(at(a, 0)), parse_int_tuple(at(a, 1))));
    if (name == "make_layout") {
      if (at(a, 0).find(':') == std::string_view::npos && call_name(a[0]).empty())
        return plain(a.size() > 1 ? SymLayout::from(tuple(a[0]), tuple(a[1]))
                                  : SymLayout::col_major(tuple(a[0])));
      std::vector<SymLayout> modes;
      for (std::size_t i = 0; i < a.size(); ++i) modes.push_back(layout(a, i, depth));
      return plain(concatenate(std::span<const SymLayout>(modes)));
    }
    throw LayoutError({"unknown_operation",
                       "expression",
                       "there is no operation '" + std::string(name.substr(0, 64)) + "' on symbols",
                       {},
                       "",
                       {},
                       "operations that return layouts take symbols; inlay eval has the others"});
  }

  SymContext& context_;
  UnknownSymbol unknown_;
};

} // namespace

bool is_sym_operation(std::string_view text) { return !call_name(trimmed(text)).empty(); }

SymComposedLayout evaluate_sym_expression(SymContext& context, std::string_view text, UnknownSymbol unknown) {
  if (text.size() > detail::max_text)
    detail::throw_limit("length of the text", text.size(), detail::max_text);
  return Reader(context, unknown).composed(text);
}

} // namespace inlay
