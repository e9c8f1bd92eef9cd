// The prebuilt kernels by name, and what options are read with.
#include "kernels.h"
#include "options.h"

#include <inlay/kernels/groups.h>

#include <inlay/algebra/nearest.h>

#include <charconv>

namespace inlay::kernels {

std::vector<std::unique_ptr<Kernel>> registry() {
  std::vector<std::unique_ptr<Kernel>> kernels;
#define INLAY_ENTER(name) kernels.push_back(name##_kernel());
#define INLAY_NO_GROUP(title)
  INLAY_KERNELS(INLAY_ENTER, INLAY_NO_GROUP)
#undef INLAY_NO_GROUP
#undef INLAY_ENTER
  return kernels;
}

std::vector<KernelGroup> kernel_groups() {
  std::vector<KernelGroup> groups;
#define INLAY_ENTER(name) groups.back().kernels.emplace_back(#name);
#define INLAY_GROUP(title) groups.push_back({title, {}});
  INLAY_KERNELS(INLAY_ENTER, INLAY_GROUP)
#undef INLAY_GROUP
#undef INLAY_ENTER
  return groups;
}

std::unique_ptr<Kernel> find_kernel(const std::string& name) {
  std::string known;
  std::vector<std::string> names;
  for (std::unique_ptr<Kernel>& kernel : registry()) {
    if (kernel->name() == name) return std::move(kernel);
    names.push_back(kernel->name());
    known += (known.empty() ? "" : ", ") + names.back();
  }
  const std::string meant = did_you_mean(name, names);
  throw std::invalid_argument(fmt::format("there is no kernel '{}'\n  hint   {}{}", name, meant,
                                          meant.empty() ? known : "inlay kernels lists all"));
}

std::optional<bool> yes_or_no(std::string_view text) {
  std::string small;
  for (const char c : text) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto* word : {"yes", "true", "on", "1"})
    if (small == word) return true;
  for (const auto* word : {"no", "false", "off", "0"})
    if (small == word) return false;
  return {};
}

std::optional<std::int64_t> number_in(const std::string& text, std::int64_t lower, std::int64_t upper) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lower || value > upper) return {};
  return value;
}

std::optional<std::vector<int>> product_of(const std::string& text, std::size_t count) {
  std::vector<int> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto value = number_in(text.substr(begin, end - begin), 0, 9999);
    if (!value || text[begin] == '-') return {};
    values.push_back(static_cast<int>(*value));
    begin = end + 1;
  }
  if (values.size() != count) return {};
  return values;
}

} // namespace inlay::kernels
