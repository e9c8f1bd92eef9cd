#include <inlay/machine/target.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/hex.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackReader.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>

namespace inlay::runtime {

namespace {

using Bytes = std::span<const std::uint8_t>;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";
constexpr std::size_t longest_name = 65536;
constexpr std::uint64_t most_zeros = std::uint64_t{64} << 20; // .bss that a file may ask for
constexpr std::uint32_t most_kernarg = 65536;                 // bytes; LLVM itself stops far below
constexpr std::uint32_t most_scratch = 131072; // bytes a lane: 8 MiB a wave, the hardware's field
constexpr std::uint64_t most_address = std::uint64_t{1}
                                       << 47; // a code object is position independent, near 0
constexpr std::size_t descriptor_bytes = 64;

[[noreturn]] void fail(std::string problem,
                       std::string hint = "is this file complete, and a GPU code object?") {
  throw CodeObjectError(std::move(problem), std::move(hint));
}

/// LLVM reports through Expected; here every such report is one CodeObjectError.
template <class T>
T checked(llvm::Expected<T> value, const char* what) {
  if (value) return std::move(*value);
  fail(std::string(what) + ": " + llvm::toString(value.takeError()));
}

/// Names come from the file and go to terminals and JSON: anything but printable ASCII becomes '?'.
std::string printable(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c < 0x20 || c > 0x7e) c = '?';
  return out;
}

std::string_view text_of(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

template <class T>
T load(Bytes b, std::size_t at) {
  T v;
  std::memcpy(&v, b.data() + at, sizeof v);
  return v;
}

std::string_view name_at(Bytes table, std::uint64_t at, const char* whose) {
  if (at >= table.size()) fail(std::string(whose) + " name lies outside its string table");
  const auto rest = text_of(table.subspan(at)).substr(0, longest_name);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) fail(std::string(whose) + " name is not terminated");
  return rest.substr(0, end);
}

// --- containers
// ------------------------------------------------------------------------------------------------

bool suits(std::string_view triple, std::string_view arch) {
  // "hipv4-amdgcn-amd-amdhsa--PROCESSOR:sramecc+" : the processor is the part after "--", up to ':'.
  const auto dashes = triple.rfind("--");
  if (dashes == std::string_view::npos) return false;
  auto processor = triple.substr(dashes + 2);
  processor = processor.substr(0, processor.find(':'));
  if (arch.empty()) return machine::find_runner(processor) != nullptr;
  const machine::Target* const asked = machine::find_target(arch);
  return asked != nullptr && (processor == asked->name || processor == asked->generic);
}

/// The entry of a clang offload bundle for `arch`.
Bytes unbundle(Bytes file, std::string_view arch) {
  constexpr std::size_t header = bundle_magic.size() + 8;
  if (file.size() < header) fail("offload bundle is cut inside its header");
  const auto count = load<std::uint64_t>(file, bundle_magic.size());
  std::size_t at = header;
  std::optional<Bytes> found;
  std::string triples;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (file.size() - at < 24) fail("offload bundle is cut inside entry " + std::to_string(i));
    const auto offset = load<std::uint64_t>(file, at), size = load<std::uint64_t>(file, at + 8);
    const auto length = load<std::uint64_t>(file, at + 16);
    at += 24;
    if (length > file.size() - at)
      fail("offload bundle is cut inside the name of entry " + std::to_string(i));
    const auto triple = text_of(file.subspan(at, length));
    at += length;
    if (offset > file.size() || size > file.size() - offset)
      fail("offload bundle entry " + std::to_string(i) + " lies outside the file");
    if (triples.size() < 400) triples += (triples.empty() ? "" : ", ") + printable(triple);
    if (!suits(triple, arch) || size == 0) continue;
    if (found)
      fail("offload bundle holds several suitable code objects: " + triples,
           "choose one: " + machine::names(" or "));
    found = file.subspan(offset, size);
  }
  if (!found)
    fail("offload bundle holds no code object for " +
             (arch.empty() ? machine::names(" or ") : std::string(arch)) +
             (triples.empty() ? "" : ": " + triples),
         "compile with --offload-arch=" + machine::names(" or "));
  return *found;
}

// --- metadata
// --------------------------------------------------------------------------------------------------

/// A MessagePack value. Built element by element as the reader proves that the bytes are there, so its size
/// is proportional to the note's.
struct Meta {
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, std::string> scalar;
  std::vector<Meta> items;       ///< of a list, or the values of a map
  std::vector<std::string> keys; ///< of a map, one for each item

  [[nodiscard]] const Meta* find(std::string_view key) const {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) return &items[i];
    return nullptr;
  }
  [[nodiscard]] std::span<const Meta> list() const {
    return keys.empty() ? std::span<const Meta>(items) : std::span<const Meta>();
  }
};

Meta read_meta(llvm::msgpack::Reader& reader, int depth) {
  using llvm::msgpack::Type;
  if (depth > 16) fail("metadata is nested deeper than 16 levels");
  llvm::msgpack::Object o;
  if (!checked(reader.read(o), "metadata")) fail("metadata ends inside a value");
  Meta m;
  switch (o.Kind) {
  case Type::Boolean: m.scalar = o.Bool; break;
  case Type::Int: m.scalar = o.Int; break;
  case Type::UInt: m.scalar = o.UInt; break;
  case Type::String: { // clang's texts of printf have line ends
    std::string text;
    for (const char c : std::string_view(o.Raw.data(), o.Raw.size()))
      text += c == '\n' ? "\\n" : std::string(1, c);
    m.scalar = printable(text);
    break;
  }
  case Type::Array:
    for (std::size_t i = 0, n = o.Length; i < n; ++i) m.items.push_back(read_meta(reader, depth + 1));
    break;
  case Type::Map:
    for (std::size_t i = 0, n = o.Length; i < n; ++i) {
      const Meta key = read_meta(reader, depth + 1);
      const auto* text = std::get_if<std::string>(&key.scalar);
      m.keys.push_back(text ? *text : std::string()); // hipBLASLt's `custom.config` has numbers of dimensions
      m.items.push_back(read_meta(reader, depth + 1));
    }
    break;
  default: break; // nil, floats, binary and extensions carry nothing we use
  }
  return m;
}

std::string text_field(const Meta& m, std::string_view key) {
  const Meta* v = m.find(key);
  const auto* s = v ? std::get_if<std::string>(&v->scalar) : nullptr;
  return s ? *s : std::string();
}

std::uint32_t number(const Meta& m, std::string_view what) {
  std::uint64_t n = 0;
  if (const auto* u = std::get_if<std::uint64_t>(&m.scalar))
    n = *u;
  else if (const auto* i = std::get_if<std::int64_t>(&m.scalar); i && *i >= 0)
    n = static_cast<std::uint64_t>(*i);
  else
    fail("metadata: " + std::string(what) + " is not a number of at least 0");
  if (n > 0xffffffffU) fail("metadata: " + std::string(what) + " is " + std::to_string(n));
  return static_cast<std::uint32_t>(n);
}

std::uint32_t number_field(const Meta& m, std::string_view key, std::uint32_t otherwise = 0) {
  const Meta* v = m.find(key);
  return v ? number(*v, key) : otherwise;
}

/// The value of the metadata note in one note section or segment, if it is there.
std::optional<Meta> find_metadata(Bytes notes) {
  constexpr std::uint32_t amdgpu_metadata = 32; // NT_AMDGPU_METADATA
  std::size_t at = 0;
  const auto padded = [](std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; };
  while (notes.size() - at >= 12) {
    const std::uint64_t name = load<std::uint32_t>(notes, at), size = load<std::uint32_t>(notes, at + 4);
    const auto type = load<std::uint32_t>(notes, at + 8);
    at += 12;
    const std::uint64_t left = notes.size() - at;
    if (padded(name) > left || size > left - padded(name)) fail("a note is cut");
    const auto owner = text_of(notes.subspan(at, name));
    if (type == amdgpu_metadata && owner.starts_with("AMDGPU")) {
      const auto body = text_of(notes.subspan(at + padded(name), size));
      llvm::msgpack::Reader reader(llvm::StringRef(body.data(), body.size()));
      return read_meta(reader, 0);
    }
    at += std::min<std::uint64_t>(left, padded(name) + padded(size));
  }
  return std::nullopt;
}

// --- descriptors
// -----------------------------------------------------------------------------------------------

KernelDescriptor decode_descriptor(Bytes kd) {
  namespace hsa = llvm::amdhsa;
  KernelDescriptor d;
  const auto take = [](std::uint32_t word, std::int32_t mask, std::int32_t shift) {
    return (word & static_cast<std::uint32_t>(mask)) >> shift;
  };
#define BITS(word, field) take(word, hsa::field, hsa::field##_SHIFT)
  d.lds_bytes = load<std::uint32_t>(kd, hsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET);
  d.scratch_bytes = load<std::uint32_t>(kd, hsa::PRIVATE_SEGMENT_FIXED_SIZE_OFFSET);
  d.kernarg_bytes = load<std::uint32_t>(kd, hsa::KERNARG_SIZE_OFFSET);
  d.rsrc1 = load<std::uint32_t>(kd, hsa::COMPUTE_PGM_RSRC1_OFFSET);
  d.rsrc2 = load<std::uint32_t>(kd, hsa::COMPUTE_PGM_RSRC2_OFFSET);
  d.rsrc3 = load<std::uint32_t>(kd, hsa::COMPUTE_PGM_RSRC3_OFFSET);
  const std::uint32_t properties = load<std::uint16_t>(kd, hsa::KERNEL_CODE_PROPERTIES_OFFSET);
  const std::uint32_t preload = load<std::uint16_t>(kd, hsa::KERNARG_PRELOAD_OFFSET);

  d.vgprs = (BITS(d.rsrc1, COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT) + 1) * 8;
  d.sgprs = (BITS(d.rsrc1, COMPUTE_PGM_RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT) / 2 + 1) * 16;
  d.accum_offset = (BITS(d.rsrc3, COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET) + 1) * 4;
  d.tg_split = BITS(d.rsrc3, COMPUTE_PGM_RSRC3_GFX90A_TG_SPLIT) != 0;
  const auto mode = [&](std::uint32_t v) { return static_cast<std::uint8_t>(v); };
  d.mode.round_32 = mode(BITS(d.rsrc1, COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32));
  d.mode.round_16_64 = mode(BITS(d.rsrc1, COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_16_64));
  d.mode.denorm_32 = mode(BITS(d.rsrc1, COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_32));
  d.mode.denorm_16_64 = mode(BITS(d.rsrc1, COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_16_64));
  d.mode.dx10_clamp = BITS(d.rsrc1, COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_DX10_CLAMP) != 0;
  d.mode.ieee = BITS(d.rsrc1, COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_IEEE_MODE) != 0;
  d.mode.fp16_overflow = BITS(d.rsrc1, COMPUTE_PGM_RSRC1_GFX9_PLUS_FP16_OVFL) != 0;

  d.scratch_enabled = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_PRIVATE_SEGMENT) != 0;
  d.user_sgprs = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_GFX6_GFX120_USER_SGPR_COUNT);
  d.workgroup_id_x = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_X) != 0;
  d.workgroup_id_y = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Y) != 0;
  d.workgroup_id_z = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Z) != 0;
  d.workgroup_info = BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_INFO) != 0;
  d.workitem_id_dimensions =
      std::min(BITS(d.rsrc2, COMPUTE_PGM_RSRC2_ENABLE_VGPR_WORKITEM_ID) + 1, std::uint32_t{3});

  d.private_segment_buffer = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER) != 0;
  d.dispatch_ptr = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR) != 0;
  d.queue_ptr = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR) != 0;
  d.kernarg_ptr = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR) != 0;
  d.dispatch_id = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID) != 0;
  d.flat_scratch_init = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT) != 0;
  d.private_segment_size = BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE) != 0;
  d.dynamic_stack = BITS(properties, KERNEL_CODE_PROPERTY_USES_DYNAMIC_STACK) != 0;
  if (BITS(properties, KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32) != 0)
    fail("kernel descriptor asks for waves of 32 lanes", "CDNA runs waves of 64");
  d.preload_length = BITS(preload, KERNARG_PRELOAD_SPEC_LENGTH);
  d.preload_offset = BITS(preload, KERNARG_PRELOAD_SPEC_OFFSET);
#undef BITS
  return d;
}

/// What the launcher and the emulator rely on, so that they need not check.
void check_descriptor(const std::string& name, const KernelDescriptor& d, std::string_view arch) {
  const auto refuse = [&](const std::string& what, const char* hint) {
    fail("kernel " + name + ": " + what, hint);
  };
  const machine::Target* const target = machine::find_runner(arch);
  const auto lds = static_cast<std::uint32_t>(target->lds_bytes);
  if (d.lds_bytes > lds)
    refuse("needs " + std::to_string(d.lds_bytes) + " bytes of LDS, " + std::string(arch) + " has " +
               std::to_string(lds),
           "a smaller tile, or fewer stages");
  if (d.scratch_bytes > most_scratch)
    refuse("needs " + std::to_string(d.scratch_bytes) + " bytes of scratch a lane, the most is 131072",
           "is the kernel descriptor intact?");
  if (d.kernarg_bytes > most_kernarg)
    refuse("declares " + std::to_string(d.kernarg_bytes) + " bytes of arguments",
           "is the kernel descriptor intact?");
  const std::uint32_t needed = d.private_segment_buffer * 4U + d.dispatch_ptr * 2U + d.queue_ptr * 2U +
                               d.kernarg_ptr * 2U + d.dispatch_id * 2U + d.flat_scratch_init * 2U +
                               d.private_segment_size * 1U + d.preload_length;
  if (needed > d.user_sgprs)
    refuse("enables " + std::to_string(needed) + " user SGPRs but counts " + std::to_string(d.user_sgprs),
           "is the kernel descriptor intact?");
}

std::string arch_of(std::uint32_t flags) {
  const std::uint32_t number = flags & llvm::ELF::EF_AMDGPU_MACH;
  std::string known;
  for (const machine::Target& t : machine::targets) {
    if (number == t.elf_machine) return std::string(t.name);
    if (number == t.generic_elf_machine) return std::string(t.generic);
    known += std::string(t.name) + " (" + hex(t.elf_machine) + "), ";
  }
  for (const machine::Target& t : machine::targets)
    if (known.find(t.generic) == std::string::npos)
      known += std::string(t.generic) + " (" + hex(t.generic_elf_machine) + "), ";
  known.resize(known.size() - 2);
  fail("code object is for processor number " + hex(number), known + " are read here");
}

/// Width of the field that a relocation fills; 0 for none, and for what loaders do not apply.
unsigned relocated_bytes(std::uint32_t type) {
  using namespace llvm::ELF;
  switch (type) {
  case R_AMDGPU_ABS64:
  case R_AMDGPU_REL64:
  case R_AMDGPU_RELATIVE64: return 8;
  case R_AMDGPU_ABS32_LO:
  case R_AMDGPU_ABS32_HI:
  case R_AMDGPU_ABS32:
  case R_AMDGPU_REL32:
  case R_AMDGPU_REL32_LO:
  case R_AMDGPU_REL32_HI: return 4;
  default: return 0;
  }
}

} // namespace

CodeObjectError::CodeObjectError(std::string problem, std::string hint)
    : std::invalid_argument("code object: " + problem + "\n  hint   " + hint), problem_(std::move(problem)),
      hint_(std::move(hint)) {}

/// The steps of reading, in order: header, sections, segments, symbols, descriptors, metadata.
struct CodeObjectReader {
  CodeObject object;
  Bytes file;

  void header(std::string_view arch) {
    using namespace llvm::ELF;
    if (file.size() < 64)
      fail("file of " + std::to_string(file.size()) + " bytes is shorter than an ELF header");
    if (text_of(file.first(4)) != std::string_view("\177ELF", 4))
      fail("not an ELF file", "expected an HSACO, a relocatable object, or an offload bundle");
    if (file[EI_CLASS] != ELFCLASS64 || file[EI_DATA] != ELFDATA2LSB) fail("not a 64-bit little-endian ELF");
    const auto machine = load<std::uint16_t>(file, 18);
    if (machine != EM_AMDGPU)
      fail("ELF is for machine " + std::to_string(machine) + ", not for AMDGPU (224)",
           machine == EM_X86_64 ? "this is a host program without a .hip_fatbin section"
                                : "compile for " + machine::names(" or "));
    if (file[EI_OSABI] != ELFOSABI_AMDGPU_HSA)
      fail("ELF is not for the HSA system (OS/ABI " + std::to_string(file[EI_OSABI]) + ")",
           "use the triple amdgcn-amd-amdhsa");
    switch (file[EI_ABIVERSION]) {
    case ELFABIVERSION_AMDGPU_HSA_V4: object.abi_version_ = 4; break;
    case ELFABIVERSION_AMDGPU_HSA_V5: object.abi_version_ = 5; break;
    case ELFABIVERSION_AMDGPU_HSA_V6: object.abi_version_ = 6; break;
    default:
      fail("code object ABI number " + std::to_string(file[EI_ABIVERSION]) + " is not version 4, 5 or 6",
           "compile with -mcode-object-version=5");
    }
    const auto type = load<std::uint16_t>(file, 16);
    if (type != ET_DYN && type != ET_REL)
      fail("ELF is of type " + std::to_string(type) + ", neither linked nor relocatable");
    object.relocatable_ = type == ET_REL;
    object.arch_ = arch_of(load<std::uint32_t>(file, 48));
    if (!arch.empty() && object.arch_ != arch && object.arch_ != "gfx9-4-generic")
      fail("code object is for " + object.arch_ + ", not for " + std::string(arch),
           "ask for " + object.arch_);
  }

  void sections(const ElfFile& elf) {
    using namespace llvm::ELF;
    const auto headers = checked(elf.sections(), "section table");
    if (headers.empty()) fail("ELF has no sections", "stripped of its section table?");
    const auto names_index = load<std::uint16_t>(file, 62);
    Bytes names;
    if (names_index < headers.size()) {
      const auto table = checked(elf.getSectionContents(headers[names_index]), "section names");
      names = {table.data(), table.size()};
    }
    for (const auto& h : headers) {
      Section s;
      if (h.sh_type != SHT_NULL && !names.empty())
        s.name = name_at(names, h.sh_name, "a section's").substr(0, 256);
      s.name = printable(s.name);
      s.address = h.sh_addr;
      s.executable = (h.sh_flags & SHF_EXECINSTR) != 0;
      if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL) {
        const auto b = checked(elf.getSectionContents(h), "section contents");
        s.bytes = {b.data(), b.size()};
      }
      if ((h.sh_flags & SHF_ALLOC) != 0 && (s.address > most_address || h.sh_size > most_address))
        fail("section " + s.name + " lies at " + hex(s.address));
      object.sections_.push_back(std::move(s));
    }
  }

  void segments(const ElfFile& elf) {
    using namespace llvm::ELF;
    if (object.relocatable_) return;
    std::uint64_t zeros = 0;
    for (const auto& p : checked(elf.program_headers(), "program headers")) {
      if (p.p_type != PT_LOAD) continue;
      const auto b = checked(elf.getSegmentContents(p), "segment contents");
      Segment s{p.p_vaddr, p.p_memsz, {b.data(), b.size()}, (p.p_flags & PF_W) != 0, (p.p_flags & PF_X) != 0};
      if (s.memory_bytes < s.bytes.size()) fail("a segment holds more bytes than it maps");
      if (s.address > most_address || s.memory_bytes > most_address)
        fail("a segment lies at " + hex(s.address));
      zeros += s.memory_bytes - s.bytes.size();
      if (zeros > most_zeros) fail("segments ask for more than 64 MiB of zeros");
      object.segments_.push_back(s);
    }
    auto order = object.segments_;
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i].address < order[i - 1].address + order[i - 1].memory_bytes) fail("segments overlap");
  }

  void symbols(const ElfFile& elf) {
    using namespace llvm::ELF;
    const auto headers = checked(elf.sections(), "section table");
    const auto* table = static_cast<const ElfFile::Elf_Shdr*>(nullptr);
    for (const auto& h : headers)
      if (h.sh_type == SHT_SYMTAB || (h.sh_type == SHT_DYNSYM && table == nullptr)) table = &h;
    if (table == nullptr) fail("ELF has no symbol table", "stripped of its symbols?");
    if (table->sh_link >= object.sections_.size()) fail("symbol table names no string table");
    const Bytes names = object.sections_[table->sh_link].bytes;
    std::size_t total = 0;
    for (const auto& s : checked(elf.symbols(table), "symbols")) {
      if (s.st_name == 0) continue;
      Symbol symbol;
      const auto name = name_at(names, s.st_name, "a symbol's");
      total += name.size() +
               1; // names may share bytes; a file whose names add up to far more than it holds is hostile
      if (total > 4 * file.size()) fail("symbol names add up to more than the file");
      symbol.name = printable(name);
      symbol.address = s.st_value;
      symbol.size = s.st_size;
      symbol.function = s.getType() == STT_FUNC;
      symbol.section =
          s.st_shndx != SHN_UNDEF && s.st_shndx < object.sections_.size() ? s.st_shndx : Symbol::npos;
      object.symbols_.push_back(std::move(symbol));
    }
  }

  /// Records of the loaded image (.rela.dyn, .rela.plt); those of a relocatable object are its linker's affair.
  void relocations(const ElfFile& elf) {
    using namespace llvm::ELF;
    if (object.relocatable_) return;
    for (const auto& h : checked(elf.sections(), "section table")) {
      if ((h.sh_flags & SHF_ALLOC) == 0 || h.sh_size == 0) continue;
      if (h.sh_type == SHT_REL || h.sh_type == SHT_RELR)
        fail("holds relocation records without addends",
             "AMDGPU uses RELA records only; link without --pack-dyn-relocs");
      if (h.sh_type != SHT_RELA) continue;
      const auto* table = static_cast<const ElfFile::Elf_Shdr*>(nullptr);
      Bytes names;
      if (h.sh_link != SHN_UNDEF && h.sh_link < object.sections_.size()) {
        table = checked(elf.getSection(h.sh_link), "relocations' symbol table");
        if (table->sh_link < object.sections_.size()) names = object.sections_[table->sh_link].bytes;
      }
      for (const auto& r : checked(elf.relas(h), "relocations")) {
        Relocation out;
        out.address = r.r_offset;
        out.type = r.getType(false);
        out.addend = r.r_addend;
        if (const std::uint32_t index = r.getSymbol(false); index != 0) {
          if (table == nullptr) fail("a relocation names symbol " + std::to_string(index) + " of no table");
          const auto* s = checked(elf.getSymbol(table, index), "a relocation's symbol");
          out.symbol = printable(name_at(names, s->st_name, "a symbol's").substr(0, 256));
          out.symbol_value = s->st_value;
          out.kind = s->st_shndx == SHN_ABS        ? Relocation::Symbol::absolute
                     : s->st_shndx != SHN_UNDEF    ? Relocation::Symbol::defined
                     : s->getBinding() == STB_WEAK ? Relocation::Symbol::weak
                                                   : Relocation::Symbol::undefined;
        }
        const std::uint64_t bytes = std::max(4U, relocated_bytes(out.type));
        if (std::none_of(object.segments_.begin(), object.segments_.end(), [&](const Segment& s) {
              return out.address >= s.address && s.memory_bytes >= bytes &&
                     out.address - s.address <= s.memory_bytes - bytes;
            }))
          fail("a relocation at " + hex(out.address) + " lies outside every segment");
        object.relocations_.push_back(std::move(out));
      }
    }
  }

  /// The bytes of [address, address + size) inside one section.
  Bytes inside(const Section& s, std::uint64_t address, std::uint64_t size, const std::string& what) {
    if (address < s.address || address - s.address > s.bytes.size() ||
        size > s.bytes.size() - (address - s.address))
      fail(what + " lies outside section " + s.name);
    return s.bytes.subspan(address - s.address, size);
  }

  void place_code(Kernel& k, const Symbol* label, std::uint64_t entry) {
    k.section = Symbol::npos;
    if (label != nullptr && label->section != Symbol::npos && object.relocatable_) k.section = label->section;
    for (std::size_t i = 0; i < object.sections_.size() && k.section == Symbol::npos; ++i) {
      const Section& s = object.sections_[i];
      if (s.executable && entry >= s.address && entry - s.address < s.bytes.size()) k.section = i;
    }
    if (k.section == Symbol::npos || !object.sections_[k.section].executable)
      fail("kernel " + k.name + " begins at " + hex(entry) + ", outside every executable section");
    const Section& s = object.sections_[k.section];
    inside(s, entry, 4, "kernel " + k.name);
    if (entry % 4 != 0) fail("kernel " + k.name + " begins at " + hex(entry) + ", not a multiple of 4");
    k.address = entry;
    std::uint64_t end = s.address + s.bytes.size();
    if (label != nullptr && label->size != 0 && label->address == entry) {
      inside(s, entry, label->size, "kernel " + k.name);
      end = entry + label->size;
    } else {
      const auto next = std::upper_bound(functions.begin(), functions.end(), std::pair{k.section, entry});
      if (next != functions.end() && next->first == k.section) end = std::min(end, next->second);
    }
    k.size = end - entry;
  }

  void kernels() {
    std::unordered_map<std::string_view, const Symbol*> by_name;
    for (const Symbol& s : object.symbols_) {
      if (s.section == Symbol::npos) continue;
      by_name.emplace(s.name, &s);
      if (s.function) functions.emplace_back(s.section, s.address);
    }
    std::sort(functions.begin(), functions.end());
    std::map<std::pair<std::size_t, std::uint64_t>, int> seen;
    for (const Symbol& s : object.symbols_) {
      if (s.section == Symbol::npos || s.function || s.name.size() <= 3 || !s.name.ends_with(".kd")) continue;
      Kernel k;
      k.name = s.name.substr(0, s.name.size() - 3);
      if (by_name.at(s.name) != &s) continue;
      if (++seen[{s.section, s.address}] > 1) fail("two kernels share the descriptor of " + k.name);
      const Bytes kd =
          inside(object.sections_[s.section], s.address, descriptor_bytes, "descriptor of kernel " + k.name);
      k.descriptor = decode_descriptor(kd);
      check_descriptor(k.name, k.descriptor, object.arch_);
      k.kernarg_bytes = k.descriptor.kernarg_bytes;
      const auto found = by_name.find(k.name);
      const Symbol* label = found == by_name.end() ? nullptr : found->second;
      if (object.relocatable_) {
        // The entry offset is a relocation still to be applied: the label says the same.
        if (label == nullptr) fail("kernel " + k.name + " has a descriptor but no label");
        place_code(k, label, label->address);
      } else {
        const auto offset = load<std::uint64_t>(kd, llvm::amdhsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET);
        place_code(k, label, s.address + offset); // modulo 2^64: the offset is signed
      }
      object.kernels_.push_back(std::move(k));
    }
  }

  void join(Kernel& k, const Meta& m) {
    k.has_metadata = true;
    const std::string whose = "kernel " + k.name;
    const std::uint32_t declared = number_field(m, ".kernarg_segment_size");
    if (declared > most_kernarg)
      fail(whose + " declares " + std::to_string(declared) + " bytes of arguments");
    if (k.kernarg_bytes == 0) k.kernarg_bytes = declared;
    k.max_flat_workgroup_size = number_field(m, ".max_flat_workgroup_size", 1024);
    if (k.max_flat_workgroup_size == 0 || k.max_flat_workgroup_size > 1024)
      fail(whose + " allows " + std::to_string(k.max_flat_workgroup_size) + " work-items a workgroup",
           "1 to 1024 are possible");
    if (const Meta* r = m.find(".reqd_workgroup_size")) {
      for (const Meta& extent : r->list())
        k.required_workgroup.push_back(number(extent, ".reqd_workgroup_size"));
      if (k.required_workgroup.size() != 3) fail(whose + ": .reqd_workgroup_size is not a list of 3");
    }
    k.declared_vgprs = number_field(m, ".vgpr_count");
    k.declared_agprs = number_field(m, ".agpr_count");
    k.declared_sgprs = number_field(m, ".sgpr_count");
    k.spilled_vgprs = number_field(m, ".vgpr_spill_count");
    k.spilled_sgprs = number_field(m, ".sgpr_spill_count");
    if (const std::uint32_t wave = number_field(m, ".wavefront_size", 64); wave != 64)
      fail(whose + " is for waves of " + std::to_string(wave) + " lanes", "CDNA runs waves of 64");
    const Meta* args = m.find(".args");
    for (const Meta& a : args ? args->list() : std::span<const Meta>()) {
      KernelArgument argument{text_field(a, ".name"), text_field(a, ".value_kind"),
                              text_field(a, ".address_space"), number_field(a, ".offset"),
                              number_field(a, ".size")};
      // Published kernels exist whose last padding word ends past the declared size: allocate for what is
      // described.
      const std::uint64_t end = std::uint64_t{argument.offset} + argument.size;
      if (end > most_kernarg)
        fail(whose + ": argument " + std::to_string(k.arguments.size()) + " ends at byte " +
             std::to_string(end));
      k.kernarg_bytes = std::max(k.kernarg_bytes, static_cast<std::uint32_t>(end));
      k.arguments.push_back(std::move(argument));
    }
    std::sort(k.arguments.begin(), k.arguments.end(), [](const auto& a, const auto& b) {
      return std::tie(a.offset, a.size, a.name) < std::tie(b.offset, b.size, b.name);
    });
  }

  void metadata() {
    std::optional<Meta> root;
    for (std::size_t i = 0; i < object.sections_.size() && !root; ++i)
      if (object.sections_[i].name.starts_with(".note")) root = find_metadata(object.sections_[i].bytes);
    if (!root) return;
    if (const Meta* texts = root->find("amdhsa.printf"))
      for (const Meta& m : texts->list())
        if (const auto* text = std::get_if<std::string>(&m.scalar)) object.prints_.push_back(*text);
    const Meta* list = root->find("amdhsa.kernels");
    if (!list) return;
    std::unordered_map<std::string, const Meta*> by_symbol;
    for (const Meta& m : list->list()) {
      std::string symbol = text_field(m, ".symbol");
      if (symbol.empty()) symbol = text_field(m, ".name") + ".kd";
      by_symbol.emplace(std::move(symbol), &m);
    }
    for (Kernel& k : object.kernels_)
      if (const auto found = by_symbol.find(k.name + ".kd"); found != by_symbol.end())
        join(k, *found->second);
  }

  /// The section .hip_fatbin of a host program, empty when there is none.
  static Bytes fat_binary(Bytes host) {
    if (host.size() < 64 || load<std::uint16_t>(host, 18) != llvm::ELF::EM_X86_64 ||
        host[4] != llvm::ELF::ELFCLASS64 || host[5] != llvm::ELF::ELFDATA2LSB)
      return {};
    const auto elf =
        checked(ElfFile::create(llvm::StringRef(text_of(host).data(), host.size())), "host program");
    for (const auto& h : checked(elf.sections(), "host program's sections")) {
      const auto name = checked(elf.getSectionName(h), "host program's section names");
      if (name != ".hip_fatbin") continue;
      const auto b = checked(elf.getSectionContents(h), "section .hip_fatbin");
      return {b.data(), b.size()};
    }
    return {};
  }

  std::vector<std::pair<std::size_t, std::uint64_t>> functions; // (section, address), sorted
};

CodeObject CodeObject::parse(std::vector<std::uint8_t> bytes, std::string_view arch) {
  if (!arch.empty() && machine::find_target(arch) == nullptr)
    fail("unknown architecture " + printable(arch.substr(0, 40)), machine::names(" or "));
  CodeObjectReader r;
  r.object.owner_ = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  r.file = *r.object.owner_;
  const auto starts = [&](std::string_view magic) { return text_of(r.file).starts_with(magic); };
  if (starts(std::string_view("\177ELF", 4)))
    if (const Bytes fat = CodeObjectReader::fat_binary(r.file); !fat.empty()) r.file = fat;
  if (starts(bundle_magic)) r.file = unbundle(r.file, arch);
  if (starts(compressed_magic))
    fail("the offload bundle is compressed",
         "compile with --no-offload-compress, or unbundle it with clang-offload-bundler");
  r.header(arch);
  const auto elf = checked(ElfFile::create(llvm::StringRef(text_of(r.file).data(), r.file.size())), "ELF");
  r.object.bytes_ = r.file;
  r.sections(elf);
  r.segments(elf);
  r.symbols(elf);
  r.relocations(elf);
  r.kernels();
  r.metadata();
  return std::move(r.object);
}

CodeObject CodeObject::read(const std::string& file, std::string_view arch) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": cannot be opened");
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw std::runtime_error(file + ": cannot be read");
  return parse(std::move(bytes), arch);
}

const Kernel& CodeObject::kernel(std::string_view name) const {
  if (name.empty() && kernels_.size() == 1) return kernels_.front();
  std::string names;
  for (const Kernel& k : kernels_) {
    if (k.name == name) return k;
    if (names.size() < 2000) names += (names.empty() ? "" : ", ") + k.name;
  }
  if (kernels_.empty()) fail("holds no kernel", "a kernel needs a descriptor: .amdhsa_kernel in assembly");
  if (name.empty()) fail("holds " + std::to_string(kernels_.size()) + " kernels", "choose one: " + names);
  fail("holds no kernel named " + printable(name.substr(0, 200)), "there are: " + names);
}

std::vector<CodeObject::Patch> CodeObject::relocate(std::uint64_t base) const {
  using namespace llvm::ELF;
  std::vector<Patch> out;
  for (const Relocation& r : relocations_) {
    if (r.type == R_AMDGPU_NONE) continue;
    const std::string at = "relocation at " + hex(r.address);
    const unsigned bytes = relocated_bytes(r.type);
    if (bytes == 0)
      fail(at + " is of type " + std::to_string(r.type) + ", which loaders do not apply",
           "ABS32, ABS32_LO, ABS32_HI, ABS64, REL32, REL32_LO, REL32_HI, REL64 and RELATIVE64 are applied");
    if (r.kind == Relocation::Symbol::undefined)
      fail(at + " needs the symbol " + r.symbol + ", which the code object does not define",
           "link every object that the kernel uses into one code object");
    for (const Segment& s : segments_)
      if (s.executable && r.address >= s.address && r.address - s.address < s.memory_bytes)
        fail(at + " would change code", "compile position-independent code, and link without -z notext");
    const std::uint64_t place = base + r.address;
    const std::uint64_t symbol = r.type == R_AMDGPU_RELATIVE64            ? base
                                 : r.kind == Relocation::Symbol::defined  ? base + r.symbol_value
                                 : r.kind == Relocation::Symbol::absolute ? r.symbol_value
                                                                          : 0;
    const std::uint64_t sum = symbol + static_cast<std::uint64_t>(r.addend);
    std::uint64_t value = sum;
    switch (r.type) {
    case R_AMDGPU_ABS32_HI: value = sum >> 32; break;
    case R_AMDGPU_REL32:
    case R_AMDGPU_REL32_LO:
    case R_AMDGPU_REL64: value = sum - place; break;
    case R_AMDGPU_REL32_HI: value = (sum - place) >> 32; break;
    default: break;
    }
    if (r.type == R_AMDGPU_ABS32 && value >> 32 != 0)
      fail(at + " is ABS32, but the address " + hex(value) + " has more than 32 bits",
           "use ABS64, or LO and HI");
    if (bytes == 4) value &= 0xffffffffU;
    out.push_back({r.address, value, bytes});
  }
  return out;
}

std::span<const std::uint8_t> CodeObject::code(const Kernel& k) const {
  const Section& s = sections_[k.section];
  return s.bytes.subspan(k.address - s.address, k.size);
}

} // namespace inlay::runtime
