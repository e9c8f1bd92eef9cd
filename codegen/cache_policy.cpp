#include <inlay/codegen/cache_policy.h>

#include <inlay/codegen/error.h>

#include <sstream>
#include <utility>

namespace inlay::codegen {

CachePolicy parse_cache_policy(const std::string& text) {
  CachePolicy out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    bool* const bit = word == "nt" ? &out.nt : word == "sc0" ? &out.sc0 : word == "sc1" ? &out.sc1 : nullptr;
    if (!bit || *bit)
      throw CodegenError("cached: '" + word + "' " + (bit ? "stands there twice" : "is no cache policy"),
                         "policy " + text, "nt (used once), sc0, sc1, or several of them: \"sc0 sc1\"");
    *bit = true;
  }
  return out;
}

std::string to_string(CachePolicy policy) {
  std::string out;
  for (const auto& [is, name] :
       {std::pair(policy.sc0, "sc0"), std::pair(policy.nt, "nt"), std::pair(policy.sc1, "sc1")})
    if (is) out += (out.empty() ? "" : " ") + std::string(name);
  return out;
}

} // namespace inlay::codegen
