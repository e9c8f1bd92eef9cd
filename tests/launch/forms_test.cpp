// Several forms behind one contract: the table against every size there is, what is refused, bytes and back, and how long a choice takes.
#include "refusal.h"

#include <inlay/launch/bundle.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

namespace forms_test {

using namespace inlay::launch;

namespace {

using Json = nlohmann::ordered_json;

Argument buffer(const std::string& name, const std::string& bytes, bool output) {
  Argument a;
  a.name = name, a.kind = Argument::Kind::buffer, a.type = "f32", a.output = output;
  a.bytes = Formula(bytes);
  return a;
}

/// A form of `scale`: work on rows of `m` in tiles, for n in multiples.
Manifest form(std::int64_t tile, std::int64_t multiple = 1, bool parts = false) {
  Manifest m;
  m.kernel = "scale", m.arch = "gfx950";
  m.sizes = {{"m", 1, 100'000, 1, std::nullopt}, {"n", 1, 100'000, multiple, 8}};
  m.arguments = {buffer("y", "4*m*n", true), buffer("x", "4*m*n", false)};
  if (parts) m.arguments.push_back(buffer("parts", "4*m*n*" + std::to_string(tile), true));
  for (const char* name : {"m", "n"}) {
    Argument a;
    a.name = name, a.kind = Argument::Kind::size, a.type = "i32";
    m.arguments.push_back(a);
  }
  m.grid[0] = Formula("(m + " + std::to_string(tile - 1) + ")/" + std::to_string(tile));
  m.block = {64, 1, 1};
  m.outputs_apart = true;
  return m;
}

using Range = Forms::Range;
using Row = Forms::Row;

Row row(Range m, Range n, std::size_t f) { return {{m, n}, f, "because"}; }

const std::vector<Forms::Form> three = {
    {form(16), "--tile 16"}, {form(64, 8, true), "--tile 64"}, {form(1), ""}};

Forms example() {
  return Forms(three, {{1, 4096}, {8, 1024, 8}},
               {row({1, 64}, {8, 1024}, 0), row({65, 4096}, {8, 512}, 1), row({65, 1000}, {520, 1024}, 0),
                row({1001, 4096}, {520, 1024}, 1)});
}

/// Which row, by looking at all of them: none of the table's own arithmetic.
std::vector<std::size_t> rows_with(const std::vector<Row>& rows, std::int64_t m, std::int64_t n) {
  std::vector<std::size_t> out;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (m >= rows[r].ranges[0].least && m <= rows[r].ranges[0].most && n >= rows[r].ranges[1].least &&
        n <= rows[r].ranges[1].most)
      out.push_back(r);
  return out;
}

} // namespace

TEST_CASE("forms: each size has its row, by looking at all of them") {
  const Forms f = example();
  for (std::int64_t m : {1, 2, 63, 64, 65, 66, 999, 1000, 1001, 1002, 4095, 4096, 4097, 100'000})
    for (std::int64_t n = 1; n <= 1100; ++n) {
      const bool inside = m <= 4096 && n >= 8 && n <= 1024 && n % 8 == 0;
      const auto all = rows_with(f.rows(), m, n);
      const std::size_t expected = inside ? all.at(0) : f.rows().size();
      if (inside) REQUIRE(all.size() == 1);
      const std::int64_t sizes[] = {m, n};
      REQUIRE(f.row(sizes) == expected);
      const auto p = f.plan({{"m", m}, {"n", n}});
      REQUIRE(p.row == expected);
      REQUIRE(p.form == (inside ? f.rows()[expected].form : 2));
      REQUIRE(p.launch.grid[0] == (m + (p.form == 0   ? 15
                                        : p.form == 1 ? 63
                                                      : 0)) /
                                      (p.form == 0   ? 16
                                       : p.form == 1 ? 64
                                                     : 1));
    }
  CHECK(f.plan({{"m", 3}}).row == 0); // n is 8 where nobody says another
  CHECK(says(refusal([&] { (void)f.plan({{"n", 8}}); }), "the size m is not given"));
  CHECK(says(refusal([&] { (void)f.plan({{"m", 8}, {"k", 8}}); }), "there is no size 'k'"));
  CHECK(f.plan({{"m", 0}}).launch.nothing()); // nothing to write is nothing to launch
  CHECK(says(refusal([&] { (void)f.plan({{"m", -1}}); }), "row 4 of 5, all other sizes"));
  CHECK(f.why(1) == "row 1 of 5, m 65 to 4096, n 8 to 512: form 1, --tile 64; because");
  CHECK(f.why(4) == "row 4 of 5, all other sizes: form 2");
}

TEST_CASE("forms: arguments are joined, and a form knows its own") {
  const Forms f = example();
  std::vector<std::string> names;
  for (const Argument& a : f.arguments()) names.push_back(a.name);
  CHECK(names == std::vector<std::string>{"y", "x", "m", "n", "parts"});
  CHECK(f.places(0) == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(f.places(1) == std::vector<std::size_t>{0, 1, 4, 2, 3});
  const auto with = [&](const std::function<void(Manifest&)>& change) {
    auto forms = three;
    change(forms[1].manifest);
    return refusal([&] { (void)Forms(forms, f.ranges(), f.rows()); });
  };
  CHECK(with([](Manifest&) {}).empty());
  CHECK(with([](Manifest& m) { m.arguments[2].name = "more"; }).empty());
  CHECK(with([](Manifest& m) { m.arguments[1].bytes = Formula("8*m*n"); }).empty()); // the form says
  CHECK(says(with([](Manifest& m) { m.arguments[0].before = Argument::Before::zeros; }),
             "argument y that is another one"));
  CHECK(says(with([](Manifest& m) { m.arguments[0].type = "f16"; }), "argument y that is another one"));
  CHECK(says(with([](Manifest& m) { m.arguments[1].output = true; }), "argument x that is another one"));
  CHECK(says(with([](Manifest& m) { m.arguments[4].type = "i64"; }), "argument n that is another one"));
  CHECK(says(with([](Manifest& m) { m.arguments[2].name = "y"; }), "two arguments 'y'"));
  CHECK(says(with([](Manifest& m) { std::swap(m.sizes[0], m.sizes[1]); }),
             "has the size n where the general form has m"));
  CHECK(says(with([](Manifest& m) { m.sizes[1].value = 16; }), "or with another value"));
  CHECK(says(with([](Manifest& m) { m.sizes.push_back({"k", 1, 2, 1, 1}); }), "other sizes"));
  CHECK(says(with([](Manifest& m) { m.kernel = "add"; }), "is add for gfx950"));
  CHECK(says(with([](Manifest& m) { m.arch = "gfx942"; }), "is scale for gfx942"));
  CHECK(says(with([](Manifest& m) { m.devices = 2, m.rank = "m"; }), "several devices"));
}

TEST_CASE("forms: a gap, rows that meet, a form that does not take its row: each is refused") {
  const Forms f = example();
  const auto with = [&](const std::function<void(std::vector<Row>&)>& change) {
    auto rows = f.rows();
    change(rows);
    return refusal([&] { (void)Forms(three, f.ranges(), rows); });
  };
  CHECK(with([](auto&) {}).empty());
  CHECK(says(with([](auto& r) { r[0].ranges[0].most = 63; }), "no row has m = 64, n = 8"));
  CHECK(says(with([](auto& r) { r[0].ranges[0].most = 65; }), "rows 0 and 1 both have m = 65, n = 8"));
  CHECK(says(with([](auto& r) { r[2].ranges[0].most = 1001; }), "rows 2 and 3 both have m = 1001, n = 520"));
  CHECK(says(with([](auto& r) { r.erase(r.begin() + 2); }), "no row has m = 65, n = 520"));
  CHECK(says(with([](auto& r) { r[1].ranges[1].most = 504; }), "no row has m = 65, n = 512"));
  CHECK(says(with([](auto& r) { r[1].ranges[1].most = 513; }),
             "n 8 to 513 is not within 8 to 1024 in multiples of 8"));
  CHECK(says(with([](auto& r) { r[2].ranges[1].least = 513; }), "n 513 to 1024 is not within"));
  CHECK(says(with([](auto& r) { r[1].ranges[1].most = 520; }), "both have m = 65, n = 520"));
  CHECK(says(with([](auto& r) { r[3].ranges[0].most = 5000; }),
             "row 3: m 1001 to 5000 is not within 1 to 4096"));
  CHECK(says(with([](auto& r) { r[0].ranges[0].least = 0; }), "row 0: m 0 to 64 is not within"));
  CHECK(says(with([](auto& r) { r[0].ranges[0] = {5, 4}; }), "row 0"));
  CHECK(says(with([](auto& r) { r[0].form = 3; }), "row 0 has form 3, and there are 3"));
  CHECK(says(with([](auto& r) { r[0].form = r[2].form = 2; }), "form 0 has no row"));
  CHECK(says(with([](auto& r) { r[0].ranges.pop_back(); }), "row 0 has 1 ranges"));
  CHECK(says(with([](auto& r) { r.clear(); }), "form 0 has no row"));
  const auto of = [&](const std::function<void(std::vector<Forms::Form>&)>& change,
                      std::vector<Range> ranges = {{1, 4096}, {8, 1024, 8}}) {
    auto forms = three;
    change(forms);
    return refusal([&] { (void)Forms(forms, std::move(ranges), f.rows()); });
  };
  CHECK(says(of([](auto& a) { a[0].manifest.sizes[1].multiple = 16; }),
             "does not take these sizes: n is 1 to 100000 in multiples of 16"));
  CHECK(says(of([](auto& a) { a[1].manifest.sizes[0].most = 4095; }),
             "row 1 of 5, m 65 to 4096, n 8 to 512: form 1, --tile 64, does not take these sizes"));
  CHECK(says(of([](auto& a) { a[1].manifest.sizes[0].least = 66; }), "does not take these sizes"));
  CHECK(says(of([](auto& a) {
               a[1].manifest.limits = {{Formula("m*n"), 4'000'000, "elements"}};
             }),
             "row 3 of 5, m 1001 to 4096, n 520 to 1024: form 1, --tile 64, does not take these sizes: "
             "scale: more than 4000000 elements"));
  CHECK(says(of([](auto& a) { a[2].manifest.sizes[0].most = 4095; }), "the general form takes 1 to 4095"));
  CHECK(says(of([](auto&) {}, {{1, 4096}}), "a table for 1 sizes"));
  CHECK(says(of([](auto&) {}, {{1, 4096}, {8, 1024, 0}}), "which are no sizes"));
  CHECK(says(of([](auto&) {}, {{1, 4096}, {8, 1024, 2048}}), "which are no sizes"));
  CHECK(says(of([](auto&) {}, {{1, 4096}, {8, 1024, 1}}), "does not take these sizes")); // n = 9 in row 1
  CHECK(says(refusal([] { (void)Forms({}, {}, {}); }), "there are none"));
  // A limit that only sizes between the corners break is refused by the launch, and the message names the row.
  auto forms = three;
  forms[0].manifest.limits = {{Formula("m % 2"), 0, "odd rows"}};
  forms[0].manifest.limits[0].formula = Formula("(m % 64 + 1)/33*(64 - m % 64)/32");
  const Forms inside(forms, f.ranges(), f.rows());
  CHECK(says(refusal([&] {
               (void)inside.plan({{"m", 32}});
             }),
             "row 0 of 5, m 1 to 64, n 8 to 1024: form 0, --tile 16: scale: more than 0 odd rows"));
  CHECK(inside.plan({{"m", 1}}).form == 0);
}

TEST_CASE("forms: tables that are drawn cover or are refused, as counting says") {
  std::mt19937_64 random(1);
  const auto pick = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  std::size_t good = 0, gaps = 0, meet = 0;
  for (int round = 0; round < 3000; ++round) {
    // A rectangle is cut in two, again and again; then some edge may move by one.
    std::vector<Row> rows = {row({1, 12}, {1, 9}, 0)};
    for (int cuts = 0; cuts < round % 6; ++cuts) {
      const auto r = static_cast<std::size_t>(pick(static_cast<std::int64_t>(rows.size())) - 1);
      const std::size_t axis = random() % 2;
      Range& range = rows[r].ranges[axis];
      if (range.least == range.most) continue;
      const std::int64_t cut = range.least + pick(range.most - range.least) - 1;
      Row upper = rows[r];
      upper.ranges[axis].least = cut + 1;
      range.most = cut;
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(random() % (rows.size() + 1)), upper);
    }
    if (round % 2 == 1) {
      Range& range = rows[random() % rows.size()].ranges[random() % 2];
      (random() % 2 == 0 ? range.least : range.most) += random() % 2 == 0 ? 1 : -1;
    }
    bool gap = false, twice = false, outside = false;
    for (const Row& r : rows) {
      outside = outside || r.ranges[0].least < 1 || r.ranges[0].most > 12 || r.ranges[1].least < 1 ||
                r.ranges[1].most > 9 || r.ranges[0].least > r.ranges[0].most ||
                r.ranges[1].least > r.ranges[1].most;
    }
    for (std::int64_t m = 1; m <= 12; ++m)
      for (std::int64_t n = 1; n <= 9; ++n) {
        const std::size_t count = rows_with(rows, m, n).size();
        gap = gap || count == 0, twice = twice || count > 1;
      }
    const std::string error = refusal([&] {
      (void)Forms({{form(16), ""}, {form(1), ""}}, {{1, 12}, {1, 9}}, rows);
    });
    CAPTURE(round, error);
    REQUIRE(error.empty() == !(gap || twice || outside));
    good += error.empty();
    gaps += says(error, "no row has"), meet += says(error, "both have");
  }
  CHECK(good > 1000);
  CHECK(gaps > 100);
  CHECK(meet > 100);
}

TEST_CASE("forms: a bundle's bytes and back, and every change of its table by one is seen") {
  const Forms f = example();
  const Bundle all({{form(7), std::vector<std::uint8_t>(10, 1)}});
  CHECK(all.entries()[0].forms.ranges().empty());
  const Bundle one({Bundle::Entry(f, {{1, 2}, std::vector<std::uint8_t>(100, 3), {4}})});
  const auto bytes = one.bytes();
  CHECK(Bundle::parse(bytes) == one);
  CHECK(Bundle::parse(bytes).bytes() == bytes);
  CHECK(Bundle::is_bundle({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  CHECK(Bundle::parse(bytes).find("scale", "gfx950").code[1].size() == 100);
  CHECK(says(refusal([&] { (void)Bundle({Bundle::Entry(f, {{1}})}); }), "3 forms, and 1 code objects"));
  // Each number of the table, one more and one less: refused, or another table (an edge that no multiple of 8 lies at).
  const Json table = Json::parse(f.table_text());
  CHECK(Forms::parse(three, table.dump(), "t") == f);
  std::size_t numbers = 0, refused = 0;
  const auto flat = table.flatten();
  for (const auto& [path, value] : flat.items()) {
    for (const int by : {-1, 1}) {
      Json changed = flat;
      if (value.is_number())
        changed[path] = value.get<std::int64_t>() + by;
      else if (value.is_string() && !says(path, "/why"))
        changed[path] = value.get<std::string>() + "x";
      else if (value.is_boolean())
        changed[path] = !value.get<bool>();
      else
        continue;
      CAPTURE(path, by);
      ++numbers;
      std::optional<Forms> other;
      const std::string error =
          refusal([&] { other = Forms::parse(three, changed.unflatten().dump(), "t"); });
      refused += !error.empty();
      if (error.empty()) { // another form for a row, which takes its sizes: slower perhaps
        CHECK((says(path, "/rows/") && says(path, "/form")));
        CHECK_FALSE(*other == f);
      }
    }
  }
  CHECK(numbers > 60);
  CHECK(refused > numbers * 3 / 4);
  for (const char* bad : {R"({"ranges": 3})", R"({"rows": []})", R"({"rows": [{"form": 1}]})",
                          R"({"more": 1})", R"({"contract": {"kernel": "add"}})"}) {
    Json changed = table;
    changed.merge_patch(Json::parse(bad));
    CAPTURE(bad);
    CHECK_FALSE(refusal([&] { (void)Forms::parse(three, changed.dump(), "t"); }).empty());
  }
  CHECK_FALSE(refusal([&] { (void)Forms::parse(three, "[", "t"); }).empty());
  for (std::size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 37)
    CHECK_FALSE(refusal([&] {
                  (void)Bundle::parse({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)});
                }).empty());
}

TEST_CASE("forms: a row is found in less than 100 ns") {
  // As many rows as a file of six forms has, and more; the last one, and none.
  std::vector<Row> rows;
  for (std::int64_t r = 0; r < 16; ++r)
    rows.push_back(row({256 * r + 1, 256 * (r + 1)}, {8, 8}, static_cast<std::size_t>(r % 2)));
  const Forms f(three, {{1, 4096}, {8, 8}}, rows);
  std::size_t sum = 0;
  double least = 1e9;
  for (int trial = 0; trial < 20; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < 100'000; ++i) {
      const std::int64_t sizes[] = {1 + (i * 2654435761) % 4096, 8};
      sum += f.row(sizes);
    }
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 1e5;
    least = std::min(least, ns);
  }
  WARN("a row of 16 in " << least << " ns");
  CHECK(sum > 0);
#ifdef NDEBUG
  CHECK(least < 100);
#endif
}

} // namespace forms_test
