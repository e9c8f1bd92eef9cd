// The prebuilt kernels by name.
#include "kernels.h"

#include <inlay/kernels/groups.h>

#include <inlay/algebra/nearest.h>

#include <fmt/format.h>

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
#define INLAY_ENTER(kernel)                                                                                  \
  if (name == #kernel) return kernel##_kernel();
#define INLAY_NO_GROUP(title)
  INLAY_KERNELS(INLAY_ENTER, INLAY_NO_GROUP)
#undef INLAY_NO_GROUP
#undef INLAY_ENTER
  std::string known;
  std::vector<std::string> names;
  for (const KernelGroup& group : kernel_groups())
    for (const std::string& kernel : group.kernels) {
      names.push_back(kernel);
      known += (known.empty() ? "" : ", ") + kernel;
    }
  const std::string meant = did_you_mean(name, names);
  throw std::invalid_argument(fmt::format("there is no kernel '{}'\n  hint   {}{}", name, meant,
                                          meant.empty() ? known : "inlay kernels lists all"));
}

} // namespace inlay::kernels
