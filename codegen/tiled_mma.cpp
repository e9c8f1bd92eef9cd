#include <inlay/codegen/tiled_mma.h>

#include "thread_value.h"

#include <inlay/codegen/error.h>

namespace inlay::codegen {

TiledMma TiledMma::of(const Atom& atom, int waves_m, int waves_n, int m, int n, int k, int k_vector) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw CodegenError("tiled mma: " + why,
                       "block  " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
                           ", " + std::to_string(waves_m) + " x " + std::to_string(waves_n) + " waves of " +
                           atom.name,
                       hint);
  };
  if (!atom.mma || atom.mma->blocks != 1 || atom.mma->sparse || atom.mma->m != atom.mma->n)
    refuse("no dense product of one square block", "Atom::mma_best");
  const Mma& x = *atom.mma;
  if (waves_m < 1 || waves_n < 1) refuse("no waves", "at least 1 x 1");
  if (m < 1 || m % (x.m * waves_m) != 0)
    refuse("the waves do not divide m", "multiples of " + std::to_string(x.m * waves_m));
  if (n < 1 || n % (x.n * waves_n) != 0)
    refuse("the waves do not divide n", "multiples of " + std::to_string(x.n * waves_n));
  if (k_vector % x.a_values() != 0)
    refuse("a lane's vector is no whole number of operands", "multiples of " + std::to_string(x.a_values()));
  const int step = k_vector * (64 / x.m);
  if (k < 1 || k % step != 0)
    refuse("the instruction does not divide k", "multiples of " + std::to_string(step));
  return {&atom, waves_m, waves_n, m, n, k, k_vector};
}

Layout TiledMma::a() const {
  const int g = lane_groups();
  return thread_value(
      {{atom->mma->m, 1, 0}, {g, k_vector, 1}, {waves_m, atom->mma->m, 0}, {waves_n, 0, -1}},
      {{k_vector, 1, 1}, {repeat_m(), atom->mma->m * waves_m, 0}, {k_steps(), k_vector * g, 1}});
}

Layout TiledMma::b() const {
  const int g = lane_groups();
  return thread_value(
      {{atom->mma->n, 1, 0}, {g, k_vector, 1}, {waves_m, 0, -1}, {waves_n, atom->mma->n, 0}},
      {{k_vector, 1, 1}, {repeat_n(), atom->mma->n * waves_n, 0}, {k_steps(), k_vector * g, 1}});
}

// The atom's result layout with rows and columns exchanged, because the operands are.
Layout TiledMma::c() const {
  const int g = 64 / atom->mma->n;
  return thread_value(
      {{atom->mma->n, 1, 0}, {g, 4, 1}, {waves_m, atom->mma->m, 0}, {waves_n, atom->mma->n, 1}},
      {{4, 1, 1},
       {atom->mma->m / (4 * g), 4 * g, 1},
       {repeat_m(), atom->mma->m * waves_m, 0},
       {repeat_n(), atom->mma->n * waves_n, 1}});
}

} // namespace inlay::codegen
