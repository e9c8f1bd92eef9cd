/// Where elements lie and which coordinates a work-item has: by the digits of layouts, in plain integers.
///
/// Computed from a Tensor's place and an Access alone. Claims, emitter and the formulas of this folder take addresses from
/// codegen::split, Tensor::at and thread_coordinates; nothing here calls any of them, so that what they say can be compared.
///
///     place of (i, j) in ((16, m/16), k):((1, 16 k), 16)  =  i % 16 + 16 k (i / 16) + 16 j
#pragma once

#include <inlay/codegen/code.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace inlay::kernels::validate {

class Places {
public:
  /// `numbers`: for all symbols that places in global memory are made of.
  Places(const codegen::Program& program, const Assignment& numbers)
      : program_(&program), numbers_(&numbers) {}
  /// The element number of a coordinate. The last digit of a mode takes what is left, so that outside is outside.
  [[nodiscard]] std::int64_t of(const codegen::Tensor& tensor, std::span<const std::int64_t> coordinate);
  /// Of a window: the coordinate of what it looks at; none outside of that.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> seen(const codegen::Tensor& window,
                                                              std::span<const std::int64_t> coordinate) const;
  /// What a thread has of a coordinate's axis.
  [[nodiscard]] static std::vector<std::int64_t> along(const Layout& threads, int count, std::size_t axis);

  /// The same for all sizes, as formulas: the element number of a coordinate, and what a window's coordinate looks at, which may
  /// lie outside. `quotients`: what digits but the first of each axis are made of; where these are equal at both ends of a run
  /// along one axis, they are in it, since a quotient never falls, and the formula is linear there.
  [[nodiscard]] static Sym formula(const codegen::Tensor& tensor, std::span<const Sym> coordinate,
                                   std::vector<Sym>* quotients = nullptr);
  [[nodiscard]] static std::vector<Sym> seen_formula(const codegen::Tensor& window,
                                                     std::span<const Sym> coordinate,
                                                     std::vector<Sym>* quotients = nullptr);

private:
  struct Digit {
    std::int64_t extent, stride;
  };
  const std::vector<std::vector<Digit>>& digits(const codegen::Tensor& tensor);
  const codegen::Program* program_;
  const Assignment* numbers_;
  std::map<int, std::vector<std::vector<Digit>>> digits_; ///< [axis], by tensor
};

} // namespace inlay::kernels::validate
