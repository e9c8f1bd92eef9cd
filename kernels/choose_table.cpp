#include <inlay/kernels/choose_table.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace inlay::kernels {

std::vector<std::int64_t> grid_points(const SizeRange& range, int level) {
  const auto up = [&](std::int64_t v) { return (v + range.multiple - 1) / range.multiple * range.multiple; };
  const std::int64_t last = range.most / range.multiple * range.multiple;
  std::set<std::int64_t> out = {last};
  const auto add = [&](std::int64_t v) {
    if (v >= range.least && up(v) < last) out.insert(up(v));
  };
  if (level >= 1) add(range.least);
  const int step = level == 1 ? 4 : level == 2 ? 2 : 1; // of the exponent
  for (int e = 0; level >= 1 && e < 40 && (std::int64_t{1} << e) <= range.most; e += step) {
    const std::int64_t power = std::int64_t{1} << e;
    add(power);
    if (level >= 4 && e >= 1) add(power + power / 2);
    if (level >= 5 && e >= 2) add(power + power / 4), add(power + 3 * (power / 4));
  }
  return {out.begin(), out.end()};
}

namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

class Chooser {
public:
  Chooser(const Kernel& kernel, Flags asked, const std::vector<SizeRange>& ranges,
          const TableOptions& options, const Takes& takes)
      : kernel_(kernel), asked_(std::move(asked)), ranges_(ranges), options_(options), takes_(takes) {}

  FormTable table() {
    make_grid();
    for (const Flags& f : options_.forms) (void)number_of(f);
    ask();
    make_finer();
    choose_again();
    move_ends();
    choose_again();
    for (;;) {
      FormTable made = rows_of(assigned());
      if (!refuse_rows(made)) return made;
    }
  }

private:
  /// Of points, along one range after the other; the last range runs fastest.
  void make_grid() {
    for (const SizeRange& r : ranges_)
      if (r.least < 1 || r.multiple < 1 || r.most < r.least || grid_points(r, 0).front() < r.least)
        throw std::invalid_argument(
            fmt::format("{} {} to {} in multiples of {}: no such size", r.name, r.least, r.most, r.multiple));
    for (int level = 0; level <= 5; ++level) {
      std::vector<std::vector<std::int64_t>> all;
      std::size_t count = 1;
      for (const SizeRange& r : ranges_) {
        all.push_back(grid_points(r, level));
        count *= all.back().size();
      }
      if (level > 0 && count > options_.points) break;
      along_ = std::move(all);
    }
    points_ = {{}};
    for (const auto& axis : along_) {
      std::vector<std::vector<std::int64_t>> next;
      for (const auto& p : points_)
        for (const std::int64_t v : axis) {
          next.push_back(p);
          next.back().push_back(v);
        }
      points_ = std::move(next);
    }
  }

  using Point = std::vector<std::int64_t>; ///< a size of each range
  [[nodiscard]] Flags at(const Point& sizes) const {
    Flags all = asked_;
    for (std::size_t i = 0; i < ranges_.size(); ++i) all[ranges_[i].name] = std::to_string(sizes[i]);
    return all;
  }
  [[nodiscard]] std::string text(std::size_t point) const {
    std::string out;
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      out += fmt::format("{}{} = {}", i == 0 ? "" : ", ", ranges_[i].name, points_[point][i]);
    return out;
  }
  void done(const std::string& what) {
    ++done_;
    if (options_.progress) options_.progress(done_, std::max(done_ + 1, 3 * points_.size()), what);
  }

  std::size_t number_of(const Flags& options) {
    const auto found = std::find(forms_.begin(), forms_.end(), options);
    if (found != forms_.end()) return static_cast<std::size_t>(found - forms_.begin());
    forms_.push_back(options);
    clocks_.emplace_back(points_.size(), -1);
    return forms_.size() - 1;
  }

  /// What is chosen at each point by itself.
  void ask() {
    own_.assign(points_.size(), nobody);
    for (std::size_t p = 0; p < points_.size(); ++p) ask_at(p);
  }
  void ask_at(std::size_t point) {
    if (!options_.forms.empty()) { // the first of these by the model
      own_[point] = best_known(point);
      return;
    }
    const Choice c = choose(kernel_, at(points_[point]), options_.choose);
    own_[point] = number_of(c.options);
    if (c.modelled > 0) clocks_[own_[point]][point] = c.clocks; // else the kernel has one form
    done(text(point));
  }
  /// Of all forms that are not out, by the model; nobody where none can be built.
  std::size_t best_known(std::size_t point) {
    std::vector<std::size_t> left;
    for (std::size_t f = 0; f < forms_.size(); ++f)
      if (!out(f)) left.push_back(f);
    know(point, left);
    std::size_t best = nobody;
    for (const std::size_t f : left)
      if (clocks_[f][point] != unknown && (best == nobody || clocks_[f][point] < clocks_[best][point]))
        best = f;
    return best;
  }

  [[nodiscard]] bool out(std::size_t form) const { return banned_.contains(form); }

  /// The best form at each point that has none: of all there are.
  void choose_again() {
    for (std::size_t p = 0; p < points_.size(); ++p) {
      if (own_[p] != nobody && !out(own_[p])) {
        know(p, {own_[p]});
        if (clocks_[own_[p]][p] != unknown) continue;
      }
      own_[p] = best_known(p);
      if (own_[p] == nobody) {
        (void)number_of({}); // what stands without sizes
        own_[p] = best_known(p);
      }
      if (own_[p] == nobody)
        throw std::invalid_argument(fmt::format("{}: no form is left for {}{}", kernel_.name(), text(p),
                                                left_out_.empty() ? "" : "\n  hint   " + left_out_.front()));
    }
    const std::vector<std::size_t> alone = own_;
    for (std::size_t p = 0; p < points_.size(); ++p) own_[p] = best_near(p, alone);
    chosen_ = std::set<std::size_t>(own_.begin(), own_.end()).size();
  }

  /// Clocks of these forms at a point; those that cannot be built there have none.
  void know(std::size_t point, const std::vector<std::size_t>& forms) {
    std::vector<Ranked> ask;
    std::vector<std::size_t> which;
    for (const std::size_t f : forms)
      if (clocks_[f][point] < 0) ask.push_back({{forms_[f], 0}, {}, {}}), which.push_back(f);
    if (ask.empty()) return;
    model_forms(kernel_, at(points_[point]), ask, options_.choose);
    for (std::size_t i = 0; i < ask.size(); ++i)
      clocks_[which[i]][point] = ask[i].modelled ? ask[i].modelled->clocks : unknown;
    done(fmt::format("{}, {} forms of its neighbours", text(point), ask.size()));
  }

  /// Forms but `f` that points near this one have, some steps of the grid away along each range, or where there are none anywhere: the few
  /// that are first by their bounds, since a model of a large size takes seconds.
  [[nodiscard]] std::vector<std::size_t> near(std::size_t point, const std::vector<std::size_t>& of,
                                              std::size_t f) {
    constexpr std::size_t steps = 4, few = 3;
    std::set<std::size_t> out, all;
    for (std::size_t q = 0; q < of.size(); ++q) {
      if (of[q] == f) continue;
      all.insert(of[q]);
      bool close = true;
      for (std::size_t i = along_.size(), p = point, r = q; i-- > 0;
           p /= along_[i].size(), r /= along_[i].size()) {
        const std::size_t x = p % along_[i].size(), y = r % along_[i].size();
        close = close && (x > y ? x - y : y - x) <= steps;
      }
      if (close) out.insert(of[q]);
    }
    if (out.empty()) out = all;
    std::vector<std::size_t> first(out.begin(), out.end());
    std::stable_sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
      return bound(a, points_[point]) < bound(b, points_[point]);
    });
    first.resize(std::min(first.size(), few));
    return first;
  }
  /// The least bound of the forms with these options, all of them without; no end where there is none.
  [[nodiscard]] double bound_of(const Flags& options, const Point& sizes) const {
    Flags all = at(sizes);
    all.insert(options.begin(), options.end());
    const std::vector<Form> found = kernel_.forms(all);
    return found.empty() ? unknown : std::max(found.front().clocks, 1.0);
  }
  [[nodiscard]] double bound(std::size_t form, const Point& sizes) {
    double& known = bounds_[{form, sizes}];
    return known > 0 ? known : known = bound_of(forms_[form], sizes);
  }
  /// The fewest clocks that are known for a point: of a form that was chosen for another one, too.
  [[nodiscard]] double least(std::size_t point) const {
    double of_all = clocks_[own_[point]][point];
    for (const std::vector<double>& of : clocks_)
      if (of[point] >= 0) of_all = std::min(of_all, of[point]);
    return of_all;
  }

  /// The one of fewest clocks there.
  [[nodiscard]] std::size_t best_of(const std::vector<std::size_t>& forms, std::size_t point) {
    know(point, forms);
    std::size_t best = forms.front();
    for (const std::size_t f : forms)
      if (clocks_[f][point] < clocks_[best][point]) best = f;
    return best;
  }

  /// Of its own form and those near it.
  [[nodiscard]] std::size_t best_near(std::size_t point, const std::vector<std::size_t>& of) {
    std::vector<std::size_t> some = near(point, of, of[point]);
    some.insert(some.begin(), of[point]);
    return best_of(some, point);
  }

  /// What a point loses with a form, large losses more than many small ones.
  [[nodiscard]] double cost(std::size_t form, std::size_t point) const {
    const double loss = clocks_[form][point] / clocks_[own_[point]][point] - 1;
    return loss * std::abs(loss);
  }

  /// The form of each point, of at most `most` forms.
  std::vector<std::size_t> assigned() {
    std::vector<std::size_t> of = own_;
    for (;;) {
      const std::set<std::size_t> used(of.begin(), of.end());
      if (used.size() == 1) return of;
      // Each form taken away in thought: its points take what points near them have.
      double least = unknown;
      bool small = false; // what the one that goes costs
      std::vector<std::size_t> next;
      for (const std::size_t f : used) {
        std::vector<std::size_t> without = of;
        double more = 0;
        bool within = true;
        for (std::size_t p = 0; p < of.size(); ++p) {
          if (of[p] != f) continue;
          without[p] = best_of(near(p, of, f), p);
          more += clocks_[without[p]][p] == unknown ? unknown : cost(without[p], p) - cost(f, p);
          within = within && clocks_[without[p]][p] <= (1 + options_.small) * clocks_[own_[p]][p];
        }
        if (more < least) least = more, small = within, next = std::move(without);
      }
      // One that costs nothing, or no size much, goes in any case.
      if (next.empty() || (used.size() <= options_.most && least > 0 && !small)) {
        if (used.size() > options_.most)
          throw std::invalid_argument(fmt::format(
              "{}: {} forms are needed, since none of them takes the sizes of another\n  hint   --most {}",
              kernel_.name(), used.size(), used.size()));
        // Each point takes the best of those that stay.
        for (std::size_t p = 0; p < of.size(); ++p) of[p] = best_near(p, of);
        return of;
      }
      of = std::move(next);
    }
  }

  /// More points along the one range, from each point down to the one before it. `auto` is asked where, by the bounds, another form
  /// has become better than the form of the point above, and wherever an eighth of the size has passed.
  void make_finer() {
    if (ranges_.size() != 1) return;
    const std::vector<std::int64_t> grid = along_[0];
    for (std::size_t p = grid.size(); p-- > 1;) {
      std::int64_t end = grid[p];
      for (std::int64_t size = before(end); size > grid[p - 1]; size = before(size)) {
        const std::size_t form = own_[place_of(end)];
        if (form == nobody || (end - size <= end / 8 &&
                               beside_least(form, size) <= (1 + options_.better) * beside_least(form, end)))
          continue;
        ask_at(add_point(size));
        end = size;
      }
    }
  }
  /// The size that is looked at before this one: the next lower multiple of the smallest tile, at which a round of tiles may
  /// begin, or of as many of them as a 1024th of the size has.
  [[nodiscard]] std::int64_t before(std::int64_t size) const {
    const std::int64_t tile = std::lcm<std::int64_t>(16, ranges_[0].multiple),
                       step = std::max<std::int64_t>(1, size / 1024 / tile) * tile;
    return (size - 1) / step * step;
  }
  /// A form may still be the best one a little above the last size that it was chosen for: one more point there, at the largest
  /// size where its bound says so. Bounds are corrected by what the model says of both forms at the point.
  void move_ends() {
    if (ranges_.size() != 1) return;
    const std::vector<std::int64_t> grid = along_[0];
    for (std::size_t i = 0; i + 1 < grid.size(); ++i) {
      const std::size_t p = place_of(grid[i]), here = own_[p], after = own_[place_of(grid[i + 1])];
      if (here == after) continue;
      know(p, {here, after});
      const double by_model = clocks_[here][p] / clocks_[after][p],
                   by_bounds = bound(here, points_[p]) / bound(after, points_[p]);
      for (std::int64_t size = before(grid[i + 1]); size > grid[i]; size = before(size)) {
        const double now = bound(here, {size}) / bound(after, {size});
        if (!(now * by_model / by_bounds * (1 + options_.better) < 1)) continue;
        ask_at(add_point(size));
        break;
      }
    }
  }
  /// A form's bound beside the least of all forms for a size.
  [[nodiscard]] double beside_least(std::size_t form, std::int64_t size) {
    const auto [known, fresh] = least_bounds_.try_emplace(size, unknown);
    if (fresh && options_.forms.empty()) known->second = bound_of({}, {size});
    for (std::size_t f = 0; fresh && f < options_.forms.size(); ++f)
      known->second = std::min(known->second, bound(number_of(options_.forms[f]), {size}));
    return known->second == unknown ? 1 : bound(form, {size}) / known->second;
  }
  [[nodiscard]] std::size_t place_of(std::int64_t size) const {
    return static_cast<std::size_t>(std::lower_bound(along_[0].begin(), along_[0].end(), size) -
                                    along_[0].begin());
  }
  std::size_t add_point(std::int64_t size) {
    const std::size_t at = place_of(size);
    const auto put = [&](auto& in, auto value) {
      in.insert(in.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
    };
    put(along_[0], size), put(points_, std::vector{size}), put(own_, nobody);
    for (std::vector<double>& of_form : clocks_) put(of_form, -1.0);
    return at;
  }

  /// Rows of neighbouring points that have one form: along the last range, then along those before it.
  FormTable rows_of(const std::vector<std::size_t>& of) {
    struct Box {
      std::vector<std::size_t> least, most; // of the grid
      std::size_t form;
    };
    std::vector<Box> boxes;
    for (std::size_t p = 0; p < of.size(); ++p) {
      std::vector<std::size_t> here(along_.size());
      for (std::size_t i = along_.size(), rest = p; i-- > 0; rest /= along_[i].size())
        here[i] = rest % along_[i].size();
      boxes.push_back({here, here, of[p]});
    }
    for (std::size_t axis = along_.size(); axis-- > 0;) {
      std::vector<Box> merged;
      for (Box& b : boxes) {
        const auto joins = [&](const Box& a) {
          if (a.form != b.form || a.most[axis] + 1 != b.least[axis]) return false;
          for (std::size_t i = 0; i < along_.size(); ++i)
            if (i != axis && (a.least[i] != b.least[i] || a.most[i] != b.most[i])) return false;
          return true;
        };
        const auto found = std::find_if(merged.begin(), merged.end(), joins);
        if (found != merged.end())
          found->most[axis] = b.most[axis];
        else
          merged.push_back(std::move(b));
      }
      boxes = std::move(merged);
    }
    FormTable table;
    table.chosen = chosen_, table.left_out = left_out_;
    std::map<std::size_t, std::size_t> numbers;
    const auto number = [&](std::size_t form) {
      const auto [at, fresh] = numbers.try_emplace(form, table.forms.size());
      if (fresh) table.forms.push_back(forms_[form]);
      return at->second;
    };
    for (const Box& b : boxes) {
      FormTable::Row row;
      std::size_t point = 0;
      for (std::size_t i = 0; i < along_.size(); ++i) {
        const std::int64_t step = ranges_[i].multiple, first = (ranges_[i].least + step - 1) / step * step;
        row.least.push_back(b.least[i] == 0 ? first : along_[i][b.least[i] - 1] + step);
        row.most.push_back(along_[i][b.most[i]]);
        point = point * along_[i].size() + b.most[i];
      }
      row.form = number(b.form), row.clocks = clocks_[b.form][point], row.best = least(point);
      table.rows.push_back(std::move(row));
    }
    for (std::size_t p = 0; p < of.size(); ++p) {
      table.points.push_back({points_[p], number(of[p]), clocks_[of[p]][p], least(p)});
    }
    return table;
  }

  /// Whether a form of a row cannot be: it is out from then on.
  bool refuse_rows(const FormTable& t) {
    bool any = false;
    for (const FormTable::Row& r : t.rows) {
      const std::size_t form = number_of(t.forms[r.form]);
      const std::string why = out(form) || !takes_ ? "" : takes_(t.forms[r.form], r.least, r.most);
      if (why.empty()) continue;
      any = true;
      banned_.insert(form);
      left_out_.push_back(fmt::format("{}: {}", words_that_tell(kernel_, t.forms[r.form]), why));
    }
    if (any) choose_again();
    return any;
  }

  const Kernel& kernel_;
  Flags asked_;
  const std::vector<SizeRange>& ranges_;
  const TableOptions& options_;
  const Takes& takes_;
  std::vector<std::vector<std::int64_t>> along_, points_;
  std::vector<Flags> forms_;
  std::vector<std::vector<double>> clocks_;                ///< by form and point; below 0: not asked yet
  std::map<std::pair<std::size_t, Point>, double> bounds_; ///< by form and sizes
  std::map<std::int64_t, double> least_bounds_;            ///< of all forms, by the size of the one range
  std::vector<std::size_t> own_;                           ///< of each point the form that was chosen there
  std::set<std::size_t> banned_;
  std::vector<std::string> left_out_;
  std::size_t chosen_ = 0, done_ = 0;
};

} // namespace

FormTable choose_table(const Kernel& kernel, const Flags& asked, const std::vector<SizeRange>& ranges,
                       const TableOptions& options, const Takes& takes) {
  return Chooser(kernel, kernel.renamed(asked), ranges, options, takes).table();
}

} // namespace inlay::kernels
