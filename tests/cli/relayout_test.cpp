// Relayouts between lanes on the emulator: every bit of a lane's number with every bit of a value's, in one exchange or several.
#include "strict_launch.h"

#include <inlay/codegen/program.h>
#include <inlay/runtime/code_object.h>
#include <inlay/runtime/isa/program.h>

#include <numeric>
#include <random>

namespace relayout_test {

using namespace inlay;
using namespace inlay::kernels;
using codegen::Element;

namespace {

// A line of elements, bit by bit: `bits[i]` of the place in the line is bit i of the address thread * values + value.
Layout line_of(const std::vector<int>& bits, int values) {
  TupleBuilder<Mode> b;
  const std::size_t both = b.open(), threads = b.open();
  for (std::size_t i = static_cast<std::size_t>(values); i < bits.size(); ++i)
    b.leaf(Mode{2, Stride(1 << bits[i], {0})});
  b.close(threads, bits.size() - static_cast<std::size_t>(values));
  const std::size_t inside = b.open();
  for (int i = 0; i < values; ++i) b.leaf(Mode{2, Stride(1 << bits[static_cast<std::size_t>(i)], {0})});
  b.close(inside, static_cast<std::size_t>(values));
  b.close(both, 2);
  return Layout(std::move(b).finish());
}

struct Moved {
  std::string text; ///< of the program
  std::size_t swaps = 0, crossbar = 0, lds = 0;
  std::size_t wrong = 0;
};

// y = x by way of `to`, from a line of which a work-item of two waves holds neighbours.
Moved moved(const char* arch, Element type, int values, const std::vector<int>& to) {
  const codegen::Target& target = codegen::Target::named(arch);
  const int extent = 1 << to.size();
  codegen::Program k("relayout", target, extent >> values);
  const Sym N = k.size("n", {.most = 1 << 20});
  const codegen::Tensor Y = k.output("y", type, {N}), X = k.input("x", type, {N});
  k.computes(Y, [&](const auto& c) { return k(X, {c[0]}); });
  const Sym w = k.workgroups(0, N, extent);
  std::vector<int> in_order(to.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  const codegen::Fragment x = k.load(k.tile(X, {extent}, {w}), line_of(in_order, values), 1);
  k.store(k.relayout(x, line_of(to, values), type), k.tile(Y, {extent}, {w}), 1);
  Moved out;
  out.text = k.text();
  const Artifact kernel = kernels::build(std::move(k), {.validate = true});
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(kernel.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + kernel.hsaco.size()});
  const auto& entry = object.kernel(kernel.kernel);
  for (const auto& i :
       runtime::isa::decode(object.code(entry), entry.address, runtime::isa::parse_arch(object.arch()))
           .instructions) {
    out.swaps += i.mnemonic.starts_with("v_permlane");
    out.crossbar += i.mnemonic.starts_with("ds_swizzle") || i.mnemonic.starts_with("ds_bpermute");
    out.lds += i.mnemonic.starts_with("ds_read") || i.mnemonic.starts_with("ds_write");
  }
  std::vector<std::uint16_t> words(static_cast<std::size_t>(2 * extent * bits(type) / 16));
  std::mt19937 random(3);
  for (auto& v : words) v = static_cast<std::uint16_t>(random() % 0x7c00); // no NaN
  const auto y = first_of<std::uint16_t>(kernel, words, {2 * extent}, words.size());
  for (std::size_t i = 0; i < words.size(); ++i) out.wrong += y[i] != words[i];
  return out;
}

} // namespace

TEST_CASE("relayout: one bit of a lane and one of a value, both targets, 32 and 16 bits") {
  for (const char* arch : {"gfx942", "gfx950"})
    for (const Element type : {Element::f32, Element::f16})
      for (int lane = 0; lane < 6; ++lane)
        for (int value = type == Element::f16 ? 1 : 0; value < 3; ++value) {
          INFO(arch << " " << to_string(type) << " lane bit " << lane << " value bit " << value);
          std::vector<int> to(10);
          std::iota(to.begin(), to.end(), 0);
          std::swap(to[static_cast<std::size_t>(value)], to[static_cast<std::size_t>(3 + lane)]);
          const Moved m = moved(arch, type, 3, to);
          INFO(m.text);
          CHECK(m.wrong == 0);
          CHECK(m.text.find("exchanging lane^") != std::string::npos);
          CHECK(m.lds == 0);
          const std::size_t words = type == Element::f16 ? 4 : 8;
          const bool swaps = std::string(arch) == "gfx950" && lane >= 4;
          CHECK(m.swaps == (swaps ? words / 2 : 0));
          CHECK(m.crossbar == (!swaps && lane >= 4 ? words / 2 : 0));
        }
}

TEST_CASE("relayout: random orders of bits; waves and what is inside a register go through LDS") {
  std::mt19937 random(9);
  std::size_t exchanged = 0;
  for (int n = 0; n < 24; ++n) {
    std::vector<int> to(10);
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.begin() + 9, random); // three bits of values, six of lanes
    const char* arch = n % 2 == 0 ? "gfx942" : "gfx950";
    std::optional<Moved> m;
    try {
      m = moved(arch, Element::f32, 3, to);
    } catch (const std::exception& e) { // more than LDS costs, and there the tile has bank conflicts
      CHECK_THAT(e.what(), Catch::Matchers::Contains("bank conflict"));
      continue;
    }
    INFO(arch << "\n" << m->text);
    CHECK(m->wrong == 0);
    exchanged += m->lds == 0;
  }
  CHECK(exchanged > 0);
  for (const bool waves : {false, true}) { // a bit of the wave's number; the bit inside a register
    std::vector<int> to(10);
    std::iota(to.begin(), to.end(), 0);
    std::swap(to[0], to[waves ? 9 : 3]);
    codegen::Program k("relayout", codegen::Target::named("gfx942"), 128);
    std::vector<int> in_order(10);
    std::iota(in_order.begin(), in_order.end(), 0);
    const Element type = waves ? Element::f32 : Element::f16;
    const codegen::Tensor X = k.input("x", type, {k.size("n")});
    (void)k.relayout(k.load(k.tile(X, {1024}, {Sym(0)}), line_of(in_order, 3), 1), line_of(to, 3), type);
    CHECK(k.text().find("exchanging") == std::string::npos);
    CHECK(k.text().find("lds") != std::string::npos);
  }
}

} // namespace relayout_test
