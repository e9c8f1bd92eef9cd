#include "layers/subject.h"

#include "inlay/solver/error.h"

#include <inlay/algebra/triton_layout.h>

#include <algorithm>
#include <cctype>

namespace inlay::solver {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

[[noreturn]] void fail(const std::string& what, std::string_view text, const std::string& hint) {
  throw QuestionError(what + "\n  in     " + std::string(text.substr(0, 200)) + "\n  hint   " + hint);
}

constexpr const char* layout_hint =
    "a layout is shape:stride with congruent tuples, e.g. ((2,2),3):((24,2),8)";

// Splits at `separator` outside brackets. `<` and `>` are brackets only in Sw<..>, which has no commas of
// interest here.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '(') ++depth;
    if (text[k] == ')') --depth;
    // Unbalanced parentheses are not refused here: each item goes on to a reader that does, with a message
    // about the item.
    if (depth == 0 && text.substr(k, separator.size()) == separator) {
      out.push_back(trim(text.substr(begin, k - begin)));
      begin = k + separator.size();
      k = begin - 1;
    }
  }
  out.push_back(trim(text.substr(begin)));
  return out;
}

struct Tree { // of an IntTuple: a leaf, or children
  bool leaf = false;
  Leaf value;
  std::vector<Tree> children;
};

// `(a,b)` is a tuple; `(a)` and `(M+1)*2` are formulas.
bool is_tuple(std::string_view text) {
  if (text.empty() || text.front() != '(' || text.back() != ')') return false;
  int depth = 0;
  // `()` counts as a tuple, so that it is refused as an empty one and not as a formula without a value.
  bool comma = text.substr(1, text.size() - 2).find_first_not_of(' ') == std::string_view::npos;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '(') ++depth;
    if (text[k] == ')' && --depth == 0 && k + 1 != text.size()) return false;
    if (text[k] == ',' && depth == 1) comma = true;
  }
  return comma;
}

Leaf parse_leaf(std::string_view text, std::string_view whole) {
  if (text.empty()) fail("layout: an entry is missing", whole, layout_hint);
  // Scaled basis vectors are coordinates of a product space; nothing here orders them, adds them to numbers or divides them.
  if (text.find('@') != std::string_view::npos)
    fail("layout: basis strides map to coordinates, not to numbers", whole,
         "ask about one coordinate at a time, or give the coordinates strides of their own");
  FormulaRef f = parse_formula(text);
  // Numbers stay numbers (Leaf): a formula a leaf would be an allocation a mode of every concrete question.
  if (f->op == Op::integer) return {f->value, nullptr};
  return {0, f};
}

Tree parse_tree(std::string_view text, std::string_view whole, int depth) {
  if (depth > 64) fail("layout: nested more than 64 deep", whole, layout_hint);
  text = trim(text);
  Tree t;
  if (!is_tuple(text)) {
    if (text.size() > 2 && text.front() == '(' && text.back() == ')' && split(text, ",").size() == 1) {
      // A one-element tuple (x) that prints without a comma.
      bool wraps = true;
      int d = 0;
      for (std::size_t k = 0; k + 1 < text.size(); ++k) {
        if (text[k] == '(') ++d;
        if (text[k] == ')' && --d == 0) wraps = false;
      }
      if (wraps) {
        // Kept as a tuple of one for now: whether the parentheses nest or only group the other side of the
        // colon decides (unwrap).
        t.children.push_back(parse_tree(text.substr(1, text.size() - 2), whole, depth + 1));
        return t;
      }
    }
    t.leaf = true;
    t.value = parse_leaf(text, whole);
    return t;
  }
  std::string_view inside = trim(text.substr(1, text.size() - 2));
  if (inside.empty()) fail("layout: an empty tuple", whole, layout_hint);
  std::vector<std::string_view> items = split(inside, ",");
  if (items.size() > 1 && items.back().empty()) items.pop_back(); // Python's (4,)
  for (std::string_view item : items) t.children.push_back(parse_tree(item, whole, depth + 1));
  return t;
}

// Parentheses around a formula are no tuple where the other side has none: (2*M+1):1, 4:(n-1).
void unwrap(Tree& a, Tree& b) {
  while (a.leaf != b.leaf) {
    Tree& tuple = a.leaf ? b : a;
    // More than one child beside a leaf is no matter of parentheses; zip() refuses it as not congruent.
    if (tuple.children.size() != 1) return;
    Tree only = tuple.children[0];
    tuple = std::move(only);
  }
}

void zip(Tree shape, Tree stride, std::vector<FlatMode>& out, std::string_view whole) {
  unwrap(shape, stride);
  if (shape.leaf != stride.leaf || shape.children.size() != stride.children.size())
    fail("layout: shape and stride are not congruent", whole, layout_hint);
  if (shape.leaf) {
    // Of a formula it is not known yet; Engine::require_extents asks for it in the question.
    if (!shape.value.formula && shape.value.value < 1)
      fail("layout: an extent is below 1", whole, "extents are at least 1");
    out.push_back({shape.value, stride.value});
  }
  for (std::size_t k = 0; k < shape.children.size(); ++k)
    zip(shape.children[k], stride.children[k], out, whole);
}

std::vector<std::vector<FlatMode>> parse_modes(std::string_view text) {
  std::vector<std::string_view> halves = split(text, ":");
  // Outside of parentheses: M:N:1 is nothing, and a layout inside of a call is somebody else's to read.
  if (halves.size() != 2) fail("layout: a single ':' should separate shape and stride", text, layout_hint);
  Tree shape = parse_tree(halves[0], text, 0), stride = parse_tree(halves[1], text, 0);
  unwrap(shape, stride);
  std::vector<std::vector<FlatMode>> out;
  if (shape.leaf) {
    out.emplace_back();
    zip(shape, stride, out.back(), text);
    return out;
  }
  if (stride.leaf || shape.children.size() != stride.children.size())
    fail("layout: shape and stride are not congruent", text, layout_hint);
  for (std::size_t k = 0; k < shape.children.size(); ++k) {
    out.emplace_back();
    zip(shape.children[k], stride.children[k], out.back(), text);
  }
  return out;
}

bool parse_swizzle(std::string_view text, Step& step) {
  std::string_view prefix;
  for (std::string_view p : {"Swizzle<", "Sw<", "S<"})
    if (text.substr(0, p.size()) == p) prefix = p;
  // No swizzle is no error here: what stands before an o may be an offset or a layout.
  if (prefix.empty()) return false;
  if (text.back() != '>') fail("swizzle: '>' is missing", text, "Sw<bits,base,shift>, e.g. Sw<3,4,3>");
  std::vector<std::string_view> numbers =
      split(text.substr(prefix.size(), text.size() - prefix.size() - 1), ",");
  if (numbers.size() != 3) fail("swizzle: it has three numbers", text, "Sw<bits,base,shift>, e.g. Sw<3,4,3>");
  int values[3];
  for (int k = 0; k < 3; ++k) {
    FormulaRef f = parse_formula(numbers[static_cast<std::size_t>(k)]);
    // So small that no sum of them leaves an int, before the sum below is looked at.
    if (f->op != Op::integer || f->value < -60 || f->value > 60)
      fail("swizzle: bits, base and shift are small integers", text, "Sw<bits,base,shift>, e.g. Sw<3,4,3>");
    values[k] = static_cast<int>(f->value);
  }
  step.kind = Step::Kind::swizzle;
  step.bits = values[0], step.base = values[1], step.shift = values[2];
  int reach = step.bits + step.base + std::abs(step.shift);
  if (step.bits < 0 || step.base < 0 || reach > 62 || std::abs(step.shift) < step.bits)
    fail("swizzle: needs bits >= 0, base >= 0, |shift| >= bits and bits + base + |shift| <= 62", text,
         "with |shift| < bits the map would not be an involution");
  return true;
}

bool identifier_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

void parse_formula_core(std::string_view text, std::string_view domain, Parts& out) {
  std::vector<std::string> names;
  std::size_t arrow = text.find("->");
  std::string_view body = text;
  if (arrow != std::string_view::npos) {
    std::string_view head = trim(text.substr(0, arrow));
    body = trim(text.substr(arrow + 2));
    // `i -> ...` and `(i) -> ...` are one function of one coordinate.
    if (!head.empty() && head.front() == '(' && head.back() == ')') head = head.substr(1, head.size() - 2);
    for (std::string_view n : split(head, ",")) {
      FormulaRef f = parse_formula(n);
      if (f->op != Op::name) fail("formula: coordinates are names", text, "(r, c) -> r * 8 + c");
      names.push_back(f->name);
    }
  } else {
    names = {"i"};
  }
  out.value = parse_formula(body);
  // There is no default: a formula on all integers would be injective or not for reasons that no kernel has.
  if (trim(domain).empty())
    fail("formula: its domain is missing", text, "add --domain '(M,K)', one extent per coordinate");
  Tree extents = parse_tree(domain, domain, 0);
  std::vector<Tree> items = extents.leaf ? std::vector<Tree>{extents} : extents.children;
  if (items.size() != names.size())
    fail("formula: " + std::to_string(names.size()) + " coordinates but " + std::to_string(items.size()) +
             " extents in the domain",
         text, "--domain has one extent per coordinate");
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (!items[k].leaf) fail("formula: a domain is a flat tuple of extents", domain, "--domain '(M,K)'");
    const Leaf& e = items[k].value;
    if (!e.formula && e.value < 1) fail("formula: an extent is below 1", domain, "extents are at least 1");
    for (std::size_t j = 0; j < k; ++j)
      // Two coordinates of one name would be one value in the formula and two in the domain.
      if (names[j] == names[k]) fail("formula: coordinate '" + names[k] + "' twice", text, "name each once");
    out.domain.push_back({names[k], e.formula ? e.formula : integer(e.value)});
  }
}

void symbols_of(const std::vector<std::vector<FlatMode>>& modes, std::set<std::string>& out) {
  for (const auto& top : modes)
    for (const FlatMode& m : top) {
      if (m.extent.formula) out.merge(names_of(m.extent.formula));
      if (m.stride.formula) out.merge(names_of(m.stride.formula));
    }
}

} // namespace

std::set<std::string> Parts::symbols() const {
  std::set<std::string> out;
  symbols_of(modes, out);
  for (const Step& s : outer) {
    symbols_of(s.modes, out);
    if (s.offset.formula) out.merge(names_of(s.offset.formula));
  }
  if (value) {
    std::set<std::string> inside = names_of(value);
    // Coordinates hide symbols of the same name, inside of the formula alone. In an extent such a name could
    // only be a mistake.
    for (const Coordinate& c : domain) inside.erase(c.name);
    for (const Coordinate& c : domain) {
      for (const std::string& n : names_of(c.extent)) {
        for (const Coordinate& other : domain)
          if (other.name == n)
            fail("formula: the extent of '" + c.name + "' mentions coordinate '" + n + "'", text,
                 "extents are made of symbols");
        inside.insert(n);
      }
    }
    out.merge(inside);
  }
  return out;
}

// A call begins with a name and holds a layout, hence a colon or one of Triton's attributes. min(M,8):max(N,2) does as well and is a
// layout: the functions of formulas are no operations.
bool is_algebra_call(std::string_view text) {
  text = trim(text);
  if (is_triton_layout(text)) return true;
  if (text.empty() || !identifier_start(text.front()) || text.find_first_of(":#") == std::string_view::npos)
    return false;
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  std::string_view rest = trim(text.substr(end));
  // The whole text has to be the call: f(A) o B is a composition, whose parts are read one by one and may not
  // be calls.
  if (rest.empty() || rest.front() != '(' || rest.back() != ')') return false;
  for (std::string_view function : {"min", "max", "select", "ceil_div", "floordiv", "mod", "xor"})
    if (text.substr(0, end) == function) return false;
  return text.find("->") == std::string_view::npos;
}

// A formula has no ':' outside of an arrow's head and a layout always one: that tells them apart without a keyword.
std::shared_ptr<const Parts> parse_subject(std::string_view text, std::string_view domain) {
  text = trim(text);
  if (text.empty()) fail("an argument is empty", text, layout_hint);
  // The readers are recursive; this and the depths bound their stacks.
  if (text.size() > 20000) fail("an argument is longer than 20000 characters", text, layout_hint);
  auto parts = std::make_shared<Parts>();
  parts->text = std::string(text);
  // `f o g`: the name o between blanks.
  std::vector<std::string_view> factors = split(text, " o ");
  for (std::size_t k = 0; k + 1 < factors.size(); ++k) {
    Step step{Step::Kind::offset, {}, 0, 0, 0, {}};
    if (factors[k].empty())
      fail("composition: nothing on one side of an o", text, "Sw<3,4,3> o 0 o (8,64):(64,1)");
    if (parse_swizzle(factors[k], step)) {
    } else if (factors[k].find(':') != std::string_view::npos) {
      step.kind = Step::Kind::layout;
      step.modes = parse_modes(factors[k]);
    } else {
      step.offset = parse_leaf(factors[k], text);
    }
    parts->outer.push_back(std::move(step));
  }
  std::string_view core = factors.back();
  if (core.empty()) fail("composition: nothing on one side of an o", text, "Sw<3,4,3> o 0 o (8,64):(64,1)");
  // The innermost function is the only one that may be a formula: it alone has coordinates, what is applied
  // to its value has one number.
  if (core.find("->") == std::string_view::npos && core.find(':') != std::string_view::npos) {
    parts->modes = parse_modes(core);
  } else {
    Step unused{Step::Kind::offset, {}, 0, 0, 0, {}};
    if (parse_swizzle(core, unused)) {
      // A bare swizzle is a function of the index.
      parts->outer.push_back(unused);
      parse_formula_core("i", domain, *parts);
    } else {
      parse_formula_core(core, domain, *parts);
    }
  }
  return parts;
}

// |shift| >= bits, which the parser asks for, keeps the bits that are read apart from those that are written: applied twice it is the
// identity, hence a bijection.
Wide swizzle(Wide x, int bits, int base, int shift) {
  Wide mask = ((Wide{1} << bits) - 1) << (base + std::max(shift, 0));
  // Arithmetic shifts of what a mask left are exact, below 0 as well: the mask has no sign bit.
  Wide moved = shift >= 0 ? (x & mask) >> shift : (x & mask) << -shift;
  return x ^ moved;
}

namespace naive {
namespace {
Wide value(const Leaf& leaf, const Environment& env) {
  if (!leaf.formula) return leaf.value;
  return evaluate(leaf.formula, [&](const std::string& n) { return env.at(n); });
}
// The last mode takes all that is left, also a negative rest: a layout that is applied to another's values runs on along it.
Wide apply(const std::vector<std::vector<FlatMode>>& modes, Wide x, const Environment& env) {
  std::vector<const FlatMode*> flat;
  for (const auto& top : modes)
    for (const FlatMode& m : top) flat.push_back(&m);
  Wide sum = 0;
  for (std::size_t k = 0; k < flat.size(); ++k) {
    Wide extent = value(flat[k]->extent, env);
    if (extent < 1)
      throw QuestionError(
          "layout: an extent is " + to_string(extent) +
          " for some values of the symbols\n  hint   state what keeps it positive with --where");
    // Down and not towards 0: what an offset or another layout made negative is -1 = -1 * 8 + 7, the last
    // element of the block before.
    Wide digit = k + 1 == flat.size() ? x : floor_mod(x, extent);
    sum = add(sum, multiply(digit, value(flat[k]->stride, env)));
    x = floor_div(x, extent);
  }
  return sum;
}
} // namespace

std::vector<Wide> extents(const Parts& f, const Environment& env) {
  std::vector<Wide> out;
  for (const Coordinate& c : f.domain) out.push_back(value({0, c.extent}, env));
  for (const auto& top : f.modes) {
    Wide n = 1;
    for (const FlatMode& m : top) n = multiply(n, value(m.extent, env));
    out.push_back(n);
  }
  // Evaluated by everybody who replays: an empty domain would make every statement about it true.
  for (Wide e : out)
    if (e < 1)
      throw QuestionError("an extent is " + to_string(e) + " for some values of the symbols\n  in     " +
                          f.text + "\n  hint   state what keeps it positive with --where");
  return out;
}

Wide size(const Parts& f, const Environment& env) {
  Wide n = 1;
  for (Wide e : extents(f, env)) n = multiply(n, e);
  return n;
}

std::vector<Wide> coordinate(const Parts& f, Wide index, const Environment& env) {
  std::vector<Wide> out;
  for (Wide e : extents(f, env)) {
    // An index of the domain is not negative, so that no rounding matters; beyond the size the last
    // coordinate wraps, and who replays asks for indices inside alone (Engine::confirmed).
    out.push_back(index % e);
    index /= e;
  }
  return out;
}

Wide at(const Parts& f, Wide index, const Environment& env) {
  Wide x;
  if (f.value) {
    std::vector<Wide> c = coordinate(f, index, env);
    x = evaluate(f.value, [&](const std::string& n) {
      for (std::size_t k = 0; k < f.domain.size(); ++k)
        // Coordinates first, as they hide symbols of the same name.
        if (f.domain[k].name == n) return c[k];
      return env.at(n);
    });
  } else {
    x = apply(f.modes, index, env);
  }
  for (std::size_t k = f.outer.size(); k-- > 0;) {
    const Step& s = f.outer[k];
    if (s.kind == Step::Kind::offset) x = add(x, value(s.offset, env));
    if (s.kind == Step::Kind::swizzle) x = swizzle(x, s.bits, s.base, s.shift);
    if (s.kind == Step::Kind::layout) x = apply(s.modes, x, env);
  }
  return x;
}
} // namespace naive

} // namespace inlay::solver
