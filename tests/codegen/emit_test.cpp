// From IR to a code object, in process.
#include <catch2/catch.hpp>
#include <inlay/codegen/emit.h>
#include <inlay/codegen/error.h>

#include <cstring>
#include <fstream>

using namespace inlay::codegen;

namespace {

const char* const vector_add = R"(
define amdgpu_kernel void @vector_add(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %t to i64
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i64 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %z = fadd float %x, %y
  store float %z, ptr addrspace(1) %pc
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
)";

// The ELF header fields that the AMDGPU backend's guide defines for a code object.
std::uint16_t u16(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint16_t v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}
std::uint32_t u32(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t v;
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

bool contains(const std::vector<std::byte>& bytes, const std::string& text) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  return std::search(begin, begin + bytes.size(), text.begin(), text.end()) != begin + bytes.size();
}

} // namespace

TEST_CASE("vector add becomes a code object for both architectures") {
  const auto [arch, machine_flag] = GENERATE(std::pair("gfx942", 0x4cu), std::pair("gfx950", 0x4fu));
  const Emitted e = emit(IrModule::parse(vector_add), Target::named(arch), {.assembly = true});
  REQUIRE(e.hsaco.size() > 0x40);
  CHECK(std::memcmp(e.hsaco.data(),
                    "\x7f"
                    "ELF\x02\x01",
                    6) == 0);                       // 64-bit, little endian
  CHECK(u16(e.hsaco, 16) == 3);                     // ET_DYN
  CHECK(u16(e.hsaco, 18) == 224);                   // EM_AMDGPU
  CHECK((u32(e.hsaco, 48) & 0xff) == machine_flag); // EF_AMDGPU_MACH of e_flags
  CHECK(contains(e.hsaco, "vector_add.kd"));        // the kernel descriptor's symbol
  CHECK(e.assembly.find("global_load_dword") != std::string::npos);
  CHECK(e.assembly.find(".amdhsa_kernel vector_add") != std::string::npos);
  CHECK(e.assembly.find(std::string("gfx9")) != std::string::npos);
  // The Attributor ran: three pointers and no implicit arguments.
  CHECK(e.assembly.find(".kernarg_segment_size: 24") != std::string::npos);
  CHECK(e.optimised.find("define") != std::string::npos);
}

TEST_CASE("the same module compiles to the same bytes") {
  const IrModule module = IrModule::parse(vector_add);
  const Target& target = Target::named("gfx942");
  CHECK(emit(module, target).hsaco == emit(module, target).hsaco);
  CHECK(emit(IrModule::parse(module.text()), target).hsaco == emit(module, target).hsaco);
}

TEST_CASE("what LLVM refuses is an error in words") {
  const Target& target = Target::named("gfx942");
  CHECK_THROWS_WITH(IrModule::parse("define void @f() { ret i32 0 }"), Catch::Contains("malformed LLVM IR"));
  // Parses, but the value does not dominate its use.
  const char* broken =
      "define void @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 1\n"
      "  br label %b\nb:\n  %y = add i32 %x, 1\n  ret void\n}\n";
  CHECK_THROWS_AS(emit(IrModule::parse(broken), target), CodegenError);
  CHECK_THROWS_WITH(Target::named("gfx90a"), Catch::Contains("gfx90a") && Catch::Contains("gfx950"));
  CHECK_THROWS_AS(emit(IrModule::parse(vector_add), target, {.level = 4}), CodegenError);
}

TEST_CASE("the cache answers for equal inputs only, in memory and on disk") {
  const IrModule module = IrModule::parse(vector_add);
  const Target &one = Target::named("gfx942"), &other = Target::named("gfx950");
  const auto directory = std::filesystem::temp_directory_path() / "inlay-cache-test";
  std::filesystem::remove_all(directory);
  std::vector<std::byte> first;
  {
    EmitCache cache(directory);
    const Emitted e = cache.emit(module, one);
    CHECK_FALSE(e.from_cache);
    first = e.hsaco;
    CHECK(cache.emit(module, one).from_cache);
    CHECK_FALSE(cache.emit(module, other).from_cache);
    CHECK_FALSE(cache.emit(module, one, {.level = 1}).from_cache);
  }
  {
    EmitCache cache(directory); // a new process, as it were
    const Emitted e = cache.emit(module, one);
    CHECK(e.from_cache);
    CHECK(e.hsaco == first);
  }
  // Damage to any byte of the file counts as absence; so does a cut.
  const auto file = directory / EmitCache::key(module, one);
  {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(200);
    f.put('\x7f');
  }
  CHECK_FALSE(EmitCache(directory).emit(module, one).from_cache);
  std::filesystem::resize_file(file, 100);
  const Emitted again = EmitCache(directory).emit(module, one);
  CHECK_FALSE(again.from_cache);
  CHECK(again.hsaco == first);
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    CHECK(entry.path().extension() != ".part");
  std::filesystem::remove_all(directory);
}

TEST_CASE("occupancy follows the register file") {
  const Target& t = Target::named("gfx942");
  CHECK(t.occupancy(64) == 8);
  CHECK(t.occupancy(65) == 7);
  CHECK(t.occupancy(80) == 6);
  CHECK(t.occupancy(96) == 5);
  CHECK(t.occupancy(128) == 4);
  CHECK(t.occupancy(168) == 3);
  CHECK(t.occupancy(256) == 2);
  CHECK(t.occupancy(257) == 1);
  CHECK(t.occupancy(512) == 1);
}
