/// `Cache`: machine code that was generated before, in a directory.
///
///     std::optional<Cache> cache = Cache::from_environment();       // INLAY_CACHE_DIR, INLAY_CACHE_LIMIT
///     Emitted e = cache ? cache->emit(module, target) : emit(module, target);
///     e.from_cache
///
/// The key is what the bits depend on: the text of the IR, which a program and its schedule determine, the target, the
/// options, and the versions of this library and of LLVM. Claims are not kept: what a build says is proved it has
/// derived itself (docs/decisions/0006).
///
/// A file is written under another name and renamed, and begins with a digest of its key and the rest: processes that share the
/// directory see whole entries or none, and a damaged one, or one under another's name, counts as absent.
#pragma once

#include <inlay/codegen/emit.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace inlay::codegen {

class Cache {
public:
  static constexpr std::uintmax_t default_limit = std::uintmax_t{1} << 30;

  /// `limit`: bytes; beyond it the least recently used entries go. Errors: CodegenError when there can be no such directory.
  explicit Cache(std::filesystem::path directory, std::uintmax_t limit = default_limit);
  /// INLAY_CACHE_DIR, absent or empty for none; INLAY_CACHE_LIMIT in bytes, 1 GiB when absent.
  /// Errors: CodegenError for a limit that is no number.
  [[nodiscard]] static std::optional<Cache> from_environment();

  /// As `emit`; `from_cache` says whether nothing was generated. An entry that cannot be written costs nothing else.
  [[nodiscard]] Emitted emit(const IrModule& module, const Target& target,
                             const EmitOptions& options = {}) const;
  /// 64 hexadecimal digits (SHA-256); the entry's file is called that, `.inlay` after it.
  [[nodiscard]] static std::string key(const IrModule& module, const Target& target,
                                       const EmitOptions& options = {});

private:
  void shrink() const;
  std::filesystem::path directory_;
  std::uintmax_t limit_;
};

} // namespace inlay::codegen
