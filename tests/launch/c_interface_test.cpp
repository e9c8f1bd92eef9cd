// inlay_c.h on the emulator, from a manifest and its code object; and what it refuses.
#include "inlay_command.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <inlay/launch/bundle.h>
#include <inlay/runtime/isa/assemble.h>
#include <inlay_c.h>

namespace c_interface_test {

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("inlay-c-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string assembly() {
  std::ifstream in(INLAY_TESTS_DIR "/hip/kernels.gfx942.s");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> assembled(const std::string& text) {
  return inlay::runtime::isa::assemble_code_object(text, inlay::runtime::isa::Arch::gfx942);
}

std::string written(const Folder& folder, const inlay::launch::Bundle& bundle) {
  const auto bytes = bundle.bytes();
  const std::string file = (folder.path / "k.inlay").string();
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file;
}

/// A bundle of one kernel, `add`: b[i] = a[i] + n.
std::string bundle_of_add(const Folder& folder) {
  inlay::launch::Manifest m;
  m.kernel = "add";
  m.arch = "gfx942";
  m.sizes = {{"count", 64, 65536, 64, std::nullopt}, {"n", 0, INT32_MAX, 1, 1}};
  m.arguments.resize(3);
  m.arguments[0].name = "a";
  m.arguments[1].name = "b";
  for (int i = 0; i < 2; ++i)
    m.arguments[static_cast<std::size_t>(i)].kind = inlay::launch::Argument::Kind::buffer;
  m.arguments[0].bytes = m.arguments[1].bytes = inlay::launch::Formula("4*count");
  m.arguments[0].shape = {inlay::launch::Formula("count/64"), inlay::launch::Formula("64")};
  m.arguments[1].output = true;
  m.arguments[2].name = "n";
  m.arguments[2].kind = inlay::launch::Argument::Kind::size;
  m.arguments[2].type = "i32";
  m.grid[0] = inlay::launch::Formula("count/64");
  m.block = {64, 1, 1};
  m.outputs_apart = true;
  return written(folder, inlay::launch::Bundle({{m, assembled(assembly())}}));
}

} // namespace

TEST_CASE("C interface: a bundle is loaded and launched by name on the emulator") {
  const Folder f;
  const std::string file = bundle_of_add(f);
  setenv("INLAY_EMULATOR_LIBRARY", INLAY_HIP_FOLDER "/libamdhip64.so", 1);
  CHECK(inlay_abi() == INLAY_ABI);
  inlay_package* package = nullptr;
  REQUIRE(inlay_package_load(file.c_str(), &package) == INLAY_OK);
  REQUIRE(inlay_package_count(package) == 1);
  CHECK(std::string(inlay_package_kernel(package, 0)) == "add");
  CHECK(std::string(inlay_package_arch(package, 0)) == "gfx942");
  CHECK(inlay_package_kernel(package, 1) == nullptr);
  inlay_device* device = nullptr;
  REQUIRE(inlay_device_open("emulator:gfx942", 0, &device) == INLAY_OK);
  CHECK(std::string(inlay_device_arch(device)) == "gfx942");
  inlay_kernel* kernel = nullptr;
  REQUIRE(inlay_kernel_open(device, package, "add", &kernel) == INLAY_OK);
  inlay_package_free(package); // a kernel outlives its package
  CHECK(inlay_kernel_buffers(kernel) == 2);
  CHECK(inlay_kernel_sizes(kernel) == 2);
  CHECK(std::string(inlay_kernel_buffer_name(kernel, 1)) == "b");
  CHECK(std::string(inlay_kernel_size_name(kernel, 0)) == "count");
  const std::int64_t sizes[] = {128, 9};
  std::size_t needed = 0;
  REQUIRE(inlay_kernel_buffer_bytes(kernel, 0, sizes, 2, &needed) == INLAY_OK);
  CHECK(needed == 512);
  std::int64_t extents[] = {-1, -1, -1};
  std::size_t dimensions = 9;
  REQUIRE(inlay_kernel_buffer_shape(kernel, 0, sizes, 2, extents, 3, &dimensions) == INLAY_OK);
  CHECK(dimensions == 2);
  CHECK((extents[0] == 2 && extents[1] == 64 && extents[2] == -1));
  extents[1] = -1;
  REQUIRE(inlay_kernel_buffer_shape(kernel, 0, sizes, 2, extents, 1, &dimensions) == INLAY_OK);
  CHECK((dimensions == 2 && extents[1] == -1)); // no room
  REQUIRE(inlay_kernel_buffer_shape(kernel, 1, sizes, 2, nullptr, 0, &dimensions) == INLAY_OK);
  CHECK(dimensions == 0); // the manifest does not say it
  CHECK(inlay_kernel_buffer_shape(kernel, 2, sizes, 2, extents, 3, &dimensions) == INLAY_INVALID);
  CHECK(inlay_kernel_buffer_shape(kernel, 0, sizes, 2, nullptr, 1, &dimensions) == INLAY_INVALID);
  void *a = nullptr, *b = nullptr;
  REQUIRE(inlay_malloc(device, 512, &a) == INLAY_OK);
  REQUIRE(inlay_malloc(device, 512, &b) == INLAY_OK);
  std::uint32_t x[128], y[128] = {};
  for (std::uint32_t i = 0; i < 128; ++i) x[i] = i * i;
  REQUIRE(inlay_copy_in(device, a, x, 512) == INLAY_OK);
  void* buffers[] = {a, b};
  REQUIRE(inlay_launch(kernel, buffers, 2, sizes, 2, nullptr) == INLAY_OK);
  REQUIRE(inlay_synchronize(device) == INLAY_OK);
  REQUIRE(inlay_copy_out(device, y, b, 512) == INLAY_OK);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(y[i] == i * i + 9);

  // The same sizes once more, other ones, and those of the first launch: each launch has its own.
  const std::int64_t other[] = {64, 5};
  for (const std::int64_t* now : {sizes, other, sizes}) {
    std::uint32_t zeros[128] = {};
    REQUIRE(inlay_copy_in(device, b, zeros, 512) == INLAY_OK);
    for (int times = 0; times < 2; ++times)
      REQUIRE(inlay_launch(kernel, buffers, 2, now, 2, nullptr) == INLAY_OK);
    REQUIRE(inlay_copy_out(device, y, b, 512) == INLAY_OK);
    for (std::uint32_t i = 0; i < 128; ++i)
      CHECK(y[i] == (i < now[0] ? i * i + static_cast<std::uint32_t>(now[1]) : 0));
    // Buffers that share memory are refused by the extents of these sizes: b may begin where a ends.
    void* const shared[] = {a, static_cast<char*>(a) + 4 * now[0] - 4};
    CHECK(inlay_launch(kernel, shared, 2, now, 2, nullptr) == INLAY_INVALID);
    CHECK(says(inlay_error(), "shares memory"));
  }

  // Memory of the host where it lies.
  CHECK(inlay_kernel_buffer_output(kernel, 0) == 0);
  CHECK(inlay_kernel_buffer_output(kernel, 1) == 1);
  CHECK(inlay_kernel_buffer_output(kernel, 2) == 0);
  REQUIRE(inlay_register(device, x, sizeof x) == INLAY_OK);
  REQUIRE(inlay_register(device, y, sizeof y) == INLAY_OK);
  CHECK(inlay_register(device, y, sizeof y) == INLAY_DEVICE);
  for (std::uint32_t i = 0; i < 128; ++i) x[i] = 5 * i, y[i] = 0;
  void* const of_host[] = {x, y};
  REQUIRE(inlay_launch(kernel, of_host, 2, sizes, 2, nullptr) == INLAY_OK);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(y[i] == 5 * i + 9);
  CHECK(inlay_unregister(device, y) == INLAY_OK);
  CHECK(inlay_unregister(device, y) == INLAY_DEVICE);
  CHECK(inlay_launch(kernel, of_host, 2, sizes, 2, nullptr) == INLAY_FINDING);
  CHECK(inlay_unregister(device, x) == INLAY_OK);

  // The contract comes first.
  const std::int64_t odd[] = {100, 9};
  CHECK(inlay_launch(kernel, buffers, 2, odd, 2, nullptr) == INLAY_INVALID);
  const std::int64_t no_rows[] = {0, sizes[1]};
  void* const nowhere[] = {nullptr, nullptr};
  CHECK(inlay_launch(kernel, nowhere, 2, no_rows, 2, nullptr) == INLAY_OK);
  CHECK(says(inlay_error(), "count = 100 is not a multiple of 64"));
  CHECK(inlay_launch(kernel, buffers, 1, sizes, 2, nullptr) == INLAY_INVALID);
  CHECK(inlay_launch(kernel, buffers, 2, sizes, 1, nullptr) == INLAY_INVALID);
  void* same[] = {a, a};
  CHECK(inlay_launch(kernel, same, 2, sizes, 2, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(), "shares memory"));
  CHECK(inlay_launch(nullptr, buffers, 2, sizes, 2, nullptr) == INLAY_INVALID);
  // A launch that overruns its buffers is a finding of the emulator.
  const std::int64_t more[] = {192, 9};
  CHECK(inlay_launch(kernel, buffers, 2, more, 2, nullptr) == INLAY_FINDING);
  CHECK(says(inlay_error(), "a + 0x200 of 512 bytes"));
  const std::string text = inlay_error(); // names the function once
  CHECK(text.find("hipModuleLaunchKernel: ") == text.rfind("hipModuleLaunchKernel: "));
  CHECK(inlay_free(device, b) == INLAY_OK);
  CHECK(inlay_free(device, b) == INLAY_DEVICE);
  inlay_kernel* none = nullptr;
  inlay_kernel_free(kernel);
  REQUIRE(inlay_package_load(file.c_str(), &package) == INLAY_OK);
  CHECK(inlay_kernel_open(device, package, "sub", &none) == INLAY_INVALID);
  CHECK(says(inlay_error(), "there are: add for gfx942"));
  inlay_package_free(package);
  inlay_device_free(device);
  CHECK(inlay_package_load("/no/such/file", &package) == INLAY_INVALID);
  CHECK(inlay_device_open("cuda", 0, &device) == INLAY_INVALID);
  CHECK(inlay_device_open("emulator", 5, &device) == INLAY_DEVICE);
}

TEST_CASE("C interface: of several forms the one for the sizes is launched, with its own buffers") {
  // Form 0 adds, form 1 subtracts and has a buffer more, so that what ran shows in the result.
  const std::string add = assembly();
  std::string sub = add;
  const std::string sum = "v_add_u32 v2, s8, v2";
  REQUIRE(sub.find(sum) != std::string::npos);
  sub.replace(sub.find(sum), sum.size(), "v_subrev_u32 v2, s8, v2");
  using namespace inlay::launch;
  const Folder f;
  const Manifest one = Bundle::read(bundle_of_add(f)).entries().at(0).forms.general();
  Manifest more = one;
  Argument extra = one.arguments[1];
  extra.name = "extra", extra.bytes = Formula("4*count + 64");
  more.arguments.push_back(extra);
  std::string with_extra = sub; // the argument is there, and not touched
  with_extra.replace(with_extra.find(".amdhsa_kernarg_size 24"), 23, ".amdhsa_kernarg_size 32");
  const std::string last = "- {.name: n, .offset: 16, .size: 4, .value_kind: by_value}\n";
  with_extra.insert(with_extra.find(last) + last.size(),
                    "      - {.name: extra, .offset: 24, .size: 8, .value_kind: global_buffer}\n");
  // Sizes are count, n: rows for count 64 to 128 and 192 to 256 of n = 1 to 9; the general form adds.
  const Forms forms({{more, "subtracts"}, {one, "adds"}}, {{64, 256, 64}, {1, 9}},
                    {{{{64, 128}, {1, 9}}, 0, "it is small"}, {{{192, 256}, {1, 9}}, 1, ""}});
  const std::string file =
      written(f, Bundle({Bundle::Entry(forms, {assembled(with_extra), assembled(add)})}));
  setenv("INLAY_EMULATOR_LIBRARY", INLAY_HIP_FOLDER "/libamdhip64.so", 1);
  inlay_package* package = nullptr;
  REQUIRE(inlay_package_load(file.c_str(), &package) == INLAY_OK);
  CHECK(inlay_package_count(package) == 1);
  inlay_device* device = nullptr;
  REQUIRE(inlay_device_open("emulator:gfx942", 0, &device) == INLAY_OK);
  inlay_kernel* kernel = nullptr;
  REQUIRE(inlay_kernel_open(device, package, nullptr, &kernel) == INLAY_OK);
  inlay_package_free(package);
  CHECK(inlay_kernel_forms(kernel) == 2);
  REQUIRE(inlay_kernel_buffers(kernel) == 3);
  CHECK(std::string(inlay_kernel_buffer_name(kernel, 2)) == "extra");
  void *a = nullptr, *b = nullptr, *e = nullptr;
  REQUIRE(inlay_malloc(device, 4096, &a) == INLAY_OK);
  REQUIRE(inlay_malloc(device, 4096, &b) == INLAY_OK);
  REQUIRE(inlay_malloc(device, 4096, &e) == INLAY_OK);
  std::uint32_t x[1024], y[1024] = {};
  for (std::uint32_t i = 0; i < 1024; ++i) x[i] = 1000 + i * i;
  REQUIRE(inlay_copy_in(device, a, x, 4096) == INLAY_OK);
  for (const std::int64_t count : {64, 128, 192, 256, 320, 128, 192})
    for (const std::int64_t n : {1, 9, 10}) {
      CAPTURE(count, n);
      const std::int64_t sizes[] = {count, n};
      const bool first = count <= 128 && n <= 9, inside = count <= 256 && n <= 9;
      std::size_t needed = 1, form = 7;
      const char* why = nullptr;
      REQUIRE(inlay_kernel_buffer_bytes(kernel, 2, sizes, 2, &needed) == INLAY_OK);
      CHECK(needed == (first ? static_cast<std::size_t>(4 * count + 64) : 0));
      REQUIRE(inlay_kernel_form(kernel, sizes, 2, &form, &why) == INLAY_OK);
      CHECK(form == (first ? 0 : 1));
      CHECK(says(why, first    ? "row 0 of 3, count 64 to 128, n 1 to 9: form 0, subtracts; it is small"
                      : inside ? "row 1 of 3"
                               : "row 2 of 3, all other sizes: form 1, adds"));
      void* const buffers[] = {a, b, first ? e : nullptr};
      REQUIRE(inlay_copy_in(device, b, y, 4096) == INLAY_OK);
      REQUIRE(inlay_launch(kernel, buffers, 3, sizes, 2, nullptr) == INLAY_OK);
      std::uint32_t z[1024];
      REQUIRE(inlay_copy_out(device, z, b, 4096) == INLAY_OK);
      for (std::uint32_t i = 0; i < 1024; ++i)
        if (z[i] != (i >= count ? 0
                     : first    ? x[i] - static_cast<std::uint32_t>(n)
                                : x[i] + static_cast<std::uint32_t>(n)))
          FAIL("element " << i << " is " << z[i]);
      if (first) { // its own buffers lie apart; those of other forms nobody looks at
        void* const shared[] = {a, b, static_cast<char*>(b) + 4 * count - 4};
        CHECK(inlay_launch(kernel, shared, 3, sizes, 2, nullptr) == INLAY_INVALID);
      } else {
        void* const shared[] = {a, b, b};
        CHECK(inlay_launch(kernel, shared, 3, sizes, 2, nullptr) == INLAY_OK);
      }
    }
  const std::int64_t odd[] = {100, 1};
  CHECK(inlay_kernel_form(kernel, odd, 2, nullptr, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(),
             "row 2 of 3, all other sizes: form 1, adds: add: count = 100 is not a multiple of 64"));
  CHECK(inlay_kernel_forms(nullptr) == 0);
  inlay_kernel_free(kernel);
  inlay_device_free(device);
}

TEST_CASE("C interface: a manifest whose arguments are not the code object's is refused before anything is "
          "launched") {
  using namespace inlay::launch;
  const Folder f;
  setenv("INLAY_EMULATOR_LIBRARY", INLAY_HIP_FOLDER "/libamdhip64.so", 1);
  inlay_device* device = nullptr;
  REQUIRE(inlay_device_open("emulator:gfx942", 0, &device) == INLAY_OK);
  const Manifest right = Bundle::read(bundle_of_add(f)).entries().at(0).forms.general();
  const std::vector<std::uint8_t> code = assembled(assembly());
  const auto open = [&](const Manifest& m, const std::vector<std::uint8_t>& object) {
    inlay_package* package = nullptr;
    REQUIRE(inlay_package_load(written(f, Bundle({{m, object}})).c_str(), &package) == INLAY_OK);
    inlay_kernel* kernel = nullptr;
    const inlay_status status = inlay_kernel_open(device, package, nullptr, &kernel);
    inlay_kernel_free(kernel);
    inlay_package_free(package);
    return status;
  };
  CHECK(open(right, code) == INLAY_OK);
  const auto refused = [&](const Manifest& m, const std::string& list) {
    CHECK(open(m, code) == INLAY_INVALID);
    CHECK(says(inlay_error(), "add: the manifest's arguments are not those of the code object\n  manifest  " +
                                  list + "\n  code      ptr a, ptr b, 4 bytes n\n"));
  };
  Manifest m = right;
  m.arguments.pop_back(); // the last one: HIP would read a value past the end of those that were given
  refused(m, "ptr a, ptr b");
  m.arguments.clear();
  refused(m, "none");
  m = right;
  m.arguments.push_back(m.arguments[2]);
  m.arguments[3].name = "count";
  refused(m, "ptr a, ptr b, 4 bytes n, 4 bytes count");
  m = right;
  std::swap(m.arguments[1], m.arguments[2]);
  refused(m, "ptr a, 4 bytes n, ptr b");
  m = right;
  m.arguments[2].type = "i64";
  refused(m, "ptr a, ptr b, 8 bytes n");
  const auto number = [](const char* name, std::size_t bytes) {
    Argument a;
    a.name = name;
    a.value.assign(bytes, 1);
    return a;
  };
  m = right; // a number where an address is declared, of its size
  m.arguments[1] = number("b", 8);
  refused(m, "ptr a, 8 bytes b, 4 bytes n");
  m.arguments[1] = number("b", 4);
  refused(m, "ptr a, 4 bytes b, 4 bytes n");
  // Bytes in the place of a size are a number of that length, and an address may be declared as 8 bytes.
  m = right;
  m.arguments[2] = number("n", 4);
  CHECK(open(m, code) == INLAY_OK);
  std::string text = assembly();
  const std::string address = ".size: 8, .value_kind: global_buffer, .address_space: global}";
  text.replace(text.find(address), address.size(), ".size: 8, .value_kind: by_value}");
  CHECK(open(right, assembled(text)) == INLAY_OK);
  // What the runtime fills in is nobody's argument.
  text = assembly();
  const std::string last = "- {.name: n, .offset: 16, .size: 4, .value_kind: by_value}\n";
  text.insert(text.find(last) + last.size(),
              "      - {.offset: 24, .size: 4, .value_kind: hidden_block_count_x}\n");
  text.replace(text.find(".amdhsa_kernarg_size 24"), 23, ".amdhsa_kernarg_size 28");
  CHECK(open(right, assembled(text)) == INLAY_OK);
  // A file that is cut anywhere, or has one wrong byte: what it was, or one message.
  for (std::size_t end = 0; end < code.size(); end += 61)
    CHECK(open(right, {code.begin(), code.begin() + static_cast<std::ptrdiff_t>(end)}) != INLAY_OK);
  for (std::size_t at = 0; at < code.size(); at += 7) {
    auto damaged = code;
    damaged[at] ^= 0xFF;
    (void)open(right, damaged);
  }
  inlay_device_free(device);
}

TEST_CASE("C interface: one emulated processor a process, by all its names") {
  const Folder f;
  setenv("INLAY_EMULATOR_LIBRARY", INLAY_HIP_FOLDER "/libamdhip64.so", 1);
  inlay_package* package = nullptr;
  REQUIRE(inlay_package_load(bundle_of_add(f).c_str(), &package) == INLAY_OK);
  inlay_device *device = nullptr, *other = nullptr;
  REQUIRE(inlay_device_open("emulator:gfx942", 0, &device) == INLAY_OK);
  inlay_kernel *kernel = nullptr, *second = nullptr;
  REQUIRE(inlay_kernel_open(device, package, "add", &kernel) == INLAY_OK);
  void *a = nullptr, *b = nullptr;
  REQUIRE(inlay_malloc(device, 256, &a) == INLAY_OK);
  REQUIRE(inlay_malloc(device, 256, &b) == INLAY_OK);
  std::uint32_t x[64] = {1, 2, 3};
  REQUIRE(inlay_copy_in(device, a, x, 256) == INLAY_OK);
  void* buffers[] = {a, b};
  std::int64_t n = 0;
  const auto runs = [&] {
    const std::int64_t sizes[] = {64, ++n};
    std::uint32_t y[64] = {};
    REQUIRE(inlay_launch(kernel, buffers, 2, sizes, 2, nullptr) == INLAY_OK);
    REQUIRE(inlay_copy_out(device, y, b, 256) == INLAY_OK);
    CHECK((y[0] == 1 + n && y[2] == 3 + n && y[3] == n));
  };
  runs();
  for (const char* name : {"emulator", "emulator:gfx942", "emulator:MI300X", "emulator:mi325x"}) {
    REQUIRE(inlay_device_open(name, 0, &other) == INLAY_OK);
    CHECK(std::string(inlay_device_arch(other)) == "gfx942");
    REQUIRE(inlay_kernel_open(other, package, "add", &second) == INLAY_OK);
    runs();
    inlay_kernel_free(second);
    inlay_device_free(other);
    runs();
  }
  for (const auto& [name, why] :
       {std::pair("emulator:gfx950", "processor of this process is gfx942, not gfx950"),
        std::pair("emulator:MI355X", "processor of this process is gfx942, not gfx950"),
        std::pair("emulator:gfx999", "gfx999"), std::pair("emulator:", "gfx942"),
        std::pair("hip", "this process has opened the emulator")}) {
    INFO(name);
    CHECK(inlay_device_open(name, 0, &other) == INLAY_DEVICE);
    CHECK(says(inlay_error(), why));
    CHECK_FALSE(says(inlay_error(), "inlay_hip")); // which the caller has not called
    runs();
  }
  // What is wrong with a call is said, not tried.
  const std::int64_t sizes[] = {64, 1};
  CHECK(inlay_launch(kernel, nullptr, 2, sizes, 2, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(), "buffers is NULL"));
  CHECK(inlay_launch(kernel, buffers, 2, nullptr, 2, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(), "sizes is NULL"));
  std::size_t needed = 0;
  CHECK(inlay_kernel_buffer_bytes(kernel, 0, nullptr, 2, &needed) == INLAY_INVALID);
  void* odd[] = {a, static_cast<char*>(b) + 2};
  CHECK(inlay_launch(kernel, odd, 2, sizes, 2, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(), "the address of b, " + std::to_string(reinterpret_cast<std::uintptr_t>(odd[1]))));
  void* none[] = {nullptr, b};
  CHECK(inlay_launch(kernel, none, 2, sizes, 2, nullptr) == INLAY_INVALID);
  CHECK(says(inlay_error(), "add: a is a null pointer, and has 256 bytes"));
  runs();
  inlay_kernel_free(kernel);
  inlay_device_free(device);
  inlay_package_free(package);
}

} // namespace c_interface_test
