// `inlay build gemm --hipblaslt`: the file is launched as its own description says, with the library's arguments, and its result is held
// against plain loops over small whole numbers.
#include "inlay_command.h"

#include <inlay/codegen/element.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <unistd.h>

namespace hipblaslt_test {

using namespace inlay;
using codegen::Element;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path at = fs::temp_directory_path() / ("inlay-hipblaslt-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(at); }
  ~Folder() { fs::remove_all(at); }
};

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A column-major matrix of the library: element (i, j) at i + j * pitch.
struct Columns {
  std::int64_t rows, columns, pitch;
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>((columns - 1) * pitch + rows);
  }
  [[nodiscard]] std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i + j * pitch);
  }
};

double whole(int name, std::int64_t i, std::int64_t j) {
  return static_cast<double>((i * 7 + j * 3 + i * j + name) % 5 - 2);
}

void write(const fs::path& file, const Columns& m, int name, Element type) {
  std::vector<std::byte> bytes(m.elements() * static_cast<std::size_t>(codegen::bits(type)) / 8,
                               std::byte{0xff});
  for (std::int64_t j = 0; j < m.columns; ++j)
    for (std::int64_t i = 0; i < m.rows; ++i)
      codegen::put_code(bytes, m.at(i, j), type, codegen::encode(type, whole(name, i, j)));
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// `[128, 64, 32]` after a word.
std::vector<int> numbers_after(const std::string& text, const std::string& word) {
  std::smatch found;
  REQUIRE(std::regex_search(text, found, std::regex(word + ": \\[([0-9, ]+)\\]")));
  std::vector<int> out;
  std::istringstream in(found[1]);
  for (std::string one; std::getline(in, one, ',');) out.push_back(std::stoi(one));
  return out;
}

struct Case {
  std::int64_t i, j, k, more_a = 0, more_b = 0, more_c = 0, more_d = 0;
  double alpha = 2, beta = -3;
};

/// One launch as a library that reads the description makes it: arguments by what they mean, the grid by tiles. What is wrong, or nothing.
std::string launched(const fs::path& file, const Case& x, Element in, Element out, const fs::path& folder) {
  const std::string text = contents(file);
  const Columns a{x.k, x.i, x.k + x.more_a}, b{x.k, x.j, x.k + x.more_b}, c{x.i, x.j, x.i + x.more_c},
      d{x.i, x.j, x.i + x.more_d}; // A and B lie along K: transposed, not transposed
  write(folder / "a", a, 1, in), write(folder / "b", b, 2, in), write(folder / "c", c, 3, out);
  write(folder / "d", d, 4, out);
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const std::map<std::string, std::string> passed{{"AddressA", "in:" + path("a")},
                                                  {"AddressB", "in:" + path("b")},
                                                  {"AddressC", "in:" + path("c")},
                                                  {"AddressD", "inout:" + path("d") + ":" + path("d.after")},
                                                  {"SizeFree0", "i32:" + std::to_string(x.i)},
                                                  {"SizeFree1", "i32:" + std::to_string(x.j)},
                                                  {"SizeSum", "i32:" + std::to_string(x.k)},
                                                  {"StrideA0", "i32:" + std::to_string(a.pitch)},
                                                  {"StrideB0", "i32:" + std::to_string(b.pitch)},
                                                  {"StrideC0", "i32:" + std::to_string(c.pitch)},
                                                  {"StrideD0", "i32:" + std::to_string(d.pitch)},
                                                  {"Alpha", "f32:" + std::to_string(x.alpha)},
                                                  {"Beta", "f32:" + std::to_string(x.beta)}};
  const auto tile = numbers_after(text, "macrotile"), threads = numbers_after(text, "threads");
  std::vector<std::string> words{"exec",
                                 file.string(),
                                 "--check",
                                 "all",
                                 "--stress",
                                 "--block",
                                 std::to_string(threads[0]),
                                 "--grid",
                                 std::to_string((x.i + tile[0] - 1) / tile[0]) + "," +
                                     std::to_string((x.j + tile[1] - 1) / tile[1])};
  static const std::regex semantic("semantic: (\\w+)");
  for (std::sregex_iterator s(text.begin(), text.end(), semantic), end; s != end; ++s)
    words.emplace_back("--arg"), words.push_back(passed.at((*s)[1]));
  const Ran ran = inlay_command(words);
  if (ran.exit != 0) return ran.out + ran.err;
  const std::string raw = contents(path("d.after"));
  const auto* first = reinterpret_cast<const std::byte*>(raw.data());
  const std::vector<std::byte> after(first, first + raw.size());
  for (std::int64_t j = 0; j < x.j; ++j)
    for (std::int64_t i = 0; i < x.i; ++i) {
      double want = 0;
      for (std::int64_t k = 0; k < x.k; ++k) want += whole(1, k, i) * whole(2, k, j);
      want = x.alpha * want + (x.beta == 0 ? 0 : x.beta * whole(3, i, j));
      const double got = codegen::decode(out, codegen::code_at(after, d.at(i, j), out));
      if (got != want)
        return "D(" + std::to_string(i) + "," + std::to_string(j) + ") = " + std::to_string(got) + ", and " +
               std::to_string(want) + " is right";
    }
  const std::string before = contents(path("d"));
  for (std::int64_t j = 0; j + 1 < x.j; ++j) // what lies between columns stays
    for (std::int64_t i = x.i; i < d.pitch; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(codegen::bits(out)) / 8, at = d.at(i, j) * bytes;
      if (before.substr(at, bytes) != raw.substr(at, bytes))
        return "something is stored between columns of D";
    }
  return "";
}

} // namespace

TEST_CASE("a GEMM with hipBLASLt's arguments", "[hipblaslt]") {
  const Folder folder;
  struct Form {
    std::vector<std::string> options;
    std::string name;
    Element in, out;
    std::int64_t multiple = 1; ///< of i, for which the form is
  };
  const std::vector<Form> forms{
      {{"--arch", "gfx942", "--tile", "64x32x64", "--auto", "no"},
       "inlay_gemm_f16_f16_TN_MT32x64_gfx942",
       Element::f16,
       Element::f16},
      {{"--arch", "gfx950", "--dtype", "bf16", "--out", "f32", "--tile", "64x64x64", "--auto", "no"},
       "inlay_gemm_bf16_f32_TN_MT64x64_gfx950",
       Element::bf16,
       Element::f32},
      {{"--arch", "gfx950", "--m", "100", "--n", "256", "--k", "512"},
       "inlay_gemm_f16_f16_TN_MT",
       Element::f16,
       Element::f16,
       8}};
  for (const Form& form : forms) {
    CAPTURE(form.name);
    const fs::path into = folder.at / "s";
    fs::remove_all(into);
    std::vector<std::string> words{
        "build", "gemm", "--no-validate", "-o", (folder.at / "built").string(), "--hipblaslt", into.string()};
    words.insert(words.end(), form.options.begin(), form.options.end());
    const Ran built = inlay_command(words);
    INFO(built.out << built.err);
    REQUIRE(built.exit == 0);
    const fs::path file = fs::directory_iterator(into)->path();
    CHECK(file.filename().string().starts_with(form.name));
    // The function has the file's name, as the library looks for it.
    CHECK(contents(file).find("\n" + file.stem().string() + ":") != std::string::npos);
    const std::int64_t n = form.multiple;
    CHECK(launched(file, {70 / n * n, 130, 64}, form.in, form.out, folder.at) == "");
    CHECK(launched(file, {40, 33, 72, 8, 16, 3 * n, 5 * n, 1, 2}, form.in, form.out, folder.at) == "");
    CHECK(launched(file, {9 / n * n, 5, 8, 8, 0, n, 0, -1, 0}, form.in, form.out, folder.at) == "");
  }
}

TEST_CASE("what hipBLASLt has no argument for is refused", "[hipblaslt]") {
  const auto refused = [](std::vector<std::string> more, const std::string& kernel = "gemm") {
    std::vector<std::string> words{"build", kernel,     "--auto",      "no",
                                   "-o",    "/nowhere", "--hipblaslt", "/nowhere"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = inlay_command(words);
    return ran.exit == 2 ? ran.err : "built";
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refused({"--bias", "yes", "--tile", "64x64x32"}),
             Contains("the library has no argument 'bias'"));
  CHECK_THAT(refused({"--beta", "no", "--pad-c", "no", "--tile", "64x64x32"}),
             Contains("the kernel has no argument 'beta'"));
  CHECK_THAT(refused({"--dtype", "fp8"}), Contains("matrices of e4m3fnuz that give bf16"));
  CHECK_THAT(refused({"--n-multiple", "32", "--tile", "64x64x32"}), Contains("n is a multiple of 32"));
  CHECK_THAT(refused({"--tile", "64x64x32", "--split", "64", "--split-k-fixup", "yes"}),
             Contains("the library has no argument"));
  CHECK_THAT(refused({}, "softmax"), Contains("--hipblaslt is of the kernel gemm"));
}

} // namespace hipblaslt_test
