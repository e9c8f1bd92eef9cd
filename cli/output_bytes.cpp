#include "output_bytes.h"

#include <inlay/runtime/emulator.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace inlay::cli {

OutputBytes OutputBytes::read(runtime::Device& device, runtime::DevicePointer pointer, std::uint64_t size) {
  OutputBytes out;
  out.size_ = size;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touched = {{0, size}};
  if (const auto* emulator = dynamic_cast<const runtime::EmulatorDevice*>(&device); emulator != nullptr)
    touched = emulator->touched(pointer);
  for (const auto& [begin, end] : touched) {
    if (begin >= size || begin == end) continue;
    out.pieces_.push_back({begin, std::vector<std::uint8_t>(std::min(end, size) - begin)});
    device.copy_out(out.pieces_.back().bytes, pointer + begin);
  }
  return out;
}

std::vector<std::uint8_t> OutputBytes::range(std::uint64_t begin, std::uint64_t count) const {
  std::vector<std::uint8_t> out(count);
  for (const Piece& p : pieces_) {
    const std::uint64_t from = std::max(begin, p.begin), to = std::min(begin + count, p.end());
    if (from >= to) continue;
    const auto first = p.bytes.begin() + static_cast<std::ptrdiff_t>(from - p.begin);
    std::copy(first, first + static_cast<std::ptrdiff_t>(to - from),
              out.begin() + static_cast<std::ptrdiff_t>(from - begin));
  }
  return out;
}

std::vector<std::uint8_t> OutputBytes::first(std::uint64_t count) const {
  return range(0, std::min(count, size_));
}

std::optional<OutputBytes::Difference> OutputBytes::difference(const OutputBytes& other) const {
  std::optional<Difference> out;
  const auto look = [&](const OutputBytes& x, const OutputBytes& y, bool mine) {
    for (const Piece& p : x.pieces_) {
      if (out && out->at <= p.begin) return;
      const std::vector<std::uint8_t> there = y.range(p.begin, p.bytes.size());
      const auto [here, at] = std::mismatch(p.bytes.begin(), p.bytes.end(), there.begin());
      if (here == p.bytes.end()) continue;
      out = Difference{p.begin + static_cast<std::uint64_t>(here - p.bytes.begin()), mine ? *here : *at,
                       mine ? *at : *here};
      return;
    }
  };
  look(*this, other, true);
  look(other, *this, false);
  return out;
}

void OutputBytes::write(const std::string& file, const std::vector<std::uint8_t>& header) const {
  std::ofstream out(file, std::ios::binary);
  const bool holes = std::filesystem::is_regular_file(file); // and no pipe
  const auto put = [&](const std::vector<std::uint8_t>& b) {
    out.write(reinterpret_cast<const char*>(b.data()), static_cast<std::streamsize>(b.size()));
  };
  const auto skip = [&](std::uint64_t count) {
    static const std::vector<std::uint8_t> zeros(1 << 16);
    for (; !holes && out && count > zeros.size(); count -= zeros.size()) put(zeros);
    if (holes)
      out.seekp(static_cast<std::streamoff>(count), std::ios::cur);
    else
      out.write(reinterpret_cast<const char*>(zeros.data()), static_cast<std::streamsize>(count));
  };
  put(header);
  std::uint64_t at = 0;
  for (const Piece& p : pieces_) {
    skip(p.begin - at);
    put(p.bytes);
    at = p.end();
  }
  if (!holes) skip(size_ - at);
  out.close();
  std::error_code failed;
  if (out && holes && at < size_) std::filesystem::resize_file(file, header.size() + size_, failed);
  if (!out || failed) throw std::runtime_error(file + ": cannot be written");
}

} // namespace inlay::cli
