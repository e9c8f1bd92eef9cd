#include "exec_debug.h"

#include "exec_arguments.h"

#include <inlay/runtime/kernarg.h>

#include <charconv>
#include <fmt/format.h>

namespace inlay::cli {
namespace {

using namespace runtime;

std::optional<std::uint64_t> number(std::string_view text, int base) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  std::uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// The items after the first: `wave=1`, `workgroup=0`.
WaveFilter filter(const std::string& option, const std::vector<std::string>& items, const char* example) {
  WaveFilter f;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const std::size_t equals = std::min(items[i].find('='), items[i].size());
    const std::string name = items[i].substr(0, equals);
    const auto v = number(std::string_view(items[i]).substr(std::min(equals + 1, items[i].size())), 10);
    auto* field = name == "wave" ? &f.wave : name == "workgroup" ? &f.workgroup : nullptr;
    if (field == nullptr || !v || *v > 0xffffffffU)
      refuse(option + ": '" + items[i] + "' is not understood", example);
    *field = static_cast<std::uint32_t>(*v);
  }
  return f;
}

Breakpoint parse_break(const std::string& text, const CodeObject& object) {
  const char* example = "--break 0x1720, --break kernel+0x20,wave=0,workgroup=3";
  const auto items = split(text, ',');
  Breakpoint b;
  b.where = filter("--break " + text, items, example);
  const std::string& at = items[0];
  const std::size_t plus = std::min(at.find('+'), at.size());
  const std::string name = at.substr(0, plus);
  const auto offset =
      plus == at.size() ? std::optional<std::uint64_t>(0) : number(std::string_view(at).substr(plus + 1), 16);
  if (!offset)
    refuse("--break " + text + ": '" + at.substr(plus + 1) + "' is no offset in hexadecimal", example);
  std::string names;
  for (const Symbol& s : object.symbols()) {
    if (!s.function) continue;
    if (s.name == name) {
      b.address = s.address + *offset;
      return b;
    }
    if (names.size() < 400) names += (names.empty() ? "" : ", ") + s.name;
  }
  const auto address = number(name, 16);
  if (!address || plus != at.size())
    refuse("--break " + text + ": '" + name + "' is neither a function of the code object nor an address",
           "functions: " + names + "; inlay inspect --disassemble prints the addresses");
  b.address = *address;
  return b;
}

DebugRequest::WatchText parse_watch(const std::string& text,
                                    const std::vector<std::optional<std::uint64_t>>& buffer_bytes) {
  const char* example = "--watch arg1+0x40, --watch lds:0x40/16, --watch 0x7f0012345678,wave=0,workgroup=3";
  const std::string option = "--watch " + text;
  const auto items = split(text, ',');
  DebugRequest::WatchText out;
  Watch& w = out.watch;
  w.name = items[0];
  w.where = filter(option, items, example);
  std::string at = items[0];
  if (const std::size_t slash = at.find('/'); slash != std::string::npos) {
    const auto bytes = number(std::string_view(at).substr(slash + 1), 10);
    if (!bytes || *bytes == 0 || *bytes > 4096)
      refuse(option + ": '" + at.substr(slash + 1) + "' is no number of bytes from 1 to 4096", example);
    w.bytes = *bytes;
    at.resize(slash);
  }
  std::optional<std::uint64_t> address;
  if (at.starts_with("lds:")) {
    w.lds = true;
    address = number(std::string_view(at).substr(4), 16);
  } else if (at.starts_with("arg")) {
    const std::size_t plus = std::min(at.find('+'), at.size());
    const auto n = number(std::string_view(at).substr(3, plus - 3), 10);
    address = plus == at.size() ? std::optional<std::uint64_t>(0)
                                : number(std::string_view(at).substr(plus + 1), 16);
    if (!n) refuse(option + ": '" + at.substr(0, plus) + "' names no argument", example);
    if (*n >= buffer_bytes.size() || !buffer_bytes[*n])
      refuse(fmt::format("{}: argument {} is no buffer", option, *n),
             fmt::format("{} arguments were given, counted from 0; in:, out: and inout: are buffers",
                         buffer_bytes.size()));
    out.argument = *n;
    const std::uint64_t size = *buffer_bytes[*n];
    if (address && (*address > size || w.bytes > size - *address))
      refuse(fmt::format("{}: argument {} has {} bytes", option, *n, size), example);
  } else {
    address = number(at, 16);
  }
  if (!address) refuse(option + ": '" + at + "' is no address in hexadecimal", example);
  w.address = *address;
  return out;
}

nlohmann::ordered_json site_json(const DebugSite& s) {
  nlohmann::ordered_json j = {{"address", s.address},
                              {"disassembly", s.disassembly},
                              {"workgroup", {s.workgroup.x, s.workgroup.y, s.workgroup.z}},
                              {"wave", s.wave}};
  if (s.source) j["source"] = to_json(*s.source);
  return j;
}

} // namespace

DebugRequest parse_debug(const std::vector<std::string>& breaks, const std::vector<std::string>& dumps,
                         const std::vector<std::string>& watches, std::optional<std::uint32_t> hits,
                         const CodeObject& object,
                         const std::vector<std::optional<std::uint64_t>>& buffer_bytes) {
  DebugRequest out;
  for (const auto& text : breaks) out.breakpoints.push_back(parse_break(text, object));
  for (const auto& text : dumps)
    for (const auto& name : split(text, ',')) out.dump.push_back(RegisterRange::parse(name));
  for (const auto& text : watches) out.watches.push_back(parse_watch(text, buffer_bytes));
  out.hits = hits;
  if (!out.dump.empty() && out.breakpoints.empty())
    refuse("--dump says which registers a breakpoint prints, and there is none",
           "--break ADDRESS --dump v[0:3]");
  return out;
}

DebugOptions debug_options(const DebugRequest& request, const std::vector<std::uint64_t>& addresses) {
  DebugOptions d;
  d.breakpoints = request.breakpoints;
  d.dump = request.dump;
  for (const auto& w : request.watches) {
    d.watches.push_back(w.watch);
    if (w.argument) d.watches.back().address += addresses.at(*w.argument);
  }
  d.hits = request.hits.value_or(1);
  d.accesses = request.hits.value_or(0);
  return d;
}

nlohmann::ordered_json to_json(const isa::SourceLine& s) {
  nlohmann::ordered_json j = {{"file", s.file}, {"line", s.line}};
  if (s.column != 0) j["column"] = s.column;
  return j;
}

nlohmann::ordered_json to_json(const BreakHit& h) {
  auto j = site_json(h.site);
  j["hit"] = h.hit;
  j["exec"] = h.exec;
  j["registers"] = nlohmann::ordered_json::object();
  for (const RegisterValue& r : h.registers) {
    if (r.lanes.empty()) {
      j["registers"][r.name] = r.value;
    } else {
      j["registers"][r.name] = r.lanes;
    }
  }
  return j;
}

nlohmann::ordered_json to_json(const WatchHit& h) {
  auto j = site_json(h.site);
  j["lane"] = h.lane;
  j["watch"] = h.watch;
  j["access"] = std::string(to_string(h.access));
  j["memory_address"] = h.address;
  j["before"] = h.before;
  j["after"] = h.after;
  return j;
}

} // namespace inlay::cli
