/// What kernels share that read whole rows: the program's start, the greatest element, and what their references need. Private.
#pragma once

#include "../least_number.h"
#include "page.h"

#include <fmt/format.h>

namespace inlay::kernels {

/// The program of a kernel, its sizes and its workgroup's row.
struct Rows {
  Program k;
  Sym M, N, number;
  Rows(const std::string& name, const RowSpec& s, Program::Where where = Program::Where::current())
      : k(name, Target::named(s.arch), s.threads, where) {
    check_rows(name, s);
    M = k.size("m");
    N = k.size("n", {.most = s.streamed ? 1 << 24 : s.capacity(), .multiple = s.vector_length()});
  }
  Row row(const RowSpec& s) { return {k, s, k.workgroups(0, M, 1), N}; }
};

/// Of row r; of a streamed one as Row::exponentials has it.
[[nodiscard]] inline Expr greatest(Program& k, const RowSpec& s, const Tensor& X, Sym r, Sym columns) {
  const Expr most = k.fold(Monoid::max, columns, [&](Sym i) { return k(X, {r, i}); });
  return s.streamed ? least_number(most) : most;
}

/// Values of a row and what they may err by, as references need them.
struct Exponentials {
  double most = 0, sum = 0, logarithm = 0; ///< sum of exp(x - most), log of the sum of exp(x)
  double error = 0;                        ///< of the logarithm
};
[[nodiscard]] Exponentials exponentials(const std::vector<double>& x, double additions);

/// A kernel of rows with the options that all have, and no others.
[[nodiscard]] std::unique_ptr<Kernel>
simple(const std::string& name, const std::string& summary, Program (*program)(const RowAsked&),
       std::function<void(const RowAsked&, Workload&, std::uint64_t)> data,
       std::function<std::vector<Judged>(const RowAsked&, const Workload&, const Results&)> reference);

} // namespace inlay::kernels
