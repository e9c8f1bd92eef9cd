// Folds of integers in machine code: sums modulo 2^32, the greatest and the least with a sign and without one; bits of the machine code
// flipped, of which none is called validated that stores something else.
#include "integers.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/kernels/launch.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

namespace folds_test {

using namespace inlay;
using namespace inlay::codegen;
using kernels::validate::CodeOptions, kernels::validate::CodeReport, kernels::validate::validate_code;
using Verdict = runtime::symbolic::Verdict;

namespace {

runtime::CodeObject object_of(const kernels::Bytes& bytes) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return runtime::CodeObject::parse({p, p + bytes.size()});
}

std::string text_of(const CodeReport& r) {
  std::string s(runtime::symbolic::to_string(r.verdict));
  for (const auto& f : r.refuted) s += "\n  refuted '" + f.text + "' " + f.source + ": " + f.message;
  for (const auto& u : r.undecided) s += "\n  undecided: " + u;
  return s;
}

CodeReport judged(const kernels::Artifact& a, const kernels::Bytes& bytes, bool numbers = true,
                  std::uint64_t budget = 20'000'000) {
  const auto object = object_of(bytes);
  CodeOptions o;
  if (!numbers) o.first_runs = o.refuter_runs = 0;
  o.budget = budget;
  return validate_code(object, object.kernel(a.kernel), a.source->code, o);
}

/// y(m) = the fold of x(m, i) over i, by a workgroup a row.
struct Row {
  Monoid monoid = Monoid::wrapping_sum;
  bool lanes = false; ///< each work-item goes on with its own, and the fold comes behind the loop
  int threads = 64, vector = 1;
  bool squares = false; ///< of x(m, i)^2 + 0
  const char* target = "gfx942";
};
Program row(const Row& how) {
  const int wide = how.threads * how.vector;
  const bool sum = how.monoid == Monoid::wrapping_sum;
  Program k("row", Target::named(how.target), how.threads);
  const Sym m = k.size("m", {.most = 1 << 16}), n = k.size("n", {.most = 1 << 20, .multiple = how.vector});
  const Tensor y = k.output("y", Element::i32, {m, 1}), x = k.input("x", Element::i32, {m, n});
  const auto body = [&](Expr e) { return how.squares ? e * e : e; };
  const auto of = [&](Sym i, Sym r) { return body(integer(k(x, {r, i}))); };
  k.computes(y, [&](const auto& c) {
    const auto at = [&](Sym i) { return of(i, c[0]); };
    return sum ? k.sum(n, at)
               : k.fold(how.monoid == Monoid::signed_max   ? Monoid::max
                        : how.monoid == Monoid::signed_min ? Monoid::min
                                                           : how.monoid,
                        n, at);
  });
  const Sym r = k.workgroups(0, m, 1);
  const Layout tv = rows_tv(1, wide, how.vector, how.threads), one = without_axis(tv, 1);
  const auto nothing = static_cast<std::int64_t>(empty_element(how.monoid));
  const Fragment acc = k.map(
      {k.zeros(Element::i32, how.lanes ? tv : one, {1, how.lanes ? wide : 1})},
      [&](const auto&) { return k.integer(nothing); }, Element::i32);
  const auto joined = [&](const auto& v) {
    const Expr a = integer(v[0]), b = integer(v[1]);
    if (sum) return a + b;
    const bool with_sign = how.monoid == Monoid::signed_max || how.monoid == Monoid::signed_min;
    const bool largest = how.monoid == Monoid::signed_max || how.monoid == Monoid::unsigned_max;
    const Expr less = with_sign ? less_signed(a, b) : less_unsigned(a, b);
    return largest ? choose(less, b, a) : choose(less, a, b);
  };
  const auto fold = [&](const Fragment& f) {
    switch (how.monoid) {
    case Monoid::signed_max: return k.fold(Monoid::max, f, 1, Element::i32);
    case Monoid::signed_min: return k.fold(Monoid::min, f, 1, Element::i32);
    case Monoid::wrapping_sum: return k.fold(Monoid::sum, f, 1, Element::i32);
    default: return k.fold(how.monoid, f, 1, Element::i32);
    }
  };
  k.loop(n, wide, {.distance = 1, .ring = 2}, [&](Sym t) {
    const Fragment loaded = k.load(k.tile(x, {1, wide}, {r, t}), tv, how.vector);
    const Fragment f = sum && !how.squares
                           ? loaded
                           : k.map(
                                 {loaded},
                                 [&](const auto& v) {
                                   const Expr e = body(integer(v[0]));
                                   if (sum) return e;
                                   return choose(less_signed(integer(k.number(Sym(wide) * t + k.position(1))),
                                                             integer(k.number(n))),
                                                 e, k.integer(nothing));
                                 },
                                 Element::i32);
    k.update(acc, {how.lanes ? f : fold(f)}, joined);
  });
  k.store(how.lanes ? fold(acc) : acc, k.tile(y, {1, 1}, {r, 0}), 1);
  return k;
}

kernels::Bytes output(const kernels::Artifact& a, const kernels::Bytes& hsaco, std::int64_t m, std::int64_t n,
                      bool stress) {
  kernels::Artifact changed = a;
  changed.hsaco = hsaco;
  std::mt19937_64 random(static_cast<std::uint64_t>(m * n));
  kernels::Bytes y(static_cast<std::size_t>(4 * m)), x(static_cast<std::size_t>(4 * m * n));
  for (std::size_t k = 0; k < x.size(); k += 4) {
    const auto v = static_cast<std::uint32_t>(random());
    std::memcpy(x.data() + k, &v, 4);
  }
  runtime::EmulatorOptions o;
  o.threads = 1;
  o.checks = runtime::Checks::none();
  o.stress = stress;
  o.max_wave_instructions = 3'000'000;
  try {
    const auto device = kernels::open_device("emulator", changed.arch, o);
    return kernels::run(*device, changed, {y, x}, {m, n})[0];
  } catch (const std::exception&) {
    return {};
  }
}

/// Every `step`-th bit of its instructions flipped: how many are validated and store something else.
struct Flips {
  int tried = 0, refuted = 0, same = 0, undecided = 0;
};
Flips flipped(const kernels::Artifact& a, std::uint64_t seed, int tries, bool numbers) {
  const auto object = object_of(a.hsaco);
  const auto& section = object.sections()[object.kernel(a.kernel).section];
  const auto program =
      runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
  const auto* p = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
  const auto begin = std::search(p, p + a.hsaco.size(), section.bytes.begin(), section.bytes.end()) - p;
  std::vector<const runtime::isa::Instruction*> all;
  for (const auto& i : program.instructions) {
    if (i.mnemonic == "s_code_end") break;
    const std::string_view n = i.mnemonic;
    if (n.starts_with("v_") || n.starts_with("ds_") || n.starts_with("buffer_")) all.push_back(&i);
  }
  std::mt19937_64 random(seed);
  Flips out;
  while (out.tried < tries) {
    const auto& i = *all[random() % all.size()];
    const std::size_t bit = random() % (std::size_t{8} * i.size);
    kernels::Bytes bytes = a.hsaco;
    const auto at = static_cast<std::size_t>(begin) + (i.address - program.begin);
    bytes[at + bit / 8] ^= std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    std::vector<std::uint8_t> code(i.size);
    std::memcpy(code.data(), bytes.data() + at, code.size());
    const auto now = runtime::isa::decode(code, i.address, program.arch);
    if (now.instructions.size() != 1 || now.instructions[0].is_unknown() ||
        now.instructions[0].text == i.text)
      continue;
    ++out.tried;
    const CodeReport r = judged(a, bytes, numbers);
    if (r.verdict == Verdict::refuted) ++out.refuted;
    if (r.verdict == Verdict::undecided) ++out.undecided;
    if (r.verdict != Verdict::validated) continue;
    ++out.same;
    for (const auto& [m, n] :
         {std::pair(1, 4), std::pair(3, 64), std::pair(2, 68), std::pair(1, 1000), std::pair(2, 2052)})
      for (const bool stress : {false, true}) {
        INFO(i.text << "  ->  " << now.instructions[0].text << "  at m = " << m << ", n = " << n);
        CHECK(output(a, bytes, m, n, stress) == output(a, a.hsaco, m, n, false));
      }
  }
  return out;
}

const Monoid monoids[] = {Monoid::wrapping_sum, Monoid::signed_max, Monoid::signed_min, Monoid::unsigned_max,
                          Monoid::unsigned_min};

} // namespace

TEST_CASE("validation: folds of integers") {
  for (const char* target : {"gfx942", "gfx950", "gfx90a"})
    for (const Monoid monoid : monoids)
      for (const bool lanes : {false, true})
        for (const auto& [threads, vector] : {std::pair(64, 1), std::pair(64, 4), std::pair(256, 4)}) {
          if (lanes && monoid != Monoid::wrapping_sum) continue;
          const kernels::Artifact a = kernels::build(row(
              {.monoid = monoid, .lanes = lanes, .threads = threads, .vector = vector, .target = target}));
          const CodeReport r = judged(a, a.hsaco);
          INFO(to_string(monoid) << " of " << threads << " by " << vector << (lanes ? " by lanes" : "")
                                 << " on " << target << ", " << r.steps << " steps: " << text_of(r));
          CHECK(r.verdict == Verdict::validated);
          CHECK(r.steps < 5'000'000);
        }
}

TEST_CASE("validation: a fold of integers is no other fold") {
  // The machine code of each fold against the code of each other one, by symbols alone, in a few more steps than its own takes;
  // of two waves, against that of the next.
  for (const int threads : {64, 128})
    for (const bool lanes : {false, true}) {
      std::vector<kernels::Artifact> all;
      for (const Monoid monoid : monoids)
        if (!lanes || monoid == Monoid::wrapping_sum)
          all.push_back(kernels::build(row({.monoid = monoid, .lanes = lanes, .threads = threads})));
      all.push_back(kernels::build(row({.lanes = lanes, .threads = threads, .squares = true})));
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (threads == 128 && k != i && k != (i + 1) % all.size()) continue;
          const CodeReport r = judged(all[i], all[k].hsaco, false, threads == 64 ? 100'000 : 250'000);
          INFO(threads << ": " << i << " and " << k << ": " << text_of(r));
          CHECK((r.verdict == Verdict::validated) == (i == k));
        }
    }
}

TEST_CASE("validation: bits of folds of integers", "[.slow]") {
  for (const Monoid monoid : monoids)
    for (const bool lanes : {false, true}) {
      if (lanes && monoid != Monoid::wrapping_sum) continue;
      const kernels::Artifact a =
          kernels::build(row({.monoid = monoid, .lanes = lanes, .threads = 128, .vector = 2}));
      const Flips f = flipped(a, 7 + static_cast<std::uint64_t>(monoid), 12, false);
      UNSCOPED_INFO(to_string(monoid) << ": " << f.tried << " tried, " << f.refuted << " refuted, "
                                      << f.undecided << " undecided, " << f.same << " validated");
      CHECK(f.refuted + f.undecided > f.same);
    }
}

TEST_CASE("validation: many bits of folds of integers", "[.slow]") {
  for (const Monoid monoid : monoids)
    for (const bool lanes : {false, true})
      for (const bool numbers : {false, true}) {
        if (lanes && monoid != Monoid::wrapping_sum) continue;
        const kernels::Artifact a =
            kernels::build(row({.monoid = monoid, .lanes = lanes, .threads = 128, .vector = 2}));
        const Flips f = flipped(a, 100 + static_cast<std::uint64_t>(monoid), 60, numbers);
        WARN(to_string(monoid) << (lanes ? " by lanes: " : ": ") << f.tried << " tried, " << f.refuted
                               << " refuted, " << f.undecided << " undecided, " << f.same << " validated");
      }
}

} // namespace folds_test
