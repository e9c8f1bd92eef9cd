// `inlay build --for`: one file of several forms. At both ends of every row, and one past, what runs is the form of the row and C is the product
// that loops here compute; a table that was changed by one is refused; two builds are the same bytes; C launches it, too.
#include "inlay_command.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <inlay/kernels/choose_table.h>
#include <inlay/launch/bundle.h>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

namespace built_forms_test {

using namespace inlay;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("inlay-forms-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() {
    fs::create_directories(path);
    ::setenv("INLAY_CACHE_DIR", (path / "cache").c_str(), 1);
    kernels::forget();
  }
  ~Folder() {
    ::unsetenv("INLAY_CACHE_DIR");
    fs::remove_all(path);
    kernels::forget();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// IEEE half of a whole number below 2049, without a library.
std::uint16_t half(int v) {
  if (v == 0) return 0;
  const unsigned sign = v < 0 ? 0x8000U : 0U, magnitude = static_cast<unsigned>(v < 0 ? -v : v);
  unsigned exponent = 0;
  while ((magnitude >> (exponent + 1)) != 0) ++exponent;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) |
                                    (((magnitude << 10) >> exponent) & 0x3ffU));
}

/// Sums of products of small whole numbers, which f16 has exactly: C has one value, whatever the form.
struct Product {
  std::size_t m, n, k;
  std::vector<int> a, b;
  Product(std::size_t rows, std::size_t columns, std::size_t summed, std::uint64_t seed)
      : m(rows), n(columns), k(summed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < m * k; ++i) a.push_back(static_cast<int>(random() % 5) - 2);
    for (std::size_t i = 0; i < n * k; ++i) b.push_back(static_cast<int>(random() % 5) - 2);
  }
  [[nodiscard]] static std::string halves(const std::vector<int>& of) {
    std::string out;
    for (const int v : of) {
      const std::uint16_t h = half(v);
      out += static_cast<char>(h & 255), out += static_cast<char>(h >> 8);
    }
    return out;
  }
  [[nodiscard]] std::string c() const {
    std::vector<int> out;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        int sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
        out.push_back(sum);
      }
    return halves(out);
  }
};

/// Three forms, one of which splits K and has buffers that the others do not.
constexpr const char* three = "--tile 16x64x64 --waves 1x4\n"
                              "--tile 64x64x64 --waves 2x2    # in two parts\n"
                              "--tile 32x64x64 --waves 2x2 --split 128 --split-k-fixup yes\n";

std::vector<std::string> build_words(const std::string& output, const std::string& forms) {
  return {"build",    "gemm", "--arch",   "gfx942", "--dtype",       "f16",     "--for",
          "m=1..200", "--n",  "64",       "--k",    "256",           "--forms", forms,
          "--most",   "3",    "--points", "12",     "--no-validate", "-o",      output};
}

/// A file of three forms and the general one whose rows are set here, so that small sizes reach all of them: m 1 to 16, 17 to 63, 64 to 200.
std::string four_forms(const Folder& f) {
  std::vector<launch::Forms::Form> forms;
  std::vector<launch::Bundle::Entry::Code> code;
  std::istringstream lines(three + std::string("\n"));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words = {"build", "gemm", "--no-validate", "--auto", "no", "-o", f.file("each")};
    std::istringstream in(line.substr(0, line.find('#')));
    for (std::string word; in >> word;) words.push_back(word);
    const Ran built = inlay_command(words);
    INFO(line << built.err);
    REQUIRE(built.exit == 0);
    launch::Manifest m = launch::Manifest::read(f.file("each/gemm.json"));
    m.code.clear();
    m.sizes[0].value.reset(), m.sizes[1].value = 64, m.sizes[2].value = 256;
    forms.push_back({m, line});
    const std::string bytes = bytes_of(f.file("each/gemm.hsaco"));
    code.emplace_back(bytes.begin(), bytes.end());
  }
  REQUIRE(forms.size() == 4);
  const launch::Forms::Range n{64, 64}, k{256, 256};
  const launch::Bundle bundle({launch::Bundle::Entry(
      launch::Forms(std::move(forms), {{1, 200}, n, k},
                    {{{{1, 16}, n, k}, 0, "a"}, {{{17, 63}, n, k}, 2, "b"}, {{{64, 200}, n, k}, 1, "c"}}),
      std::move(code))});
  const auto bytes = bundle.bytes();
  write(f.file("four.inlay"), std::string(bytes.begin(), bytes.end()));
  return f.file("four.inlay");
}

/// At both ends of every row and one beside them `exec` runs the row's form, and C is right; how many forms that reaches.
std::size_t forms_that_run(const Folder& f, const std::string& file) {
  const auto bundle = launch::Bundle::read(file);
  const launch::Forms& forms = bundle.entries().at(0).forms;
  std::set<std::int64_t> sizes = {1, 2, 333};
  for (const auto& r : forms.rows())
    for (const std::int64_t edge : {r.ranges[0].least, r.ranges[0].most})
      for (const std::int64_t by : {-1, 0, 1})
        if (edge + by >= 1) sizes.insert(edge + by);
  std::set<std::size_t> reached;
  for (const std::int64_t m : sizes) {
    CAPTURE(m);
    const Product p(static_cast<std::size_t>(m), 64, 256, static_cast<std::uint64_t>(m));
    write(f.file("a"), Product::halves(p.a));
    write(f.file("b"), Product::halves(p.b));
    const Ran ran = inlay_command({"exec", file, "--size", "m=" + std::to_string(m), "--why", "--json",
                                   "--arg", "a=in:" + f.file("a"), "b=in:" + f.file("b"),
                                   "c=out:" + std::to_string(2 * m * 64) + ":" + f.file("c")});
    INFO(ran.out << ran.err);
    REQUIRE(ran.exit == 0);
    CHECK(bytes_of(f.file("c")) == p.c());
    std::size_t row = forms.rows().size(), form = forms.forms().size() - 1; // by looking at all rows
    for (std::size_t r = 0; r < forms.rows().size(); ++r)
      if (const auto& one = forms.rows()[r]; one.ranges[0].least <= m && m <= one.ranges[0].most)
        row = r, form = one.form;
    reached.insert(form);
    CHECK_THAT(Json::parse(ran.out).at("geometry_from").dump(),
               Contains("row " + std::to_string(row) + " of ") && Contains(": form " + std::to_string(form)));
  }
  return reached.size();
}

} // namespace

TEST_CASE("forms: at the ends of every row the row's form runs, and C is right", "[forms]") {
  const Folder f;
  const std::string file = four_forms(f);
  CHECK(forms_that_run(f, file) == 4);
  const auto bundle = launch::Bundle::read(file);
  const launch::Forms& forms = bundle.entries().at(0).forms;

  // `time` takes the same form; sizes that no form takes are refused with the row.
  const Ran timed = inlay_command({"time", file, "--size", "m=17", "--quick"});
  INFO(timed.out << timed.err);
  CHECK(timed.exit == 0);
  CHECK_THAT(timed.out, Contains("form 2 of 4, by row 1"));
  const Ran odd = inlay_command({"exec", file, "--size", "m=5", "--size", "k=12"});
  CHECK(odd.exit == 2);
  CHECK_THAT(odd.err,
             Contains("row 3 of 4, all other sizes: form 3") && Contains("k = 12 is not a multiple of 8"));
  CHECK_THAT(inlay_command({"exec", file}).err, Contains("the size m is not given"));
  // Buffers of other forms may be given: who launches need not know which one runs.
  CHECK(inlay_command({"exec", file, "--size", "m=1", "--arg", "parts=zeros:4"}).exit == 0);
  CHECK(inlay_command({"exec", file, "--size", "m=17", "--arg", "parts=zeros:4"}).exit ==
        1); // too small for this one
  CHECK_THAT(inlay_command({"exec", file, "--size", "m=1", "--arg", "more=zeros:4"}).err,
             Contains("c, a, b, m, n, k, parts"));
  // What takes one form refuses several, and says how to get one.
  for (const char* command : {"inspect", "validate"})
    CHECK_THAT(inlay_command({command, file}).err, Contains("4 forms") && Contains("--extract"));
  REQUIRE(inlay_command({"bundle", file, "--extract", f.file("out")}).exit == 0);
  for (std::size_t n = 0; n < forms.forms().size(); ++n) {
    const std::string one = f.file("out/gemm.gfx942." + std::to_string(n) + ".json");
    auto m = launch::Manifest::read(one);
    m.code.clear();
    CHECK(m == forms.forms()[n].manifest);
    CHECK(inlay_command({"inspect", one}).exit == 0);
  }
  // Packed with others, the table stays.
  REQUIRE(inlay_command({"bundle", file, "-o", f.file("again.inlay")}).exit == 0);
  CHECK(bytes_of(f.file("again.inlay")) == bytes_of(file));
}

TEST_CASE("forms: what a build writes is what it says", "[forms]") {
  const Folder f;
  write(f.file("three"), three);
  const std::string file = f.file("gemm.inlay");
  auto words = build_words(file, f.file("three"));
  words.push_back("--json");
  const Ran built = inlay_command(words);
  INFO(built.err);
  REQUIRE(built.exit == 0);
  const Json told = Json::parse(built.out);
  CHECK(told.at("bytes").get<std::size_t>() == fs::file_size(file));
  const auto bundle = launch::Bundle::read(file);
  const launch::Forms& forms = bundle.entries().at(0).forms;
  REQUIRE(forms.rows().size() == told.at("rows").size());
  REQUIRE(forms.forms().size() == told.at("forms").size());
  for (std::size_t r = 0; r < forms.rows().size(); ++r) {
    const Json& one = told.at("rows")[r];
    CHECK(forms.rows()[r].ranges[0].least == one.at("least")[0]);
    CHECK(forms.rows()[r].ranges[0].most == one.at("most")[0]);
    CHECK(forms.rows()[r].form == one.at("form"));
    CHECK(one.at("clocks").get<double>() >= one.at("best").get<double>());
  }
  CHECK(forms_that_run(f, file) == forms.forms().size());
}

TEST_CASE("forms: two builds are the same bytes, and a changed table is refused or runs right", "[forms]") {
  const Folder f;
  write(f.file("three"), three);
  REQUIRE(inlay_command(build_words(f.file("one"), f.file("three"))).exit == 0);
  fs::remove_all(f.path / "cache");
  kernels::forget();
  REQUIRE(inlay_command(build_words(f.file("two"), f.file("three"))).exit == 0);
  std::string bytes = bytes_of(f.file("one"));
  REQUIRE(bytes == bytes_of(f.file("two")));
  // Every digit of the rows' ends and forms, another digit.
  bytes = bytes_of(four_forms(f));
  const std::size_t begin = bytes.find("\"ranges\":"), end = bytes.find('\0', begin);
  REQUIRE(begin != std::string::npos);
  const Product p(40, 64, 256, 1);
  write(f.file("a"), Product::halves(p.a));
  write(f.file("b"), Product::halves(p.b));
  std::size_t changes = 0, refused = 0, ran = 0;
  for (std::size_t at = begin; at < std::min(end, bytes.size()) && bytes[at] != ' '; ++at) {
    if (bytes.compare(at, 6, "\"why\":") == 0) at = bytes.find('}', at);
    if (std::isdigit(static_cast<unsigned char>(bytes[at])) == 0) continue;
    std::string other = bytes;
    other[at] = static_cast<char>('0' + (bytes[at] - '0' + 1) % 10);
    ++changes;
    try {
      (void)launch::Bundle::parse({other.begin(), other.end()});
    } catch (const launch::LaunchError&) {
      ++refused;
      continue;
    }
    // Another form for a row: its own manifest launches it, and C is C.
    write(f.file("other"), other);
    const Ran r =
        inlay_command({"exec", f.file("other"), "--size", "m=40", "--arg", "a=in:" + f.file("a"),
                       "b=in:" + f.file("b"), "c=out:" + std::to_string(2 * 40 * 64) + ":" + f.file("c")});
    CAPTURE(at, r.err);
    REQUIRE(r.exit == 0);
    CHECK(bytes_of(f.file("c")) == p.c());
    ++ran;
  }
  CHECK(changes >= 20);
  CHECK(refused > changes / 2);
  CAPTURE(changes, refused, ran);
}

TEST_CASE("forms: auto chooses them, few are kept, and the loss is that of the table", "[forms]") {
  const Folder f;
  const auto build = [&](const char* most) {
    const Ran r = inlay_command({"build", "gemm",          "--arch",    "gfx950", "--dtype",
                                 "bf16",  "--for",         "m=16..512", "--n",    "256",
                                 "--k",   "256",           "--points",  "6",      "--most",
                                 most,    "--no-validate", "--json",    "-o",     f.file("gemm.inlay")});
    INFO(r.err);
    REQUIRE(r.exit == 0);
    return Json::parse(r.out);
  };
  const Json many = build("6"), one = build("1");
  REQUIRE(many.at("points").size() == one.at("points").size());
  CHECK(one.at("rows").size() == 1);
  CHECK(one.at("forms").size() == 2);
  CHECK(one.at("chosen") == many.at("chosen"));
  const auto kernel = kernels::find_kernel("gemm");
  double worst = 0;
  for (std::size_t i = 0; i < many.at("points").size(); ++i) {
    const Json& p = many.at("points")[i];
    const std::string m = p.at("sizes")[0].dump();
    // What stands beside the table is what `auto` chooses for these sizes alone, or a form of other sizes that is shorter there.
    const kernels::Choice alone = kernels::choose(
        *kernel, {{"arch", "gfx950"}, {"dtype", "bf16"}, {"m", m}, {"n", "256"}, {"k", "256"}});
    const double best = p.at("best").get<double>();
    CHECK(best <= alone.clocks);
    bool known = best == Approx(alone.clocks);
    for (const Json* table : {&many, &one})
      for (const Json& q : table->at("points"))
        known = known || (q.at("sizes") == p.at("sizes") && q.at("clocks").get<double>() == Approx(best));
    CHECK(known);
    CHECK(one.at("points")[i].at("clocks").get<double>() >= p.at("clocks").get<double>());
    worst = std::max(
        worst,
        one.at("points")[i].at("clocks").get<double>() / one.at("points")[i].at("best").get<double>() - 1);
  }
  CHECK(one.at("loss").at("worst").get<double>() == Approx(worst));
}

TEST_CASE("forms: between the points of the grid a row's form is near what is chosen for the size",
          "[forms]") {
  const Folder f;
  const auto build = [&](const std::string& sizes, const std::string& form) {
    std::vector<std::string> words = {
        "build",    "gemm",       "--arch",        "gfx950", "--dtype", "bf16",
        "--for",    "m=" + sizes, "--n",           "2048",   "--k",     "1024",
        "--points", "4",          "--no-validate", "--json", "-o",      f.file("gemm.inlay")};
    if (!form.empty()) {
      write(f.file("form"), form + "\n");
      words.insert(words.end(), {"--forms", f.file("form")});
    }
    const Ran r = inlay_command(words);
    INFO(r.err);
    REQUIRE(r.exit == 0);
    return Json::parse(r.out);
  };
  const Json file = build("64..1024", "");
  CHECK(file.at("points").size() > 4);
  for (const int m : {96, 192, 300, 380, 600, 900}) {
    const auto holds = [m](const Json& row) { return row.at("least")[0] <= m && m <= row.at("most")[0]; };
    const Json& rows = file.at("rows");
    const auto row = std::find_if(rows.begin(), rows.end(), holds);
    REQUIRE(row != rows.end());
    const std::string form = file.at("forms")[row->at("form").get<std::size_t>()].at("options"),
                      one = std::to_string(m) + ".." + std::to_string(m);
    const double here = build(one, form).at("points")[0].at("clocks"),
                 own = build(one, "").at("points")[0].at("clocks");
    CAPTURE(m, form, here, own);
    CHECK(here <= 1.05 * own);
  }
}

TEST_CASE("forms: what cannot be is one message", "[forms][error]") {
  const Folder f;
  write(f.file("none"), "# nothing\n");
  write(f.file("atomic"), "--tile 64x64x64 --split 64 --out f32\n");
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"build", "gemm", "-o", f.file("g")};
    words.insert(words.end(), more.begin(), more.end());
    const Ran r = inlay_command(words);
    INFO(r.out << r.err);
    CHECK(r.exit == 2);
    CHECK_FALSE(fs::exists(f.file("g")));
    return r.err;
  };
  CHECK_THAT(with({"--for", "m"}), Contains("not NAME=LEAST..MOST"));
  CHECK_THAT(with({"--for", "m=5..4", "--n", "64", "--k", "64"}), Contains("not NAME=LEAST..MOST"));
  CHECK_THAT(with({"--for", "m=0..4", "--n", "64", "--k", "64"}), Contains("not NAME=LEAST..MOST"));
  CHECK_THAT(with({"--for", "rows=1..4", "--n", "64", "--k", "64"}), Contains("its sizes are m, n, k"));
  CHECK_THAT(with({"--for", "m=1..4", "--m", "4", "--n", "64", "--k", "64"}), Contains("--m is given, too"));
  CHECK_THAT(with({"--for", "m=1..4", "--for", "m=1..4", "--n", "64", "--k", "64"}),
             Contains("m is given twice"));
  CHECK_THAT(with({"--for", "m=1..4", "--n", "64"}), Contains("k is not given"));
  CHECK_THAT(with({"--for", "m=1..4", "--n", "64", "--k", "64", "--program"}), Contains("show one form"));
  CHECK_THAT(with({"--for", "m=1..4", "--n", "64", "--k", "64", "--auto", "no"}), Contains("--auto no"));
  CHECK_THAT(with({"--points", "4"}), Contains("belong to --for"));
  CHECK_THAT(with({"--for", "k=9..15", "--m", "64", "--n", "64"}), Contains("has no multiple of 8"));
  CHECK_THAT(with({"--for", "m=1..4", "--n", "64", "--k", "64", "--forms", f.file("none")}),
             Contains("names no form"));
  CHECK_THAT(with({"--for", "m=1..4", "--n", "64", "--k", "64", "--forms", f.file("absent")}),
             Contains("absent"));
  // A form with another argument of the same name: C that is 0 before the launch. It is named as left out, and no form is left.
  const Ran left = inlay_command({"build", "gemm", "--out", "f32", "--for", "m=64..64", "--n", "64", "--k",
                                  "128", "--no-validate", "--forms", f.file("atomic"), "-o", f.file("h")});
  INFO(left.out << left.err);
  CHECK_THAT(left.out + left.err, Contains("is given twice") || Contains("argument c that is another one"));
}

TEST_CASE("forms: points of a grid, and rows that cover two ranges once", "[forms]") {
  using Points = std::vector<std::int64_t>;
  CHECK(kernels::grid_points({"m", 1, 16, 1}, 0) == Points{16});
  CHECK(kernels::grid_points({"m", 1, 16, 1}, 2) == Points{1, 4, 16});
  CHECK(kernels::grid_points({"m", 1, 16, 1}, 3) == Points{1, 2, 4, 8, 16});
  CHECK(kernels::grid_points({"m", 1, 16, 1}, 4) == Points{1, 2, 3, 4, 6, 8, 12, 16});
  CHECK(kernels::grid_points({"m", 5, 20, 1}, 3) == Points{5, 8, 16, 20});
  CHECK(kernels::grid_points({"m", 64, 300, 64}, 4) == Points{64, 128, 192, 256});
  // A kernel of two forms whose clocks are made up is not needed: these two are modelled, for a grid of two ranges.
  const Folder f;
  write(f.file("two"), "--tile 16x64x64 --waves 1x4\n--tile 64x64x64\n");
  const Ran r =
      inlay_command({"build", "gemm", "--for", "m=1..100", "--for", "n=64..192/64", "--k", "64", "--points",
                     "9", "--forms", f.file("two"), "--no-validate", "--json", "-o", f.file("g.inlay")});
  INFO(r.err);
  REQUIRE(r.exit == 0);
  const Json told = Json::parse(r.out);
  const auto bundle = launch::Bundle::read(f.file("g.inlay"));
  for (std::int64_t m = 1; m <= 101; ++m)
    for (std::int64_t n = 60; n <= 193; ++n) {
      std::size_t rows = 0, form = told.at("forms").size() - 1;
      for (const Json& row : told.at("rows"))
        if (m >= row.at("least")[0] && m <= row.at("most")[0] && n >= row.at("least")[1] &&
            n <= row.at("most")[1] && n % 64 == 0)
          ++rows, form = row.at("form").get<std::size_t>();
      REQUIRE(rows == (m <= 100 && n <= 192 && n % 64 == 0 ? 1 : 0));
      const std::int64_t sizes[] = {m, n, 64};
      REQUIRE(bundle.entries()[0].forms.form_of_row(bundle.entries()[0].forms.row(sizes)) == form);
    }
}

} // namespace built_forms_test
