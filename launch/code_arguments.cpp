#include <inlay/launch/manifest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <nlohmann/json.hpp>
#include <span>

namespace inlay::launch {

namespace {

using Json = nlohmann::json;
using Bytes = std::span<const std::uint8_t>;

template <class T>
std::optional<T> load(Bytes b, std::uint64_t at) {
  T v;
  if (at > b.size() || sizeof v > b.size() - at) return {};
  std::memcpy(&v, b.data() + at, sizeof v);
  return v;
}

/// The metadata in one segment of notes: a map in MessagePack. Discarded where there is none.
Json metadata_in(Bytes notes) {
  constexpr std::uint32_t amdgpu_metadata = 32; // NT_AMDGPU_METADATA
  const auto padded = [](std::uint64_t n) { return (n + 3) & ~std::uint64_t{3}; };
  for (std::uint64_t at = 0;;) {
    const auto head = load<Elf64_Nhdr>(notes, at);
    if (!head) return Json(Json::value_t::discarded);
    const std::uint64_t body = at + sizeof *head + padded(head->n_namesz);
    if (body > notes.size() || head->n_descsz > notes.size() - body) return Json(Json::value_t::discarded);
    if (head->n_type == amdgpu_metadata)
      return Json::from_msgpack(notes.subspan(body, head->n_descsz), true, false);
    at = body + padded(head->n_descsz);
  }
}

/// HIP is given no length and believes an ELF file's headers. Errors: LaunchError, where what they describe is not all there.
void check_whole(const std::string& kernel, Bytes code) {
  const auto cut = [&] {
    throw LaunchError(
        kernel + ": its code object is cut or damaged: what its headers describe is not within its " +
            std::to_string(code.size()) + " bytes",
        "the code object as the compiler wrote it");
  };
  const auto inside = [&](std::uint64_t at, std::uint64_t bytes) {
    if (at > code.size() || bytes > code.size() - at) cut();
  };
  inside(0, sizeof(Elf64_Ehdr));
  const auto elf = *load<Elf64_Ehdr>(code, 0);
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (elf.e_phnum != 0 && elf.e_phentsize != sizeof(Elf64_Phdr)) cut();
  if (elf.e_shnum != 0 && elf.e_shentsize != sizeof(Elf64_Shdr)) cut();
  inside(elf.e_phoff, std::uint64_t{elf.e_phnum} * sizeof(Elf64_Phdr));
  inside(elf.e_shoff, std::uint64_t{elf.e_shnum} * sizeof(Elf64_Shdr));
  for (std::uint64_t i = 0; i < elf.e_phnum; ++i) {
    const auto segment = *load<Elf64_Phdr>(code, elf.e_phoff + i * sizeof(Elf64_Phdr));
    inside(segment.p_offset, segment.p_filesz);
  }
  for (std::uint64_t i = 0; i < elf.e_shnum; ++i) {
    const auto section = *load<Elf64_Shdr>(code, elf.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) inside(section.sh_offset, section.sh_size);
  }
}

/// The metadata's entry of a kernel. Nothing where the code object has none. Requires: it is whole.
std::optional<Json> metadata_of(const std::string& kernel, Bytes code) {
  const auto elf = *load<Elf64_Ehdr>(code, 0);
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (std::uint64_t i = 0; i < elf.e_phnum; ++i) {
    const auto segment = *load<Elf64_Phdr>(code, elf.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NOTE) continue;
    const Json all = metadata_in(code.subspan(segment.p_offset, segment.p_filesz));
    if (!all.is_object() || !all.contains("amdhsa.kernels")) continue;
    for (const Json& k : all["amdhsa.kernels"])
      if (k.is_object() && k.contains(".name") && k[".name"] == kernel) return k;
  }
  return {};
}

struct Declared {
  std::string name;
  std::uint64_t bytes = 0;
  bool pointer = false;
};

std::vector<Declared> arguments_of(const Json& kernel) {
  std::vector<Declared> out;
  for (const Json& a : kernel.value(".args", Json::array())) {
    const auto kind = a.value(".value_kind", "");
    if (!kind.starts_with("hidden_"))
      out.push_back({a.value(".name", ""), a.value(".size", std::uint64_t{0}),
                     kind == "global_buffer" || kind == "dynamic_shared_pointer"});
  }
  return out;
}

std::string text_of(const std::vector<Declared>& arguments) {
  std::string out;
  for (const Declared& a : arguments)
    out += (out.empty() ? "" : ", ") + (a.pointer ? "ptr" : std::to_string(a.bytes) + " bytes") +
           (a.name.empty() ? "" : " " + a.name);
  return out.empty() ? "none" : out;
}

} // namespace

void Manifest::check_code(const std::vector<std::uint8_t>& code_object) const {
  check_whole(kernel, code_object);
  const auto metadata = metadata_of(kernel, code_object);
  if (!metadata) return;
  std::vector<Declared> is, said;
  try {
    is = arguments_of(*metadata);
  } catch (const nlohmann::json::exception& e) {
    throw LaunchError(kernel + ": its code object's metadata is damaged: " + e.what(),
                      "the code object as the compiler wrote it");
  }
  for (const Argument& a : arguments) {
    const bool pointer = a.kind == Argument::Kind::buffer;
    const std::size_t number = a.type == "i64" ? 8 : 4;
    said.push_back({a.name, pointer ? 8 : a.kind == Argument::Kind::size ? number : a.value.size(), pointer});
  }
  // An address may be declared as a number of 8 bytes, a number not as an address.
  const auto same = [](const Declared& a, const Declared& b) {
    return a.bytes == b.bytes && (a.pointer || !b.pointer);
  };
  if (!std::equal(said.begin(), said.end(), is.begin(), is.end(), same))
    throw LaunchError(kernel + ": the manifest's arguments are not those of the code object\n  manifest  " +
                          text_of(said) + "\n  code      " + text_of(is),
                      "the two files of one build, or \"arguments\" in the order and sizes of the code");
}

} // namespace inlay::launch
