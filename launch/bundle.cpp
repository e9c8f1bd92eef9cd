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
constexpr const char* how_bundles_come = "inlay bundle writes these files, and inlay build --for";

std::vector<std::uint8_t> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read '" + file + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Where a code object of the index lies, and it.
Bundle::Entry::Code code_of(const Json& at, const std::vector<std::uint8_t>& bytes,
                            const std::string& whose) {
  const auto offset = at.at("offset").get<std::uint64_t>(), count = at.at("bytes").get<std::uint64_t>();
  if (offset > bytes.size() || count > bytes.size() - offset)
    throw LaunchError(whose + ": a code object lies beyond its end", how_bundles_come);
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

Bundle::Entry entry_of(const Json& e, const std::vector<std::uint8_t>& bytes, const std::string& whose) {
  if (!e.contains("forms"))
    return {Manifest::parse(e.at("manifest").dump(), whose), code_of(e, bytes, whose)};
  std::vector<Forms::Form> forms;
  std::vector<Bundle::Entry::Code> code;
  for (const Json& f : e.at("forms")) {
    forms.push_back({Manifest::parse(f.at("manifest").dump(), whose), f.at("options").get<std::string>()});
    code.push_back(code_of(f, bytes, whose));
  }
  return {Forms::parse(std::move(forms), e.at("table").dump(), whose), std::move(code)};
}

} // namespace

Bundle::Entry::Entry(Forms several, std::vector<Code> objects)
    : forms(std::move(several)), code(std::move(objects)) {
  if (code.size() != forms.forms().size())
    throw LaunchError(kernel() + ": " + std::to_string(forms.forms().size()) + " forms, and " +
                          std::to_string(code.size()) + " code objects",
                      "one of each");
}

Bundle::Bundle(std::vector<Entry> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (entries_[i].kernel() == entries_[j].kernel() && entries_[i].arch() == entries_[j].arch())
        throw LaunchError(
            "bundle: two kernels are " + entries_[i].kernel() + " for " + entries_[i].arch(),
            "a bundle finds a kernel by its name and processor: one of the two in another bundle");
}

Bundle Bundle::parse(const std::vector<std::uint8_t>& bytes, const std::string& whose) {
  const auto fail = [&](const std::string& why) { throw LaunchError(whose + ": " + why, how_bundles_come); };
  if (bytes.size() < head || std::memcmp(bytes.data(), magic, sizeof magic) != 0) fail("is no bundle");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{bytes[sizeof magic + i]} << (8 * i);
  if (length > bytes.size() - head) fail("ends within its index");
  std::vector<Entry> entries;
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + head;
    for (const Json& e : Json::parse(text, text + length)) entries.push_back(entry_of(e, bytes, whose));
  } catch (const nlohmann::json::exception& e) {
    fail(std::string("its index is damaged: ") + e.what());
  }
  return Bundle(std::move(entries));
}

bool Bundle::is_bundle(std::string_view bytes) { return bytes.starts_with({magic, sizeof magic}); }

Bundle Bundle::read(const std::string& file) {
  const auto bytes = read_file(file);
  if (is_bundle({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return parse(bytes, file);
  Manifest m = Manifest::parse({bytes.begin(), bytes.end()}, file);
  if (m.code.empty())
    throw LaunchError(file + ": field \"code\": names no code object", "\"code\": \"kernel.hsaco\"");
  const auto slash = file.rfind('/');
  const std::string folder =
      slash == std::string::npos || m.code.front() == '/' ? "" : file.substr(0, slash + 1);
  auto code = read_file(folder + m.code);
  return Bundle({Entry(std::move(m), std::move(code))});
}

std::vector<std::uint8_t> Bundle::bytes() const {
  // The index says where the code objects lie, which its own length moves: offsets have room for themselves from the start.
  std::string index;
  std::size_t end = 0, objects = 0;
  for (std::size_t length = 0;;) {
    end = head + length;
    Json list = Json::array();
    objects = 0;
    for (const Entry& e : entries_) {
      Json forms = Json::array();
      for (std::size_t f = 0; f < e.code.size(); ++f) {
        end = (end + 63) / 64 * 64;
        forms.push_back({{"manifest", Json::parse(e.forms.forms()[f].manifest.text())},
                         {"offset", end},
                         {"bytes", e.code[f].size()}});
        end += e.code[f].size(), ++objects;
      }
      if (e.forms.ranges().empty()) {
        list.push_back(std::move(forms[0]));
        continue;
      }
      for (std::size_t f = 0; f < e.code.size(); ++f) forms[f]["options"] = e.forms.forms()[f].options;
      list.push_back({{"forms", std::move(forms)}, {"table", Json::parse(e.forms.table_text())}});
    }
    index = list.dump();
    if (index.size() <= length) {
      index.resize(length, ' ');
      break;
    }
    length = index.size() + 16 * objects;
  }
  std::vector<std::uint8_t> out(end, 0);
  std::memcpy(out.data(), magic, sizeof magic);
  for (std::size_t i = 0; i < 8; ++i)
    out[sizeof magic + i] = static_cast<std::uint8_t>(index.size() >> (8 * i));
  std::memcpy(out.data() + head, index.data(), index.size());
  std::size_t at = head + index.size();
  for (const Entry& e : entries_)
    for (const Entry::Code& code : e.code) {
      at = (at + 63) / 64 * 64;
      std::copy(code.begin(), code.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
      at += code.size();
    }
  return out;
}

const Bundle::Entry& Bundle::find(const std::string& kernel, const std::string& arch) const {
  std::string there;
  for (const Entry& e : entries_) {
    if ((kernel.empty() ? entries_.size() == 1 : e.kernel() == kernel) && (arch.empty() || e.arch() == arch))
      return e;
    there += (there.empty() ? "" : ", ") + e.kernel() + " for " + e.arch();
  }
  throw LaunchError("no kernel '" + kernel + "' for " + (arch.empty() ? "any processor" : arch),
                    "there are: " + (there.empty() ? "none" : there));
}

} // namespace inlay::launch
