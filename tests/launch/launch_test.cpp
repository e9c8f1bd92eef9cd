// Formulas, manifests and bundles by themselves.
#include "refusal.h"

#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/sym.h>
#include <inlay/launch/bundle.h>
#include <inlay/machine/formats.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace launch_test {

using namespace inlay::launch;

namespace {

Manifest example() {
  Manifest m;
  m.kernel = "scale";
  m.arch = "gfx942";
  m.code = "scale.hsaco";
  m.sizes = {{"m", 1, 1000, 4, 64}, {"n", 1, INT32_MAX, 1, std::nullopt}};
  m.arguments.resize(4);
  m.arguments[0] = {"y",
                    Argument::Kind::buffer,
                    "f32",
                    true,
                    Argument::Before::zeros,
                    Formula("m*n*4"),
                    std::nullopt,
                    "",
                    0,
                    {}};
  m.arguments[1] = {"x",
                    Argument::Kind::buffer,
                    "f16",
                    false,
                    Argument::Before::anything,
                    Formula("(m*n*16 + 7)/8"),
                    std::nullopt,
                    "x.bin",
                    16,
                    {},
                    {Formula("m"), Formula("n")}};
  m.arguments[2] = {"n",       Argument::Kind::size, "i32", false, Argument::Before::anything,
                    Formula(), std::nullopt,         "",    0,     {}};
  m.arguments[3] = {"s",       Argument::Kind::value, "f32", false, Argument::Before::anything,
                    Formula(), std::nullopt,          "",    0,     {0, 0, 0x80, 0x3f}};
  m.grid = {Formula("(n + 63)/64"), Formula("m"), Formula("1")};
  m.block = {64, 1, 1};
  m.lds = 4096;
  m.limits = {{Formula("m*n"), 1000000, "elements"}};
  m.outputs_apart = true;
  m.made = inlay::launch::Made{"softmax", "modulo", "ir", {{"m", "64"}, {"threads", "128"}}};
  return m;
}

} // namespace

TEST_CASE("formulas: floor division and remainder, minimum, names") {
  const auto at = [](const std::string& text, std::int64_t a, std::int64_t b) {
    return Formula(text)({{"a", a}, {"b", b}});
  };
  CHECK(at("1 + 2*3 - 4", 0, 0) == 3);
  CHECK(at("(a + 127)/128", 0, 0) == 0);
  CHECK(at("(a + 127)/128", 1, 0) == 1);
  CHECK(at("(a + 127)/128", 129, 0) == 2);
  CHECK(at("max(a, b) - min(a, b)", 3, -4) == 7);
  CHECK(at("-a*-b", 3, 5) == 15);
  CHECK(at("--a", 3, 0) == 3);
  CHECK(Formula("a*b + a").names() == std::vector<std::string>{"a", "b"});
  for (std::int64_t a = -9; a <= 9; ++a)
    for (std::int64_t b : {-4, -3, -1, 1, 2, 5}) {
      const std::int64_t q = at("a/b", a, b), r = at("a%b", a, b);
      CHECK(q * b + r == a);
      CHECK((r == 0 || (r < 0) == (b < 0)));
      CHECK(std::abs(r) < std::abs(b));
    }
  CHECK(says(refusal([&] { (void)at("a/b", 1, 0); }), "division by zero"));
  CHECK(says(refusal([&] { (void)at("a*b", INT64_MAX, 2); }), "more than 63 bits"));
  CHECK(says(refusal([&] { (void)at("-a", INT64_MIN, 0); }), "more than 63 bits"));
  CHECK(says(refusal([&] { (void)at("a + c", 1, 0); }), "c has no value"));
  for (const char* text :
       {"", "1 +", "(1", "1)", "a b", "min(1)", "sin(1)", "1..2", "99999999999999999999", "a ? b"})
    CHECK_FALSE(refusal([&] { (void)Formula(text); }).empty());
  std::string sum = "a";
  for (int k = 0; k < 200'000; ++k) sum += "+a";
  CHECK_FALSE(refusal([&] { (void)Formula(sum); }).empty());
  CHECK(Formula(sum.substr(0, 9'999))({{"a", 1}}) == 5000);
  CHECK_FALSE(refusal([&] { (void)Formula(std::string(5000, '(') + "1" + std::string(5000, ')')); }).empty());
  CHECK_FALSE(refusal([&] { (void)Formula(std::string(5000, '-') + "1"); }).empty());
}

TEST_CASE("formulas: what the algebra prints means the same here") {
  // The algebra's own parser and evaluator judge.
  inlay::SymContext context;
  const auto m = context.symbol("m"), n = context.symbol("n");
  for (const char* text : {"((m + 63)/64)*n + 5", "(m*n*16 + 7)/8", "m % 7 + n/3", "min(m, 4*n) + max(n, 2)",
                           "(m - 5)/4*3 - n % 4"}) {
    const inlay::Sym s = inlay::parse_sym(context, text, inlay::UnknownSymbol::refuse);
    const Formula printed(inlay::to_string(s));
    for (std::int64_t a : {1, 2, 3, 4, 63, 64, 65, 1000})
      for (std::int64_t b : {1, 2, 5, 7, 128}) {
        inlay::Assignment all;
        all.set(m, inlay::Int(a));
        all.set(n, inlay::Int(b));
        CHECK(printed({{"m", a}, {"n", b}}) == inlay::evaluate(s, all).value());
      }
  }
}

TEST_CASE("manifests: text and back, every field") {
  const Manifest m = example();
  CHECK(Manifest::parse(m.text()) == m);
  CHECK(is_manifest(m.text()));
  CHECK_FALSE(is_manifest("{\"shared\": 0, \"num_warps\": 4}"));
  // A field that changes, changes the value; one that is left out has its default or is missed.
  const auto json = nlohmann::ordered_json::parse(m.text());
  for (const auto& [key, value] : json.items()) {
    auto without = json;
    without.erase(key);
    const std::string error = refusal([&] {
      const Manifest other = Manifest::parse(without.dump());
      CHECK_FALSE(other == m);
    });
    const bool required = key == "format" || key == "kernel" || key == "arch" || key == "arguments" ||
                          key == "grid" || key == "block";
    const bool named = key == "sizes"; // the formulas name them
    CAPTURE(key);
    CHECK(error.empty() == !(required || named));
    auto misspelled = json;
    misspelled["x" + key] = value;
    CHECK(says(refusal([&] { (void)Manifest::parse(misspelled.dump()); }), "is not known"));
  }
  // Extents of a buffer are formulas of the sizes, and no two manifests with others are one.
  auto flat = json;
  flat["arguments"][1].erase("shape");
  CHECK(Manifest::parse(flat.dump()).arguments[1].shape.empty());
  CHECK_FALSE(Manifest::parse(flat.dump()) == m);
  flat["arguments"][1]["shape"] = {"m", "rows"};
  CHECK(says(refusal([&] { (void)Manifest::parse(flat.dump()); }), "\"shape\" of x names the size 'rows'"));
  flat["arguments"][1]["shape"] = 3;
  CHECK(says(refusal([&] { (void)Manifest::parse(flat.dump()); }), "\"shape\": is no list"));
  auto newer = json;
  newer["format"] = "inlay.launch/2";
  CHECK(says(refusal([&] { (void)Manifest::parse(newer.dump()); }), "inlay.launch/1"));
  for (const char* bad : {R"({"block": [0]})",
                          R"({"block": [2000]})",
                          R"({"block": [1,1,1,1]})",
                          R"({"block": 4})",
                          R"({"grid": [1,1,1,1]})",
                          R"({"grid": [true]})",
                          R"({"lds": -1})",
                          R"({"lds": 5000000000})",
                          R"({"made": 3})",
                          R"({"made": {"options": {"m": 64}}})",
                          R"({"made": {"options": []}})",
                          R"({"made": {"loops": null}})",
                          R"({"made": {"other": "x"}})",
                          R"({"kernel": 3})",
                          R"({"outputs_apart": 1})",
                          R"({"grid": ["k"]})",
                          R"({"arguments": [{"kind": "value", "hex": "0"}]})",
                          R"({"arguments": [{"kind": "value", "hex": "zz"}]})",
                          R"({"arguments": [{"kind": "queue"}]})",
                          R"({"arguments": [{"kind": "size", "name": "m", "type": "f32"}]})"}) {
    auto changed = json;
    changed.merge_patch(nlohmann::ordered_json::parse(bad));
    CAPTURE(bad);
    CHECK_FALSE(refusal([&] { (void)Manifest::parse(changed.dump()); }).empty());
  }
  // An element's type is one that has a size, whoever writes the manifest.
  for (const char* type : {"float32", "F32", "f31", "i2", " f32"}) {
    auto changed = json;
    changed["arguments"][0]["type"] = type;
    CAPTURE(type);
    CHECK(says(refusal([&] { (void)Manifest::parse(changed.dump()); }),
               "arguments[0], field \"type\": is '" + std::string(type) + "', none of f64, f32"));
  }
  for (const inlay::machine::Format& format : inlay::machine::formats) {
    auto changed = json;
    changed["arguments"][0]["type"] = format.name;
    CHECK_NOTHROW(Manifest::parse(changed.dump()));
  }
  CHECK_FALSE(refusal([] { (void)Manifest::parse("{"); }).empty());
  CHECK_FALSE(refusal([] { (void)Manifest::parse("[]"); }).empty());
}

TEST_CASE("manifests: the launch for some sizes, and what is refused") {
  const Manifest m = example();
  const auto p = m.plan({{"n", 65}});
  CHECK(p.grid == std::array<std::uint32_t, 3>{2, 64, 1});
  CHECK(p.sizes.at("m") == 64);
  CHECK(m.bytes_of(2, p.sizes) == std::vector<std::uint8_t>{65, 0, 0, 0});
  CHECK(m.bytes_of(3, p.sizes) == std::vector<std::uint8_t>{0, 0, 0x80, 0x3f});
  CHECK(m.arguments[0].bytes(p.sizes) == 64 * 65 * 4);
  CHECK(says(refusal([&] { (void)m.plan({}); }), "the size n is not given"));
  // Nothing to write is nothing to launch; something to write that no work-item of the grid writes is refused.
  CHECK(m.plan({{"n", 0}}).nothing());
  CHECK(m.plan({{"n", 5}, {"m", 0}}).grid == std::array<std::uint32_t, 3>{0, 0, 0});
  CHECK(says(refusal([&] { (void)m.plan({{"n", -1}}); }), "n = -1"));
  CHECK_FALSE(refusal([&] { (void)m.plan({{"n", -1}, {"m", 0}}); }).empty());
  Manifest summed = m;
  for (auto& a : summed.arguments)
    if (a.output) a.bytes = Formula("4*m");
  CHECK(says(refusal([&] { (void)summed.plan({{"n", 0}}); }), "n = 0"));
  CHECK(says(refusal([&] {
               (void)m.plan({{"n", 1}, {"m", 6}});
             }),
             "m = 6 is not a multiple of 4\n  hint   4 or 8; a sum may be padded"));
  CHECK(says(refusal([&] { (void)m.plan({{"n", 1}, {"m", 1004}}); }), "1 to 1000"));
  CHECK(says(refusal([&] { (void)m.plan({{"n", 1}, {"k", 1}}); }), "the sizes are m, n"));
  CHECK(says(refusal([&] { (void)m.plan({{"n", 100000}}); }), "more than 1000000 elements"));
  Manifest wide = m;
  wide.limits.clear();
  wide.sizes[0].most = 100000;
  CHECK(says(refusal([&] {
               (void)wide.plan({{"n", 1}, {"m", 65536}});
             }),
             "65536 workgroups of 1 work-items along axis y"));
  wide.grid[0] = Formula("n*64");
  CHECK(says(refusal([&] { (void)wide.plan({{"n", INT32_MAX}}); }), "along axis x"));
  wide.grid[0] = Formula("n - 1");
  CHECK(says(refusal([&] { (void)wide.plan({{"n", 1}}); }), "0 workgroups"));
  // Fewer bytes than none are no buffer's, an input's either; two sizes of one name are two answers to one question.
  Manifest negative = m;
  negative.arguments[1].bytes = Formula("2*m - 129");
  CHECK_NOTHROW(negative.plan({{"n", 1}, {"m", 68}}));
  CHECK(says(refusal([&] {
               (void)negative.plan({{"n", 1}});
             }),
             "the buffer x has -1 bytes\n  hint   \"bytes\" is 2*m - 129"));
  Manifest twice = m;
  twice.sizes.push_back(twice.sizes[0]);
  CHECK(says(refusal([&] { (void)Manifest::parse(twice.text()); }),
             "sizes[2], field \"name\": is '" + twice.sizes[0].name + "', as another size's"));
  // Outputs lie apart from everything else: y is 256 bytes, x 128, for m = 64, n = 1.
  const auto q = m.plan({{"n", 1}});
  CHECK_NOTHROW(m.check_addresses({1000, 1256, 0, 0}, q.sizes));
  CHECK(says(refusal([&] {
               m.check_addresses({1000, 1252, 0, 0}, q.sizes);
             }),
             "the output y shares memory with x"));
  CHECK_NOTHROW(m.check_addresses({1000, 872, 0, 0}, q.sizes));
  CHECK_FALSE(refusal([&] { m.check_addresses({1000, 876, 0, 0}, q.sizes); }).empty());
  // A buffer is somewhere, and at a multiple of 4; one of nothing may be anywhere, inside of an output too.
  for (const auto& [y, x, why] :
       {std::tuple(0, 1256, "scale: y is a null pointer, and has 256 bytes\n  hint"),
        std::tuple(1000, 0, "scale: x is a null pointer, and has 128 bytes\n  hint"),
        std::tuple(1000, 1258, "the address of x, 1258, is no multiple of 4")}) {
    const std::vector<std::uint64_t> at{static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(x), 0, 0};
    CHECK(says(refusal([&] { m.check_addresses(at, q.sizes); }), why));
  }
  Manifest none = m;
  none.arguments[1].bytes = Formula("n - 1");
  for (const std::uint64_t x : {0, 1004, 1258}) CHECK_NOTHROW(none.check_addresses({1000, x, 0, 0}, q.sizes));
  none.arguments[1].output = true;
  CHECK_NOTHROW(none.check_addresses({1000, 1004, 0, 0}, q.sizes));
  CHECK(says(refusal([&] {
               none.check_addresses({1000, 1004, 0, 0}, none.plan({{"n", 2}}).sizes);
             }),
             "the output y shares memory with x"));
}

TEST_CASE("bundles: bytes and back, found by kernel and processor, damage is refused") {
  Manifest a = example(), b = example(), c = example();
  b.arch = "gfx950";
  c.kernel = "add";
  const Bundle all({{a, std::vector<std::uint8_t>{1, 2, 3}},
                    {b, std::vector<std::uint8_t>(1000, 7)},
                    {c, std::vector<std::uint8_t>()}});
  const auto bytes = all.bytes();
  CHECK(Bundle::parse(bytes) == all);
  CHECK(all.find("scale", "gfx950").code.at(0).size() == 1000);
  CHECK(all.find("add", "").forms.general() == c);
  CHECK(says(refusal([&] { (void)all.find("scale", "gfx908"); }),
             "scale for gfx942, scale for gfx950, add for gfx942"));
  CHECK_FALSE(refusal([&] { (void)all.find("", ""); }).empty());
  CHECK(says(refusal([&] {
               (void)Bundle({{a, std::vector<std::uint8_t>()}, {a, std::vector<std::uint8_t>()}});
             }),
             "two kernels"));
  for (std::size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 37) {
    CAPTURE(n);
    CHECK_FALSE(refusal([&] {
                  (void)Bundle::parse({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)});
                }).empty());
  }
  auto far = bytes;
  const std::string index(bytes.begin(), bytes.end());
  const auto at = index.find("\"offset\":");
  REQUIRE(at != std::string::npos);
  far[at + 9] = '9';
  far[at + 10] = '9';
  CHECK_FALSE(refusal([&] { (void)Bundle::parse(far); }).empty());
  CHECK(Bundle({}).entries().empty());
  CHECK(Bundle::parse(Bundle({}).bytes()) == Bundle({}));
}

} // namespace launch_test
