// Verdicts against the definition by enumeration, on random layouts.
#include "slow.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <inlay/solver/prove.h>
#include <map>
#include <random>
#include <set>

namespace random_test {

using namespace inlay::solver;

namespace {

const int rounds = is_slow() ? 100000 : 10000;

struct Random {
  std::mt19937 engine{20261121};
  int operator()(int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  }
};

// A layout as numbers and as text, with the reference evaluation beside it: three lines that share nothing
// with inlay.
struct Sample {
  std::vector<std::pair<long, long>> modes;
  int bits = 0, base = 0, shift = 0;
  [[nodiscard]] long size() const {
    long n = 1;
    for (auto [s, d] : modes) n *= s;
    return n;
  }
  [[nodiscard]] long at(long i) const {
    long sum = 0;
    for (auto [s, d] : modes) sum += (i % s) * d, i /= s;
    if (bits == 0) return sum;
    long mask = ((1L << bits) - 1) << (base + std::max(shift, 0));
    return sum ^ (shift > 0 ? (sum & mask) >> shift : (sum & mask) << -shift);
  }
  [[nodiscard]] std::string text() const {
    std::string shape, stride;
    for (auto [s, d] : modes) {
      shape += (shape.empty() ? "(" : ",") + std::to_string(s);
      stride += (stride.empty() ? "(" : ",") + std::to_string(d);
    }
    std::string layout = shape + "):" + stride + ")";
    if (bits == 0) return layout;
    return "Sw<" + std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift) +
           "> o 0 o " + layout;
  }
};

Sample random_sample(Random& random, long limit) {
  Sample a;
  int rank = random(1, 8);
  long next = 1;
  for (int k = 0; k < rank; ++k) {
    long s = random(0, 2) ? random(1, 4) : 1 << random(0, 2);
    if (a.size() * s > limit) break;
    long d = 0;
    switch (random(0, 5)) {
    case 0: d = random(-8, 8); break;
    case 1: d = 0; break;
    default: d = next * random(1, 2); break;
    }
    a.modes.emplace_back(s, d);
    next = std::max(1L, std::abs(d) * s);
    if (next > (1L << 40)) next = 1;
  }
  if (a.modes.empty()) a.modes.emplace_back(1, 1);
  if (random(0, 3) == 0) {
    a.bits = random(1, 2);
    a.base = random(0, 2);
    a.shift = random(0, 1) ? random(a.bits, 3) : -random(a.bits, 3);
  }
  return a;
}

// The same function in other words: a mode split in two, or a mode of extent 1 put in.
Sample rewritten(Random& random, Sample a) {
  for (int step = 0; step < 3; ++step) {
    auto k = static_cast<std::size_t>(random(0, static_cast<int>(a.modes.size()) - 1));
    auto [s, d] = a.modes[k];
    for (long f : {2L, 3L, 4L})
      if (s % f == 0 && s > f && random(0, 1)) {
        a.modes[k] = {f, d};
        a.modes.insert(a.modes.begin() + static_cast<std::ptrdiff_t>(k) + 1, {s / f, d * f});
        break;
      }
    if (random(0, 4) == 0)
      a.modes.insert(a.modes.begin() + static_cast<std::ptrdiff_t>(k), {1, random(-9, 9)});
  }
  return a;
}

Sample mutated(Random& random, Sample a) {
  auto k = static_cast<std::size_t>(random(0, static_cast<int>(a.modes.size()) - 1));
  a.modes[k].second += random(0, 1) ? 1 : -1;
  return a;
}

std::optional<long> difference(const Sample& a, const Sample& b) {
  if (a.size() != b.size()) return -1;
  for (long i = 0; i < a.size(); ++i)
    if (a.at(i) != b.at(i)) return i;
  return std::nullopt;
}

} // namespace

TEST_CASE(
    "equality of concrete layouts and swizzled layouts agrees with enumeration, smallest index included",
    "[slow]") {
  Random random;
  int equal = 0, different = 0;
  for (int round = 0; round < rounds; ++round) {
    Sample a = random_sample(random, 600);
    Sample b = random(0, 2) == 0 ? random_sample(random, 600) : rewritten(random, a);
    if (random(0, 2) == 0) b = mutated(random, b);
    auto d = difference(a, b);
    Verdict v = prove_equal(a.text(), b.text());
    CAPTURE(a.text(), b.text(), v.summary());
    (d ? different : equal)++;
    REQUIRE(v.outcome == (d ? Outcome::refuted : Outcome::proved));
    if (d && *d >= 0) {
      REQUIRE(v.witness->index == *d);
      REQUIRE(v.witness->lhs == a.at(*d));
      REQUIRE(v.witness->rhs == b.at(*d));
    }
  }
  CHECK(equal > rounds / 10);
  CHECK(different > rounds / 10);
}

TEST_CASE("injective and bijective agree with enumeration", "[slow]") {
  Random random;
  int yes = 0, no = 0, onto = 0;
  for (int round = 0; round < rounds / 2; ++round) {
    Sample a = random_sample(random, 300);
    if (random(0, 1) == 0) { // a permutation of a compact layout, so that bijections occur
      long next = 1;
      for (auto& [s, d] : a.modes) d = next, next *= s;
      std::shuffle(a.modes.begin(), a.modes.end(), random.engine);
      if (random(0, 3) == 0) a = mutated(random, a);
    }
    std::set<long> image;
    long low = a.at(0), high = a.at(0);
    for (long i = 0; i < a.size(); ++i) {
      image.insert(a.at(i));
      low = std::min(low, a.at(i)), high = std::max(high, a.at(i));
    }
    bool injective = static_cast<long>(image.size()) == a.size();
    bool bijective = injective && low == 0 && high == a.size() - 1;
    CAPTURE(a.text());
    REQUIRE(prove_injective(a.text()).outcome == (injective ? Outcome::proved : Outcome::refuted));
    REQUIRE(prove_bijective(a.text()).outcome == (bijective ? Outcome::proved : Outcome::refuted));
    // covers, within, aligned from the same image
    long hole = 0;
    while (image.count(hole)) ++hole;
    if (hole > 0) REQUIRE(prove_covers(a.text(), std::to_string(hole)).outcome == Outcome::proved);
    REQUIRE(prove_covers(a.text(), std::to_string(hole + 1)).outcome == Outcome::refuted);
    if (low >= 0) REQUIRE(prove_within(a.text(), std::to_string(high + 1)).outcome == Outcome::proved);
    if (low >= 0 && high > 0)
      REQUIRE(prove_within(a.text(), std::to_string(high)).outcome == Outcome::refuted);
    for (long w : {2L, 4L}) {
      bool aligned = std::all_of(image.begin(), image.end(), [&](long v) { return v % w == 0; });
      REQUIRE(prove_aligned(a.text(), std::to_string(w)).outcome ==
              (aligned ? Outcome::proved : Outcome::refuted));
    }
    (injective ? yes : no)++;
    onto += bijective;
  }
  CHECK(yes > rounds / 20);
  CHECK(no > rounds / 20);
  CHECK(onto > rounds / 20);
}

TEST_CASE("disjoint agrees with enumeration", "[slow]") {
  Random random;
  int apart = 0, shared = 0;
  for (int round = 0; round < rounds / 4; ++round) {
    Sample a = random_sample(random, 40), b = random_sample(random, 40);
    long offset = random(0, 60);
    std::set<long> image;
    for (long i = 0; i < a.size(); ++i) image.insert(a.at(i));
    bool meet = false;
    for (long j = 0; j < b.size(); ++j) meet |= image.count(b.at(j) + offset) != 0;
    std::string second = std::to_string(offset) + " o " + b.text();
    CAPTURE(a.text(), second);
    REQUIRE(prove_disjoint(a.text(), second).outcome == (meet ? Outcome::refuted : Outcome::proved));
    (meet ? shared : apart)++;
  }
  CHECK(apart > rounds / 40);
  CHECK(shared > rounds / 40);
}

TEST_CASE("symbolic layouts: known-equal rewrites are proved, one-place mutations refuted", "[slow]") {
  Random random;
  for (int round = 0; round < rounds / 5; ++round) {
    // Compact or padded layouts over symbols; a rewrite splits a mode by a constant or merges neighbours.
    const char* names[] = {"a", "b", "c", "d"};
    int rank = random(1, 4);
    std::vector<std::string> extents, strides;
    std::string product = "1";
    for (int k = 0; k < rank; ++k) {
      std::string e = std::to_string(random(1, 4)) + "*" + names[k];
      extents.push_back(e);
      strides.push_back(product + (random(0, 3) == 0 ? "*(p+1)" : ""));
      product = "(" + product + ")*" + e;
    }
    auto text = [](const std::vector<std::string>& s, const std::vector<std::string>& d) {
      std::string x, y;
      for (std::size_t k = 0; k < s.size(); ++k) {
        x += (k ? "," : "(") + s[k];
        y += (k ? "," : "(") + d[k];
      }
      return x + "):" + y + ")";
    };
    auto e2 = extents, d2 = strides;
    for (int step = 0; step < 2; ++step) {
      auto k = static_cast<std::size_t>(random(0, static_cast<int>(e2.size()) - 1));
      std::string s = e2[k], d = d2[k];
      std::size_t star = s.find('*');
      if (star == std::string::npos || star > 2) continue;
      e2[k] = s.substr(0, star);
      e2.insert(e2.begin() + static_cast<std::ptrdiff_t>(k) + 1, s.substr(star + 1));
      d2.insert(d2.begin() + static_cast<std::ptrdiff_t>(k) + 1, "(" + d + ")*" + s.substr(0, star));
    }
    std::string left = text(extents, strides), right = text(e2, d2);
    CAPTURE(left, right);
    Verdict v = prove_equal(left, right);
    CAPTURE(v.summary());
    REQUIRE(v.outcome == Outcome::proved);
    auto k = static_cast<std::size_t>(random(0, static_cast<int>(e2.size()) - 1));
    if (e2[k] == "1") continue;
    d2[k] += random(0, 1) ? "+1" : "-1";
    std::string wrong = text(e2, d2);
    CAPTURE(wrong);
    v = prove_equal(left, wrong);
    REQUIRE(v.outcome == Outcome::refuted);
  }
}

TEST_CASE("formulas against enumeration: random digit formulas with / % ^ &", "[slow]") {
  Random random;
  int proved = 0, refuted = 0;
  for (int round = 0; round < rounds / 10; ++round) {
    long size = 1L << random(3, 7);
    auto power = [&] { return std::to_string(1L << random(0, 4)); };
    auto atom = [&]() -> std::string {
      switch (random(0, 4)) {
      case 0: return "i";
      case 1: return "i / " + power();
      case 2: return "i % " + power();
      case 3: return "(i & " + std::to_string(random(0, 31)) + ")";
      default: return "((i / " + power() + ") % " + power() + ")";
      }
    };
    std::string f = atom() + " * " + power() + " + " + atom(), g = f;
    if (random(0, 1)) f = "(" + f + ") ^ (" + atom() + ")";
    if (random(0, 1)) f = "(" + f + ") + 3 * (" + atom() + ")";
    if (random(0, 2)) g = "(" + f + ") + 0 * i";
    if (random(0, 3) == 0) g = "(" + f + ") + i / " + std::to_string(size - 1);
    Subject a(f, std::to_string(size)), b(g, std::to_string(size));
    Verdict v = prove_equal(a, b);
    CAPTURE(f, g, size, v.summary());
    REQUIRE(v.outcome != Outcome::unknown);
    (v.outcome == Outcome::proved ? proved : refuted)++;
    // With enumeration and solvers taken away the layers may not know, but must not say anything else.
    Options blind;
    blind.enumeration_limit = 0;
    blind.solver_steps = 0;
    blind.refuter_assignments = 0;
    Verdict w = prove_equal(a, b, {}, blind);
    if (w.outcome != Outcome::unknown) REQUIRE(w.outcome == v.outcome);
  }
  CHECK(proved > rounds / 100);
  CHECK(refuted > rounds / 100);
}

} // namespace random_test
