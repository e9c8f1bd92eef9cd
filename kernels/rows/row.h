/// What kernels of rows share: the options, the forms to choose from, and `Row`, a workgroup's row as folds and stores see it.
#pragma once

#include "../options.h"

#include <inlay/codegen/program.h>
#include <inlay/kernels/rows/spec.h>

namespace inlay::kernels {

/// What the command line asks of a kernel of rows.
struct RowAsked : RowSpec {
  std::int64_t m = 64, n = 1024;
};

/// The least of a row's magnitudes that a scale is made of: its reciprocal must be a number.
inline constexpr double least_scaled = 0x1p-100;

/// Errors: std::invalid_argument naming the field that is not supported.
void check_rows(const std::string& kernel, const RowSpec& spec);
/// Forms for a length of rows: vectors of 16 bytes where rows are multiples of them; as many a work-item as a row needs. `folds`: a
/// workgroup has a row whole, or streams it.
[[nodiscard]] std::vector<Flags> row_forms(const RowAsked& asked, const Flags& fixed, bool folds);
/// Clocks by a form's bounds, of `moved` bytes for each element of 16 bytes a vector. Errors: std::invalid_argument for a row that does not fit.
[[nodiscard]] double row_clocks(const RowAsked& asked, bool folds, double moved = 2);

/// The options that all of them have.
template <std::derived_from<RowAsked> Asked>
[[nodiscard]] std::vector<Option<Asked>> row_options(const std::string& length, bool folds) {
  using Read = Reads<Asked>;
  constexpr std::int64_t most = std::int64_t{1} << 24;
  std::vector<Option<Asked>> rows = {
      arch_option<Asked>(),
      {"dtype", Read::element(&Asked::type, "f16, bf16, f32"), "f16", "element type"},
      {"m", Read::number(&Asked::m, 1, most), "64", "rows"},
      {length, Read::number(&Asked::n, 1, most), "1024", "columns, a multiple of the elements of a vector"},
      {"threads", Read::number(&Asked::threads, 1, 1024), "auto",
       "work-items of a row: 64, 128, 256, 512 or 1024", "256"},
      {"vectors", Read::number(&Asked::vectors, 1, 128), "auto",
       "vectors for each work-item, up to 128 elements", "4"},
      {"vector", Read::number(&Asked::vector, 0, 8), "auto",
       "elements that one instruction moves: 1 takes any row, 0 is 16 bytes", "0"}};
  if (folds)
    rows.push_back({"stream", Read::yes(&Asked::streamed), "auto",
                    "rows of any length, in parts of that many vectors", "no"});
  return rows;
}

/// f32 additions that a term of a sum goes through: a work-item's, those across a wave, those across waves, and streamed, those of the
/// trips.
[[nodiscard]] double additions(const RowSpec& spec, std::int64_t n);

/// What a body has an element of: a tensor of rows x columns, or of rows x halves x columns and one of the halves.
struct RowOf {
  codegen::Tensor tensor;
  int half = -1;
  RowOf(const codegen::Tensor& t, int which = -1) : tensor(t), half(which) {}
};

/// A row of a workgroup: in registers from its first use on, or, streamed, read again by each fold and store.
///
///     Row row(k, spec, k.workgroups(0, M, 1), N);
///     const Fragment most = row.fold(Monoid::max, {X}, {}, [](const auto& a, Sym) { return a[0]; });
///     row.store(Y, {X}, {most}, [](const auto& a, Sym) { return exp(a[0] - a[1]); });
///
/// A body sees the elements of the tensors at a column, then the values of the row, and the number of the column.
class Row {
public:
  using Exprs = std::vector<codegen::Expr>;
  using Body = std::function<codegen::Expr(const Exprs& x, Sym column)>;
  using Where = std::source_location;

  /// Requires: `number` < the rows of every tensor but those of one row, which all rows share.
  Row(codegen::Program& k, const RowSpec& spec, Sym number, Sym columns);

  /// Over all columns; each work-item has the result.
  [[nodiscard]] codegen::Fragment fold(codegen::Monoid monoid, const std::vector<RowOf>& of,
                                       const std::vector<codegen::Fragment>& with, const Body& body,
                                       Where where = Where::current());
  void store(const codegen::Tensor& to, const std::vector<RowOf>& of,
             const std::vector<codegen::Fragment>& with, const Body& body, Where where = Where::current());
  /// The value of a tensor of one column, `scale(m,0)`, and a store there.
  [[nodiscard]] codegen::Fragment load(const codegen::Tensor& of, Where where = Where::current());
  void store(const codegen::Fragment& value, const codegen::Tensor& to, Where where = Where::current());
  /// The maximum of a row and the sum of exp(x - maximum), in one reading; streamed, the maximum is least_number(maximum).
  [[nodiscard]] std::pair<codegen::Fragment, codegen::Fragment> exponentials(const codegen::Tensor& of);
  /// The layout of a row's values.
  [[nodiscard]] Layout of_row() const { return codegen::without_axis(tv_, 1); }

private:
  [[nodiscard]] std::vector<codegen::Fragment> loaded(const std::vector<RowOf>& of,
                                                      const std::vector<codegen::Fragment>& with, Sym part);
  [[nodiscard]] codegen::View part_of(const RowOf& of, Sym part) const;

  codegen::Program& k_;
  Sym number_, columns_;
  int capacity_, vector_;
  bool streamed_;
  Layout tv_;
  std::map<std::pair<int, int>, codegen::Fragment> kept_; ///< by tensor and half
};

} // namespace inlay::kernels
