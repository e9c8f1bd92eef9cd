// The laws on a fixed zoo, and on random layouts that shrink: some in every run, ten million a law at night.
#include <catch2/catch.hpp>

#include <each_law.h>
#include <inlay/algebra/laws.h>
#include <layout_generators.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace laws_test {

using namespace inlay;

namespace {

const char* const zoo[] = {
    "1:0",
    "4:1",
    "4:2",
    "(4):(1)",
    "4:-1",
    "4:0",
    "(4,8):(1,4)",
    "(4,8):(8,1)",
    "((2,2),3):((24,2),8)",
    "(4,1):(1,9)",
    "(2,(1,6)):(1,(6,2))",
    "(6,2):(8,2)",
    "(3,4):(1,7)",
    "(6,2):(1,7)",
    "(2,2):(2,5)",
    "(2,2):(1,3)",
    "(3,2):(2,3)",
    "(4,(2,3)):(0,(1,2))",
    "((4,2),(2,4)):((1,16),(8,32))",
    "(8,4):(1,16)",
    "(2,3,4):(12,1,3)",
    "(4,3):(-1,4)",
    "5:3",
    "3:5",
    "(4,6,8):(2,3,5)",
    "12:1",
    "(3,2):(2,6)",
    "(5,4):(12,2)",
    "(1,1):(3,0)",
    "(2,2,2):(4,1,2)",
    "(10,2):(16,4)",
    "(3,4):(1,5)",
};

void require(const laws::Law& law, const laws::Input& in) {
  const laws::Outcome o = law.check(in);
  if (o.verdict == laws::Verdict::broken) FAIL(law.name << ": " << o.message);
}

} // namespace

TEST_CASE("laws on the zoo") {
  for (const laws::Law& law : laws::all) {
    std::size_t tested = 0;
    for (const char* a : zoo)
      for (const char* b : zoo)
        for (const int n : {1, 2, 3, 4, 12, 24}) {
          if (!law.binary && b != zoo[0]) continue;
          const laws::Input in{parse_layout(a), parse_layout(b), n};
          require(law, in);
          tested += law.check(in).verdict == laws::Verdict::holds;
        }
    INFO(law.name);
    CHECK(tested > 10); // a law whose every input is refused says nothing
  }
}

TEST_CASE("random layouts find what is broken on purpose") {
  const laws::Law wrong{"wrong", "every layout is injective",
                        [](const laws::Input& in) {
                          const std::vector<Int> v = laws::detail::values(in.a);
                          return std::set<Int>(v.begin(), v.end()).size() == v.size()
                                     ? laws::Outcome{}
                                     : laws::Outcome{laws::Verdict::broken, to_string(in.a)};
                        },
                        false};
  std::string message;
  CHECK_FALSE(generators::holds_randomly(wrong, 1000, &message));
  CHECK(message.find("wrong: ") != std::string::npos); // the counterexample, shrunk to a few elements
}

namespace {

void random_case(const laws::Law& law) {
  std::string message;
  const bool holds = generators::holds_randomly(law, 10000, &message);
  INFO(message);
  CHECK(holds);
}
const bool random_cases = testing::register_laws<random_case>("random layouts", "");

// Ten million cases a law, each night others: the seed is printed, and INLAY_LAW_SEED repeats it.
void nightly_case(const laws::Law& law) {
  const char* fixed = std::getenv("INLAY_LAW_SEED");
  const std::uint64_t seed = fixed ? std::strtoull(fixed, nullptr, 10) : std::random_device()();
  std::printf("%s: seed %llu\n", law.name, static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  std::string message;
  const bool holds = generators::holds_randomly(law, 10'000'000, &message, seed);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%s: %s, %.0f s\n", law.name, message.c_str(), took.count());
  std::fflush(stdout);
  CHECK(holds);
}
const bool nightly_cases = testing::register_laws<nightly_case>("nightly", "[.nightly]");

} // namespace

TEST_CASE("composition on all small pairs") {
  // A of rank 2, B of rank 1 and 2: acceptance and values by the definition.
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int s0 = 1; s0 <= 6; ++s0)
    for (int s1 = 1; s1 <= 4; ++s1)
      for (const int d0 : {1, 2, 5})
        for (const int d1 : {0, 1, 7, 12})
          for (int n = 1; n <= 8; ++n)
            for (int d = -4; d <= 12; ++d)
              for (int m = 0; m <= 3; ++m) {
                const Layout a(Tuple<Mode>::of({Tuple<Mode>({s0, d0}), Tuple<Mode>({s1, d1})}));
                const Layout b =
                    m == 0 ? Layout(n, d)
                           : Layout(Tuple<Mode>::of({Tuple<Mode>({n, d}), Tuple<Mode>({m + 1, n})}));
                const laws::Outcome o = laws::composed({a, b, 1});
                if (o.verdict == laws::Verdict::broken) FAIL(o.message);
                ++(o.verdict == laws::Verdict::holds ? accepted : refused);
              }
  CHECK(accepted > 20000);
  CHECK(refused > 20000);
}

} // namespace laws_test
