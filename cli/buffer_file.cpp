#include "buffer_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace inlay::cli {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

[[noreturn]] void bad(const std::string& file, const std::string& what) {
  throw std::invalid_argument(file + ": .npy file, " + what);
}

/// The text after 'key': in the header's dictionary.
std::string_view field(const std::string& file, std::string_view text, std::string_view key) {
  const auto at = text.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) bad(file, "its header has no " + std::string(key));
  auto rest = text.substr(at + key.size() + 2);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) bad(file, "its header is no dictionary");
  rest.remove_prefix(colon + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

/// Bytes of one element: the number at the end of a type string such as '<f4' or '|V2'.
std::uint64_t element_bytes(const std::string& file, std::string_view text) {
  if (text.size() < 4 || text.front() != '\'') bad(file, "structured types are not read");
  const auto name = text.substr(1, text.substr(1).find('\''));
  if (name.starts_with('>')) bad(file, "its data is big-endian");
  if (name.find('O') != std::string_view::npos) bad(file, "it holds Python objects");
  std::uint64_t bytes = 0;
  const auto digits = name.substr(std::min<std::size_t>(2, name.size()));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (error != std::errc() || end != digits.data() + digits.size() || bytes == 0)
    bad(file, "its element type is not read");
  if (name[1] == 'U') bytes *= 4;
  return bytes;
}

std::vector<std::uint64_t> shape_of(const std::string& file, std::string_view text) {
  if (!text.starts_with('(')) bad(file, "its shape is no tuple");
  std::vector<std::uint64_t> shape;
  for (std::size_t at = 1; at < text.size() && text[at] != ')';) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    std::uint64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), extent);
    if (error != std::errc()) bad(file, "its shape is no tuple of numbers");
    at = static_cast<std::size_t>(end - text.data());
    shape.push_back(extent);
  }
  return shape;
}

std::uint64_t product_of(const std::string& file, const std::vector<std::uint64_t>& shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product)) bad(file, "its shape is larger than memory");
  return product;
}

} // namespace

BufferFile read_buffer(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": cannot be opened");
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw std::runtime_error(file + ": cannot be read");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic)) return {{}, std::move(bytes), {}, {}};
  if (bytes.size() < 10) bad(file, "it is cut inside its header");
  const bool wide = bytes[6] >= 2; // version 1 has a 16-bit length, 2 and 3 a 32-bit one
  const std::size_t start = wide ? 12 : 10;
  if (bytes.size() < start) bad(file, "it is cut inside its header");
  std::size_t length = bytes[8] | (static_cast<std::size_t>(bytes[9]) << 8);
  if (wide)
    length |= (static_cast<std::size_t>(bytes[10]) << 16) | (static_cast<std::size_t>(bytes[11]) << 24);
  if (length > bytes.size() - start) bad(file, "it is cut inside its header");
  const auto header = text.substr(start, length);
  const std::string_view descr = field(file, header, "descr");
  const std::uint64_t element = element_bytes(file, descr);
  BufferFile result;
  result.shape = shape_of(file, field(file, header, "shape"));
  const std::uint64_t count = product_of(file, result.shape);
  const auto long_axes =
      std::count_if(result.shape.begin(), result.shape.end(), [](auto n) { return n > 1; });
  if (long_axes > 1 && !field(file, header, "fortran_order").starts_with("False"))
    bad(file, "its columns lie one after the other (fortran_order)\n  hint   numpy.ascontiguousarray before "
              "numpy.save");
  const std::size_t data = start + length;
  std::uint64_t expected = 0;
  if (__builtin_mul_overflow(element, count, &expected) || expected != bytes.size() - data)
    bad(file, "its header describes " + std::to_string(count) + " elements of " + std::to_string(element) +
                  " bytes, but " + std::to_string(bytes.size() - data) + " bytes follow");
  result.descr = descr.substr(1, descr.substr(1).find('\''));
  result.header.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(data));
  result.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(data), bytes.end());
  return result;
}

std::vector<std::uint8_t> byte_header(std::uint64_t bytes) {
  std::string dictionary =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(bytes) + ",), }";
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header(magic);
  header +=
      {'\1', '\0', static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  header += dictionary;
  return {header.begin(), header.end()};
}

} // namespace inlay::cli
