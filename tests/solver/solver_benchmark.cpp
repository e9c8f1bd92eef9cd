// Equality of layouts three ways, and whole decisions. Build with -DINLAY_BENCHMARKS=ON; bin/bench_solver.
// docs/measurements/speed.md has the figures.
#include <benchmark/benchmark.h>

#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/parse.h>
#include <inlay/solver/lds.h>
#include <inlay/solver/prove.h>

#include <stdexcept>

#include "certificates/derive.h"
#include "layers/smt.h"

using namespace inlay;
using namespace inlay::solver;

namespace {

// Rank 8, 2^40 elements, one function: a gap after the first 2^20 elements keeps them from being 2^40:1.
const char* const left =
    "(32,32,32,32,32,32,32,32):(1,32,1024,32768,2097152,67108864,2147483648,68719476736)";
const char* const right =
    "(16,64,8,128,64,16,4,256):(1,16,1024,8192,2097152,134217728,2147483648,8589934592)";

void check(bool ok) {
  if (!ok) throw std::logic_error("a benchmark of a wrong answer");
}

void normal_forms(benchmark::State& state) {
  Layout a = parse_layout(left), b = parse_layout(right);
  check(coalesce(a) == coalesce(b));
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(coalesce(a) == coalesce(b));
  }
}
BENCHMARK(normal_forms);

// The same with one stride one too large.
void normal_forms_differ(benchmark::State& state) {
  Layout a = parse_layout(left),
         b = parse_layout(std::string(right).replace(std::string(right).find("8192"), 4, "8193"));
  check(!(coalesce(a) == coalesce(b)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(coalesce(a) == coalesce(b));
  }
}
BENCHMARK(normal_forms_differ);

// With verdict and certificate.
void prove_concrete(benchmark::State& state) {
  Subject a(left), b(right);
  for (auto _ : state) check(prove_equal(a, b).outcome == Outcome::proved);
}
BENCHMARK(prove_concrete)->Unit(benchmark::kMicrosecond);

// Both functions at every index of the first 2^n.
void enumerate(benchmark::State& state) {
  Layout a = parse_layout(left), b = parse_layout(right);
  const std::int64_t n = std::int64_t{1} << state.range(0);
  for (auto _ : state) {
    bool same = true;
    for (std::int64_t i = 0; i < n; ++i) same &= a(Int(i)) == b(Int(i));
    check(same);
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(enumerate)->Arg(16)->Arg(20)->Unit(benchmark::kMillisecond);

// Z3 on the definition, (i / P) % s summed: what it answers within ten million steps.
void z3_raw(benchmark::State& state) {
  std::string head = std::string("; inlay certificate 1\n; property equal\n; method none\n; argument ") +
                     left + "\n; argument " + right + "\n";
  std::string query = independent::derive(independent::read_statement(head)).queries().at(0);
  smt::Result r;
  for (auto _ : state) r = smt::z3(query, {}, 10'000'000);
  state.SetLabel(r.answer == smt::Answer::unsat ? "unsat" : r.answer == smt::Answer::sat ? "sat" : "unknown");
}
BENCHMARK(z3_raw)->Unit(benchmark::kMillisecond)->Iterations(1);

void c_tile(benchmark::State& state) {
  for (auto _ : state)
    check(prove_equal("((128,m),(128,n)):((1,128),(128*m,16384*m))", "(128*m,128*n):(1,128*m)").outcome ==
          Outcome::proved);
}
BENCHMARK(c_tile)->Unit(benchmark::kMicrosecond);

void preshuffle(benchmark::State& state) {
  for (auto _ : state)
    check(prove_equal("((16,N/16),(8,4,K/32)):((8,16*K),(1,128,512))",
                      Subject("(n, k) -> (((n/16*(K/32) + k/32)*4 + (k%32)/8)*16 + n%16)*8 + k%8", "(N,K)"),
                      {"N % 16 == 0", "K % 32 == 0"})
              .outcome == Outcome::proved);
}
BENCHMARK(preshuffle)->Unit(benchmark::kMicrosecond);

void swizzle(benchmark::State& state) {
  for (auto _ : state)
    check(prove_equal(Subject("(c, r) -> r*128 + (c ^ ((r & 7)*16))", "(128,R)"),
                      "Sw<3,4,3> o 0 o (128,R):(1,128)")
              .outcome == Outcome::proved);
}
BENCHMARK(swizzle)->Unit(benchmark::kMicrosecond);

void banks(benchmark::State& state) {
  for (auto _ : state)
    check(prove_conflict_free("Sw<3,4,3> o 0 o ((16,4),2):((128,16),64)", "ds_read_b128", "gfx942").outcome ==
          Outcome::proved);
}
BENCHMARK(banks)->Unit(benchmark::kMicrosecond);

void block_remap(benchmark::State& state) {
  for (auto _ : state)
    check(prove_bijective(Subject("(i % 8)*(G/8) + min(i % 8, G % 8) + i/8", "G")).outcome ==
          Outcome::proved);
}
BENCHMARK(block_remap)->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
