#include <inlay/launch/formula.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace inlay::launch {

struct Formula::Node {
  char operation = 'n'; ///< n number, v name, + - * / %, m min, M max, ~ minus
  std::int64_t number = 0;
  std::string name;
  std::shared_ptr<const Node> left, right;
};

class FormulaReader {
public:
  explicit FormulaReader(Formula& formula) : formula_(formula), text_(formula.text_) {}

  std::shared_ptr<const Formula::Node> whole() {
    auto node = sum();
    if (peek() != '\0') fail("an operator");
    return node;
  }

private:
  using Pointer = std::shared_ptr<const Formula::Node>;

  [[noreturn]] void fail(const std::string& expected) const {
    throw LaunchError("formula '" + text_ + "': character " + std::to_string(at_) + ": expected " + expected,
                      "sums, products, / and % of sizes and numbers, min(a, b), max(a, b)");
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  static Pointer make(char operation, Pointer left, Pointer right = {}) {
    return std::make_shared<const Formula::Node>(
        Formula::Node{operation, 0, {}, std::move(left), std::move(right)});
  }
  // Too deep a formula would overflow the stack; no launch has one.
  struct Depth {
    explicit Depth(const FormulaReader& reader) : depth(reader.depth_) {
      if (++depth > 200) reader.fail("fewer parentheses");
    }
    ~Depth() { --depth; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    int& depth;
  };
  Pointer sum() {
    const Depth deeper(*this);
    Pointer left = product();
    for (;;) {
      if (accept('+'))
        left = make('+', left, product());
      else if (accept('-'))
        left = make('-', left, product());
      else
        return left;
    }
  }
  Pointer product() {
    Pointer left = unary();
    for (;;) {
      if (accept('*'))
        left = make('*', left, unary());
      else if (accept('/'))
        left = make('/', left, unary());
      else if (accept('%'))
        left = make('%', left, unary());
      else
        return left;
    }
  }
  Pointer unary() {
    const Depth deeper(*this);
    return accept('-') ? make('~', unary()) : primary();
  }
  Pointer primary() {
    const char c = peek();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      std::int64_t v = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
        if (__builtin_mul_overflow(v, std::int64_t{10}, &v) ||
            __builtin_add_overflow(v, std::int64_t{text_[at_] - '0'}, &v))
          fail("a number of at most 63 bits");
        ++at_;
      }
      return std::make_shared<const Formula::Node>(Formula::Node{'n', v, {}, {}, {}});
    }
    if (accept('(')) {
      Pointer inner = sum();
      if (!accept(')')) fail("')'");
      return inner;
    }
    const auto letter = [&](std::size_t i) {
      return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
    };
    if (!letter(at_)) fail("a number, a name or '('");
    const std::size_t begin = at_;
    while (letter(at_)) ++at_;
    std::string name = text_.substr(begin, at_ - begin);
    if (peek() != '(') {
      auto& names = formula_.names_;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      return std::make_shared<const Formula::Node>(Formula::Node{'v', 0, std::move(name), {}, {}});
    }
    if (name != "min" && name != "max") fail("min or max before '('");
    accept('(');
    Pointer a = sum();
    if (!accept(',')) fail("','");
    Pointer b = sum();
    if (!accept(')')) fail("')'");
    return make(name == "min" ? 'm' : 'M', a, b);
  }

  Formula& formula_;
  const std::string& text_;
  std::size_t at_ = 0;
  mutable int depth_ = 0;
};

Formula::Formula(const std::string& text) : text_(text) {
  // A sum is as deep as it has terms, and is gone through one in the other.
  if (text.size() > 10'000)
    throw LaunchError("a formula of " + std::to_string(text.size()) + " characters: '" + text.substr(0, 40) +
                          "...'",
                      "at most 10000");
  root_ = FormulaReader(*this).whole();
}

std::int64_t Formula::operator()(const Sizes& sizes) const {
  const auto fail = [&](const std::string& what, const std::string& hint) {
    std::string given;
    for (const auto& [name, v] : sizes) given += (given.empty() ? "" : ", ") + name + "=" + std::to_string(v);
    throw LaunchError("formula '" + text_ + "' with " + (given.empty() ? "no sizes" : given) + ": " + what,
                      hint);
  };
  const auto value = [&](const auto& self, const Node& n) -> std::int64_t {
    if (n.operation == 'n') return n.number;
    if (n.operation == 'v') {
      const auto at = sizes.find(n.name);
      if (at == sizes.end()) fail("the size " + n.name + " has no value", "--size " + n.name + "=NUMBER");
      return at->second;
    }
    const std::int64_t a = self(self, *n.left), b = n.right ? self(self, *n.right) : 0;
    std::int64_t r = 0;
    bool over = false;
    switch (n.operation) {
    case '+': over = __builtin_add_overflow(a, b, &r); break;
    case '-': over = __builtin_sub_overflow(a, b, &r); break;
    case '*': over = __builtin_mul_overflow(a, b, &r); break;
    case '~': over = __builtin_sub_overflow(std::int64_t{0}, a, &r); break;
    case 'm': r = std::min(a, b); break;
    case 'M': r = std::max(a, b); break;
    default: {
      if (b == 0) fail("division by zero", "sizes of at least 1");
      over = a == INT64_MIN && b == -1;
      if (over) break;
      const std::int64_t rest = a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
      r = n.operation == '%' ? rest : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    }
    }
    if (over) fail("the value has more than 63 bits", "smaller sizes");
    return r;
  };
  return value(value, *root_);
}

} // namespace inlay::launch
