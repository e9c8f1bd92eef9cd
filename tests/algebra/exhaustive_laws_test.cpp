// The laws on all layouts of size at most 12 and rank at most 3 with strides in -4..8, and those of rank 3 again with their
// modes nested from the left and from the right; nightly of size at most 16, some 250,000 of them.
#include <catch2/catch.hpp>

#include <each_law.h>
#include <inlay/algebra/laws.h>

#include <array>
#include <unordered_map>

namespace exhaustive_laws_test {

using namespace inlay;

namespace {

constexpr int least_stride = -4;
constexpr int strides = 13;

enum class Nesting { leaf, flat, left, right }; // 4:1, (4):(1) and (2,2,2), ((2,2),2), (2,(2,2))

Layout build(const int* extents, std::size_t rank, int code, Nesting nesting) {
  std::array<Mode, 3> modes{};
  for (std::size_t k = 0; k < rank; ++k) {
    modes[k] = Mode{extents[k], Stride(Int(code % strides + least_stride))};
    code /= strides;
  }
  TupleBuilder<Mode> b;
  if (nesting == Nesting::leaf) {
    b.leaf(modes[0]);
    return Layout(std::move(b).finish());
  }
  const std::size_t at = b.open();
  for (std::size_t k = 0; k < rank; ++k) {
    const bool opens = (nesting == Nesting::left && k == 0) || (nesting == Nesting::right && k == 1);
    const std::size_t inner = opens ? b.open() : 0;
    b.leaf(modes[k]);
    if (opens) {
      b.leaf(modes[++k]);
      b.close(inner, 2);
    }
  }
  b.close(at, nesting == Nesting::flat ? rank : 2);
  return Layout(std::move(b).finish());
}

// Calls `visit(layout, number)` with every layout of so many elements; `nestings` with the nested ones of rank 3 too.
template <class Visit>
void all_layouts(int most_elements, bool nestings, const Visit& visit) {
  int number = 0;
  const auto visit_all = [&](std::initializer_list<int> extents, Nesting nesting) {
    int count = 1;
    for (std::size_t k = 0; k < extents.size(); ++k) count *= strides;
    for (int code = 0; code < count; ++code)
      visit(build(extents.begin(), extents.size(), code, nesting), number++);
  };
  for (int a = 1; a <= most_elements; ++a) {
    visit_all({a}, Nesting::leaf);
    visit_all({a}, Nesting::flat);
    for (int b = 1; a * b <= most_elements; ++b) {
      visit_all({a, b}, Nesting::flat);
      for (int c = 1; a * b * c <= most_elements; ++c) {
        visit_all({a, b, c}, Nesting::flat);
        if (nestings) visit_all({a, b, c}, Nesting::left);
        if (nestings) visit_all({a, b, c}, Nesting::right);
      }
    }
  }
}

// What the others are combined with, on either side.
const char* const partners[] = {"1:0",     "4:1",         "2:3",         "3:-1",
                                "(4):(2)", "(2,2):(2,1)", "(3,2):(1,8)", "(2,1,2):(1,5,4)"};

// `unary`, `binary`: how many layouts there are, by another hand.
template <int most_elements, std::size_t unary, std::size_t binary>
void exhaustive_case(const laws::Law& law) {
  std::vector<Layout> others;
  if (law.binary)
    for (const char* text : partners) others.push_back(parse_layout(text));
  std::size_t layouts = 0, held = 0;
  const auto check = [&](const laws::Input& in) {
    const laws::Outcome o = law.check(in);
    held += o.verdict == laws::Verdict::holds;
    if (o.verdict == laws::Verdict::broken) FAIL(law.name << ": " << o.message);
  };
  all_layouts(most_elements, !law.binary, [&](const Layout& l, int number) {
    ++layouts;
    const Int n = 1 + number % 24;
    if (!law.binary) check({l, {}, n});
    for (const Layout& other : others) {
      check({l, other, n});
      check({other, l, n});
    }
  });
  INFO(law.name << ": " << layouts << " layouts, held " << held << " times");
  CHECK(layouts == (law.binary ? binary : unary));
  CHECK(held * 20 > layouts); // a law that refuses everything says nothing
}
const bool cases =
    testing::register_laws<exhaustive_case<12, 493961, 168805>>("all layouts to size 12 and rank 3", "");
const bool nightly = testing::register_laws<exhaustive_case<16, 733876, 250536>>(
    "all layouts to size 16 and rank 3", "[.nightly]");

} // namespace

TEST_CASE("all pairs of layouts to size 16 and rank 3: equal functions are equal coalesced layouts, and only "
          "those") {
  // By the classes: the same values, the same normal form, and the other way round.
  std::unordered_map<std::string, Layout> form;
  std::unordered_map<std::string, std::string> function;
  all_layouts(16, false, [&](const Layout& l, int) {
    const Layout normal = coalesce(l);
    std::string values;
    for (Int i = 0; i < l.size(); i += 1) values += static_cast<char>(l(i).value());
    if (form.emplace(values, normal).first->second != normal)
      FAIL(to_string(l) << " has another normal form");
    if (function.emplace(to_string(normal), values).first->second != values)
      FAIL(to_string(l) << " has another function");
  });
  CHECK(form.size() == function.size());
  CHECK(form.size() > 1000);
}

} // namespace exhaustive_laws_test
