// The laws on a fixed zoo, on random layouts that shrink, and on all small layouts.
#include <catch2/catch.hpp>

#include <inlay/algebra/laws.h>
#include <layout_generators.h>

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

TEST_CASE("laws on random layouts") {
  for (const laws::Law& law : laws::all) {
    std::string message;
    const bool holds = generators::holds_randomly(law, 10000, &message);
    INFO(message);
    CHECK(holds);
  }
}

TEST_CASE("unary laws on all layouts of size at most 16 and rank at most 3") {
  std::vector<std::vector<Int>> shapes;
  for (int a = 1; a <= 16; ++a) {
    shapes.push_back({a});
    for (int b = 1; a * b <= 16; ++b) {
      shapes.push_back({a, b});
      for (int c = 1; a * b * c <= 16; ++c) shapes.push_back({a, b, c});
    }
  }
  std::size_t layouts = 0;
  for (const auto& shape : shapes) {
    // Rank 3 takes every third stride triple: all of them are a million layouts, which the nightly label
    // runs.
    const std::size_t count = shape.size() == 1 ? 13 : shape.size() == 2 ? 169 : 2197;
    for (std::size_t code = 0; code < count; code += shape.size() == 3 ? 29 : 1) {
      TupleBuilder<Mode> b;
      const std::size_t at = b.open();
      std::size_t rest = code;
      for (const Int s : shape) {
        b.leaf({s, Stride(Int(rest % 13) - 4)});
        rest /= 13;
      }
      b.close(at, shape.size());
      const laws::Input in{Layout(std::move(b).finish()), Layout(), 1 + static_cast<int>(code % 24)};
      for (const laws::Law& law : laws::all)
        if (!law.binary) require(law, in);
      ++layouts;
    }
  }
  CHECK(layouts > 10000);
}

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
