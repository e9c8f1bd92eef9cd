// The prebuilt kernels by name, and the reading of their options. A new kernel is one line in `registry`.
#include "flags.h"

#include "kernels.h"

#include <charconv>
#include <fmt/format.h>

namespace inlay::kernels {

std::vector<std::unique_ptr<Kernel>> registry() {
  std::vector<std::unique_ptr<Kernel>> kernels;
  kernels.push_back(gemm_kernel());
  kernels.push_back(preshuffle_gemm_kernel());
  kernels.push_back(block_scale_gemm_kernel());
  kernels.push_back(weight_only_gemm_kernel());
  kernels.push_back(moe_stage1_kernel());
  kernels.push_back(moe_stage2_kernel());
  kernels.push_back(flash_attention_kernel());
  kernels.push_back(softmax_kernel());
  kernels.push_back(rmsnorm_kernel());
  kernels.push_back(layernorm_kernel());
  kernels.push_back(silu_and_mul_kernel());
  kernels.push_back(rope_kernel());
  kernels.push_back(cumsum_kernel());
  kernels.push_back(vector_add_kernel());
  return kernels;
}

std::unique_ptr<Kernel> find_kernel(const std::string& name) {
  std::string known;
  for (std::unique_ptr<Kernel>& kernel : registry()) {
    if (kernel->name() == name) return std::move(kernel);
    known += (known.empty() ? "" : ", ") + kernel->name();
  }
  throw std::invalid_argument(fmt::format("there is no kernel '{}'\n  hint   {}", name, known));
}

FlagReader::FlagReader(std::string kernel, const Flags& flags, const std::vector<FlagHelp>& known)
    : kernel_(std::move(kernel)) {
  std::string names;
  for (const FlagHelp& flag : known) {
    values_[flag.name] = flag.fallback;
    names += (names.empty() ? "--" : ", --") + flag.name;
  }
  for (const auto& [name, value] : flags) {
    if (!values_.count(name))
      throw std::invalid_argument(
          fmt::format("{}: unknown option '--{}'\n  hint   {}", kernel_, name, names));
    values_[name] = value;
  }
}

std::string FlagReader::text(const std::string& name) const { return values_.at(name); }

bool FlagReader::yes(const std::string& name) const {
  const std::string& text = values_.at(name);
  if (text != "yes" && text != "no")
    throw std::invalid_argument(fmt::format("{}: --{} '{}' is not yes or no", kernel_, name, text));
  return text == "yes";
}

std::int64_t FlagReader::number(const std::string& name, std::int64_t lower, std::int64_t upper) const {
  const std::string& text = values_.at(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lower || value > upper)
    throw std::invalid_argument(
        fmt::format("{}: --{} '{}' is not a number from {} to {}", kernel_, name, text, lower, upper));
  return value;
}

} // namespace inlay::kernels
