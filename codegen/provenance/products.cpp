// Rule of products: A and B meet at the same k, row by row.
#include "interpreter.h"

namespace inlay::codegen::provenance {

const Interpreter::Product& Interpreter::product(const Inst& i, std::size_t half, const std::vector<int>& xc,
                                                 const std::vector<int>& yc, std::int64_t shift) {
  const auto cache = std::tuple(i.atom, half, xc, yc, shift);
  if (const auto found = products_.find(cache); found != products_.end()) return found->second;
  Product out;
  const int lanes = p_.target().wave_size, waves = p_.threads() / lanes;
  const int parts = static_cast<int>(i.uses.size() / 2), full = i.atom->mma->a_values(),
            values = full / parts, results = i.atom->mma->c_values();
  const Mma& mma = *i.atom->mma;
  const Layout& result = mma.c;
  const Column result_row = coordinates(result, 0), result_column = coordinates(result, 1);
  const int rows = mma.m, ks = mma.k / parts;
  // The instruction's k that this part of an operand holds, numbered.
  const auto ks_of = [&](const Layout& operand) {
    const Column kk = coordinates(operand, 1);
    std::set<int> held;
    for (int l = 0; l < lanes; ++l)
      for (int v = 0; v < values; ++v)
        held.insert(kk[static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v)]);
    return std::vector<int>(held.begin(), held.end());
  };
  const std::vector<int> held = ks_of(mma.a);
  if (held != ks_of(mma.b) || static_cast<int>(held.size()) != ks)
    out.error = "parts of the operands are at different k of the instruction";
  const auto number_of = [&](int k) {
    return static_cast<int>(std::lower_bound(held.begin(), held.end(), k) - held.begin());
  };
  const auto classify = [&](const Layout& operand, const std::vector<int>& columns,
                            std::vector<std::size_t>& k_columns, std::vector<int>& row_columns,
                            const Column& result_index, std::vector<Column>& k_values) {
    const Column all_rows = coordinates(operand, 0), all_k = coordinates(operand, 1);
    Column row, kk;
    for (int l = 0; l < lanes; ++l)
      for (int v = 0; v < values; ++v) {
        const auto at = static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v);
        row.push_back(all_rows[at]), kk.push_back(number_of(all_k[at]));
      }
    for (std::size_t c = 0; c < columns.size() && out.error.empty(); ++c) {
      const Column& column = columns_[columns[c]];
      Column by_row(static_cast<std::size_t>(waves * rows), INT_MIN),
          by_k(static_cast<std::size_t>(waves * ks), INT_MIN);
      bool is_row = true, is_k = true;
      for (int w = 0; w < waves; ++w)
        for (int l = 0; l < lanes; ++l)
          for (int v = 0; v < values; ++v) {
            const int x = column[static_cast<std::size_t>((w * lanes + l) * values + v)];
            int& r =
                by_row[static_cast<std::size_t>(w * rows + row[static_cast<std::size_t>(l * values + v)])];
            int& q = by_k[static_cast<std::size_t>(w * ks + kk[static_cast<std::size_t>(l * values + v)])];
            if (r == INT_MIN) r = x;
            if (q == INT_MIN) q = x;
            is_row = is_row && r == x;
            is_k = is_k && q == x;
          }
      if (is_row) {
        Column n(static_cast<std::size_t>(p_.threads() * results));
        for (int w = 0; w < waves; ++w)
          for (int l = 0; l < lanes; ++l)
            for (int v = 0; v < results; ++v)
              n[static_cast<std::size_t>((w * lanes + l) * results + v)] = by_row[static_cast<std::size_t>(
                  w * rows + result_index[static_cast<std::size_t>(l * results + v)])];
        row_columns.push_back(columns_.intern(std::move(n)));
      } else if (is_k) {
        k_columns.push_back(c);
        k_values.push_back(std::move(by_k));
      } else {
        out.error = "a row of the operand holds several rows, or lanes of different rows hold different k";
      }
    }
  };
  std::vector<Column> xk, yk;
  classify(mma.a, xc, out.x_k, out.x_rows, result_row, xk);
  classify(mma.b, yc, out.y_k, out.y_rows, result_column, yk);
  if (out.error.empty() && (xk.empty() || yk.empty())) out.error = "an operand does not depend on k";
  if (out.error.empty())
    for (const auto* all : {&xk, &yk})
      for (const Column& c : *all)
        if (c != all->front()) out.error = "two indices of an operand move with k in different ways";
  if (out.error.empty())
    for (std::size_t q = 0; q < xk[0].size() && out.error.empty(); ++q)
      if (xk[0][q] + shift != yk[0][q])
        out.error = "product " + std::to_string(q % static_cast<std::size_t>(ks)) + " of wave " +
                    std::to_string(q / static_cast<std::size_t>(ks)) +
                    " takes k = " + std::to_string(xk[0][q] + shift) + " of one operand and " +
                    std::to_string(yk[0][q]) + " of the other, from the tile's begin";
  if (out.error.empty()) {
    Column sets(static_cast<std::size_t>(p_.threads() * results));
    for (int w = 0; w < waves; ++w) {
      bool twice = false;
      const int set = sets_.of({xk[0].begin() + w * ks, xk[0].begin() + (w + 1) * ks}, twice);
      if (twice) out.error = "a k is summed twice";
      std::fill(sets.begin() + static_cast<std::ptrdiff_t>(w * lanes * results),
                sets.begin() + static_cast<std::ptrdiff_t>((w + 1) * lanes * results), set);
    }
    out.sets = columns_.intern(std::move(sets));
    out.low = *std::min_element(xk[0].begin(), xk[0].end());
    out.high = *std::max_element(xk[0].begin(), xk[0].end());
  }
  return products_.emplace(cache, std::move(out)).first->second;
}

void Interpreter::multiply(State& s, const Inst& i) {
  for (std::size_t half = 0; half < i.uses.size() / 2; ++half) multiply(s, i, half);
}

void Interpreter::multiply(State& s, const Inst& i, std::size_t half) {
  const std::string claim = "A and B are multiplied at the same k, row by row";
  const Reg &first = i.uses[half], &second = i.uses[i.uses.size() / 2 + half];
  Term x = complete_term(part(value(s, first), first)), y = complete_term(part(value(s, second), second));
  Term acc = value(s, i.def);
  // The difference of the two origins of k must be a number; it is found from the columns that move with k.
  std::optional<Sym> xo, yo;
  std::int64_t shift_by = 0;
  const Product* product_of = nullptr;
  {
    // Classification does not depend on the shift when it is 0, which is the usual case.
    const Product& guess = product(i, half, x.columns, y.columns, 0);
    if (!guess.x_k.empty() && !guess.y_k.empty()) {
      xo = origin_of(x.expr, guess.x_k[0]);
      yo = origin_of(y.expr, guess.y_k[0]);
      if (xo && yo) {
        const auto d = (*xo - *yo).constant();
        if (!d)
          refute(claim, i.atom->name,
                 "one operand begins at " + to_string(*xo) + ", the other at " + to_string(*yo));
        shift_by = d->value();
      }
    }
    product_of = shift_by == 0 ? &guess : &product(i, half, x.columns, y.columns, shift_by);
  }
  const Product& r = *product_of;
  if (!r.error.empty()) refute(claim, describe(x) + " times " + describe(y), r.error);
  if (!xo || !yo) refute(claim, describe(x) + " times " + describe(y), "no index of an operand is its k");

  // Both operands with k in place of the columns that move with it.
  const auto bind = [&](Term& t, const std::vector<std::size_t>& k_columns, const std::vector<int>& rows,
                        Sym origin) {
    std::vector<std::pair<AtomId, Sym>> replace;
    std::size_t next = 0;
    for (std::size_t c = 0; c < t.columns.size(); ++c) {
      const bool is_k = std::find(k_columns.begin(), k_columns.end(), c) != k_columns.end();
      replace.emplace_back(*dollar(c).as_atom(), is_k ? bound_ - origin : dollar(next));
      if (!is_k) ++next;
    }
    replace_in(t, replace);
    t.columns = rows;
  };
  const Sym origin = *xo;
  bind(x, r.x_k, r.x_rows, *xo);
  bind(y, r.y_k, r.y_rows, *yo);
  Sym limit{};
  bool limited = false;
  for (Term* t : {&x, &y}) {
    std::vector<Fact> rest;
    bool found = false;
    for (const Fact& f : t->facts) {
      if (f.condition) {
        if (f.index == bound_ && f.fill == 0) t->ends.push_back(f.bound); // and so the product
        continue;
      }
      if (!(f.index == bound_)) {
        rest.push_back(f);
        continue;
      }
      found = true;
      if (limited && !(limit == f.bound))
        refute(claim, describe(*t), "k ends at " + to_string(limit) + " and at " + to_string(f.bound));
      limit = f.bound;
      limited = true;
      if (f.fill != 0 && !less_equal(origin + Sym(r.high + 1), f.bound))
        refute("beyond the end of k both factors are 0", describe(*t),
               "k from " + to_string(relate(origin + Sym(r.low))) + " to " +
                   to_string(relate(origin + Sym(r.high))) + " may lie beyond " + to_string(relate(f.bound)) +
                   ", where the operand holds what follows in memory");
    }
    if (!found) refute(claim, describe(*t), "nothing says where k ends");
    t->facts = std::move(rest);
  }
  prove("beyond the end of k both factors are 0", to_string(limit), "provenance");

  Term sum;
  rename(x, sum.columns);
  rename(y, sum.columns);
  sum.expr = x_.normal(x.expr * y.expr);
  sum.facts = x.facts;
  for (Fact& f : sum.facts) f.fill = anything;
  for (Fact f : y.facts) {
    f.fill = anything;
    if (std::find(sum.facts.begin(), sum.facts.end(), f) == sum.facts.end()) sum.facts.push_back(f);
  }
  sum.partial = true;
  sum.limit = limit;
  sum.ends = x.ends;
  sum.ends.insert(sum.ends.end(), y.ends.begin(), y.ends.end());
  sum.has_part = true;
  sum.origin = origin;
  sum.sets = r.sets;
  const bool empty = !acc.partial && acc.expr == x_.constant(0);
  if (!empty) {
    align(sum, acc.columns);
    if (!acc.partial || !one_body(acc, sum, acc.columns) || acc.columns != sum.columns ||
        !(acc.limit == sum.limit) || acc.monoid != Monoid::sum)
      refute("an accumulator sums one element of the result", describe(acc), "and then " + describe(sum));
    const std::vector<Fact> more = std::move(sum.facts);
    sum = join(acc, sum);
    for (const Fact& f : more)
      if (std::find(sum.facts.begin(), sum.facts.end(), f) == sum.facts.end()) sum.facts.push_back(f);
  }
  settle(sum);
  s.regs[key(i.def)] = {std::move(sum), false};
  prove(claim, i.atom->name, "provenance");
}

} // namespace inlay::codegen::provenance
