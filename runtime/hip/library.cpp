#include "hip/library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace inlay::runtime::hip {

std::string Library::text(int code) const {
  const char* error = hipGetErrorName(code);
  const char* text = hipGetErrorString(code);
  std::string both = error != nullptr ? error : "error " + std::to_string(code);
  if (text != nullptr && both != text) both += ": " + std::string(text);
  return both;
}

std::shared_ptr<const Library> open_library(const std::string& name, std::string& why_not) {
  std::vector<std::string> names;
  if (!name.empty()) {
    names = {name};
  } else {
    if (const char* chosen = std::getenv("INLAY_HIP_LIBRARY"); chosen != nullptr && *chosen != '\0')
      names.emplace_back(chosen);
    else
      names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  }
  void* handle = nullptr;
  auto library = std::make_shared<Library>();
  for (const auto& candidate : names) {
    handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    library->name = candidate;
    if (handle != nullptr) break;
  }
  if (handle == nullptr) {
    why_not = "no HIP library: " + names.front() + (names.size() > 1 ? " (nor .so.7, .so.6, .so.5)" : "") +
              " cannot be opened; install ROCm, or set INLAY_HIP_LIBRARY";
    return nullptr;
  }
  std::string missing;
  const auto resolve = [&](auto& function, const char* symbol) {
    void* address = dlsym(handle, symbol);
    if (address == nullptr && missing.empty()) missing = symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define INLAY_HIP_RESOLVE(function, ...) resolve(library->function, #function);
  INLAY_HIP_FUNCTIONS(INLAY_HIP_RESOLVE)
#undef INLAY_HIP_RESOLVE
  resolve(library->hipGetErrorName, "hipGetErrorName");
  resolve(library->hipGetErrorString, "hipGetErrorString");
  if (!missing.empty()) {
    why_not = "HIP library " + library->name + " has no " + missing + "; version 5, 6 or 7 is needed";
    return nullptr;
  }
  return library;
}

} // namespace inlay::runtime::hip
