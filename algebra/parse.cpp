#include "text_reader.h"

#include <inlay/algebra/print.h>

#include <charconv>

namespace inlay {
namespace detail {

TextReader::TextReader(std::string_view text, const char* what) : text_(text), what_(what) {
  if (text.size() > max_text) throw_limit("length of the text", text.size(), max_text);
}

void TextReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
}
char TextReader::peek() {
  skip_blanks();
  return peek_at(0);
}
char TextReader::peek_at(std::size_t offset) {
  return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
}
bool TextReader::accept(char c) {
  if (peek() != c || c == '\0') return false;
  ++at_;
  return true;
}
bool TextReader::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}
void TextReader::expect(char c) {
  if (!accept(c)) fail(std::string("'") + c + "'");
}
void TextReader::finish() {
  if (peek() != '\0' || at_ < text_.size()) fail("the end");
}
bool TextReader::at_number() { // CuTe prints compile-time integers as _12
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return digit(peek()) || (peek_at(0) == '_' && digit(peek_at(1)));
}
bool TextReader::at_name() {
  const char c = peek();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
Int TextReader::number() {
  if (!at_number()) fail("a number");
  if (peek_at(0) == '_') ++at_;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc{}) fail_at(at_, "a number does not fit in 64 bits");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}
Int TextReader::signed_number() {
  if (!accept('-')) return number();
  if (accept("9223372036854775808")) return std::numeric_limits<std::int64_t>::min();
  return -number();
}
std::string_view TextReader::name() {
  if (!at_name()) fail("a name");
  const std::size_t start = at_;
  const auto part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (part(peek_at(0))) ++at_;
  return text_.substr(start, at_ - start);
}
void TextReader::fail(const std::string& expected) {
  const char c = peek();
  std::string found = "the end";
  if (c != '\0') {
    found = (c > ' ' && c < 127) ? std::string("'") + c + "'"
                                 : "byte " + std::to_string(static_cast<unsigned char>(c));
  } else if (at_ < text_.size()) {
    found = "byte 0";
  }
  fail_at(at_, "expected " + expected + ", found " + found);
}
void TextReader::fail_at(std::size_t position, const std::string& summary) {
  // A window of the text with the place marked, never the whole of a long one.
  const std::size_t from = position > 32 ? position - 32 : 0;
  std::string window(text_.substr(from, 64));
  for (char& c : window)
    if (c < ' ' || c > '~') c = '?';
  const std::string place = std::to_string(position);
  throw LayoutError({"syntax",
                     what_,
                     summary,
                     {{"text", (from > 0 ? "..." : "") + window + (from + 64 < text_.size() ? "..." : "")}},
                     "character " + place,
                     {{"position", place}},
                     ""});
}

Axis read_axis(TextReader& in) {
  SmallVector<std::size_t, 8> innermost_first;
  while (in.accept('@')) {
    const Int index = in.number();
    if (index > 254) throw_axis("index of a basis stride", static_cast<std::size_t>(index.value()), 254);
    if (innermost_first.size() == 8) throw_axis("levels of a basis stride", 9, 8);
    innermost_first.push_back(static_cast<std::size_t>(index.value()));
  }
  Axis axis{};
  for (std::size_t i = innermost_first.size(); i-- > 0;) axis = axis.child(innermost_first[i]);
  return axis;
}

IntTuple read_int_tuple(TextReader& in) {
  TupleBuilder<Int> b;
  read_tuple(in, b, [&] { return in.signed_number(); });
  return std::move(b).finish();
}

Layout read_strides(TextReader& in, const IntTuple& shape, std::size_t) {
  in.expect(':');
  TupleBuilder<Stride> b;
  read_tuple(in, b, [&] {
    const Int scale = in.signed_number();
    return Stride(scale, read_axis(in));
  });
  return Layout::from(shape, std::move(b).finish());
}

Layout read_layout(TextReader& in) {
  const std::size_t start = in.position();
  const IntTuple shape = read_int_tuple(in);
  return read_strides(in, shape, start);
}

namespace {

// A recursive-descent parser with one function per level of precedence, weakest first.
class FormulaReader {
public:
  FormulaReader(TextReader& in, SymContext& context, UnknownSymbol unknown)
      : in_(in), context_(context), unknown_(unknown) {}

  Sym formula() {
    return comparison(bit_or_level(bit_xor_level(bit_and_level(shift(sum(product(unary())))))));
  }
  /// The rest of a formula whose first primary has been read already.
  Sym continued(Sym first) {
    return comparison(bit_or_level(bit_xor_level(bit_and_level(shift(sum(product(first)))))));
  }
  [[nodiscard]] bool at_operator() {
    const char c = in_.peek();
    return c != '\0' && std::string_view("+-*/%^&|<>=!").find(c) != std::string_view::npos;
  }

private:
  Sym comparison(Sym left) {
    if (in_.accept("<=")) return less_equal(left, bit_or_level());
    if (in_.accept(">=")) return less_equal(bit_or_level(), left);
    if (in_.accept("==")) return equal(left, bit_or_level());
    if (in_.accept("!=")) return 1 - equal(left, bit_or_level());
    if (in_.accept('<')) return less_equal(left + 1, bit_or_level());
    if (in_.accept('>')) return less_equal(bit_or_level() + 1, left);
    return left;
  }
  Sym bit_or_level() { return bit_or_level(bit_xor_level()); }
  Sym bit_or_level(Sym left) {
    while (in_.accept('|')) left = bit_or(left, bit_xor_level());
    return left;
  }
  Sym bit_xor_level() { return bit_xor_level(bit_and_level()); }
  Sym bit_xor_level(Sym left) {
    while (in_.accept('^')) left = bit_xor(left, bit_and_level());
    return left;
  }
  Sym bit_and_level() { return bit_and_level(shift(sum(product(unary())))); }
  Sym bit_and_level(Sym left) {
    while (in_.accept('&')) left = bit_and(left, shift(sum(product(unary()))));
    return left;
  }
  Sym shift(Sym left) {
    for (;;) {
      if (in_.accept("<<")) {
        left = shift_left(left, sum(product(unary())));
      } else if (in_.accept(">>")) {
        left = shift_right(left, sum(product(unary())));
      } else {
        return left;
      }
    }
  }
  Sym sum(Sym left) {
    for (;;) {
      if (in_.accept('+')) {
        left += product(unary());
      } else if (in_.accept('-')) {
        left -= product(unary());
      } else {
        return left;
      }
    }
  }
  Sym product(Sym left) {
    for (;;) {
      if (in_.accept('*')) {
        left *= unary();
      } else if (in_.accept('/')) {
        left = floor_div(left, unary());
      } else if (in_.accept('%')) {
        left = floor_mod(left, unary());
      } else {
        return left;
      }
    }
  }
  Sym unary() {
    bool negative = false;
    while (in_.accept('-')) negative = !negative;
    const Sym value = primary();
    return negative ? -value : value;
  }
  Sym primary() {
    if (in_.at_number()) return in_.number();
    if (in_.accept('(')) {
      enter();
      const Sym value = formula();
      in_.expect(')');
      --nesting_;
      return value;
    }
    const std::size_t start = (void(in_.peek()), in_.position());
    if (!in_.at_name()) in_.fail("a number, a name or '('");
    const std::string_view name = in_.name();
    if (in_.peek() == '(') return call(name, start);
    if (const auto known = context_.find(name)) return *known;
    if (unknown_ == UnknownSymbol::declare_positive) return context_.symbol(name);
    throw LayoutError({"undeclared",
                       "parse",
                       "'" + std::string(name.substr(0, 64)) + "' is not declared",
                       {{"text", std::string(in_.text().substr(0, 64))}},
                       "character " + std::to_string(start),
                       {},
                       "declare the symbol first"});
  }
  Sym call(std::string_view name, std::size_t start) {
    in_.expect('(');
    enter();
    SmallVector<Sym, 4> x;
    do x.push_back(formula());
    while (in_.accept(','));
    in_.expect(')');
    --nesting_;
    const std::size_t wanted = name == "select" ? 3 : 2;
    if (name != "min" && name != "max" && name != "select")
      in_.fail_at(start, "unknown function '" + std::string(name.substr(0, 64)) +
                             "', there are min, max and select");
    if (x.size() != wanted)
      in_.fail_at(start, std::string(name) + " takes " + std::to_string(wanted) + " arguments");
    return name == "min" ? min(x[0], x[1]) : name == "max" ? max(x[0], x[1]) : select(x[0], x[1], x[2]);
  }
  void enter() {
    if (++nesting_ > max_nesting) throw_limit("nesting of a formula", nesting_, max_nesting);
  }

  TextReader& in_;
  SymContext& context_;
  UnknownSymbol unknown_;
  std::size_t nesting_ = 0;
};

// In a symbolic tuple a parenthesis opens a tuple, unless an operator follows the closing one: `(m+1)*4`.
class SymTupleReader {
public:
  SymTupleReader(TextReader& in, SymContext& context, UnknownSymbol unknown)
      : in_(in), formula_(in, context, unknown) {}

  template <class T, class Leaf>
  void read(TupleBuilder<T>& out, const Leaf& leaf, std::size_t depth = 0) {
    if (in_.peek() != '(' || is_formula()) {
      out.leaf(leaf(formula_.formula()));
      return;
    }
    if (depth >= max_depth) throw_limit("depth", depth + 1, max_depth);
    in_.expect('(');
    const std::size_t at = out.open();
    std::size_t rank = 0;
    if (!in_.accept(')')) {
      do {
        read(out, leaf, depth + 1);
        ++rank;
        if (out.leaf_count() > max_leaves) throw_limit("number of leaves", out.leaf_count(), max_leaves);
      } while (in_.accept(','));
      in_.expect(')');
    }
    out.close(at, rank);
  }

private:
  // Looks for the matching parenthesis without reading; an unbalanced text is left for the reader to report.
  bool is_formula() {
    const std::size_t start = in_.position();
    std::size_t depth = 0;
    std::size_t i = 0;
    for (;; ++i) {
      const char c = in_.peek_at(i);
      if (c == '\0') return false;
      if (c == '(' && ++depth > max_depth + max_nesting) return false;
      if (c == ')' && --depth == 0) break;
    }
    in_.rewind(start + i + 1);
    const bool operator_follows = formula_.at_operator() || in_.peek() == '@';
    in_.rewind(start);
    return operator_follows;
  }
  TextReader& in_;
  FormulaReader formula_;
};

} // namespace
} // namespace detail

using detail::TextReader;

Layout parse_layout(std::string_view text) {
  TextReader in(text, "parse layout");
  Layout l = detail::read_layout(in);
  in.finish();
  return l;
}

IntTuple parse_int_tuple(std::string_view text) {
  TextReader in(text, "parse tuple");
  IntTuple t = detail::read_int_tuple(in);
  in.finish();
  return t;
}

Int parse_int(std::string_view text) {
  TextReader in(text, "parse integer");
  const Int n = in.signed_number();
  in.finish();
  return n;
}

BasicIntTuple<Sym> parse_sym_tuple(SymContext& context, std::string_view text, UnknownSymbol unknown) {
  TextReader in(text, "parse symbolic tuple");
  TupleBuilder<Sym> b;
  detail::SymTupleReader(in, context, unknown).read(b, [](Sym s) { return s; });
  in.finish();
  return std::move(b).finish();
}

SymLayout parse_sym_layout(SymContext& context, std::string_view text, UnknownSymbol unknown) {
  TextReader in(text, "parse symbolic layout");
  detail::SymTupleReader reader(in, context, unknown);
  TupleBuilder<Sym> shape;
  reader.read(shape, [](Sym s) { return s; });
  in.expect(':');
  TupleBuilder<BasicStride<Sym>> stride;
  reader.read(stride, [&](Sym s) { return BasicStride<Sym>(s, detail::read_axis(in)); });
  in.finish();
  return SymLayout::from(std::move(shape).finish(), std::move(stride).finish());
}

Sym parse_sym(SymContext& context, std::string_view text, UnknownSymbol unknown) {
  TextReader in(text, "parse formula");
  const Sym s = detail::FormulaReader(in, context, unknown).formula();
  in.finish();
  return s;
}

} // namespace inlay
