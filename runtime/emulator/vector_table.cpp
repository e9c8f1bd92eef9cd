// Chooses the compiled variant of the vector arithmetic for this machine and indexes it by mnemonic.
#include "vector_functions.h"

#include <cstdlib>
#include <unordered_map>

namespace inlay::runtime::emulator {

std::span<const VectorEntry> vector_table() {
  static const std::span<const VectorEntry> chosen = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      return vector_table_avx512();
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      return vector_table_avx2();
    }
    return vector_table_portable();
  }();
  return chosen;
}

const VectorEntry* find_vector_entry(std::string_view mnemonic) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const VectorEntry*> map;
    for (const VectorEntry& entry : vector_table()) {
      map.emplace(entry.name, &entry);
    }
    return map;
  }();
  const auto found = index.find(mnemonic);
  return found == index.end() ? nullptr : found->second;
}

} // namespace inlay::runtime::emulator
