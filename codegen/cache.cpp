#include <inlay/codegen/cache.h>

#include <inlay/codegen/error.h>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace inlay::codegen {
namespace {

namespace fs = std::filesystem;

llvm::ArrayRef<std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Of what an entry holds and of whose it is: one that stands under another's name is nobody's.
std::array<std::uint8_t, 32> digest_of(const std::string& key, llvm::ArrayRef<std::uint8_t> body) {
  llvm::SHA256 hash;
  hash.update(bytes_of(key));
  hash.update(body);
  return hash.final();
}

// One file: a digest of its key and the rest, then the parts, each with its length in front.
std::optional<Emitted> load(const fs::path& path, const std::string& key) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  if (!in || all.size() < 32) return std::nullopt;
  const auto digest = digest_of(key, bytes_of(all).drop_front(32));
  if (std::memcmp(digest.data(), all.data(), 32) != 0) return std::nullopt;
  std::size_t at = 32;
  const auto part = [&](auto& out) {
    std::uint64_t size = 0;
    if (all.size() - at < sizeof size) return false;
    std::memcpy(&size, all.data() + at, sizeof size);
    at += sizeof size;
    if (all.size() - at < size) return false;
    out.resize(size);
    std::memcpy(out.data(), all.data() + at, size);
    at += size;
    return true;
  };
  Emitted e;
  if (!part(e.ir) || !part(e.assembly) || !part(e.hsaco)) return std::nullopt;
  return e;
}

void store(const fs::path& path, const std::string& key, const Emitted& e) {
  std::string body;
  const auto part = [&](const auto& from) {
    const std::uint64_t size = from.size();
    body.append(reinterpret_cast<const char*>(&size), sizeof size);
    body.append(reinterpret_cast<const char*>(from.data()), from.size());
  };
  part(e.ir), part(e.assembly), part(e.hsaco);
  const auto digest = digest_of(key, bytes_of(body));
  // Under another name first, so that a process that reads beside us sees a whole file or none.
  const fs::path temporary = path.string() + "." + std::to_string(std::random_device{}()) + ".part";
  std::ofstream out(temporary, std::ios::binary);
  out.write(reinterpret_cast<const char*>(digest.data()), static_cast<std::streamsize>(digest.size()));
  out.write(body.data(), static_cast<std::streamsize>(body.size()));
  out.close();
  std::error_code failed;
  if (out) fs::rename(temporary, path, failed);
  if (!out || failed) fs::remove(temporary, failed); // a full disk costs the entry, not the build
}

} // namespace

Cache::Cache(fs::path directory, std::uintmax_t limit) : directory_(std::move(directory)), limit_(limit) {
  std::error_code failed;
  fs::create_directories(directory_, failed);
  if (failed || !fs::is_directory(directory_))
    throw CodegenError("the cache is no directory", "path   " + directory_.string(),
                       "INLAY_CACHE_DIR names a directory, or one that can be made");
}

std::optional<Cache> Cache::from_environment() {
  const char* directory = std::getenv("INLAY_CACHE_DIR");
  if (!directory || !*directory) return std::nullopt;
  std::uintmax_t limit = default_limit;
  if (const char* given = std::getenv("INLAY_CACHE_LIMIT")) {
    const char* end = given + std::strlen(given);
    const auto [stop, error] = std::from_chars(given, end, limit);
    if (error != std::errc() || stop != end)
      throw CodegenError("the limit of the cache is no number", "INLAY_CACHE_LIMIT   " + std::string(given),
                         "bytes, such as 1073741824");
  }
  return Cache(directory, limit);
}

std::string Cache::key(const IrModule& module, const Target& target, const EmitOptions& options) {
  const int passes = 3; // goes up when entries look another way or modules go through other passes
  const std::string all = std::string("inlay " INLAY_VERSION ", LLVM ") + llvm_version() + ", passes " +
                          std::to_string(passes) + "\n" + std::string(target.name) + " " +
                          std::to_string(options.level) + (options.keep_order ? " keep order\n" : "\n") +
                          module.text();
  std::string hex;
  for (const std::uint8_t byte : llvm::SHA256::hash(bytes_of(all))) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Emitted Cache::emit(const IrModule& module, const Target& target, const EmitOptions& options) const {
  const std::string of = key(module, target, options);
  const fs::path path = directory_ / (of + ".inlay");
  if (auto found = load(path, of)) {
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(),
                        ignored); // the least recently used goes first
    found->timings = {.ir = module.build_milliseconds()};
    found->from_cache = true;
    return std::move(*found);
  }
  Emitted e = codegen::emit(module, target, options);
  store(path, of, e);
  shrink();
  return e;
}

void Cache::shrink() const {
  struct Entry {
    fs::file_time_type used;
    std::uintmax_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t sum = 0;
  std::error_code gone; // by another process
  for (fs::directory_iterator i(directory_, gone), end; !gone && i != end; i.increment(gone)) {
    if (i->path().extension() != ".inlay") continue;
    std::error_code absent;
    const Entry e{i->last_write_time(absent), i->file_size(absent), i->path()};
    if (absent) continue;
    sum += e.size;
    entries.push_back(e);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (sum <= limit_) return;
    fs::remove(e.path, gone);
    sum -= e.size;
  }
}

} // namespace inlay::codegen
