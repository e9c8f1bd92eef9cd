// Chooses the compiled variant of the vector arithmetic for this machine and indexes it by mnemonic.
#include "vector_functions.h"

#include <cstdlib>
#include <unordered_map>

namespace inlay::runtime::emulator {

namespace {

enum class HostSet { portable, avx2, avx512 };

HostSet host_set() {
  static const HostSet set = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      return HostSet::avx512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? HostSet::avx2
                                                                           : HostSet::portable;
  }();
  return set;
}

} // namespace

std::span<const VectorEntry> vector_table() {
  switch (host_set()) {
  case HostSet::avx512: return vector_table_avx512();
  case HostSet::avx2: return vector_table_avx2();
  default: return vector_table_portable();
  }
}

const RowFunctions& row_functions() {
  switch (host_set()) {
  case HostSet::avx512: return row_functions_avx512();
  case HostSet::avx2: return row_functions_avx2();
  default: return row_functions_portable();
  }
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
