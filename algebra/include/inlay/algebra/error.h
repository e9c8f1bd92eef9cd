/// Errors of the algebra: what the user may get wrong, and what only we can get wrong.
///
/// A `LayoutError` is a user error. It carries its facts as fields, so that a program can react to them, and
/// renders them for people, always with the operands and, where there is one, a way out:
///
///     composition: extent does not divide
///       left   (6,2):(8,2)        right  5:3
///       where  right mode 0: 5 is cut at 6/3 = 2 by left mode 0 (6:8), and 2 does not divide 5
///       hint   extents that divide and stay inside the 12 elements of left: 1, 2, 4
///
/// An `InternalError` says that the library contradicts itself: it is thrown by `INLAY_CHECK`, which is never
/// compiled out, and the command line turns it into exit status 70.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

/// The facts of a `LayoutError`. Every field but the first three may be empty.
struct ErrorFields {
  std::string code;      ///< stable, for programs: `shape_divisibility`, `overflow`, `syntax`, ...
  std::string operation; ///< `composition`
  std::string summary;   ///< `extent does not divide`
  std::vector<std::pair<std::string, std::string>> operands; ///< {`left`, `(6,2):(8,2)`}, ...
  std::string where;                                         ///< which mode, with the numbers in words
  std::vector<std::pair<std::string, std::string>> numbers;  ///< the numbers as data: {`extent`, `5`}, ...
  std::string hint;                                          ///< what would be accepted
};

/// A request that has no meaning or no answer: wrong text, a precondition that does not hold, a number too
/// large.
class LayoutError : public std::invalid_argument {
public:
  explicit LayoutError(ErrorFields fields);

  [[nodiscard]] const ErrorFields& fields() const { return fields_; }
  [[nodiscard]] const std::string& code() const { return fields_.code; }

private:
  ErrorFields fields_;
};

/// The text that `LayoutError::what()` returns.
[[nodiscard]] std::string render(const ErrorFields& fields);

/// A 64-bit result did not fit. Operations on `Layout` catch it and start again with big integers.
class OverflowError : public LayoutError {
public:
  using LayoutError::LayoutError;
};

/// The library contradicts itself; never the user's fault.
class InternalError : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view message);
[[noreturn]] void throw_overflow(const char* operation, long long left, long long right);
[[noreturn]] void throw_division_by_zero(const char* operation, long long left);
} // namespace detail

} // namespace inlay

/// Always on: `INLAY_CHECK(size == product, "size of a complement")`.
#define INLAY_CHECK(condition, message)                                                                      \
  ((condition) ? void() : ::inlay::detail::check_failed(#condition, __FILE__, __LINE__, message))
