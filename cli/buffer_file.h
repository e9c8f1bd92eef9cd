/// Files that fill and receive device buffers: .npy (NumPy's format, whose header is kept) or raw bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inlay::cli {

/// A file's contents: `header` is what stands before the data of a .npy file, empty for raw bytes.
struct BufferFile {
  std::vector<std::uint8_t> header, data;
  std::string descr;                  ///< of a .npy file: NumPy's name of its elements' type, `<f4`
  std::vector<std::uint64_t> shape{}; ///< of a .npy file
};

/// Reads FILE; by its first bytes, not its name, it is .npy or raw. Errors: std::runtime_error when it cannot be read,
/// std::invalid_argument when it is a .npy whose header does not describe its data, or says that columns come first.
/// Source: NumPy documentation, "numpy.lib.format", versions 1.0 to 3.0.
[[nodiscard]] BufferFile read_buffer(const std::string& file);

/// The header of a one-dimensional array of `bytes` bytes: what an output without an input gets in a .npy file.
[[nodiscard]] std::vector<std::uint8_t> byte_header(std::uint64_t bytes);

} // namespace inlay::cli
