// Text of an index expression: the inverse of `to_string` in expression.cpp.
#include "expression_constants.h"

#include <inlay/codegen/expression.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/parse.h>
#include <inlay/codegen/error.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace inlay::codegen {
namespace {

constexpr int deepest = 200; ///< parentheses in parentheses

class Reader {
public:
  Reader(Expressions& arena, SymContext& symbols, std::string_view text,
         const std::function<int(std::string_view)>& tensor)
      : arena_(arena), symbols_(symbols), text_(text), tensor_(tensor) {}

  Expr whole() {
    const Expr e = sum();
    skip();
    if (at_ != text_.size()) fail("an operator or the end");
    return e;
  }

private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw CodegenError("expression: expected " + expected + " at position " + std::to_string(at_),
                       "text   " + std::string(text_) + "\n         " +
                           std::string(std::min(at_, text_.size()), ' ') + "^",
                       "C(m,n) = sum(k < K, a(m,k) * b(n,k)); also exp(x), max(k < K, x), (i < n ? x : 0)");
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }
  std::string_view name() {
    skip();
    const std::size_t from = at_;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    while (at_ < text_.size() &&
           (letter(text_[at_]) || (at_ > from && text_[at_] >= '0' && text_[at_] <= '9')))
      ++at_;
    return text_.substr(from, at_ - from);
  }
  /// Where the first of these characters stands that is in no parentheses, from here on; npos: none before the end.
  [[nodiscard]] std::size_t next_of(std::string_view marks) const {
    int depth = 0;
    for (std::size_t k = at_; k < text_.size(); ++k) {
      const char c = text_[k];
      if (depth == 0 && marks.find(c) != std::string_view::npos) return k;
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth < 0) break;
    }
    return std::string_view::npos;
  }
  /// A formula of indices up to one of these characters, which stays.
  Sym index(std::string_view marks) {
    const std::size_t end = next_of(marks);
    if (end == std::string_view::npos) fail(std::string("'") + marks[0] + "' after an index");
    try {
      const Sym s = parse_sym(symbols_, text_.substr(at_, end - at_), UnknownSymbol::refuse);
      at_ = end;
      return s;
    } catch (const LayoutError& e) {
      throw CodegenError("expression: '" + std::string(text_.substr(at_, end - at_)) + "' at position " +
                             std::to_string(at_) + " is no index",
                         e.what());
    }
  }

  Expr sum() {
    Expr e = product();
    for (;;) {
      if (take('+'))
        e = e + product();
      else if (take('-'))
        e = e - product();
      else
        return e;
    }
  }
  Expr product() {
    Expr e = unary();
    for (;;) {
      if (take('*'))
        e = e * unary();
      else if (take('/'))
        e = quotient(e, unary());
      else
        return e;
    }
  }
  static Expr quotient(Expr a, Expr b) {
    if (a.node().fn == Fn::constant && a.node().value == 1) return rcp(b);
    return a / b;
  }
  Expr unary() {
    if (++depth_ > deepest) fail("no more than " + std::to_string(deepest) + " levels");
    Expr e;
    if (take('-')) {
      e = unary();
      e = e.node().fn == Fn::constant ? arena_.constant(-e.node().value) : arena_.constant(-1) * e;
    } else {
      e = primary();
      if (take('^')) {
        const bool negative = take('-');
        const double power = number();
        e = arena_.make(Number::written(negative ? -power : power).power_of(e.id));
      }
    }
    --depth_;
    return e;
  }
  double number() {
    skip();
    double v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc()) fail("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return v;
  }
  Expr primary() {
    skip();
    if (at_ >= text_.size()) fail("a value");
    if (take('(')) return parenthesized();
    const char c = text_[at_];
    if (text_.compare(at_, 2, "0x") == 0) {
      std::uint32_t v = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_ + 2, text_.data() + text_.size(), v, 16);
      if (error != std::errc()) fail("an integer of 32 bits");
      at_ = static_cast<std::size_t>(end - text_.data());
      return arena_.integer(v);
    }
    if (c >= '0' && c <= '9') {
      const std::size_t begin = at_;
      const double v = number();
      if (at_ >= text_.size() || text_[at_] != 'u') return arena_.constant(v);
      if (v != std::floor(v) || v >= 0x1p32) at_ = begin, fail("an integer of 32 bits");
      ++at_;
      return arena_.integer(static_cast<std::int64_t>(v));
    }
    if ((c >= '0' && c <= '9') || c == '.') return arena_.constant(number());
    const std::size_t from = at_;
    const std::string_view word = name();
    if (word.empty()) fail("a value");
    if (word == "inf") return arena_.constant(std::numeric_limits<double>::infinity());
    if (!take('(')) {
      try {
        return arena_.number(parse_sym(symbols_, word, UnknownSymbol::refuse));
      } catch (const LayoutError&) {
        at_ = from;
        fail("the name of a size or an index");
      }
    }
    if (const int t = tensor_(word); t >= 0) return element(t);
    if (word == "sum" || word == "umax" || word == "umin" || ((word == "max" || word == "min") && is_fold()))
      return fold(word);
    static const std::map<std::string_view, Expr (*)(Expr)> functions = {
        {"exp", exp},   {"exp2", exp2},   {"log", log}, {"log2", log2},
        {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"rcp", rcp}, {"round", nearest}};
    const auto function = functions.find(word);
    if (const auto fn = integer_function_of(word)) {
      if (const auto number = *fn == Fn::word ? formula() : std::nullopt) return integer(*number);
      return of_integers(*fn);
    }
    const bool two = word == "max" || word == "min";
    if (!two && function == functions.end()) {
      at_ = from;
      fail("a tensor or a function");
    }
    const Expr x = sum();
    if (!two) {
      need(')');
      return function->second(x);
    }
    need(',');
    const Expr y = sum();
    need(')');
    return word == "max" ? max(x, y) : min(x, y);
  }
  static std::optional<Fn> integer_function_of(std::string_view word) {
    for (int f = static_cast<int>(Fn::to_number); f <= static_cast<int>(Fn::word_equal); ++f)
      if (integer_function(static_cast<Fn>(f)) == word) return static_cast<Fn>(f);
    return std::nullopt;
  }
  /// Behind a parenthesis: a formula of indices and the other one, or nothing.
  std::optional<Expr> formula() {
    const std::size_t end = next_of(")");
    if (end == std::string_view::npos) return std::nullopt;
    try {
      const Sym s = parse_sym(symbols_, text_.substr(at_, end - at_), UnknownSymbol::refuse);
      at_ = end + 1;
      return arena_.number(s);
    } catch (const LayoutError&) {
      return std::nullopt;
    }
  }
  /// Behind a parenthesis. As many operands as there are of what a normal form flattens.
  Expr of_integers(Fn fn) {
    std::vector<Expr> x;
    do x.push_back(sum());
    while (take(','));
    need(')');
    const bool one = fn == Fn::to_number || fn == Fn::to_number_unsigned || fn == Fn::from_bits ||
                     fn == Fn::word || fn == Fn::truncated || fn == Fn::float_bits || fn == Fn::popcount ||
                     fn == Fn::leading_zeros || fn == Fn::trailing_zeros;
    const bool many = fn == Fn::word_add || fn == Fn::word_mul || fn == Fn::word_and || fn == Fn::word_or ||
                      fn == Fn::word_xor;
    const std::size_t least = one ? 1 : fn == Fn::choose ? 3 : 2;
    if (x.size() < least || (x.size() > least && !many))
      fail(std::to_string(least) + " operands of " + std::string(integer_function(fn)));
    const bool of_numbers = fn == Fn::word || fn == Fn::truncated || fn == Fn::float_bits;
    std::vector<int> args;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool integer = fn == Fn::choose && i > 0 ? is_integer(x[1]) : !of_numbers;
      if (is_integer(x[i]) != integer)
        fail(std::string(integer ? "an integer" : "a number") + " as operand " + std::to_string(i) + " of " +
             std::string(integer_function(fn)));
      args.push_back(x[i].id);
    }
    return arena_.make({.fn = fn, .args = std::move(args)});
  }
  /// Whether what follows a parenthesis is `k < `.
  [[nodiscard]] bool is_fold() const {
    const std::size_t k = next_of("<,");
    return k != std::string_view::npos && text_[k] == '<';
  }
  Expr fold(std::string_view word) {
    const std::string_view bound = name();
    if (bound.empty()) fail("the name of an index");
    const std::string own = "an index of the fold's own, '" + std::string(bound) + "' is a size";
    Sym k;
    try {
      k = symbols_.symbol(bound, Interval{Int(0), std::nullopt});
    } catch (const LayoutError&) {
      fail(own);
    }
    if (!k.as_atom()) fail(own);
    need('<');
    const Sym extent = index(",");
    need(',');
    const Expr body = sum();
    const bool without_sign = word[0] == 'u';
    if (without_sign && !is_integer(body)) fail("an integer");
    need(')');
    return arena_.fold(word == "sum"    ? Monoid::sum
                       : word == "max"  ? Monoid::max
                       : word == "min"  ? Monoid::min
                       : word == "umax" ? Monoid::unsigned_max
                                        : Monoid::unsigned_min,
                       k, extent, body);
  }
  /// After a parenthesis: an expression, or one that a condition chooses.
  Expr parenthesized() {
    const std::size_t ask = next_of("?"), less = next_of("<>");
    Expr e;
    if (ask == std::string_view::npos || less > ask) {
      e = sum();
    } else if (text_[less] == '<') {
      const Sym a = index("<");
      need('<');
      const Sym b = index("?");
      need('?');
      const Expr yes = sum();
      need(':');
      const Expr no = sum();
      if (no.node().fn != Fn::constant) fail("a number in place of what is outside");
      e = inside(a, b, yes, no.node().value);
    } else {
      const Expr a = sum();
      need('>');
      if (at_ >= text_.size() || text_[at_] != '=') fail("'>='");
      ++at_;
      const Expr b = sum();
      need('?');
      const Expr yes = sum();
      need(':');
      e = select(a, b, yes, sum());
    }
    need(')');
    return e;
  }
  Expr element(int tensor) {
    std::vector<Sym> at;
    std::vector<int> through;
    bool any = false;
    do {
      skip();
      const std::size_t begin = at_;
      const std::string_view table = name();
      skip();
      if (!table.empty() && at_ < text_.size() && text_[at_] == '[') {
        const int t = tensor_(table);
        if (t < 0) {
          at_ = begin;
          fail("a table");
        }
        ++at_;
        at.push_back(index("]"));
        need(']');
        through.push_back(t);
        any = true;
        continue;
      }
      at_ = begin;
      at.push_back(index(",)"));
      through.push_back(-1);
    } while (take(','));
    need(')');
    return arena_.load(tensor, std::move(at), any ? std::move(through) : std::vector<int>());
  }

  Expressions& arena_;
  SymContext& symbols_;
  std::string_view text_;
  const std::function<int(std::string_view)>& tensor_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

} // namespace

Expr parse_expression(Expressions& arena, SymContext& symbols, std::string_view text,
                      const std::function<int(std::string_view)>& tensor) {
  return Reader(arena, symbols, text, tensor).whole();
}

} // namespace inlay::codegen
