/// Builds small code objects byte by byte, so that tests can set any field and break any of them.
///
/// Independent of the reader: the ELF layout is written out here from the gABI, the metadata by nlohmann's
/// MessagePack writer. One executable section, one descriptor a kernel in .rodata, .note, .symtab, .strtab,
/// .shstrtab.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace image {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void put(Bytes& b, T v) {
  std::uint8_t raw[sizeof v];
  std::memcpy(raw, &v, sizeof v);
  b.insert(b.end(), raw, raw + sizeof v);
}
template <class T>
void set(Bytes& b, std::size_t at, T v) {
  std::memcpy(b.data() + at, &v, sizeof v);
}
inline void pad(Bytes& b, std::size_t multiple) {
  while (b.size() % multiple != 0) b.push_back(0);
}
inline void text(Bytes& b, const std::string& s) {
  b.insert(b.end(), s.begin(), s.end());
  b.push_back(0);
}

struct KernelImage {
  std::string name = "k";
  std::vector<std::uint32_t> code = {0xbf810000}; // s_endpgm
  std::uint32_t lds = 0, scratch = 0, kernarg = 16;
  std::uint32_t rsrc1 =
      (3U << 18) | (1U << 21) | (1U << 23);    // 8 VGPRs, denormals of 16 and 64 bits, DX10 clamp, IEEE
  std::uint32_t rsrc2 = (2U << 1) | (1U << 7); // 2 user SGPRs, workgroup id x
  std::uint32_t rsrc3 = 0;
  std::uint16_t properties = 1U << 3; // kernarg segment pointer
  std::uint16_t preload = 0;
  nlohmann::json metadata; // the entry of amdhsa.kernels; null: none
};

struct Options {
  std::uint8_t abi = 3;        // 2, 3, 4 = version 4, 5, 6
  std::uint32_t flags = 0x54c; // gfx942
  bool dynamic_symbols = false;
};

inline nlohmann::json argument(std::uint32_t offset, std::uint32_t size, const std::string& kind,
                               const std::string& name = "") {
  nlohmann::json a{{".offset", offset}, {".size", size}, {".value_kind", kind}};
  if (kind == "global_buffer") a[".address_space"] = "global";
  if (!name.empty()) a[".name"] = name;
  return a;
}

inline Bytes build(const std::vector<KernelImage>& kernels, const Options& o = {}) {
  struct Part {
    std::string name;
    std::uint32_t type;
    std::uint64_t flags, address;
    Bytes bytes;
    std::uint32_t link = 0, info = 0;
    std::uint64_t entry = 0, offset = 0;
  };
  constexpr std::uint64_t rodata_at = 0x1000, text_at = 0x2000;
  Bytes text_bytes, rodata, symbols(24, 0), names(1, 0), note;
  nlohmann::json root{{"amdhsa.version", {1, 2}}, {"amdhsa.kernels", nlohmann::json::array()}};
  for (const auto& k : kernels) {
    pad(text_bytes, 256);
    const std::uint64_t entry = text_at + text_bytes.size(), kd = rodata_at + rodata.size();
    for (const auto w : k.code) put(text_bytes, w);
    const std::size_t d = rodata.size();
    rodata.resize(d + 64, 0);
    set(rodata, d, k.lds), set(rodata, d + 4, k.scratch), set(rodata, d + 8, k.kernarg);
    set(rodata, d + 16, entry - kd), set(rodata, d + 44, k.rsrc3), set(rodata, d + 48, k.rsrc1);
    set(rodata, d + 52, k.rsrc2), set(rodata, d + 56, k.properties), set(rodata, d + 58, k.preload);
    const auto symbol = [&](const std::string& name, std::uint8_t info, std::uint16_t section,
                            std::uint64_t value, std::uint64_t size) {
      put(symbols, static_cast<std::uint32_t>(names.size()));
      symbols.push_back(info), symbols.push_back(3);
      put(symbols, section), put(symbols, value), put(symbols, size);
      text(names, name);
    };
    symbol(k.name, 0x12, 1, entry, 4 * k.code.size()); // global function in section 1
    symbol(k.name + ".kd", 0x11, 2, kd, 64);           // global object in section 2
    if (!k.metadata.is_null()) {
      auto m = k.metadata;
      m[".name"] = k.name, m[".symbol"] = k.name + ".kd";
      root["amdhsa.kernels"].push_back(m);
    }
  }
  const auto packed = nlohmann::json::to_msgpack(root);
  put(note, std::uint32_t{7}), put(note, static_cast<std::uint32_t>(packed.size())),
      put(note, std::uint32_t{32});
  text(note, "AMDGPU");
  pad(note, 4);
  note.insert(note.end(), packed.begin(), packed.end());
  pad(note, 4);

  std::vector<Part> parts = {
      {"", 0, 0, 0, {}},
      {".text", 1, 6, text_at, text_bytes},
      {".rodata", 1, 2, rodata_at, rodata},
      {".note", 7, 2, 0x200, note},
      {o.dynamic_symbols ? ".dynsym" : ".symtab", o.dynamic_symbols ? 11U : 2U, 0, 0, symbols, 5, 1, 24},
      {".strtab", 3, 0, 0, names},
      {".shstrtab", 3, 0, 0, {}}};
  Bytes section_names;
  std::vector<std::uint32_t> name_at;
  for (auto& p : parts) {
    name_at.push_back(static_cast<std::uint32_t>(section_names.size()));
    text(section_names, p.name);
  }
  parts.back().bytes = section_names;

  Bytes file = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, o.abi, 0, 0, 0, 0, 0, 0, 0};
  put(file, std::uint16_t{3}), put(file, std::uint16_t{224}), put(file, std::uint32_t{1});
  put(file, std::uint64_t{0}), put(file, std::uint64_t{64}), put(file, std::uint64_t{0}), put(file, o.flags);
  put(file, std::uint16_t{64}), put(file, std::uint16_t{56}), put(file, std::uint16_t{2});
  put(file, std::uint16_t{64}), put(file, static_cast<std::uint16_t>(parts.size())),
      put(file, std::uint16_t{6});
  file.resize(64 + 2 * 56, 0);
  for (auto& p : parts) {
    pad(file, 8);
    p.offset = file.size();
    file.insert(file.end(), p.bytes.begin(), p.bytes.end());
  }
  pad(file, 8);
  set(file, 40, static_cast<std::uint64_t>(file.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& p = parts[i];
    put(file, name_at[i]), put(file, p.type), put(file, p.flags), put(file, p.address), put(file, p.offset);
    put(file, static_cast<std::uint64_t>(p.bytes.size())), put(file, p.link), put(file, p.info);
    put(file, std::uint64_t{4}), put(file, p.entry);
  }
  const auto load = [&](std::size_t index, const Part& p, std::uint32_t flags) {
    const std::size_t at = 64 + 56 * index;
    set(file, at, std::uint32_t{1}), set(file, at + 4, flags), set(file, at + 8, p.offset);
    set(file, at + 16, p.address), set(file, at + 24, p.address);
    set(file, at + 32, static_cast<std::uint64_t>(p.bytes.size()));
    set(file, at + 40, static_cast<std::uint64_t>(p.bytes.size())), set(file, at + 48, std::uint64_t{4096});
  };
  load(0, parts[2], 4);
  load(1, parts[1], 5);
  return file;
}

/// A clang offload bundle of (triple, contents).
inline Bytes bundle(const std::vector<std::pair<std::string, Bytes>>& entries) {
  Bytes b;
  const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
  b.insert(b.end(), magic.begin(), magic.end());
  put(b, static_cast<std::uint64_t>(entries.size()));
  std::size_t header = b.size(), offset = 0;
  for (const auto& [triple, contents] : entries) header += 24 + triple.size();
  offset = header;
  for (const auto& [triple, contents] : entries) {
    put(b, static_cast<std::uint64_t>(offset)), put(b, static_cast<std::uint64_t>(contents.size()));
    put(b, static_cast<std::uint64_t>(triple.size()));
    b.insert(b.end(), triple.begin(), triple.end());
    offset += contents.size();
  }
  for (const auto& [triple, contents] : entries) b.insert(b.end(), contents.begin(), contents.end());
  return b;
}

} // namespace image
