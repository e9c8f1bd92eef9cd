#include "thread_value.h"

#include <inlay/codegen/error.h>
#include <inlay/codegen/mma_tiling.h>
#include <inlay/codegen/view.h>

#include <algorithm>

namespace inlay::codegen {
namespace {

// The k that lane group g holds as value v must be the same of A and B: then any order of k will do.
bool same_k(const Mma& mma) {
  const auto along_k = [](const Layout& l, std::size_t side) {
    std::vector<std::pair<Int, Int>> modes; // extent, stride along axis 1
    const Layout part = l.mode(side);
    for (const Mode& m : part.modes())
      modes.emplace_back(m.extent, m.stride.is_basis() && m.stride.axis[0] == 1 ? m.stride.scale : Int(0));
    return modes;
  };
  return along_k(mma.a, 0) == along_k(mma.b, 0) && along_k(mma.a, 1) == along_k(mma.b, 1);
}

std::vector<TvMode> with_copies(std::vector<TvMode> threads, int copies) {
  if (copies > 1) threads.push_back({copies, 0, -1});
  return threads;
}

} // namespace

MmaTiling MmaTiling::of(const Atom& atom, int waves_m, int waves_n, int m, int n, int k, int k_vector) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("tiled mma: " + why,
                       "block  " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
                           ", " + std::to_string(waves_m) + " x " + std::to_string(waves_n) + " waves of " +
                           atom.name,
                       hint);
  };
  if (!atom.mma) refuse("no matrix instruction", "v_mfma_...");
  const Mma& a = *atom.mma;
  if (a.sparse || a.blocks != 1 || !same_k(a))
    refuse("the instruction does not leave the order of k free",
           "dense ones of one block, A and B of one width");
  // What shares a scale must stay together: a lane's values are one run of k, or two halves where the instruction has them.
  const int run = a.scaled ? static_cast<int>(a.a.mode(1).modes()[0].extent.value()) : 0;
  if (waves_m < 1 || waves_n < 1) refuse("no waves", "at least 1 x 1");
  if (m < 1 || m % (a.m * waves_m) != 0)
    refuse("the waves do not divide m", "multiples of " + std::to_string(a.m * waves_m));
  if (n < 1 || n % (a.n * waves_n) != 0)
    refuse("the waves do not divide n", "multiples of " + std::to_string(a.n * waves_n));
  if (k_vector < 1 || (k_vector % a.a_values() != 0 && a.a_values() != 2 * k_vector))
    refuse("a lane's vector is no whole number of operands",
           std::to_string(a.a_values()) + ", half of it or a multiple");
  const int step = std::max(k_vector, a.a_values()) * (64 / a.m);
  if (k < 1 || k % step != 0)
    refuse("the instruction does not divide k", "multiples of " + std::to_string(step));
  if (a.scaled && (k_vector != run || a.a_values() != 32))
    refuse("a lane's vector is not what it has of the instruction's k",
           "vectors of " + std::to_string(run) + ", each with the scale of its 32 k");
  if (a.scaled && (m % (2 * a.m * waves_m) != 0 || n % (2 * a.n * waves_n) != 0 || k % (2 * step) != 0))
    refuse("scales are in fours, of two atoms by two steps",
           "multiples of " + std::to_string(2 * a.m * waves_m) + ", " + std::to_string(2 * a.n * waves_n) +
               " and " + std::to_string(2 * step));
  return {&atom, waves_m, waves_n, m, n, k, k_vector};
}

MmaTiling MmaTiling::with_columns(int adjacent) const {
  if (mma().m != 16 || mma().n != 16 || adjacent < 4 || adjacent % 4 != 0 || repeat_n() % (adjacent / 4) != 0)
    throw CodegenError("tiled mma: a lane cannot own " + std::to_string(adjacent) + " adjacent columns",
                       "block  " + std::to_string(n) + " columns, " + std::to_string(waves_n) + " waves of " +
                           atom->name,
                       "atoms of 16 x 16 and 4 columns an atom of the wave, of which there are " +
                           std::to_string(repeat_n()));
  MmaTiling out = *this;
  out.n_vector = adjacent == 4 ? 0 : adjacent;
  return out;
}

MmaTiling MmaTiling::repeated(int times) const {
  if (times < 1)
    throw CodegenError("tiled mma: no waves", "repeated " + std::to_string(times) + " times",
                       "at least once");
  MmaTiling out = *this;
  out.copies = copies * times;
  return out;
}

Layout MmaTiling::a() const {
  const int g = lane_groups(), rows = mma().m;
  return thread_value(
      with_copies({{rows, 1, 0}, {g, k_vector, 1}, {waves_m, rows, 0}, {waves_n, 0, -1}}, copies),
      {{k_vector, 1, 1}, {repeat_m(), rows * waves_m, 0}, {k_steps(), k_vector * g, 1}});
}

Layout MmaTiling::b() const {
  const int g = lane_groups(), rows = mma().n;
  if (n_vector == 0)
    return thread_value(
        with_copies({{rows, 1, 0}, {g, k_vector, 1}, {waves_m, 0, -1}, {waves_n, rows, 0}}, copies),
        {{k_vector, 1, 1}, {repeat_n(), rows * waves_n, 0}, {k_steps(), k_vector * g, 1}});
  const int atoms = n_vector / 4; // whose columns are interleaved
  return thread_value(
      with_copies(
          {{4, 1, 0}, {4, n_vector, 0}, {g, k_vector, 1}, {waves_m, 0, -1}, {waves_n, atoms * rows, 0}},
          copies),
      {{k_vector, 1, 1},
       {atoms, 4, 0},
       {repeat_n() / atoms, atoms * rows * waves_n, 0},
       {k_steps(), k_vector * g, 1}});
}

SymLayout MmaTiling::b_place() const {
  TupleBuilder<BasicMode<Sym>> build;
  const auto mode = [&](int extent, int stride) {
    build.leaf(BasicMode<Sym>{Sym(extent), BasicStride<Sym>(Sym(stride))});
  };
  const std::size_t all = build.open();
  if (n_vector == 0) {
    mode(n, k);
  } else {
    const int atoms = n_vector / 4;
    const std::size_t rows = build.open();
    mode(4, k), mode(atoms, 16 * k), mode(4, 4 * k), mode(n / (16 * atoms), 16 * atoms * k);
    build.close(rows, 4);
  }
  mode(k, 1);
  build.close(all, 2);
  return SymLayout(std::move(build).finish());
}

Layout MmaTiling::c_by_eights() const {
  if (mma().m != 16 || mma().n != 16 || n_vector > 0 || repeat_n() % 2 != 0)
    throw CodegenError("tiled mma: lanes cannot exchange columns",
                       "block  " + std::to_string(n) + " columns, " + std::to_string(waves_n) + " waves of " +
                           atom->name,
                       "an even number of atoms of 16 x 16 along n, in the instruction's order");
  const int next = 16 * waves_n; // the wave's next atom
  return thread_value(
      with_copies({{16, 1, 0}, {2, next, 1}, {2, 8, 1}, {waves_m, 16, 0}, {waves_n, 16, 1}}, copies),
      {{8, 1, 1}, {repeat_m(), 16 * waves_m, 0}, {repeat_n() / 2, 2 * next, 1}});
}

Layout MmaTiling::a_scales() const {
  const int g = lane_groups(), rows = mma().m;
  return thread_value(with_copies({{rows, 1, 0}, {g, 1, 1}, {waves_m, rows, 0}, {waves_n, 0, -1}}, copies),
                      {{2, rows * waves_m, 0},
                       {2, g, 1},
                       {repeat_m() / 2, 2 * rows * waves_m, 0},
                       {k_steps() / (2 * parts()), 2 * g, 1}});
}

Layout MmaTiling::b_scales() const {
  const int g = lane_groups(), rows = mma().n;
  return thread_value(with_copies({{rows, 1, 0}, {g, 1, 1}, {waves_m, 0, -1}, {waves_n, rows, 0}}, copies),
                      {{2, rows * waves_n, 0},
                       {2, g, 1},
                       {repeat_n() / 2, 2 * rows * waves_n, 0},
                       {k_steps() / (2 * parts()), 2 * g, 1}});
}

// The atom's own layout of C with rows and columns exchanged, because the operands are; then waves and repeats.
Layout MmaTiling::c() const {
  const auto exchanged = [](const Layout& part) {
    std::vector<TvMode> modes;
    for (const Mode& mode : part.modes()) {
      const int extent = static_cast<int>(mode.extent.value()),
                scale = static_cast<int>(mode.stride.scale.value());
      modes.push_back(
          {extent, scale, mode.stride.is_basis() ? 1 - static_cast<int>(mode.stride.axis[0]) : -1});
    }
    return modes;
  };
  std::vector<TvMode> threads = exchanged(mma().c.mode(0)), values = exchanged(mma().c.mode(1));
  if (n_vector > 0) {
    const int atoms = n_vector / 4;
    for (TvMode& mode : threads)
      if (mode.axis == 1) mode.scale *= atoms;
    threads.insert(threads.end(), {{waves_m, mma().m, 0}, {waves_n, atoms * mma().n, 1}});
    values.insert(values.end(), {{repeat_m(), mma().m * waves_m, 0},
                                 {atoms, 4, 1},
                                 {repeat_n() / atoms, atoms * mma().n * waves_n, 1}});
    return thread_value(with_copies(std::move(threads), copies), values);
  }
  threads.insert(threads.end(), {{waves_m, mma().m, 0}, {waves_n, mma().n, 1}});
  values.insert(values.end(), {{repeat_m(), mma().m * waves_m, 0}, {repeat_n(), mma().n * waves_n, 1}});
  return thread_value(with_copies(std::move(threads), copies), values);
}

} // namespace inlay::codegen
