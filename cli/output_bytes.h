/// What a launch left in an output: of memory larger than the host's, the pages alone that something has touched.
#pragma once

#include <inlay/runtime/device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inlay::cli {

/// `size` bytes, 0 but for the pieces, which are ascending and apart.
///
///     OutputBytes::read(device, p, 1 << 40).first(4)   // 4 bytes; of the terabyte only what was written was copied
class OutputBytes {
public:
  /// `pointer` begins an allocation of at least `size` bytes. Errors: DeviceError.
  [[nodiscard]] static OutputBytes read(runtime::Device& device, runtime::DevicePointer pointer,
                                        std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The first `count` bytes, or all of them.
  [[nodiscard]] std::vector<std::uint8_t> first(std::uint64_t count) const;

  struct Difference {
    std::uint64_t at = 0;
    std::uint8_t mine = 0, other = 0;
  };
  /// The first byte that is another in `other`, of the same size.
  [[nodiscard]] std::optional<Difference> difference(const OutputBytes& other) const;

  /// Header and bytes as a file, with holes where nothing was touched. Errors: std::runtime_error.
  void write(const std::string& file, const std::vector<std::uint8_t>& header) const;

private:
  struct Piece {
    std::uint64_t begin = 0;
    std::vector<std::uint8_t> bytes;
    [[nodiscard]] std::uint64_t end() const { return begin + bytes.size(); }
  };
  [[nodiscard]] std::vector<std::uint8_t> range(std::uint64_t begin, std::uint64_t count) const;

  std::uint64_t size_ = 0;
  std::vector<Piece> pieces_;
};

} // namespace inlay::cli
