#include "buffer_file.h"
#include "inlay_command.h"
#include "output_bytes.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <inlay/runtime/emulator.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace exec_test {

namespace {

namespace fs = std::filesystem;

/// A folder that goes away with the test.
struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("inlay-exec-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return file(name);
  }
};

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string bytes_of(const std::vector<float>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}
std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> v(bytes.size() / sizeof(float));
  std::memcpy(v.data(), bytes.data(), v.size() * sizeof(float));
  return v;
}
std::vector<float> count_to(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i);
  return v;
}

/// A .npy file, version 1, of these bytes.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
         static_cast<char>(header.size() >> 8) + header + data;
}

// y[i] = x[i] + s, one workgroup of 64 a 256 bytes.
const std::string kernel = std::string(INLAY_TESTS_DIR) + "/isa/add_scalar.gfx942.s";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("exec: raw buffers in and out, statistics") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(128)));
  const auto r = inlay_command({"exec", kernel, "--grid", "2", "--block", "64", "--arg", "in:" + x, "--arg",
                                "out:512:" + f.file("y.bin"), "--arg", "f32:0.5", "--stats"});
  CHECK(r.err.empty());
  REQUIRE(r.exit == 0);
  auto expected = count_to(128);
  for (float& v : expected) v += 0.5F;
  CHECK(floats_of(read(f.file("y.bin"))) == expected);
  CHECK(says(r.out, "22 in 2 waves of 2 workgroups")); // 11 instructions each
}

TEST_CASE("exec: arguments that share a buffer") {
  const Folder f;
  const auto file = f.write("x.bin", bytes_of(count_to(160)));
  const auto run = [&](const std::string& x, const std::string& y, const std::string& grid = "1") {
    return inlay_command({"exec", kernel, "--grid", grid, "--arg", x, y, "f32:0.5"});
  };
  const std::string out = f.file("y.bin"), inout = "inout:" + file + ":" + out;
  // In place, before and behind: what is stored is read nowhere else.
  for (const auto& [y, first] : {std::pair{"at:0:0", 0}, {"at:0:256", 64}}) {
    const auto r = run(inout, y);
    INFO(r.err << r.out);
    REQUIRE(r.exit == 0);
    auto expected = count_to(160);
    for (int i = 0; i < 64; ++i) expected[static_cast<std::size_t>(first + i)] = static_cast<float>(i) + 0.5F;
    CHECK(floats_of(read(out)) == expected);
  }
  const auto before = run("at:1:256", inout);
  REQUIRE(before.exit == 0);
  CHECK(floats_of(read(out))[0] == 64.5F);
  CHECK(floats_of(read(out))[64] == 64);
  // y is x 4 bytes further: the second workgroup reads what the first stores.
  const auto race = run(inout, "at:0:4", "2");
  CHECK(race.exit == 1);
  CHECK(says(race.out, "races: "));
  const auto past = run(inout, "at:0:392");
  CHECK(past.exit == 1);
  CHECK(says(past.out, "bounds: writes"));
  for (const auto& [x, y, part] : {std::array{"at:1:0", "at:0:0", "argument 1 is at:0:0, and no buffer"},
                                   {"zeros:256", "at:2:0", "argument 2 is f32:0.5, and no buffer"},
                                   {"zeros:256", "at:3:0", "there is no argument 3\n  hint   0 to 2"},
                                   {"zeros:256", "at:0:257", "the buffer of argument 0 has 256 bytes"},
                                   {"zeros:256", "at:0", "not at:K:BYTES"},
                                   {"zeros:256", "at:x:0", "not at:K:BYTES"},
                                   {"zeros:256", "at:0:-4", "not at:K:BYTES"}}) {
    const auto r = run(x, y);
    INFO(r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, part));
  }
}

TEST_CASE("exec: arguments of a manifest share a buffer where none of them is an output") {
  const Folder f;
  REQUIRE(inlay_command({"build", "vector_add", "-o", f.file("v")}).exit == 0);
  const std::string x = "in:" + f.write("x.bin", bytes_of(count_to(64))), out = f.file("c.bin");
  const auto run = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"exec", f.file("v") + "/vector_add.json", "--size", "n=32"};
    for (const auto& a : arguments) words.insert(words.end(), {"--arg", a});
    return inlay_command(words);
  };
  const auto sum = run({"c=out:128:" + out, "a=" + x, "b=at:1:128"});
  INFO(sum.err << sum.out);
  REQUIRE(sum.exit == 0);
  const auto got = floats_of(read(out));
  for (std::size_t i = 0; i < 32; ++i) CHECK(got[i] == static_cast<float>(i + (i + 32)));
  for (const auto& wrong : {std::vector<std::string>{"c=at:1:0", "a=" + x}, {"c=out:128", "a=at:0:0"}}) {
    const auto r = run(wrong);
    CHECK(r.exit == 2);
    CHECK(says(r.err, "would share memory with"));
  }
  // Numbers of arguments are another form's.
  const auto forms =
      f.write("forms", "--tile 16x64x64 --waves 1x4 --split 64 --split-k-fixup yes\n--tile 64x64x64\n");
  REQUIRE(inlay_command({"build", "gemm", "--for", "m=1..100", "--n", "64", "--k", "128", "--dtype", "f16",
                         "--forms", forms, "--points", "3", "-o", f.file("g.inlay")})
              .exit == 0);
  const auto several = inlay_command({"exec", f.file("g.inlay"), "--size", "m=4", "--size", "n=64", "--size",
                                      "k=128", "--arg", "a=zeros:1024", "--arg", "b=at:1:0"});
  CHECK(several.exit == 2);
  CHECK(says(several.err, "the kernel has several forms"));
}

TEST_CASE("exec: of an output larger than memory only what was touched is read and written") {
  const Folder f;
  std::string text = read(kernel);
  const std::string add = "  v_add_f32 v2, s8, v2\n";
  text.replace(text.find(add), add.size(),
               add + "global_store_dword v1, v2, s[6:7]\ns_add_u32 s6, s6, 0x1ffc\ns_addc_u32 s7, s7, 4\n");
  const auto far = f.write("far.s", text), x = f.write("x.bin", bytes_of(count_to(64)));
  constexpr std::uint64_t at = (std::uint64_t{4} << 32) + 0x1ffc, bytes = 20'000'000'000; // over two pages
  for (const std::string name : {"y.bin", "y.npy"}) {
    const auto file = f.file(name);
    REQUIRE(inlay_command({"exec", far, "--arg", "x=in:" + x, "y=out:" + std::to_string(bytes) + ":" + file,
                           "s=f32:1.5", "--stress"})
                .exit == 0);
    const std::uint64_t header = name == "y.npy" ? 128 : 0;
    CHECK(std::filesystem::file_size(file) == header + bytes);
    std::ifstream in(file, std::ios::binary);
    for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{256}, at - 256, at, at + 256}) {
      const bool there = place == 0 || place == at;
      std::string found(256, '?');
      in.seekg(static_cast<std::streamoff>(header + place));
      in.read(found.data(), 256);
      auto expected = count_to(64);
      for (float& v : expected) v = there ? v + 1.5F : 0;
      CHECK(floats_of(found) == expected);
    }
  }
  const auto printed = inlay_command({"exec", far, "--arg", "x=in:" + x, "y=out:100000000000", "s=f32:1"});
  CHECK(says(printed.out, "100000000000 bytes: 1 2 3 4 5 6 7 8 ... of 25000000000 f32"));
  for (const char* many : {"64", "536870912", "4294967295"}) { // as many as there are
    const auto all =
        inlay_command({"exec", kernel, "--arg", "x=in:" + x, "y=out:256", "s=f32:1", "--values", many});
    CHECK(all.exit == 0);
    CHECK(says(all.out, "256 bytes: 1 2 3 4 "));
    CHECK(says(all.out, " 63 64 of 64 f32"));
  }
  const auto piped =
      inlay_command({"exec", kernel, "--arg", "x=in:" + x, "y=out:70000:/dev/null", "s=f32:1"});
  CHECK(piped.exit == 0);
  CHECK(inlay_command({"exec", kernel, "--arg", "x=in:" + x, "y=out:9000000000000", "s=f32:1"}).exit == 2);
}

TEST_CASE("exec: the first byte that differs, whichever of the two runs touched it") {
  using inlay::cli::OutputBytes;
  constexpr std::uint64_t size = std::uint64_t{1} << 32, early = 5000, late = (std::uint64_t{3} << 30) + 7;
  inlay::runtime::EmulatorDevice device(inlay::runtime::isa::Arch::gfx942, {.threads = 1});
  const auto with = [&](const std::vector<std::uint64_t>& at) {
    const auto p = device.allocate(size);
    for (const std::uint64_t a : at)
      device.copy_in(p + a, std::vector<std::uint8_t>{static_cast<std::uint8_t>(a)});
    return OutputBytes::read(device, p, size);
  };
  const OutputBytes none = with({}), first = with({early}), last = with({late}), both = with({early, late});
  CHECK(none.size() == size);
  CHECK_FALSE(none.difference(with({})));
  CHECK_FALSE(both.difference(with({early, late})));
  CHECK(first.difference(none)->at == early);
  CHECK(none.difference(first)->at == early);
  CHECK(none.difference(first)->mine == 0);
  CHECK(none.difference(first)->other == static_cast<std::uint8_t>(early));
  CHECK(last.difference(first)->at == early);
  CHECK(first.difference(last)->at == early);
  CHECK(first.difference(both)->at == late);
  CHECK(first.difference(with({100, early + 1}))->at ==
        100); // in a run of pages that begins before the other's
  CHECK(both.difference(first)->mine == 7);
  CHECK(both.first(early + 1).back() == static_cast<std::uint8_t>(early));
}

TEST_CASE("exec: .npy keeps its header, and is checked") {
  const Folder f;
  const auto whole = npy("<f4", "(8, 16)", bytes_of(count_to(128)));
  const auto x = f.write("x.npy", whole);
  const auto y = f.file("y.npy");
  const std::vector<std::string> base = {"exec", kernel, "--grid", "2", "--arg", "in:" + x, "--arg"};
  const auto with = [&](const std::string& second) {
    auto a = base;
    a.insert(a.end(), {second, "--arg", "f32:1"});
    return inlay_command(a);
  };
  REQUIRE(with("inout:" + x + ":" + y).exit == 0);
  auto expected = count_to(128);
  for (float& v : expected) v += 1;
  CHECK(read(y) == npy("<f4", "(8, 16)", bytes_of(expected)));
  REQUIRE(with("out:512:" + y).exit == 0);
  CHECK(read(y).substr(128) == bytes_of(expected));
  CHECK(says(read(y), "'|u1'"));
  for (std::size_t n = 6; n < whole.size(); n += n < 140 ? 1 : 64) { // cut anywhere
    const auto cut = f.write("cut.npy", whole.substr(0, n));
    const auto r = with("inout:" + cut + ":" + y);
    CHECK(r.exit == 2);
    CHECK(says(r.err, ".npy file"));
  }
  for (const auto& [descr, shape] : {std::pair{">f4", "(8, 16)"},
                                     {"<f4", "(9, 16)"},
                                     {"|O", "(8, 16)"},
                                     {"<f4", "8"},
                                     {"<f4", "(99999999999, 99999999999)"},
                                     {"<f0", "(8, 16)"},
                                     {"x", "(1,)"}}) {
    const auto r = with("inout:" + f.write("bad.npy", npy(descr, shape, bytes_of(count_to(128)))) + ":" + y);
    CAPTURE(descr, shape);
    CHECK(r.exit == 2);
  }
  // Columns first, but for what has one axis.
  for (const auto& [shape, exit] : {std::pair{"(8, 16)", 2}, {"(128,)", 0}, {"(1, 128)", 0}}) {
    std::string columns = npy("<f4", shape, bytes_of(count_to(128)));
    columns.replace(columns.find("False, "), 7, "True,  ");
    const auto r = with("inout:" + f.write("columns.npy", columns) + ":" + y);
    CAPTURE(shape, r.err);
    CHECK(r.exit == exit);
    CHECK((exit == 0 || says(r.err, "fortran_order")));
  }
}

TEST_CASE("exec: a .npy file has the elements that the manifest says") {
  const Folder f;
  REQUIRE(inlay_command({"build", "transpose", "--dtype", "f32", "-o", f.file("t")}).exit == 0);
  const auto with = [&](const std::string& descr, std::size_t floats) {
    const auto x = f.write("x.npy", npy(descr, "(128,)", bytes_of(count_to(floats))));
    return inlay_command({"exec", f.file("t") + "/transpose.json", "--size", "b=1", "--size", "m=8", "--size",
                          "n=16", "--arg", "x=in:" + x});
  };
  for (const char* same : {"<f4", "<u4", "|V4"}) {
    CAPTURE(same);
    CHECK(with(same, 128).exit == 0);
  }
  for (const auto& [other, floats] : {std::pair{"<f8", 256}, {"<i4", 128}, {"<i8", 256}}) {
    const auto r = with(other, static_cast<std::size_t>(floats));
    CAPTURE(other, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, "those of 'x' are f32"));
    CHECK(says(r.err, "astype('f4')"));
  }
}

TEST_CASE("exec: a .npy file has the shape that the manifest says") {
  const Folder f;
  REQUIRE(inlay_command({"build", "transpose", "--dtype", "f32", "-o", f.file("t")}).exit == 0);
  const auto with = [&](const std::string& shape) {
    const auto x = f.write("x.npy", npy("<f4", shape, bytes_of(count_to(256))));
    return inlay_command({"exec", f.file("t") + "/transpose.json", "--size", "b=2", "--size", "m=8", "--size",
                          "n=16", "--arg", "x=in:" + x});
  };
  for (const char* same :
       {"(2, 8, 16)", "(256,)", "(16, 16)", "(4, 4, 16)", "(1, 16, 16)"}) { // rows may be counted otherwise
    CAPTURE(same);
    CHECK(with(same).exit == 0);
  }
  for (const char* other : {"(2, 16, 8)", "(8, 2, 16)", "(4, 8, 8)"}) {
    const auto r = with(other);
    CAPTURE(other, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err,
               std::string("its shape is ") + other + ", and that of 'x' is (2, 8, 16) for these sizes"));
    CHECK(says(r.err, "hint   numpy's reshape(-1)"));
  }
}

TEST_CASE("exec: a buffer of a manifest is no null pointer") {
  const Folder f;
  REQUIRE(inlay_command({"build", "vector_add", "-o", f.file("v")}).exit == 0);
  for (const char* name : {"c", "a", "b"}) {
    const auto r = inlay_command({"exec", f.file("v") + "/vector_add.json", "--size", "n=5000", "--arg",
                                  name + std::string("=ptr:0")});
    CAPTURE(name, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, name + std::string(" is a null pointer, and has 20000 bytes")));
    CHECK(says(r.err, "hint   the address of a buffer"));
  }
}

TEST_CASE("exec: the block is the manifest's, and a part of its grid is said") {
  const Folder f;
  REQUIRE(inlay_command({"build", "vector_add", "-o", f.file("v")}).exit == 0);
  const auto with = [&](const std::string& option, const std::string& value) {
    return inlay_command({"exec", f.file("v") + "/vector_add.json", "--size", "n=5000", option, value});
  };
  const auto other = with("--block", "128");
  CHECK(other.exit == 2);
  CHECK(says(other.err, "--block 128: the manifest's is 256x1x1"));
  CHECK(with("--block", "256").exit == 0);
  const auto part = with("--grid", "2");
  CHECK(part.exit == 0);
  CHECK(says(part.out, "grid 2x1x1 of 5x1x1 by the manifest"));
  CHECK_FALSE(says(with("--grid", "5").out, "of 5x1x1"));
}

TEST_CASE("exec: wrong number, size, kind, geometry and files: exit 2 with the signature") {
  const Folder f;
  const auto x = "in:" + f.write("x.bin", bytes_of(count_to(128))), y = "out:512:" + f.file("y.bin");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"exec", kernel});
    return inlay_command(more);
  };
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const auto r = run(more);
    CAPTURE(part, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, part));
    CHECK(r.out.empty());
  };
  refused({"--arg", x, "--arg", y}, "2 were given, 3 are needed");
  refused({"--arg", x, "--arg", y}, "(ptr x, ptr y, 4 bytes s)");
  refused({"--arg", x, "--arg", y, "--arg", "f64:1"}, "is 8 bytes, but the kernel takes 4");
  refused({"--arg", "i64:1", "--arg", y, "--arg", "f32:1"}, "takes a pointer");
  refused({"--arg", x, "--arg", y, "--arg", "f32:one"}, "no value of that type");
  refused({"--arg", x, "--arg", y, "--arg", "i32:4294967296"}, "no value of that type");
  refused({"--arg", x, "--arg", y, "--arg", "u32:-1"}, "no value of that type");
  refused({"--arg", x, "--arg", "out:many:file", "--arg", "f32:1"}, "not out:BYTES:FILE");
  refused({"--arg", x, "--arg", "inout:file", "--arg", "f32:1"}, "not inout:FILE:FILE");
  refused({"--arg", "in:no-such-file", "--arg", y, "--arg", "f32:1"}, "cannot be opened");
  refused({"--arg", "seven"}, "not TYPE:VALUE");
  refused({"--arg", "i8:7"}, "'i8' is no type");
  const std::vector<std::string> good = {"--arg", x, "--arg", y, "--arg", "f32:1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), good.begin(), good.end());
    return more;
  };
  refused(with({"--grid", "0"}), "--grid 0");
  refused(with({"--grid", "1,2,3,4"}), "--grid 1,2,3,4");
  refused(with({"--block", "128"}), "compiled for 64");
  refused(with({"--kernel", "other"}), "there are: vadd");
  refused(with({"--check", "everything"}), "no sanitizer");
  refused(with({"--matrix", "exact"}), "sequential, cdna3");
  refused(with({"--device", "abacus"}), "no such device");
  refused(with({"--trace", "lane=64"}), "is not understood");
  refused(with({"--trace", "wave"}), "is not understood");
  const auto dry = run(with({"--dry-run", "--grid", "2"}));
  CHECK(dry.exit == 0);
  CHECK(says(dry.out, "signature (ptr x, ptr y, 4 bytes s)"));
  CHECK_FALSE(fs::exists(f.file("y.bin")));
}

TEST_CASE("exec: what a sanitizer finds is exit 1, with the site") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(128)));
  const std::vector<std::string> a = {"exec",  kernel,    "--grid", "3",
                                      "--arg", "in:" + x, "--arg",  "out:512:" + f.file("y.bin"),
                                      "--arg", "f32:1"};
  const auto text = inlay_command(a);
  CHECK(text.exit == 1);
  CHECK(says(text.out, "bounds: "));
  CHECK(says(text.out, "global_load_dword v2, v1, s[4:5]"));
  auto b = a;
  b.push_back("--json");
  const auto json = inlay_command(b);
  CHECK(json.exit == 1);
  const auto j = nlohmann::json::parse(json.out);
  CHECK(j.at("ok") == false);
  CHECK(j.at("findings").at(0).at("kind") == "bounds");
  CHECK(j.at("findings").at(0).at("workgroup") == nlohmann::json{2, 0, 0});
}

TEST_CASE("exec: a missing wait shows under stress, the same kernel with it does not") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(64)));
  const auto run = [&](const std::string& file) {
    return inlay_command({"exec", file, "--arg", "in:" + x, "--arg", "out:256:" + f.file("y.bin"), "--arg",
                          "f32:1", "--check", "none", "--stress"});
  };
  CHECK(run(kernel).exit == 0);
  std::string text = read(kernel);
  const std::string wait = "  s_waitcnt vmcnt(0)\n";
  REQUIRE(text.find(wait) != std::string::npos);
  text.erase(text.find(wait), wait.size());
  const auto r = run(f.write("unsound.s", text));
  CHECK(r.exit == 1);
  CHECK(says(r.out, "stress: "));
}

TEST_CASE("exec: breakpoints and watched memory, as text and as JSON") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(192)));
  const std::vector<std::string> base = {"exec",  kernel,    "--grid", "3",
                                         "--arg", "in:" + x, "--arg",  "out:768:" + f.file("y.bin"),
                                         "--arg", "f32:1"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return inlay_command(more);
  };
  const auto text = run({"--break", "vadd+2c,workgroup=1", "--dump", "v2,s[8:9]", "--dump", "exec", "--watch",
                         "arg1+0x108", "--watch", "arg0+0x110/8,workgroup=0"});
  CAPTURE(text.out);
  CHECK(text.exit == 0);
  CHECK(says(text.out,
             "break 0x152c  v_add_f32_e32 v2, s8, v2\n  in     add_scalar.gfx942.s:15, workgroup 1,0,0, "
             "wave 0, hit 1\n  v2      0: 42800000 42820000")); // 64 and 65: of workgroup 1, before the add
  CHECK(says(text.out, "\n  s8     0x3f800000\n  s9     0x00000100\n  exec   0xffffffffffffffff\n"));
  CHECK(says(text.out,
             "write of arg1+0x108 at 0x1530  global_store_dword v1, v2, s[6:7]\n  in     "
             "add_scalar.gfx942.s:16, workgroup 1,0,0, wave 0, lane 2\n  value  0x00000000 -> 0x42860000\n"));
  CHECK_FALSE(says(text.out, "read of arg0")); // workgroup 0 does not read there
  CHECK(says(text.out, "watch arg0+0x110/8: no access\n"));
  CHECK_FALSE(says(text.out, "no wave came there"));
  CHECK(says(run({"--break", "vadd+2c,workgroup=7"}).out, "break vadd+2c,workgroup=7: no wave came there\n"));
  CHECK(text.out.find("break 0x", text.out.find("break 0x") + 1) == std::string::npos);

  const auto json = run({"--break", "152c", "--dump", "v2,vcc", "--watch", "arg1+8", "--json", "--trace",
                         "wave=0,lane=2", "--repeat", "2"});
  const auto j = nlohmann::json::parse(json.out);
  CHECK(json.exit == 0);
  REQUIRE(j.at("breaks").size() == 3);
  CHECK(j.at("breaks").at(2).at("workgroup") == nlohmann::json{2, 0, 0});
  CHECK(j.at("breaks").at(0).at("registers").at("v2").at(63) == 0x427c0000);
  CHECK(j.at("breaks").at(0).at("registers").at("vcc") == 0);
  CHECK(j.at("breaks").at(0).at("source") == nlohmann::json{{"file", "add_scalar.gfx942.s"}, {"line", 15}});
  REQUIRE(j.at("watches").size() == 1);
  CHECK(j.at("watches").at(0).at("access") == "write");
  CHECK(j.at("watches").at(0).at("after") == nlohmann::json{0, 0, 0x40, 0x40}); // 3.0
  CHECK(j.at("trace").size() == 11);
  CHECK(nlohmann::json::parse(run({"--break", "152c", "--hits", "0", "--json"}).out).at("breaks").size() ==
        3);

  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const auto r = run(more);
    CAPTURE(part, r.err);
    CHECK(r.exit == 2);
    CHECK(says(r.err, part));
    CHECK(says(r.err, "hint"));
  };
  refused({"--break", "vsub"}, "'vsub' is neither a function of the code object nor an address");
  refused({"--break", "vadd+2e"}, "no instruction starts at 0x152e");
  refused({"--break", "vadd+x"}, "'x' is no offset in hexadecimal");
  refused({"--break", "vadd,lane=1"}, "'lane=1' is not understood");
  refused({"--dump", "v1"}, "there is none");
  refused({"--break", "vadd", "--dump", "v1,w2"}, "'w2' is no register");
  refused({"--watch", "arg2"}, "argument 2 is no buffer");
  refused({"--watch", "arg3"}, "argument 3 is no buffer");
  refused({"--watch", "arg1+2fe"}, "argument 1 has 768 bytes");
  refused({"--watch", "lds:0"}, "0 bytes of LDS");
  refused({"--watch", "10"}, "no allocation contains");
  refused({"--watch", "arg1/5000"}, "no number of bytes");
  refused({"--watch", "here"}, "'here' is no address");
  refused({"--break", "vadd", "--device", "hip"}, "leave --device out");
}

TEST_CASE("exec: findings and inspect name the line of the assembly") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(32)));
  const auto r = inlay_command({"exec", kernel, "--arg", "in:" + x, "--arg", "out:256:" + f.file("y.bin"),
                                "--arg", "f32:1", "--json"});
  CHECK(r.exit == 1);
  CHECK(nlohmann::json::parse(r.out).at("findings").at(0).at("source") ==
        nlohmann::json{{"file", "add_scalar.gfx942.s"}, {"line", 13}});
  CHECK(says(inlay_command({"inspect", kernel, "--disassemble"}).out,
             "; add_scalar.gfx942.s:16\n    1530 S  global_store_dword v1, v2, s[6:7]\n"));
  const auto j = nlohmann::json::parse(inlay_command({"inspect", kernel, "--disassemble", "--json"}).out);
  CHECK(j.at("kernels").at(0).at("disassembly").at(0).at("source").at("line") == 7);
}

TEST_CASE("exec: a grid that no dispatch can count is refused, with --dry-run too") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(64)));
  const auto run = [&](const std::string& grid, const std::string& block) {
    return inlay_command({"exec", kernel, "--arg", "in:" + x, "--arg", "out:256:" + f.file("y.bin"), "--arg",
                          "f32:1", "--grid", grid, "--block", block, "--dry-run"});
  };
  const auto many = run("67108864,1,1", "64,1,1");
  CHECK(many.exit == 2);
  CHECK(says(many.err,
             "67108864 workgroups along x are 4294967296 work-items, a dispatch counts them in 32 bits"));
  CHECK(run("67108863,1,1", "64,1,1").exit == 0);
  const auto tall = run("1,70000,1", "64,1,1");
  CHECK(tall.exit == 2);
  CHECK(says(tall.err, "70000 workgroups along y"));
  CHECK(says(tall.err, "at most 65535"));
}

/// A kernel of that body that ends; 10 SGPRs with vcc, so 16 are reserved.
std::string with_registers(const std::string& body, int vgprs, int accum_offset) {
  return ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl k\n.p2align 8\n.type "
         "k,@function\nk:\n" +
         body +
         "\ns_endpgm\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel "
         "k\n.amdhsa_next_free_vgpr " +
         std::to_string(vgprs) + "\n.amdhsa_accum_offset " + std::to_string(accum_offset) +
         "\n.amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\n";
}

TEST_CASE("exec, validate, inspect: a register that is not reserved does not belong to the wave") {
  struct Case {
    std::string body;
    int vgprs, accum_offset;
    std::string why; // nothing: it is the wave's
  };
  const Case cases[] = {
      {"v_mov_b32 v31, 0", 32, 32, ""},
      {"v_mov_b32 v32, 0", 32, 32, "v32 does not belong to the wave: 32 vector registers are reserved"},
      {"v_mov_b32 v60, 0", 32, 32, "v60 does not belong to the wave: 32 vector registers are reserved"},
      {"v_accvgpr_write_b32 a0, 0", 32, 32, "a0 does not belong to the wave"},
      {"v_accvgpr_write_b32 a7, 0", 40, 32, ""},
      {"v_accvgpr_write_b32 a9, 0", 40, 32,
       "a9 does not belong to the wave: 40 vector registers are reserved"},
      // 33 registers are 40, in eights
      {"v_mov_b32 v35, 0\nv_accvgpr_write_b32 a3, 0", 33, 36, ""},
      {"v_accvgpr_write_b32 a4, 0", 33, 36,
       "a4 does not belong to the wave: 40 vector registers are reserved"},
      {"v_mov_b32 v39, 0", 33, 36, ""}, // a3 by another name
      {"v_mov_b32 v40, 0", 33, 36, "v40 does not belong to the wave: 40 vector registers are reserved"},
      // the last of a tuple counts
      {"v_lshlrev_b64 v[30:31], 0, 0", 32, 32, ""},
      {"v_lshlrev_b64 v[32:33], 0, 0", 32, 32, "v33 does not belong to the wave"},
      {"s_mov_b32 s15, 0", 32, 32, ""},
      {"s_mov_b32 s16, 0", 32, 32, "s16 does not belong to the wave: 16 scalar registers are reserved"},
      {"s_mov_b64 vcc, 0\ns_mov_b32 m0, 0", 32, 32, ""},
  };
  for (const Case& c : cases) {
    INFO(c.body);
    const std::string text = with_registers(c.body, c.vgprs, c.accum_offset);
    for (const bool stress : {false, true}) {
      std::vector<std::string> a = {"exec", "-", "--block", "64"};
      if (stress) a.emplace_back("--stress");
      const auto r = inlay_command(a, text);
      INFO(r.out << r.err);
      CHECK(r.exit == (c.why.empty() ? 0 : 1));
      CHECK(says(r.out + r.err, c.why));
    }
    const auto validated = inlay_command({"validate", "-", "--block", "64"}, text);
    INFO(validated.out << validated.err);
    CHECK((validated.exit == 0) == c.why.empty());
    CHECK(says(validated.out + validated.err, c.why));
    const auto seen = inlay_command({"inspect", "-"}, text);
    CHECK(seen.exit == 0);
    CHECK(says(seen.out, "WARNING") == !c.why.empty());
    CHECK(says(seen.out, c.why));
    const auto j = nlohmann::json::parse(inlay_command({"inspect", "-", "--json"}, text).out);
    CHECK(j.at("kernels").at(0).at("not_reserved").size() == (c.why.empty() ? 0 : 1));
  }
  // Where nobody arrives nothing happens; a reader is told all the same.
  const std::string skipped = with_registers("s_branch .Lover\nv_mov_b32 v60, 0\n.Lover:", 32, 32);
  CHECK(inlay_command({"exec", "-", "--block", "64"}, skipped).exit == 0);
  CHECK(says(inlay_command({"inspect", "-"}, skipped).out, "v60 does not belong"));
}

TEST_CASE("exec: trace, timing, JSON") {
  const Folder f;
  const auto x = f.write("x.bin", bytes_of(count_to(64)));
  const std::vector<std::string> a = {
      "exec", kernel, "--arg", "in:" + x, "--arg", "out:256:" + f.file("y.bin"), "--arg", "f32:1"};
  auto traced = a;
  traced.insert(traced.end(), {"--trace", "wave=0,lane=3"});
  const auto t = inlay_command(traced);
  CHECK(t.exit == 0);
  CHECK(says(t.out, "global_store_dword v1, v2, s[6:7]"));
  CHECK(says(t.out, "v2=0x40800000")); // 3 + 1 in lane 3
  auto timed = a;
  timed.insert(timed.end(), {"--repeat", "4", "--json"});
  const auto j = nlohmann::json::parse(inlay_command(timed).out);
  CHECK(j.at("ok") == true);
  CHECK(j.at("timing").at("milliseconds").size() == 4);
  CHECK(j.at("stats").at("instructions") == 11);
  CHECK(j.at("outputs").at(0).at("bytes") == 256);
}

} // namespace exec_test
