// Damaged code objects through `inspect` and `exec --dry-run`: whatever the bytes are, the answer is a report or one
// message, soon, and nothing leaks (under the sanitizers of the asan preset, that is). `ctest -L slow` tries 100,000.
#include "inlay_command.h"
#include "slow.h"

#include <inlay/runtime/isa/assemble.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

namespace mutated_test {

namespace {

using Random = std::mt19937_64;

struct Seed {
  std::string name, bytes;
  std::vector<std::string> pick, launch; ///< options that choose the kernel; those that launch it
};

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Code objects of every kind the reader knows: executables of compilers and by hand, a relocatable, a bundle.
std::vector<Seed> seeds() {
  namespace isa = inlay::runtime::isa;
  struct Known {
    const char *file, *arguments; ///< p: pointer, i: 4 bytes
    std::vector<std::string> pick = {};
  };
  const std::vector<Known> known = {
      {"isa/add_scalar.gfx942.s", "ppi"},
      {"isa/triton/softmax_f16_8192.gfx942.s", "ppiipp"},
      {"isa/triton/rmsnorm_bf16_8192.gfx950.s", "pppiiipp"},
      {"isa/triton/gemm_f16_128x128x64.gfx942.s", "pppiiiiiipp"},
      {"fuzz/corpus/code_object/bundle", "pi", {"--arch", "gfx950", "--kernel", "gemm"}},
      {"fuzz/corpus/code_object/garbage_code", ""},
      {"fuzz/corpus/code_object/linked", ""},
      {"fuzz/corpus/code_object/one", "pi"},
      {"fuzz/corpus/code_object/relocatable", ""},
      {"fuzz/corpus/code_object/two", "pi", {"--kernel", "gemm"}}};
  std::vector<Seed> all;
  for (const Known& k : known) {
    std::string bytes = read(std::filesystem::path(INLAY_TESTS_DIR) / k.file);
    if (const auto target = isa::target_of(bytes); target && !bytes.starts_with("\177ELF")) {
      const auto object = isa::assemble_code_object(bytes, *target);
      bytes.assign(reinterpret_cast<const char*>(object.data()), object.size());
    }
    Seed seed{k.file, std::move(bytes), k.pick, {"--grid", "1", "--block", "64", "--lds", "0"}};
    for (const char argument : std::string(k.arguments)) {
      seed.launch.emplace_back("--arg");
      seed.launch.emplace_back(argument == 'p' ? "ptr:0" : "i32:1");
    }
    all.push_back(std::move(seed));
  }
  return all;
}

/// One to three of: a bit, a byte, a number that readers trip over, a hole, a copy from elsewhere, a cut.
std::string mutate(const Seed& seed, const std::vector<Seed>& all, Random& random) {
  static constexpr std::uint64_t traps[] = {0,
                                            1,
                                            0x7f,
                                            0xff,
                                            0x7fff,
                                            0xffff,
                                            0x7fffffff,
                                            0x80000000,
                                            0xffffffff,
                                            0x7fffffffffffffff,
                                            0x8000000000000000,
                                            0xffffffffffffffff,
                                            0xfffffffffffffff8};
  std::string bytes = seed.bytes;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  // Half of the places lie in the first KiB or the last two: ELF and program headers, notes, section headers.
  const auto place = [&] {
    const std::size_t n = bytes.size();
    switch (below(4)) {
    case 0: return below(std::min<std::size_t>(n, 1024));
    case 1: return n - 1 - below(std::min<std::size_t>(n, 2048));
    default: return below(n);
    }
  };
  for (std::size_t times = 1 + below(3); times > 0 && !bytes.empty(); --times) {
    const std::size_t at = place();
    switch (below(6)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: { // in a field: numbers lie at multiples of their size
      const std::size_t size = std::size_t{1} << below(4);
      const std::uint64_t trap = traps[below(std::size(traps))];
      const std::size_t field = at / size * size;
      for (std::size_t i = 0; i < size && field + i < bytes.size(); ++i)
        bytes[field + i] = static_cast<char>(trap >> (8 * i));
      break;
    }
    case 3: bytes.erase(at, 1 + below(64)); break;
    case 4: {
      const std::string& other = all[below(all.size())].bytes;
      const std::size_t from = below(other.size());
      bytes.replace(at, below(64), other.substr(from, 1 + below(64)));
      break;
    }
    default:
      if (below(8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

} // namespace

TEST_CASE("damaged code objects: a report or one message", "[slow]") {
  const std::vector<Seed> all = seeds();
  const auto inspect = [](const Seed& seed, const std::string& bytes, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"inspect", "-"};
    for (const auto* part : {&seed.pick, &more})
      arguments.insert(arguments.end(), part->begin(), part->end());
    return inlay_command(arguments, bytes);
  };
  const auto plan = [](const Seed& seed, const std::string& bytes) {
    std::vector<std::string> arguments = {"exec", "-", "--dry-run"};
    for (const auto* part : {&seed.pick, &seed.launch})
      arguments.insert(arguments.end(), part->begin(), part->end());
    return inlay_command(arguments, bytes);
  };
  for (const Seed& seed : all) { // whole ones pass, so a refusal below is the damage's
    INFO(seed.name);
    CHECK(inspect(seed, seed.bytes, {}).exit == 0);
    CHECK(plan(seed, seed.bytes).exit == 0);
  }
  const std::size_t mutants = is_slow() ? 100000 : 1500;
  std::size_t reported = 0, planned = 0, slowest_at = 0;
  double slowest = 0;
  for (std::size_t number = 0; number < mutants; ++number) {
    Random random(number); // a mutant is its number
    const Seed& seed = all[number % all.size()];
    const std::string bytes = mutate(seed, all, random);
    INFO("mutant " << number << " of " << seed.name);
    const auto check = [&](const auto& ask, const auto&... options) {
      const auto begin = std::chrono::steady_clock::now();
      const Ran a = ask(seed, bytes, options...);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const bool one_message =
          a.exit == 2 && a.err.starts_with("error: ") && a.err.find("\nerror: ") == std::string::npos;
      const bool answered = a.exit == 0 && a.err.empty();
      if (!one_message && !answered) FAIL_CHECK("exit " << a.exit << "\n" << a.err.substr(0, 2000));
      if (seconds > slowest) slowest = seconds, slowest_at = number;
      return answered ? 1U : 0U;
    };
    std::vector<std::string> options;
    if (random() % 2 == 0) options.emplace_back("--json");
    if (random() % 4 == 0) options.emplace_back("--disassemble");
    if (random() % 4 == 0) options.emplace_back("--loop");
    reported += check(inspect, options);
    planned += check(plan);
  }
  std::cout << mutants << " mutants: " << reported << " reported, " << planned
            << " ready to run, the others refused; the slowest answer took " << slowest << " s (mutant "
            << slowest_at << ")\n";
  for (const std::size_t count : {reported, planned}) {
    CHECK(count > mutants / 10);
    CHECK(count < mutants - mutants / 10);
  }
}

} // namespace mutated_test
