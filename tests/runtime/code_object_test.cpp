#include "image.h"

#include <catch2/catch.hpp>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/names.h>
#include <random>

namespace code_object_test {

using namespace inlay::runtime;
using image::argument;
using image::Bytes;

namespace {

image::KernelImage full_kernel() {
  image::KernelImage k;
  k.name = "gemm";
  k.code = {0xbf800000, 0xbf810000};
  k.lds = 4096, k.scratch = 32, k.kernarg = 280;
  k.rsrc1 = 32U | (13U << 6) | (2U << 12) | (3U << 16) | (3U << 18) | (1U << 21) | (1U << 23) | (1U << 26);
  k.rsrc2 = 1U | (8U << 1) | (7U << 7) | (2U << 11);
  k.rsrc3 = 38U | (1U << 16);
  k.properties = (1U << 1) | (1U << 3); // dispatch ptr, kernarg ptr
  k.preload = 4U | (2U << 7);
  k.metadata = {{".kernarg_segment_size", 280},
                {".max_flat_workgroup_size", 256},
                {".reqd_workgroup_size", {64, 4, 1}},
                {".vgpr_count", 260},
                {".agpr_count", 100},
                {".sgpr_count", 40},
                {".args",
                 {argument(8, 4, "by_value", "m"), argument(0, 8, "global_buffer", "a"),
                  argument(16, 4, "hidden_block_count_x"), argument(12, 2, "by_value")}}};
  return k;
}

std::string why(const Bytes& b, const std::string& arch = "") {
  try {
    (void)CodeObject::parse(b, arch);
    return "";
  } catch (const CodeObjectError& e) {
    CHECK_FALSE(e.hint().empty());
    return e.problem();
  }
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("every field of descriptor and metadata arrives") {
  const auto object = CodeObject::parse(image::build({full_kernel()}));
  CHECK(object.arch() == "gfx942");
  CHECK(object.abi_version() == 5);
  CHECK_FALSE(object.relocatable());
  const Kernel& k = object.kernel("");
  const KernelDescriptor& d = k.descriptor;
  CHECK(k.name == "gemm");
  CHECK(d.lds_bytes == 4096);
  CHECK(d.scratch_bytes == 32);
  CHECK(d.kernarg_bytes == 280);
  CHECK(d.vgprs == 264);        // (32 + 1) * 8
  CHECK(d.sgprs == 112);        // (13 / 2 + 1) * 16
  CHECK(d.accum_offset == 156); // (38 + 1) * 4
  CHECK(d.tg_split);
  CHECK(d.user_sgprs == 8);
  CHECK((d.dispatch_ptr && d.kernarg_ptr && !d.queue_ptr && !d.private_segment_buffer && !d.dispatch_id));
  CHECK((d.workgroup_id_x && d.workgroup_id_y && d.workgroup_id_z && !d.workgroup_info));
  CHECK(d.workitem_id_dimensions == 3);
  CHECK(d.scratch_enabled);
  CHECK(d.preload_length == 4);
  CHECK(d.preload_offset == 2);
  CHECK(d.mode == FloatMode{2, 0, 3, 3, true, true, true});
  CHECK(k.max_flat_workgroup_size == 256);
  CHECK(k.required_workgroup == std::vector<std::uint32_t>{64, 4, 1});
  CHECK((k.declared_vgprs == 260 && k.declared_agprs == 100 && k.declared_sgprs == 40));
  REQUIRE(k.arguments.size() == 4); // by offset, whatever the order in the file
  CHECK(k.arguments[0] == KernelArgument{"a", "global_buffer", "global", 0, 8});
  CHECK(k.arguments[1] == KernelArgument{"m", "by_value", "", 8, 4});
  CHECK(k.arguments[2] == KernelArgument{"", "by_value", "", 12, 2});
  CHECK((k.arguments[0].pointer() && !k.arguments[1].pointer()));
  CHECK((k.arguments[3].hidden() && !k.arguments[2].hidden()));
  CHECK(k.size == 8);
  const auto code = object.code(k);
  CHECK(std::vector<std::uint8_t>(code.begin(), code.end()) == Bytes{0, 0, 0x80, 0xbf, 0, 0, 0x81, 0xbf});
  REQUIRE(object.segments().size() == 2);
  CHECK((object.segments()[1].executable && object.segments()[1].address == 0x2000));
}

TEST_CASE("versions, processors and symbol tables") {
  image::Options o;
  for (const unsigned version : {4U, 5U, 6U}) {
    o.abi = static_cast<std::uint8_t>(version - 2);
    CHECK(CodeObject::parse(image::build({full_kernel()}, o)).abi_version() == version);
  }
  o.flags = 0x54f;
  CHECK(CodeObject::parse(image::build({full_kernel()}, o)).arch() == "gfx950");
  o.flags = 0x0100055f;
  CHECK(CodeObject::parse(image::build({full_kernel()}, o), "gfx950").arch() == "gfx9-4-generic");
  o = {};
  o.dynamic_symbols = true;
  CHECK(CodeObject::parse(image::build({full_kernel()}, o)).kernels().size() == 1);
}

TEST_CASE("several kernels in a file, and kernels without metadata") {
  auto a = full_kernel(), b = full_kernel(), c = full_kernel();
  b.name = "softmax", b.code = {0xbf810000}, b.kernarg = 0; // metadata's 280 is used
  c.name = "bare", c.metadata = nullptr;
  const auto object = CodeObject::parse(image::build({a, b, c}));
  REQUIRE(object.kernels().size() == 3);
  CHECK(object.kernel("gemm").address == 0x2000);
  CHECK(object.kernel("softmax").address == 0x2100);
  CHECK(object.kernel("softmax").size == 4);
  CHECK(object.kernel("softmax").descriptor.kernarg_bytes == 0);
  CHECK(object.kernel("softmax").kernarg_bytes == 280);
  CHECK_FALSE(object.kernel("bare").has_metadata);
  CHECK(object.kernel("bare").arguments.empty());
  CHECK_THROWS_AS(object.kernel(""), CodeObjectError);
  CHECK_THROWS_WITH(object.kernel("attention"), Catch::Contains("gemm, softmax, bare"));
}

TEST_CASE("a published kernel whose last argument ends past the declared size still gets its bytes") {
  auto k = full_kernel();
  k.kernarg = 16;
  k.metadata[".kernarg_segment_size"] = 16;
  k.metadata[".args"] = {argument(0, 8, "global_buffer"), argument(16, 4, "by_value")};
  CHECK(CodeObject::parse(image::build({k})).kernel("").kernarg_bytes == 20);
}

TEST_CASE("what is refused, and why") {
  const auto with = [](auto change) {
    auto k = full_kernel();
    change(k);
    return why(image::build({k}));
  };
  const auto broken = [](std::size_t at, auto value) {
    auto b = image::build({full_kernel()});
    image::set(b, at, value);
    return why(b);
  };
  CHECK(says(why({}), "shorter than an ELF header"));
  CHECK(says(why(Bytes(100, 'x')), "not an ELF file"));
  CHECK(says(broken(4, std::uint8_t{1}), "64-bit"));
  CHECK(says(broken(18, std::uint16_t{183}), "machine 183"));
  CHECK(says(broken(18, std::uint16_t{62}), "machine 62"));
  CHECK(says(broken(7, std::uint8_t{0}), "HSA"));
  CHECK(says(broken(8, std::uint8_t{1}), "version 4, 5 or 6"));
  CHECK(says(broken(16, std::uint16_t{2}), "type 2"));
  CHECK(says(broken(48, std::uint32_t{0x30}), "processor number 0x30"));
  CHECK(says(why(image::build({full_kernel()}), "gfx950"), "is for gfx942, not for gfx950"));
  CHECK(says(why(image::build({full_kernel()}), "gfx1100"), "unknown architecture"));
  CHECK(says(with([](auto& k) { k.lds = 65537; }), "65537 bytes of LDS"));
  CHECK(says(with([](auto& k) { k.scratch = 1 << 20; }), "scratch"));
  CHECK(says(with([](auto& k) { k.kernarg = 1 << 20; }), "bytes of arguments"));
  CHECK(says(with([](auto& k) { k.properties |= 1U << 10; }), "32 lanes"));
  CHECK(says(with([](auto& k) { k.properties |= 1U; }), "user SGPRs"));
  CHECK(says(with([](auto& k) { k.metadata[".wavefront_size"] = 32; }), "32 lanes"));
  CHECK(says(with([](auto& k) { k.metadata[".max_flat_workgroup_size"] = 2048; }), "2048 work-items"));
  CHECK(says(with([](auto& k) { k.metadata[".args"][0][".offset"] = 1 << 20; }), "argument 0"));
  CHECK(says(with([](auto& k) { k.metadata[".args"][0][".size"] = -4; }), "not a number"));
  CHECK(says(with([](auto& k) { k.metadata[".reqd_workgroup_size"] = {64}; }), "list of 3"));
  CHECK(says(with([](auto& k) {
               nlohmann::json deep = 1;
               for (int i = 0; i < 100; ++i) deep = nlohmann::json::array({deep});
               k.metadata["deep"] = deep;
             }),
             "nested"));
  // An LDS need that gfx942 refuses is fine on gfx950.
  auto k = full_kernel();
  k.lds = 163840;
  image::Options o;
  o.flags = 0x54f;
  CHECK(why(image::build({k}, o)).empty());
}

TEST_CASE("offload bundles: the matching processor, else a list of what is there") {
  image::Options o950;
  o950.flags = 0x54f;
  const auto a = image::build({full_kernel()}), b = image::build({full_kernel()}, o950);
  const auto both = image::bundle({{"host-x86_64-unknown-linux--", {}},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", a},
                                   {"hipv4-amdgcn-amd-amdhsa--gfx950", b}});
  CHECK(CodeObject::parse(both, "gfx942").arch() == "gfx942");
  CHECK(CodeObject::parse(both, "gfx950").arch() == "gfx950");
  CHECK(says(why(both), "several suitable"));
  const auto one =
      image::bundle({{"hipv4-amdgcn-amd-amdhsa--gfx908", a}, {"hipv4-amdgcn-amd-amdhsa--gfx950", b}});
  CHECK(CodeObject::parse(one).arch() == "gfx950");
  CHECK(says(why(one, "gfx942"), "gfx908"));
  auto lying = image::bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", a}});
  image::set(lying, 24 + 8 + 8, std::uint64_t{1} << 40);
  CHECK(says(why(lying), "outside the file"));
  image::set(lying, 24, ~std::uint64_t{0}); // as many entries as fit into 64 bits
  CHECK_FALSE(why(lying).empty());
  for (std::size_t n = 0; n < 200; ++n)
    CHECK_FALSE(why(Bytes(one.begin(), one.begin() + static_cast<long>(n))).empty());
  CHECK(says(why({'C', 'C', 'O', 'B', 2, 0, 1, 0}), "compressed"));
}

TEST_CASE("cut at every length: one error, never a crash") {
  auto b = full_kernel();
  b.name = "second";
  const auto whole = image::build({full_kernel(), b});
  REQUIRE(why(whole).empty());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto message = why(Bytes(whole.begin(), whole.begin() + static_cast<long>(n)));
    if (message.empty()) FAIL("accepted after " << n << " of " << whole.size() << " bytes");
  }
}

TEST_CASE("bit flips: accepted with every span inside the file, or one error") {
  const auto whole = image::build({full_kernel()});
  std::mt19937_64 random(20260101);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto b = whole;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
      b[random() % b.size()] ^= static_cast<std::uint8_t>(1U << (random() % 8));
    try {
      const auto object = CodeObject::parse(b);
      for (const auto& k : object.kernels()) {
        const auto code = object.code(k);
        CHECK(code.data() >= object.bytes().data());
        CHECK(code.data() + code.size() <= object.bytes().data() + object.bytes().size());
        for (const auto& a : k.arguments) CHECK(a.offset + a.size <= k.kernarg_bytes);
      }
      ++accepted;
    } catch (const CodeObjectError&) {
      ++refused;
    }
  }
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

TEST_CASE("names that share bytes cannot multiply the memory a file costs") {
  // 20,000 symbols, all with the same 60,000-character name.
  auto b = image::build({full_kernel()});
  Bytes names(1, 0), symbols(24, 0);
  image::text(names, std::string(60000, 'x'));
  for (int i = 0; i < 20000; ++i) {
    image::put(symbols, std::uint32_t{1});
    symbols.push_back(0x10), symbols.push_back(0);
    image::put(symbols, std::uint16_t{1});
    image::put(symbols, std::uint64_t{0}), image::put(symbols, std::uint64_t{0});
  }
  const auto section = [&](std::size_t index) {
    return static_cast<std::size_t>(*reinterpret_cast<const std::uint64_t*>(&b[40])) + 64 * index;
  };
  for (const auto& [index, contents] : {std::pair<std::size_t, Bytes&>{4, symbols}, {5, names}}) {
    image::set(b, section(index) + 24, static_cast<std::uint64_t>(b.size()));
    image::set(b, section(index) + 32, static_cast<std::uint64_t>(contents.size()));
    b.insert(b.end(), contents.begin(), contents.end());
  }
  CHECK(says(why(b), "symbol names add up"));
}

TEST_CASE("names of kernels as C++ writes them", "[names]") {
  CHECK(demangled("_Z3addIfEvPT_i") == "void add<float>(float*, int)");
  CHECK(demangled("_Z4fillPDF16_DF16b") == "fill(_Float16*, std::bfloat16_t)");
  for (const char* plain : {"gemm", "_Zombie", "_Z", "__amd_rocclr_fill", "kernel.kd", ""})
    CHECK(demangled(plain) == plain);
  CHECK(spellings("gemm") == std::vector<std::string>{"gemm"});
  CHECK(spellings("_ZN2ns3addIfEEvPT_i") ==
        std::vector<std::string>{"_ZN2ns3addIfEEvPT_i", "void ns::add<float>(float*, int)",
                                 "ns::add<float>(float*, int)", "ns::add<float>", "ns::add", "add"});
  CHECK(short_name("_ZN2ns3addIfEEvPT_i") == "ns::add<float>");
  CHECK(short_name("_ZN12_GLOBAL__N_15scaleEPfi") == "(anonymous namespace)::scale");
  CHECK(short_name("gemm") == "gemm");

  const std::vector<std::string> kernels = {"_Z3addIfEvPT_i", "_Z3addIiEvPT_i", "_ZN2ns3addIfEEvPT_i",
                                            "_Z5scalePf",     "_Z5scalePd",     "scale"};
  const auto of = [&](const char* name) { return meant(name, kernels); };
  using Places = std::vector<std::size_t>;
  CHECK(of("_Z3addIiEvPT_i") == Places{1});
  CHECK(of("void add<float>(float*, int)") == Places{0});
  CHECK(of("add<int>(int*,int)") == Places{1}); // spaces aside
  CHECK(of("add<float>") == Places{0});         // not ns::add<float>
  CHECK(of("ns::add") == Places{2});
  CHECK(of("add") == Places{0, 1}); // ns::add would say its namespace
  CHECK(of("scale") == Places{5});  // the linker's own name says most
  CHECK(of("scale(double*)") == Places{4});
  CHECK(of("ns::scale").empty());
  CHECK(of("").empty());
}

} // namespace code_object_test
