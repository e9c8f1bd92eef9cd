// Geometry and `--arg` from text.
#include "exec_arguments.h"

#include <algorithm>
#include <array>

namespace inlay::cli {

using namespace runtime;

void refuse(const std::string& what, const std::string& hint) {
  throw ArgumentError(what + "\n  hint   " + hint);
}

Extent3 parse_extent(const std::string& option, std::string_view text) {
  std::array<std::uint32_t, 3> e = {1, 1, 1};
  std::size_t n = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto v = parse_number<std::uint32_t>(text.substr(begin, end - begin));
    if (n == 3 || !v || *v == 0)
      refuse(option + " " + std::string(text) + ": not one to three numbers of at least 1",
             option + " 4,2,1");
    e[n++] = *v;
    begin = end + 1;
  }
  return {e[0], e[1], e[2]};
}

namespace {

constexpr std::array<std::string_view, 15> argument_types = {"in",    "out",   "inout", "i32",  "u32",
                                                             "i64",   "u64",   "f32",   "f64",  "ptr",
                                                             "bytes", "zeros", "peers", "peer", "at"};

/// A structure passed by value: its bytes as hexadecimal digits in the order of memory, or a file of them.
std::vector<std::uint8_t> read_value_bytes(const std::string& text) {
  const bool digits = !text.empty() && text.size() % 2 == 0 &&
                      text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!digits) return read_buffer(text).data;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

} // namespace

namespace {

/// The `NAME=` of `y=out:64`; empty where there is none.
std::string_view named_part(std::string_view text) {
  const auto equals = text.find('=');
  return equals == std::string_view::npos || text.find(':') < equals ? std::string_view()
                                                                     : text.substr(0, equals);
}

bool has_argument_type(std::string_view text) {
  if (const auto name = named_part(text); !name.empty()) text.remove_prefix(name.size() + 1);
  const auto colon = text.find(':');
  return colon != std::string_view::npos && std::find(argument_types.begin(), argument_types.end(),
                                                      text.substr(0, colon)) != argument_types.end();
}

} // namespace

void take_file(std::vector<std::string>& arguments, std::string& file) {
  const auto at = std::find_if_not(arguments.begin(), arguments.end(), has_argument_type);
  if (at == arguments.end()) return;
  file = *at;
  arguments.erase(at);
}

ArgumentSpec parse_argument(const std::string& text) {
  const auto bad = [&](const std::string& why) {
    refuse("--arg " + text + ": " + why,
           "in:FILE, out:BYTES[:FILE], inout:FILE:FILE, zeros:BYTES, i32:V "
           "i64:V u32:V u64:V f32:V f64:V, ptr:0, "
           "bytes:HEX or bytes:FILE, at:K:BYTES, peers:NAME, peer:NAME:R; NAME=... for an argument by its "
           "name");
  };
  ArgumentSpec spec;
  spec.spelled = text;
  spec.name = named_part(text);
  const std::size_t begin = spec.name.empty() ? 0 : spec.name.size() + 1;
  const auto colon = text.find(':', begin);
  if (colon == std::string::npos) bad("not TYPE:VALUE");
  const std::string type = text.substr(begin, colon - begin), rest = text.substr(colon + 1);
  const auto value = [&](auto make, auto tag) {
    const auto v = parse_number<decltype(tag)>(rest);
    if (!v) bad("'" + rest + "' is no value of that type");
    spec.value = make(*v);
  };
  if (type == "in") {
    spec.contents = read_buffer(rest);
    spec.filled = true;
  } else if (type == "out") {
    const auto second = rest.find(':');
    const auto bytes = parse_number<std::uint64_t>(std::string_view(rest).substr(0, second));
    if (!bytes || (second != std::string::npos && second + 1 == rest.size()))
      bad("not out:BYTES:FILE or out:BYTES");
    if (*bytes > most_buffer_bytes) bad("more than 8 TiB");
    spec.printed = second == std::string::npos;
    if (!spec.printed) spec.output_file = rest.substr(second + 1);
    spec.zero_bytes = *bytes;
    if (spec.output_file.ends_with(".npy")) spec.contents.header = byte_header(*bytes);
  } else if (type == "zeros") {
    const auto bytes = parse_number<std::uint64_t>(rest);
    if (!bytes) bad("not zeros:BYTES");
    if (*bytes > most_buffer_bytes) bad("more than 8 TiB");
    spec.zero_bytes = *bytes;
    spec.filled = true;
  } else if (type == "inout") {
    const auto second = rest.find(':');
    if (second == std::string::npos || second == 0 || second + 1 == rest.size()) bad("not inout:FILE:FILE");
    spec.contents = read_buffer(rest.substr(0, second));
    spec.filled = true;
    spec.output_file = rest.substr(second + 1);
  } else if (type == "i32") {
    value(Argument::i32, std::int32_t{});
  } else if (type == "u32") {
    value(Argument::u32, std::uint32_t{});
  } else if (type == "i64") {
    value(Argument::i64, std::int64_t{});
  } else if (type == "u64") {
    value(Argument::u64, std::uint64_t{});
  } else if (type == "f32") {
    value(Argument::f32, float{});
  } else if (type == "f64") {
    value(Argument::f64, double{});
  } else if (type == "ptr") {
    value(Argument::pointer, std::uint64_t{});
  } else if (type == "peers" || type == "peer") {
    const auto second = type == "peer" ? rest.rfind(':') : std::string::npos;
    spec.peers = rest.substr(0, second);
    if (type == "peer") {
      spec.peer = second == std::string::npos
                      ? std::nullopt
                      : parse_number<std::uint32_t>(std::string_view(rest).substr(second + 1));
      if (!spec.peer) bad("not peer:NAME:R, R the number of a device");
    }
    if (spec.peers.empty()) bad("names no argument");
  } else if (type == "at") {
    const auto second = rest.find(':');
    const auto argument = parse_number<std::size_t>(std::string_view(rest).substr(0, second));
    const auto bytes = second == std::string::npos
                           ? std::nullopt
                           : parse_number<std::uint64_t>(std::string_view(rest).substr(second + 1));
    if (!argument || !bytes) bad("not at:K:BYTES, K the number of an argument, from 0");
    spec.same_as = argument, spec.offset = *bytes;
  } else if (type == "bytes") {
    spec.value = Argument{.spelled = text, .bytes = read_value_bytes(rest)};
  } else {
    bad("'" + type + "' is no type");
  }
  return spec;
}

std::vector<std::unique_ptr<Buffer>> make_buffers(Device& device, const std::vector<ArgumentSpec>& specs,
                                                  std::vector<Argument>& arguments, bool fill_zeros) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  const std::size_t first = arguments.size();
  for (const ArgumentSpec& s : specs) {
    if (s.value) {
      arguments.push_back(*s.value);
      buffers.push_back(nullptr);
      continue;
    }
    if (!s.peers.empty()) { // known once all devices have their buffers
      arguments.push_back(Argument::pointer(0));
      buffers.push_back(nullptr);
    } else if (s.same_as) { // which may come later
      buffers.push_back(nullptr);
      arguments.push_back(Argument::pointer(0));
    } else {
      buffers.push_back(std::make_unique<Buffer>(device, std::max<std::size_t>(1, s.bytes())));
      const Buffer& b = *buffers.back();
      if (!s.contents.data.empty()) device.copy_in(b.address(), s.contents.data);
      if (s.filled && s.zero_bytes != 0 && fill_zeros) device.fill(b.address(), 0, s.zero_bytes);
      arguments.push_back(Argument::pointer(b.address() + s.offset));
    }
    arguments.back().spelled = s.spelled.empty() ? s.name : s.spelled;
  }
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (const auto of = specs[i].same_as) {
      Argument& a = arguments[first + i];
      a = Argument::pointer(buffers.at(*of)->address() + specs[i].offset);
      a.spelled = specs[i].spelled.empty() ? specs[i].name : specs[i].spelled;
    }
  return buffers;
}

} // namespace inlay::cli
