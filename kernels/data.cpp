#include "data.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace inlay::kernels {
namespace {

/// Calls `f` with a value of the Eigen or built-in type that stands for `type`.
template <class F>
auto with_type(Element type, F f) {
  switch (type) {
  case Element::f16: return f(Eigen::half());
  case Element::bf16: return f(Eigen::bfloat16());
  default: return f(float());
  }
}

} // namespace

LaunchArgument LaunchArgument::of_i32(std::int32_t value) {
  LaunchArgument argument;
  argument.scalar.resize(sizeof value);
  std::memcpy(argument.scalar.data(), &value, sizeof value);
  return argument;
}

namespace {

/// Types that Eigen has not: by the table of element types, code by code.
bool by_table(Element type) { return type != Element::f16 && type != Element::bf16 && type != Element::f32; }

} // namespace

double uniform(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63);
}

Matrix random_matrix(std::int64_t rows, std::int64_t columns, Element type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (by_table(type)) {
    Matrix values(rows, columns);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const auto drawn = static_cast<double>(static_cast<std::int64_t>(random()));
      if (codegen::bits(type) < 8) { // a code
        values.data()[i] = codegen::decode(
            type, static_cast<std::uint64_t>(std::floor(std::ldexp(drawn, codegen::bits(type) - 64)) +
                                             std::ldexp(1, codegen::bits(type) - 1)));
        continue;
      }
      const double whole =
          std::floor(std::ldexp(drawn, codegen::bits(type) - 64)); // every integer of the type
      values.data()[i] = codegen::is_integer(type)
                             ? whole
                             : codegen::decode(type, codegen::encode(type, std::ldexp(drawn, -63)));
    }
    return values;
  }
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Matrix values(rows, columns);
    for (std::int64_t i = 0; i < values.size(); ++i)
      values.data()[i] = static_cast<double>(T(static_cast<float>(uniform(random))));
    return values;
  });
}

Bytes to_bytes(const Matrix& values, Element type) {
  if (by_table(type)) {
    Bytes bytes(static_cast<std::size_t>(bytes_of(type, values.size())));
    for (std::int64_t i = 0; i < values.size(); ++i)
      put_code(bytes, static_cast<std::size_t>(i), type, codegen::encode(type, values.data()[i]));
    return bytes;
  }
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Bytes bytes(static_cast<std::size_t>(values.size()) * sizeof(T));
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const T element(static_cast<float>(values.data()[i]));
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &element, sizeof(T));
    }
    return bytes;
  });
}

Matrix from_bytes(std::span<const std::byte> bytes, std::int64_t rows, std::int64_t columns, Element type) {
  if (by_table(type)) {
    Matrix values(rows, columns);
    for (std::int64_t i = 0; i < values.size(); ++i)
      values.data()[i] = codegen::decode(type, code_at(bytes, static_cast<std::size_t>(i), type));
    return values;
  }
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    Matrix values(rows, columns);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      values.data()[i] = static_cast<double>(element);
    }
    return values;
  });
}

Bytes poison(std::size_t bytes) { return Bytes(bytes, std::byte{0xff}); }

Check compare(const Matrix& result, const Matrix& reference, const Matrix& bound, const std::string& formula,
              std::int64_t row, std::int64_t column) {
  Check check;
  check.bound = formula;
  check.ok = true;
  for (std::int64_t i = 0; i < result.rows(); ++i)
    for (std::int64_t j = 0; j < result.cols(); ++j) {
      const double error = std::abs(result(i, j) - reference(i, j));
      const bool within = result(i, j) == reference(i, j) || error <= bound(i, j); // infinities, too; not NaN
      if (!within && check.ok) {
        check.ok = false;
        check.message = fmt::format("element ({},{}): {} where the reference has {}, bound {:.3g}", row + i,
                                    column + j, result(i, j), reference(i, j), bound(i, j));
      }
      if (std::isnan(error)) continue;
      check.max_abs_error = std::max(check.max_abs_error, error);
      if (reference(i, j) != 0)
        check.max_rel_error = std::max(check.max_rel_error, error / std::abs(reference(i, j)));
      if (bound(i, j) > 0) check.worst_of_bound = std::max(check.worst_of_bound, error / bound(i, j));
    }
  return check;
}

Check both(const Check& a, const Check& b) {
  Check check = a;
  check.ok = a.ok && b.ok;
  check.max_abs_error = std::max(a.max_abs_error, b.max_abs_error);
  check.max_rel_error = std::max(a.max_rel_error, b.max_rel_error);
  check.worst_of_bound = std::max(a.worst_of_bound, b.worst_of_bound);
  if (a.message.empty()) check.message = b.message;
  return check;
}

} // namespace inlay::kernels
