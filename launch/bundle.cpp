#include <inlay/launch/bundle.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace inlay::launch {

namespace {

using Json = nlohmann::ordered_json;

constexpr char magic[16] = "INLAY BUNDLE 1\n";
constexpr std::size_t head = sizeof magic + 8;

std::vector<std::uint8_t> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read '" + file + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

Bundle::Bundle(std::vector<Entry> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (entries_[i].manifest.kernel == entries_[j].manifest.kernel &&
          entries_[i].manifest.arch == entries_[j].manifest.arch)
        throw LaunchError("bundle: two kernels are " + entries_[i].manifest.kernel + " for " +
                              entries_[i].manifest.arch,
                          "inlay build KERNEL --name NAME gives one another name");
}

Bundle Bundle::parse(const std::vector<std::uint8_t>& bytes, const std::string& whose) {
  const auto fail = [&](const std::string& why) {
    throw LaunchError(whose + ": " + why, "inlay bundle writes these files");
  };
  if (bytes.size() < head || std::memcmp(bytes.data(), magic, sizeof magic) != 0) fail("is no bundle");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{bytes[sizeof magic + i]} << (8 * i);
  if (length > bytes.size() - head) fail("ends within its index");
  std::vector<Entry> entries;
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + head;
    for (const Json& e : Json::parse(text, text + length)) {
      const auto offset = e.at("offset").get<std::uint64_t>(), count = e.at("bytes").get<std::uint64_t>();
      if (offset > bytes.size() || count > bytes.size() - offset) fail("a code object lies beyond its end");
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
      entries.push_back({Manifest::parse(e.at("manifest").dump(), whose),
                         {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    }
  } catch (const nlohmann::json::exception& e) {
    fail(std::string("its index is damaged: ") + e.what());
  }
  return Bundle(std::move(entries));
}

Bundle Bundle::read(const std::string& file) {
  const auto bytes = read_file(file);
  if (bytes.size() >= sizeof magic && std::memcmp(bytes.data(), magic, sizeof magic) == 0)
    return parse(bytes, file);
  Manifest m = Manifest::parse({bytes.begin(), bytes.end()}, file);
  if (m.code.empty())
    throw LaunchError(file + ": field \"code\": names no code object", "\"code\": \"kernel.hsaco\"");
  const auto slash = file.rfind('/');
  const std::string folder =
      slash == std::string::npos || m.code.front() == '/' ? "" : file.substr(0, slash + 1);
  auto code = read_file(folder + m.code);
  std::vector<Entry> one;
  one.push_back({std::move(m), std::move(code)});
  return Bundle(std::move(one));
}

std::vector<std::uint8_t> Bundle::bytes() const {
  // The index says where the code objects lie, which its own length moves: offsets have room for themselves from the start.
  std::string index;
  std::size_t end = 0;
  for (std::size_t length = 0;;) {
    end = head + length;
    Json list = Json::array();
    for (const Entry& e : entries_) {
      end = (end + 63) / 64 * 64;
      list.push_back(
          {{"manifest", Json::parse(e.manifest.text())}, {"offset", end}, {"bytes", e.code.size()}});
      end += e.code.size();
    }
    index = list.dump();
    if (index.size() <= length) {
      index.resize(length, ' ');
      break;
    }
    length = index.size() + 16 * entries_.size();
  }
  std::vector<std::uint8_t> out(end, 0);
  std::memcpy(out.data(), magic, sizeof magic);
  for (std::size_t i = 0; i < 8; ++i)
    out[sizeof magic + i] = static_cast<std::uint8_t>(index.size() >> (8 * i));
  std::memcpy(out.data() + head, index.data(), index.size());
  std::size_t at = head + index.size();
  for (const Entry& e : entries_) {
    at = (at + 63) / 64 * 64;
    std::copy(e.code.begin(), e.code.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    at += e.code.size();
  }
  return out;
}

const Bundle::Entry& Bundle::find(const std::string& kernel, const std::string& arch) const {
  std::string there;
  for (const Entry& e : entries_) {
    if ((kernel.empty() ? entries_.size() == 1 : e.manifest.kernel == kernel) &&
        (arch.empty() || e.manifest.arch == arch))
      return e;
    there += (there.empty() ? "" : ", ") + e.manifest.kernel + " for " + e.manifest.arch;
  }
  throw LaunchError("no kernel '" + kernel + "' for " + (arch.empty() ? "any processor" : arch),
                    "there are: " + (there.empty() ? "none" : there));
}

} // namespace inlay::launch
