// From IR to a code object, in process.
#include <catch2/catch.hpp>
#include <inlay/codegen/cache.h>
#include <inlay/codegen/error.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

namespace emit_test {

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
  const Emitted e = emit(IrModule::parse(vector_add), Target::named(arch));
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
}

TEST_CASE("the same module compiles to the same bytes") {
  const IrModule module = IrModule::parse(vector_add);
  const Target& target = Target::named("gfx942");
  CHECK(emit(module, target).hsaco == emit(module, target).hsaco);
  CHECK(emit(IrModule::parse(module.text()), target).hsaco == emit(module, target).hsaco);
}

namespace {

// A store of a vector with an offset of the kernel's, in v4 onwards, and what follows it. `type` is the data's.
std::string stored_wide(const std::string& type, const std::string& registers, const std::string& offset,
                        const std::string& behind) {
  const std::string name =
      "llvm.amdgcn.raw.ptr.buffer.store." + std::string(type == "<2 x i32>" ? "v2i32" : "v4i32");
  std::string text = R"(
declare void @NAME(TYPE, ptr addrspace(8), i32, i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %soffset) {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %p, i16 0, i64 4096, i32 131072)
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %soffset, 7
  %data = call TYPE asm sideeffect "; data", "={REGISTERS}"()
  BEHIND
}
)";
  const std::string store =
      "call void @NAME(TYPE %data, ptr addrspace(8) %r, i32 %t, i32 " + offset + ", i32 0)";
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("BEHIND", behind), replace("STORE", store), replace("NAME", name), replace("TYPE", type);
  replace("REGISTERS", registers);
  return text;
}

// The line after the one that stores.
std::string behind_store(const std::string& assembly) {
  std::size_t at = assembly.find("\tbuffer_store_dwordx");
  REQUIRE(at != std::string::npos);
  std::istringstream lines(assembly.substr(at));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (line.starts_with("\t") && line[1] != ';' && line[1] != '.') break;
  return line.substr(1);
}

} // namespace

TEST_CASE(
    "a wait state lies between a wide buffer store with its offset in a register and who overwrites it") {
  const std::string arch = GENERATE("gfx942", "gfx950");
  const auto next = [&](const std::string& type, const std::string& registers, const std::string& offset,
                        const std::string& behind) {
    const IrModule module = IrModule::parse(stored_wide(type, registers, offset, behind));
    return behind_store(emit(module, Target::named(arch)).assembly);
  };
  const std::string wide = "<4 x i32>", four = "v[4:7]";
  const std::string overwritten =
                        "STORE\n  call void asm sideeffect \"; use $0\", \"{v5}\"(i32 9)\n  ret void",
                    another = "STORE\n  call void asm sideeffect \"; use $0\", \"{v9}\"(i32 9)\n  ret void",
                    by_block =
                        "STORE\n  call void asm sideeffect \"v_mov_b32 v7, 1\", \"~{v7}\"()\n  ret void",
                    in_next = "br i1 %few, label %some, label %all\nsome:\n  STORE\n  br label %all\nall:\n"
                              "  call void asm sideeffect \"; use $0\", \"{v5}\"(i32 9)\n  ret void";
  CHECK(next(wide, four, "%soffset", overwritten) == "s_nop 0");
  CHECK(next(wide, four, "%soffset", by_block) == "s_nop 0");
  CHECK(next(wide, four, "%soffset", another) == "s_endpgm");
  CHECK(next("<2 x i32>", "v[4:5]", "%soffset", overwritten) == "v_mov_b32_e32 v5, 9");
  CHECK(next(wide, four, "0", overwritten) == "s_nop 1"); // LLVM's own
  CHECK(next(wide, four, "%soffset", in_next) == "s_nop 0");
  CHECK(next(wide, "a[4:7]", "%soffset",
             "STORE\n  call void asm sideeffect \"; use $0\", \"{a5}\"(i32 9)\n  ret void") == "s_nop 0");
}

TEST_CASE("what LLVM refuses is an error in words") {
  const Target& target = Target::named("gfx942");
  CHECK_THROWS_WITH(IrModule::parse("define void @f() { ret i32 0 }"), Catch::Contains("malformed LLVM IR"));
  // Parses, but the value does not dominate its use.
  const char* broken =
      "define void @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 1\n"
      "  br label %b\nb:\n  %y = add i32 %x, 1\n  ret void\n}\n";
  CHECK_THROWS_AS(emit(IrModule::parse(broken), target), CodegenError);
  CHECK_THROWS_WITH(Target::named("gfx908"), Catch::Contains("gfx908") && Catch::Contains("gfx950"));
  CHECK_THROWS_AS(emit(IrModule::parse(vector_add), target, {.level = 4}), CodegenError);
}

TEST_CASE("the cache answers for equal inputs only; damage counts as absence") {
  const IrModule module = IrModule::parse(vector_add);
  const Target &one = Target::named("gfx942"), &other = Target::named("gfx950");
  const auto directory = std::filesystem::temp_directory_path() / "inlay-cache-test";
  std::filesystem::remove_all(directory);
  const Cache cache(directory);
  const Emitted first = cache.emit(module, one);
  CHECK_FALSE(first.from_cache);
  CHECK_FALSE(cache.emit(module, other).from_cache);
  CHECK_FALSE(cache.emit(module, one, {.level = 1}).from_cache);
  CHECK_FALSE(cache.emit(module, one, {.keep_order = true}).from_cache);
  const auto same = [&](const Emitted& e) {
    CHECK(e.hsaco == first.hsaco);
    CHECK(e.assembly == first.assembly);
    CHECK(e.ir == first.ir);
  };
  const auto file = directory / (Cache::key(module, one) + ".inlay");
  // One bit of any part of the file: the digest, a length, each of the texts, the code.
  const auto size = std::filesystem::file_size(file);
  for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{33}, size / 4, size / 2, size - 1}) {
    const Emitted again = Cache(directory).emit(module, one);
    CHECK(again.from_cache);
    same(again);
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(std::streamoff(at));
    const int byte = f.get();
    f.seekp(std::streamoff(at));
    f.put(char(byte ^ 1));
    f.close();
    const Emitted mended = cache.emit(module, one);
    CHECK_FALSE(mended.from_cache);
    same(mended);
  }
  // Another's entry under this name.
  std::filesystem::copy_file(directory / (Cache::key(module, other) + ".inlay"), file,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK_FALSE(cache.emit(module, one).from_cache);
  same(cache.emit(module, one));
  std::filesystem::resize_file(file, 100);
  CHECK_FALSE(cache.emit(module, one).from_cache);
  std::filesystem::resize_file(file, 0);
  CHECK_FALSE(cache.emit(module, one).from_cache);
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    CHECK(entry.path().extension() == ".inlay");
  std::filesystem::remove_all(directory);
}

TEST_CASE("the cache forgets what was not used for longest") {
  const IrModule module = IrModule::parse(vector_add);
  const Target& target = Target::named("gfx942");
  const auto directory = std::filesystem::temp_directory_path() / "inlay-cache-limit-test";
  std::filesystem::remove_all(directory);
  const auto at = [](int level) { return EmitOptions{.level = level}; };
  const auto file = [&](int level) { return directory / (Cache::key(module, target, at(level)) + ".inlay"); };
  (void)Cache(directory).emit(module, target, at(1));
  (void)Cache(directory).emit(module, target, at(2));
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(file(1), long_ago);
  std::filesystem::last_write_time(file(2), long_ago);
  CHECK(Cache(directory).emit(module, target, at(1)).from_cache); // used now
  const std::uintmax_t limit = std::filesystem::file_size(file(1)) * 5 / 2;
  (void)Cache(directory, limit).emit(module, target, at(3));
  CHECK(std::filesystem::exists(file(1)));
  CHECK_FALSE(std::filesystem::exists(file(2)));
  CHECK(std::filesystem::exists(file(3)));
  std::filesystem::remove_all(directory);
  std::ofstream(directory) << "a file where the directory should be";
  CHECK_THROWS_WITH(Cache(directory), Catch::Contains("INLAY_CACHE_DIR"));
  std::filesystem::remove(directory);
}

TEST_CASE("processes that share a cache see whole entries or none") {
  const auto directory = std::filesystem::temp_directory_path() / "inlay-cache-shared-test";
  std::filesystem::remove_all(directory);
  const IrModule module = IrModule::parse(vector_add);
  const Target& target = Target::named("gfx942");
  const std::vector<std::byte> wanted = emit(module, target).hsaco;
  // A limit below one entry: each process removes what the others wrote.
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child)
    if (const pid_t pid = ::fork(); pid == 0) {
      bool right = true;
      for (int i = 0; i < 6; ++i)
        right = right && Cache(directory, i % 2 ? 1 : 1 << 20).emit(module, target).hsaco == wanted;
      ::_exit(right ? 0 : 1);
    } else {
      children.push_back(pid);
    }
  for (const pid_t pid : children) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    CHECK(entry.path().extension() == ".inlay");
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

TEST_CASE("what lives across blocks of assembly is in registers that they do not overwrite") {
  const std::string arch = GENERATE("gfx942", "gfx950");
  const auto overwritten = [](int last, const std::string& file) {
    std::string out;
    for (int n = 0; n <= last; ++n) out += "~{" + file + std::to_string(n) + "},";
    return out;
  };
  // Two blocks of one text, of which the second overwrites more; another with a result.
  const auto stored_in = [&](int first, int second, int third) {
    const std::string text = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @across(ptr addrspace(1) %p) "amdgpu-flat-work-group-size"="64,64" {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %x = load i32, ptr addrspace(1) %at
  call void asm sideeffect "; a block", ")" +
                             overwritten(first, "v") + overwritten(255, "a") +
                             R"(~{memory}"()
  call void asm sideeffect "; a block", ")" +
                             overwritten(second, "v") + overwritten(255, "a") +
                             R"(~{memory}"()
  %r = call { i32, i32 } asm sideeffect "; another of $0", "=v,={v3},v,~{v0},~{v1},~{v2},)" +
                             overwritten(third, "v").substr(24) + overwritten(255, "a") + R"(~{scc}"(i32 %x)
  %y = extractvalue { i32, i32 } %r, 1
  %z = add i32 %x, %y
  store i32 %z, ptr addrspace(1) %at
  ret void
})";
    const std::string assembly = emit(IrModule::parse(text), Target::named(arch)).assembly;
    const std::size_t load = assembly.find("global_load_dword v");
    REQUIRE(load != std::string::npos);
    return std::stoi(assembly.substr(load + 19));
  };
  CHECK(stored_in(9, 9, 9) > 9);
  CHECK(stored_in(9, 9, 9) < 40);
  CHECK(stored_in(40, 9, 9) > 40);
  CHECK(stored_in(9, 60, 9) > 60);
  CHECK(stored_in(9, 9, 77) > 77);
}

} // namespace emit_test
