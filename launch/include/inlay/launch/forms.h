/// Several forms of one kernel behind one launch contract, and a table that says which of them is launched for which sizes.
/// `inlay build KERNEL --for m=1..4096 ..` makes them; a bundle holds them.
///
///     Forms f({{narrow, "--tile 16x64x64"}, {wide, "--tile 256x256x64"}},        // manifests; the last form is the general one
///             {{1, 4096}, {512, 512}, {512, 512}},                              // of m, n, k: the sizes that rows are for
///             {{{{1, 64}, {512, 512}, {512, 512}}, 0, ""}, {{{65, 4096}, {512, 512}, {512, 512}}, 1, ""}});
///     const std::int64_t sizes[] = {100, 512, 512};
///     f.row(sizes)                  // 1: comparisons of integers and nothing else
///     f.plan({{"m", 100}, {"n", 512}, {"k", 512}}).form
///
/// What holds of every one, since no other can be made: each size of the ranges is in one row and in no other; all other sizes of the
/// contract are the general form's; each form takes all sizes of its rows; an argument of one name is one thing in all forms that
/// have it, and a form has what it needs of the contract's arguments.
///
/// A form is launched by its own manifest, which checks the sizes again: a table that is wrong can cost time or a refusal, no value.
#pragma once

#include <inlay/launch/manifest.h>

namespace inlay::launch {

class Forms {
public:
  struct Form {
    Manifest manifest;
    std::string options; ///< what it was built with, for people
    bool operator==(const Form&) const = default;
  };
  /// Both ends are inside; of ranges that rows are for: the multiples of `multiple`.
  struct Range {
    std::int64_t least = 1, most = 1, multiple = 1;
    bool operator==(const Range&) const = default;
  };
  struct Row {
    std::vector<Range> ranges; ///< one a size, in the order of the contract
    std::size_t form = 0;
    std::string why; ///< for people
    bool operator==(const Row&) const = default;
  };
  /// The launch for some sizes.
  struct Plan {
    LaunchPlan launch;
    std::size_t form = 0, row = 0;
  };

  /// A kernel of one form: no table.
  explicit Forms(Manifest one);
  /// Errors: LaunchError with the rows and sizes that are wrong: a gap, two rows that meet, a row outside of the ranges, a form that does not
  /// take its row's sizes, that has no row, or whose arguments are not the others'.
  Forms(std::vector<Form> forms, std::vector<Range> ranges, std::vector<Row> rows);
  /// `table`: the contract, ranges and rows as JSON. Errors: as above; LaunchError where the contract is not that of the forms.
  [[nodiscard]] static Forms parse(std::vector<Form> forms, const std::string& table,
                                   const std::string& whose);
  /// `parse(f.forms(), f.table_text(), ..) == f`.
  [[nodiscard]] std::string table_text() const;

  [[nodiscard]] const std::vector<Form>& forms() const { return forms_; }
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  /// Without the last one, which is for all other sizes and the general form.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const Manifest& general() const { return forms_.back().manifest; }
  /// Those of all forms, in the order in which forms have them. How many bytes a buffer needs, the form says that is launched.
  [[nodiscard]] const std::vector<Argument>& arguments() const { return arguments_; }
  [[nodiscard]] const std::vector<Size>& sizes() const { return general().sizes; }
  /// Of each argument of a form: its number in `arguments()`.
  [[nodiscard]] const std::vector<std::size_t>& places(std::size_t form) const { return places_.at(form); }

  /// The row of these sizes, one for each of the contract in order; the number of rows: the last row, of the general form.
  [[nodiscard]] std::size_t row(const std::int64_t* sizes) const {
    const std::size_t other = rows_.size();
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (sizes[i] < ranges_[i].least || sizes[i] > ranges_[i].most ||
          (ranges_[i].multiple != 1 && sizes[i] % ranges_[i].multiple != 0))
        return other;
    const std::int64_t* bound = bounds_.data();
    for (std::size_t r = 0; r < other; ++r) {
      bool in = true;
      for (const std::size_t i : open_) {
        in = in && sizes[i] >= bound[0] && sizes[i] <= bound[1];
        bound += 2;
      }
      if (in) return r;
    }
    return other;
  }
  [[nodiscard]] std::size_t form_of_row(std::size_t row) const {
    return row < rows_.size() ? rows_[row].form : forms_.size() - 1;
  }
  /// Errors: LaunchError; where the row's form refuses the sizes it names the row.
  [[nodiscard]] Plan plan(const Sizes& given) const;
  /// `row 2 of 7, m 65 to 128: form 1, --tile 64x128x64 --waves 2x2`.
  [[nodiscard]] std::string row_text(std::size_t row) const;
  /// The same with why the row has that form.
  [[nodiscard]] std::string why(std::size_t row) const;
  bool operator==(const Forms& o) const {
    return forms_ == o.forms_ && ranges_ == o.ranges_ && rows_ == o.rows_;
  }

private:
  void join_arguments();
  void check_rows() const;

  std::vector<Form> forms_;
  std::vector<Range> ranges_;
  std::vector<Row> rows_;
  std::vector<Argument> arguments_;
  std::vector<std::vector<std::size_t>> places_;
  std::vector<std::size_t> open_;    ///< sizes by which rows differ
  std::vector<std::int64_t> bounds_; ///< of each row, least and most of those
};

} // namespace inlay::launch
