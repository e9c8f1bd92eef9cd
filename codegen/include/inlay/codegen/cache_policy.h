/// `CachePolicy`: what an access to memory tells the caches.
#pragma once

#include <string>

namespace inlay::codegen {

/// What an access tells caches, as an assembler spells it (on gfx90a slc, glc and scc): nt for what is used once, sc0 and sc1 for a wider
/// scope of coherence. No value depends on it.
struct CachePolicy {
  bool nt = false, sc0 = false, sc1 = false;
  friend bool operator==(const CachePolicy&, const CachePolicy&) = default;
};
/// `nt`, `sc0 sc1`, any of the three; none for an empty text. Errors: CodegenError.
[[nodiscard]] CachePolicy parse_cache_policy(const std::string& text);
[[nodiscard]] std::string to_string(CachePolicy policy);

} // namespace inlay::codegen
