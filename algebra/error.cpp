#include <inlay/algebra/error.h>

namespace inlay {
namespace {

constexpr std::size_t longest_line = 96; // operands share one line while they fit

std::string operand_lines(const ErrorFields& fields) {
  std::string line;
  std::string lines;
  for (const auto& [name, text] : fields.operands) {
    std::string item = name + std::string(name.size() < 7 ? 7 - name.size() : 1, ' ') + text;
    if (!line.empty() && line.size() + item.size() + 8 > longest_line) {
      lines += "\n  " + line;
      line.clear();
    }
    line += (line.empty() ? "" : "        ") + item;
  }
  return line.empty() ? lines : lines + "\n  " + line;
}

} // namespace

std::string render(const ErrorFields& fields) {
  std::string text = fields.operation.empty() ? fields.summary : fields.operation + ": " + fields.summary;
  text += operand_lines(fields);
  if (!fields.where.empty()) text += "\n  where  " + fields.where;
  if (!fields.hint.empty()) text += "\n  hint   " + fields.hint;
  return text;
}

LayoutError::LayoutError(ErrorFields fields)
    : std::invalid_argument(render(fields)), fields_(std::move(fields)) {}

namespace detail {

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::string_view path = file;
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  throw InternalError(std::string(message) + " (" + condition + ", " + std::string(path) + ":" +
                      std::to_string(line) + ")");
}

void throw_overflow(const char* operation, long long left, long long right) {
  const std::string l = std::to_string(left);
  const std::string r = std::to_string(right);
  throw OverflowError({"overflow",
                       "integers",
                       "the result does not fit in 64 bits",
                       {},
                       l + " " + operation + " " + r,
                       {{"left", l}, {"right", r}},
                       "numbers lie in -2^63 .. 2^63 - 1"});
}

void throw_division_by_zero(const char* operation, long long left) {
  const std::string l = std::to_string(left);
  throw LayoutError({"division_by_zero",
                     "integers",
                     "division by zero",
                     {},
                     l + " " + operation + " 0",
                     {{"left", l}},
                     ""});
}

} // namespace detail
} // namespace inlay
