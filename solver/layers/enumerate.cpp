#include "layers/enumerate.h"

#include "inlay/solver/error.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace inlay::solver {

// Symbols become numbers here, once: an instance is evaluated up to 2^26 times.
Evaluator::Evaluator(const Parts& f, const naive::Environment& environment) : text_(f.text) {
  extents_ = naive::extents(f, environment);
  // Checked: a size beyond 128 bits is an Overflow here and not a small number that would be enumerated to
  // its end.
  for (Wide e : extents_) size_ = multiply(size_, e);
  auto number = [&](const Leaf& leaf) {
    if (!leaf.formula) return leaf.value;
    return evaluate(leaf.formula, [&](const std::string& n) { return environment.at(n); });
  };
  auto flatten = [&](const std::vector<std::vector<FlatMode>>& modes) {
    std::vector<std::pair<Wide, Wide>> out;
    for (const auto& top : modes)
      for (const FlatMode& m : top) {
        out.emplace_back(number(m.extent), number(m.stride));
        if (out.back().first <
            1) // two of them may have a positive product, so that naive::extents does not see it
          throw QuestionError("an extent is " + to_string(out.back().first) +
                              " for some values of the symbols\n  in     " + f.text +
                              "\n  hint   state what keeps it positive with --where");
      }
    return out;
  };
  if (f.value) {
    compile(f.value, f, environment);
  } else {
    modes_ = flatten(f.modes);
  }
  for (std::size_t k = f.outer.size(); k-- > 0;) {
    const Step& s = f.outer[k];
    Stage stage;
    if (s.kind == Step::Kind::layout) stage.modes = flatten(s.modes);
    if (s.kind == Step::Kind::offset) stage.offset = number(s.offset);
    if (s.kind == Step::Kind::swizzle) stage.bits = s.bits, stage.base = s.base, stage.shift = s.shift;
    stages_.push_back(stage);
  }
}

// Symbols become numbers and coordinates places in an array: no name is looked up in the loop over indices.
void Evaluator::compile(const FormulaRef& f, const Parts& parts, const naive::Environment& environment) {
  if (f->op == Op::integer) {
    program_.push_back({Op::integer, f->value, Jump::none});
    return;
  }
  if (f->op == Op::name) {
    for (std::size_t k = 0; k < parts.domain.size(); ++k)
      if (parts.domain[k].name == f->name) {
        program_.push_back({Op::name, static_cast<Wide>(k), Jump::none});
        return;
      }
    program_.push_back({Op::integer, environment.at(f->name), Jump::none});
    return;
  }
  if (f->op == Op::select) { // lazily: the side not taken may divide by zero
    compile(f->args[0], parts, environment);
    // Where to jump is known once the side has been compiled; until then the place is remembered.
    std::size_t to_else = program_.size();
    program_.push_back({Op::select, 0, Jump::if_zero});
    compile(f->args[1], parts, environment);
    std::size_t to_end = program_.size();
    program_.push_back({Op::select, 0, Jump::always});
    program_[to_else].value = static_cast<Wide>(program_.size());
    compile(f->args[2], parts, environment);
    program_[to_end].value = static_cast<Wide>(program_.size());
    return;
  }
  if (f->op == Op::logical_and || f->op == Op::logical_or) { // lazily too: n != 0 && i % n == 0
    bool both = f->op == Op::logical_and;
    compile(
        make(Op::select, both ? std::vector{f->args[0], make(Op::ne, {f->args[1], integer(0)}), integer(0)}
                              : std::vector{f->args[0], integer(1), make(Op::ne, {f->args[1], integer(0)})}),
        parts, environment);
    return;
  }
  for (const FormulaRef& a : f->args) compile(a, parts, environment);
  program_.push_back({f->op, 0, Jump::none});
}

// Postfix on a stack; jumps stand for what is evaluated lazily. Every operator is checked as in evaluate(): a value that leaves 128 bits
// is an Overflow, which makes the instance undecided and never decided wrongly. Shifts beyond 120 bits are given up as well.
Wide Evaluator::run(const std::vector<Wide>& coordinates) const {
  std::vector<Wide> stack;
  // One allocation an evaluation for nearly every formula; a deeper one grows it.
  stack.reserve(16);
  for (std::size_t at = 0; at < program_.size(); ++at) {
    const Instruction& i = program_[at];
    if (i.jump != Jump::none) {
      bool taken = true;
      if (i.jump == Jump::if_zero) {
        taken = stack.back() == 0;
        stack.pop_back();
      }
      // One before the target, as the loop goes on by one.
      if (taken) at = static_cast<std::size_t>(i.value) - 1;
      continue;
    }
    if (i.op == Op::integer) {
      stack.push_back(i.value);
      continue;
    }
    if (i.op == Op::name) {
      stack.push_back(coordinates[static_cast<std::size_t>(i.value)]);
      continue;
    }
    if (i.op == Op::neg || i.op == Op::logical_not) {
      // Every value on the stack has an opposite: -2^127 is none of Wide's.
      stack.back() = i.op == Op::neg ? -stack.back() : static_cast<Wide>(stack.back() == 0);
      continue;
    }
    Wide b = stack.back();
    stack.pop_back();
    // The result takes the place of the left operand, which was pushed first.
    Wide& a = stack.back();
    switch (i.op) {
    case Op::add: a = add(a, b); break;
    case Op::sub: a = subtract(a, b); break;
    case Op::mul: a = multiply(a, b); break;
    case Op::div:
      if (b == 0)
        throw QuestionError("formula: division by zero\n  in     " + text_ +
                            "\n  hint   guard the divisor, or exclude the case with --where");
      a = floor_div(a, b);
      break;
    case Op::mod:
      if (b == 0)
        throw QuestionError("formula: division by zero\n  in     " + text_ +
                            "\n  hint   guard the divisor, or exclude the case with --where");
      a = floor_mod(a, b);
      break;
    case Op::bit_and: a = within_128_bits(a & b); break;
    case Op::bit_or: a = within_128_bits(a | b); break;
    case Op::bit_xor: a = within_128_bits(a ^ b); break;
    case Op::shl:
      // A negative amount has no value. It leaves the instance undecided, as what is too large does: nothing is
      // proved or refuted by it.
      if (b < 0 || b > 100) throw Overflow("a shift by more than 100 bits");
      a = multiply(a, Wide{1} << static_cast<int>(b));
      break;
    case Op::shr:
      if (b < 0 || b > 120) throw Overflow("a shift by more than 120 bits");
      a >>= static_cast<int>(b);
      break;
    case Op::min: a = std::min(a, b); break;
    case Op::max: a = std::max(a, b); break;
    case Op::lt: a = a < b; break;
    case Op::le: a = a <= b; break;
    case Op::gt: a = a > b; break;
    case Op::ge: a = a >= b; break;
    case Op::eq: a = a == b; break;
    case Op::ne: a = a != b; break;
    default: break;
    }
  }
  return stack.back();
}

Wide Evaluator::operator()(Wide index) const {
  Wide x = 0;
  auto apply = [](const std::vector<std::pair<Wide, Wide>>& modes, Wide i) {
    Wide sum = 0;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      auto [s, d] = modes[k];
      if (k + 1 == modes.size()) return add(sum, multiply(i, d));
      // 64-bit division is four times faster than 128-bit, and the usual case. Its operands are nonnegative there, where rounding
      // towards 0 is rounding down.
      if (i >= 0 && i <= INT64_MAX && s <= INT64_MAX) {
        auto small = static_cast<std::uint64_t>(i), e = static_cast<std::uint64_t>(s);
        sum = add(sum, multiply(static_cast<Wide>(small % e), d));
        i = static_cast<Wide>(small / e);
      } else {
        sum = add(sum, multiply(floor_mod(i, s), d));
        i = floor_div(i, s);
      }
    }
    return sum;
  };
  if (modes_.empty()) {
    // Once a thread: an allocation an index would take longer than the evaluation.
    static thread_local std::vector<Wide> coordinates;
    coordinates.clear();
    for (Wide e : extents_) {
      coordinates.push_back(index % e);
      index /= e;
    }
    x = run(coordinates);
  } else {
    x = apply(modes_, index);
  }
  for (const Stage& s : stages_) {
    if (!s.modes.empty()) {
      x = apply(s.modes, x);
    } else if (s.bits != 0) {
      x = swizzle(x, s.bits, s.base, s.shift);
    } else {
      x = add(x, s.offset);
    }
  }
  return x;
}

// By a bitmap where values are dense and by sorting where they are not; both find the smallest second index.
std::optional<Collision> find_collision(const Evaluator& f, Wide limit) {
  Wide n = std::min(f.size(), limit);
  if (n <= 0) return std::nullopt;
  Wide low = 0, high = 0;
  for (Wide i = 0; i < n; ++i) {
    Wide v = f(i);
    // Evaluated twice in all: once for the span, which decides how, and once to look. A table of values from
    // the first round would be 32 bytes an index where the bitmap needs one bit.
    low = i == 0 ? v : std::min(low, v);
    high = i == 0 ? v : std::max(high, v);
  }
  // Values span up to 2^128 - 1, which a Wide does not hold.
  auto span = static_cast<unsigned __int128>(high) - static_cast<unsigned __int128>(low);
  // 64 bits an index are a quarter of what a sorted table takes; 2^30 of them are 128 MiB.
  auto dense = static_cast<unsigned __int128>(64 * n + 1024);
  if (span < dense && span < (Wide{1} << 30)) {
    // Dense image: a bitmap to find the second index, then a scan for the first.
    std::vector<bool> seen(static_cast<std::size_t>(high - low + 1));
    for (Wide i = 0; i < n; ++i) {
      Wide v = f(i);
      auto bit = seen[static_cast<std::size_t>(v - low)];
      if (bit)
        // The first index is not in the bitmap. One more round, made once, since the search ends with it.
        for (Wide j = 0; j < i; ++j)
          if (f(j) == v) return Collision{j, i, v};
      bit = true;
    }
    return std::nullopt;
  }
  // Indices of 32 bits: nobody asks for more than 2^26 (greatest_limit).
  std::vector<std::pair<Wide, std::uint32_t>> values;
  values.reserve(static_cast<std::size_t>(n));
  for (Wide i = 0; i < n; ++i) values.emplace_back(f(i), static_cast<std::uint32_t>(i));
  // Sorted by value, then index: the smallest second index of a value stands next to its first.
  std::sort(values.begin(), values.end());
  std::optional<Collision> best;
  for (std::size_t k = 1; k < values.size(); ++k)
    if (values[k].first == values[k - 1].first &&
        // The smallest second index over all values that occur twice, so that the bitmap and the table tell
        // the same collision.
        (!best || values[k].second < static_cast<std::uint32_t>(best->second)))
      best = Collision{values[k - 1].second, values[k].second, values[k].first};
  return best;
}

} // namespace inlay::solver
