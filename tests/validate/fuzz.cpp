// Machine code that nobody would write: kernels with instructions of others in their place, bits flipped, cut short. Validation
// says something of each, within its budget of steps, and does not crash; what it calls validated is the kernel as it was.
//
//   validate_fuzz [--sample N] [--seed S] [--first N] [--verbose]
//
// The last line counts verdicts. Exit 1 when code that computes something else is validated: code with a branch taken out of the
// kernel is judged by runs in machine_mutations, here only code whose first instruction ends the wave.
#include "sampling.h"

#include <inlay/kernels/artifact.h>
#include <inlay/kernels/build.h>
#include <inlay/runtime/isa/program.h>
#include <inlay/runtime/symbolic/order.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <vector>

using namespace inlay;

namespace {

struct Base {
  kernels::Artifact artifact;
  std::size_t at = 0;                                   ///< of the code in the file
  std::size_t entry = 0;                                ///< in the code, where arguments are preloaded
  std::vector<std::pair<std::size_t, std::size_t>> all; ///< instructions: offset in the code, bytes
};

Base base_of(const std::string& name, const kernels::Flags& flags) {
  Base b;
  b.artifact = kernels::find_kernel(name)->build(flags, {});
  const auto* p = reinterpret_cast<const std::uint8_t*>(b.artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({p, p + b.artifact.hsaco.size()});
  const auto& section = object.sections()[object.kernel(b.artifact.kernel).section];
  const auto program =
      runtime::isa::decode(section.bytes, section.address, runtime::isa::parse_arch(object.arch()));
  b.at = static_cast<std::size_t>(
      std::search(p, p + b.artifact.hsaco.size(), section.bytes.begin(), section.bytes.end()) - p);
  if (object.kernel(b.artifact.kernel).descriptor.preload_length != 0) b.entry = 256;
  for (const auto& i : program.instructions) {
    if (i.mnemonic == "s_code_end") break;
    b.all.emplace_back(i.address - program.begin, i.size);
  }
  return b;
}

} // namespace

int main(int argc, char** argv) {
  mutate::Sampling how{.sample = 300};
  int first = 0;
  CLI::App app("Validation of machine code that nobody would write");
  how.add_to(app);
  app.add_option("--first", first, "Those before this one are drawn and not judged")->capture_default_str();
  if (const auto status = mutate::parse(app, argc, argv)) return *status;
  std::vector<Base> bases;
  bases.push_back(base_of("vector_add", {}));
  bases.push_back(base_of("softmax", {{"threads", "64"}, {"vectors", "1"}}));
  bases.push_back(base_of("gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}}));
  bases.push_back(base_of("gemm", {{"tile", "32x32x64"}, {"waves", "1x1"}, {"arch", "gfx950"}}));
  bases.push_back(base_of("rope", {}));
  std::mt19937_64 random(how.seed);
  std::map<std::string, int> verdicts;
  bool sound = true;
  for (int n = 0; n < how.sample; ++n) {
    const Base& b = bases[random() % bases.size()];
    kernels::Bytes bytes = b.artifact.hsaco;
    const auto place = [&](std::size_t from) -> std::size_t { // where others' instructions go
      return b.at + b.all[from].first;
    };
    const std::size_t end = b.at + b.all.back().first + b.all.back().second;
    const unsigned kind = static_cast<unsigned>(random() % 4);
    std::size_t at = kind == 0 ? place(0) : place(random() % b.all.size());
    const auto count = kind == 0 ? 4 + random() % 40 : 1 + random() % (kind == 1 ? 1 : 12);
    for (std::size_t k = 0; k < count; ++k) {
      const Base& from = bases[random() % bases.size()];
      const auto [offset, size] = from.all[random() % from.all.size()];
      if (at + size + 4 > end) break;
      std::memcpy(bytes.data() + at, from.artifact.hsaco.data() + from.at + offset, size);
      if (random() % 3 != 0) bytes[at + random() % size] ^= static_cast<std::byte>(1U << (random() % 8));
      if (random() % 16 == 0) bytes[at + random() % size] = static_cast<std::byte>(random());
      at += size;
    }
    const std::uint32_t ends = 0xbf810000U;
    if (kind == 0) std::memcpy(bytes.data() + at, &ends, 4);
    const bool empty = random() % 50 == 0;
    if (empty) // at the kernel's address, and where it is entered by firmware that preloads arguments
      for (const std::size_t entry : {std::size_t{0}, b.entry})
        std::memcpy(bytes.data() + b.at + entry, &ends, 4);
    if (n < first) continue;
    if (how.verbose) std::cout << n << " " << b.artifact.kernel << " " << b.artifact.arch << std::endl;
    std::string verdict = "error";
    try {
      const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
      const auto object = runtime::CodeObject::parse({p, p + bytes.size()});
      runtime::symbolic::OrderOptions order;
      order.budget = 300'000;
      static_cast<void>(
          runtime::symbolic::check_order(object, object.kernel(b.artifact.kernel), order, random() % 2 == 0));
      kernels::validate::CodeOptions o;
      o.budget = 600'000;
      o.first_runs = random() % 2 == 0 ? 1 : 0;
      o.guard_sizes = 1;
      const auto r = kernels::validate::validate_code(object, object.kernel(b.artifact.kernel),
                                                      b.artifact.source->code, o);
      verdict = runtime::symbolic::to_string(r.verdict);
    } catch (const std::exception& e) {
      if (how.verbose) std::cout << "  " << e.what() << "\n";
    }
    if (empty && verdict == "validated") {
      std::cout << n << ": " << b.artifact.kernel << " that ends at once is validated\n";
      sound = false;
    }
    ++verdicts[verdict];
  }
  for (const auto& [name, number] : verdicts) std::cout << name << " " << number << "  ";
  std::cout << "of " << how.sample - first << "\n";
  return sound ? 0 : 1;
}
