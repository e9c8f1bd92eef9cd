// Rule of products: A and B meet at the same k, row by row.
#include "interpreter.h"

namespace inlay::codegen::provenance {

std::vector<int> Interpreter::ks_of(const Inst& i, std::size_t half, bool second) const {
  const Mma& mma = *i.atom->mma;
  const int lanes = p_.target().wave_size, full = mma.a_values(),
            values = full / static_cast<int>(operand_parts(i));
  const Column kk = coordinates(second ? mma.b : mma.a, 1);
  std::vector<int> held;
  for (int l = 0; l < lanes; ++l)
    for (int v = 0; v < values; ++v)
      held.push_back(kk[static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v)]);
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return held;
}

const Interpreter::Side& Interpreter::side(const Inst& i, std::size_t half, bool second, int column_id) {
  const auto [known, fresh] = sides_.try_emplace({i.atom, half, second, column_id});
  if (!fresh) return known->second;
  const Mma& mma = *i.atom->mma;
  const int lanes = p_.target().wave_size, waves = p_.threads() / lanes;
  const int parts = static_cast<int>(operand_parts(i)), full = mma.a_values(), values = full / parts,
            results = mma.c_values(), rows = mma.m, ks = mma.k / parts;
  const Layout& operand = second ? mma.b : mma.a;
  const std::vector<int> held = ks_of(i, half, second);
  const Column all_rows = coordinates(operand, 0), all_k = coordinates(operand, 1),
               result_index = coordinates(mma.c, second ? 1 : 0);
  Column row, kk; // of what a lane holds, the k numbered
  for (int l = 0; l < lanes; ++l)
    for (int v = 0; v < values; ++v) {
      const auto at = static_cast<std::size_t>(l * full + static_cast<int>(half) * values + v);
      row.push_back(all_rows[at]);
      kk.push_back(static_cast<int>(std::lower_bound(held.begin(), held.end(), all_k[at]) - held.begin()));
    }
  const Column& column = columns_[column_id];
  Column by_row(static_cast<std::size_t>(waves * rows), INT_MIN),
      by_k(static_cast<std::size_t>(waves) * std::max(held.size(), static_cast<std::size_t>(ks)), INT_MIN);
  bool is_row = true, is_k = true;
  for (int w = 0; w < waves; ++w)
    for (int l = 0; l < lanes; ++l)
      for (int v = 0; v < values; ++v) {
        const int x = column[static_cast<std::size_t>((w * lanes + l) * values + v)];
        int& r = by_row[static_cast<std::size_t>(w * rows + row[static_cast<std::size_t>(l * values + v)])];
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
    known->second.rows = columns_.intern(std::move(n));
  } else if (is_k) {
    known->second.k = columns_.intern(std::move(by_k));
  }
  return known->second;
}

const Interpreter::Summed& Interpreter::summed(const Inst& i, int k) {
  const auto [known, fresh] = summed_.try_emplace({i.atom, k});
  if (!fresh) return known->second;
  const Column& numbers = columns_[k];
  const int lanes = p_.target().wave_size, waves = p_.threads() / lanes, results = i.atom->mma->c_values(),
            ks = static_cast<int>(numbers.size()) / waves;
  Column sets(static_cast<std::size_t>(p_.threads() * results));
  for (int w = 0; w < waves; ++w) {
    const int set = sets_.of({numbers.begin() + w * ks, numbers.begin() + (w + 1) * ks}, known->second.twice);
    std::fill(sets.begin() + static_cast<std::ptrdiff_t>(w * lanes * results),
              sets.begin() + static_cast<std::ptrdiff_t>((w + 1) * lanes * results), set);
  }
  known->second.sets = columns_.intern(std::move(sets));
  return known->second;
}

const Interpreter::Product& Interpreter::product(const Inst& i, std::size_t half, const std::vector<int>& xc,
                                                 const std::vector<int>& yc, std::int64_t shift) {
  const auto cache = std::tuple(i.atom, half, xc, yc, shift);
  if (const auto found = products_.find(cache); found != products_.end()) return found->second;
  Product out;
  const std::size_t ks = static_cast<std::size_t>(i.atom->mma->k) / operand_parts(i);
  const std::vector<int> held = ks_of(i, half, false);
  if (held != ks_of(i, half, true) || held.size() != ks)
    out.error = "parts of the operands are at different k of the instruction";
  const auto classify = [&](bool second, const std::vector<int>& columns, std::vector<std::size_t>& k_columns,
                            std::vector<int>& row_columns, std::vector<int>& k_values) {
    for (std::size_t c = 0; c < columns.size() && out.error.empty(); ++c) {
      const Side& of = side(i, half, second, columns[c]);
      if (of.rows >= 0) {
        row_columns.push_back(of.rows);
      } else if (of.k >= 0) {
        k_columns.push_back(c);
        k_values.push_back(of.k);
      } else {
        out.error = "a row of the operand holds several rows, or lanes of different rows hold different k";
      }
    }
  };
  std::vector<int> xk, yk;
  classify(false, xc, out.x_k, out.x_rows, xk);
  classify(true, yc, out.y_k, out.y_rows, yk);
  if (out.error.empty() && (xk.empty() || yk.empty())) out.error = "an operand does not depend on k";
  if (out.error.empty())
    for (const auto* all : {&xk, &yk})
      for (const int c : *all)
        if (c != all->front()) out.error = "two indices of an operand move with k in different ways";
  if (out.error.empty() && !(shift == 0 && xk[0] == yk[0])) {
    const Column &x = columns_[xk[0]], &y = columns_[yk[0]];
    for (std::size_t q = 0; q < x.size() && out.error.empty(); ++q)
      if (x[q] + shift != y[q])
        out.error = "product " + std::to_string(q % ks) + " of wave " + std::to_string(q / ks) +
                    " takes k = " + std::to_string(x[q] + shift) + " of one operand and " +
                    std::to_string(y[q]) + " of the other, from the tile's start";
  }
  if (out.error.empty()) {
    const Summed& of = summed(i, xk[0]);
    if (of.twice) out.error = "a k is summed twice";
    out.sets = of.sets;
    std::tie(out.low, out.high) = columns_.range(xk[0]);
  }
  return products_.emplace(cache, std::move(out)).first->second;
}

void Interpreter::multiply(State& s, const Inst& i) {
  const Mma& mma = *i.atom->mma;
  const std::size_t of_each = operand_parts(i);
  for (std::size_t n = 0; n <= 2 * of_each; ++n) { // A, B and what they are added to
    const Reg& r = n < 2 * of_each ? i.uses[n] : i.def;
    const Element held = code_.registers[static_cast<std::size_t>(r.id)].element,
                  taken = n < of_each       ? mma.a_element
                          : n < 2 * of_each ? mma.b_element
                                            : mma.c_element;
    if (held != taken)
      refute("an instruction multiplies what its operands hold", i.atom->name,
             "it takes " + to_string(taken) + ", and v" + std::to_string(r.id) + " holds " + to_string(held));
  }
  const auto operand = [&](const Reg& r) { return complete_term(part(value(s, r), r)); };
  const std::size_t parts = operand_parts(i);
  for (std::size_t half = 0; half < parts; ++half)
    if (mma.scaled)
      multiply(s, i, half, scaled(s, i, 0, half), scaled(s, i, 1, half));
    else
      multiply(s, i, half, operand(i.uses[half]), operand(i.uses[parts + half]));
}

int Interpreter::value_by_value(const Inst& i, std::size_t which, std::size_t half, int column) {
  const Atom& atom = *i.atom;
  auto [at, fresh] = value_by_value_.try_emplace({&atom, which, half, column}, -1);
  if (!fresh) return at->second;
  const Mma& mma = *atom.mma;
  const int lanes = p_.target().wave_size, waves = p_.threads() / lanes;
  constexpr int block = 32;
  const std::size_t full = static_cast<std::size_t>(mma.a_values()), values = full / operand_parts(i);
  const Layout& operand = which == 0 ? mma.a : mma.b;
  const Column row = coordinates(operand, 0), k = coordinates(operand, 1),
               scale_row = coordinates(*mma.scale, 0), scale_k = coordinates(*mma.scale, 1);
  std::map<std::pair<int, int>, int> lane_of; // row and first k -> lane
  for (int l = 0; l < lanes; ++l)
    lane_of[{scale_row[static_cast<std::size_t>(l)], scale_k[static_cast<std::size_t>(l)]}] = l;
  const Column narrow = columns_[column];
  Column wide;
  for (int w = 0; w < waves; ++w)
    for (std::size_t v = 0; v < row.size(); ++v) {
      if (v % full / values != half) continue;
      const int lane = lane_of.at({row[v], k[v] / block * block});
      wide.push_back(narrow[static_cast<std::size_t>(w * lanes + lane)]);
    }
  return at->second = columns_.intern(std::move(wide));
}

bool Interpreter::blocks_of(int fine, int coarse, int block) {
  auto [at, fresh] = blocks_of_.try_emplace({fine, coarse, block}, false);
  if (!fresh) return at->second;
  const Column &f = columns_[fine], &c = columns_[coarse];
  bool same = f.size() == c.size();
  for (std::size_t slot = 0; slot < f.size() && same; ++slot)
    same = f[slot] >= 0 && f[slot] / block == c[slot];
  return at->second = same;
}

Term Interpreter::scaled(State& s, const Inst& i, std::size_t which, std::size_t half) {
  const std::string claim = "each value of an operand meets the scale of its row and block of k";
  const std::size_t parts = operand_parts(i);
  const Reg &values_at = i.uses[which * parts + half], &scale_at = i.uses[2 * parts + which];
  Term x = complete_term(part(value(s, values_at), values_at)),
       scale = complete_term(part(value(s, scale_at), scale_at));
  const ExprNode of = scale.expr.node();
  if (of.fn != Fn::load) refute(claim, describe(scale), "a scale is an element of a tensor");
  constexpr int block = 32;
  for (int& c : scale.columns) c = value_by_value(i, which, half, c);
  // Where the scale's index is floor(k / 32) of an index of the operand, it is written so: the sum is over k.
  std::vector<int> columns;
  rename(x, columns), rename(scale, columns);
  const auto column_of =
      [&](Sym index) -> std::optional<std::pair<Sym, std::size_t>> { // index = origin + _ci
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Sym origin = index - dollar(c);
      if (!mentions(origin, *dollar(c).as_atom())) return std::pair(origin, c);
    }
    return std::nullopt;
  };
  ExprNode out = scale.expr.node();
  const ExprNode operand_node = x.expr.node();
  if (operand_node.fn != Fn::load) refute(claim, describe(x), "the operand is no element of a tensor");
  Sym blocks{}, elements{};
  bool found = false;
  for (std::size_t axis = 0; axis < out.index.size() && !found; ++axis) {
    const auto g = blocked_.find({out.tensor, axis});
    const auto b = column_of(out.index[axis]);
    if (g == blocked_.end() || g->second != block || !b) continue;
    for (const Sym& index : operand_node.index) {
      const auto e = column_of(index);
      if (!e || found || !(relate(e->first) == Sym(block) * relate(b->first))) continue;
      if (!blocks_of(columns[e->second], columns[b->second], block)) continue;
      blocks = out.index[axis], elements = index;
      out.index[axis] = floor_div(index, Sym(block));
      found = true;
    }
  }
  if (!found) {
    x.columns = scale.columns = columns;
    refute(claim, describe(x) + " times " + describe(scale),
           "the scale's index is not k / " + std::to_string(block) + " of the operand's");
  }
  // Inside, k < K, there is a scale; outside the product is 0 when the operand is and the scale is a number.
  double fill = anything;
  bool ends = false;
  std::vector<Fact> facts;
  for (Fact f : scale.facts) {
    if (!(f.index == blocks)) {
      f.fill = anything;
      facts.push_back(f);
      continue;
    }
    ends = true;
    for (Fact& of_x : x.facts) {
      if (!(of_x.index == elements) || of_x.condition) continue;
      const Sym end = relate(f.bound) * Sym(block);
      if (!less_equal(of_x.bound, end))
        refute(claim, describe(scale),
               "scales end at k = " + to_string(end) + ", the operand at " + to_string(relate(of_x.bound)));
      if (of_x.fill == 0 && std::isfinite(f.fill) && relate(of_x.bound) == end) fill = 0;
    }
  }
  if (!ends) refute(claim, describe(scale), "nothing says where its blocks of k end");
  for (Fact& f : x.facts)
    if (f.index == elements && !f.condition) f.fill = fill;
  for (const Fact& f : facts) x.facts.push_back(f);
  asks_nothing(scale);
  x.expr = normal_of(x.expr * x_.make(std::move(out)));
  x.columns = std::move(columns);
  tidy(x);
  prove(claim, i.atom->name, "provenance");
  return x;
}

std::string Interpreter::hint_paged(Expr a, Expr b) const {
  // Elements of one tensor, in rows that a table names at different places.
  const auto named = [&](Expr e) {
    std::map<std::pair<int, int>, std::vector<Sym>> out; // tensor and table: where in the table
    (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
      for (std::size_t axis = 0; n.fn == Fn::load && axis < n.through.size(); ++axis)
        if (n.through[axis] >= 0) out[{n.tensor, n.through[axis]}].push_back(n.index[axis]);
      return std::nullopt;
    });
    return out;
  };
  const auto of_a = named(a), of_b = named(b);
  for (const auto* some : {&of_a, &of_b})
    for (const auto& [what, at] : *some) {
      const auto& others = some == &of_a ? of_b : of_a;
      if (const auto other = others.find(what); other != others.end() && other->second == at) continue;
      const std::string tensor = p_.tensor(what.first).name, table = p_.tensor(what.second).name;
      return "\n  hint   what one entry of " + table + " names is a sum of its own; in k.paged(\"" + tensor +
             "_pages\", " + tensor + ", " + table + ") the rows of all entries are one axis, tile after tile";
    }
  return "";
}

Term Interpreter::settled(Term t) {
  settle(t);
  return t;
}

bool Interpreter::has_all(const Term& t, const Term& other) {
  const Term more = settled(other);
  if (more.in_rounds() || more.first_sets >= 0) return false;
  std::vector<std::pair<Sym, Sym>> parts = more.intervals;
  if (more.has_part && t.has_part && t.origin == more.origin && !t.in_rounds() && t.first_sets < 0) {
    const Column &has = columns_[t.sets], &wanted = columns_[more.sets];
    for (std::size_t slot = 0; slot < has.size(); ++slot) {
      bool twice = false;
      if (sets_.unite(has[slot], wanted[slot], twice) != has[slot]) return false;
    }
  } else if (more.has_part) {
    parts.push_back(around(more));
  }
  return std::all_of(parts.begin(), parts.end(), [&](const auto& x) {
    return std::any_of(t.intervals.begin(), t.intervals.end(), [&](const auto& of) {
      return less_equal(of.first, x.first) && less_equal(x.second, of.second);
    });
  });
}

std::pair<Sym, Sym> Interpreter::around(const Term& t) const {
  int low = INT_MAX, high = INT_MIN;
  for (const int id : columns_[t.sets])
    for (const auto& [from, to] : sets_[id]) low = std::min(low, from), high = std::max(high, to);
  return low < high ? std::pair(t.origin + Sym(low), t.origin + Sym(high)) : std::pair(t.origin, t.origin);
}

Term Interpreter::with_more(const Term& acc, Term sum) {
  // The sum that goes on; or another one begins beside those that there are, and what was there before.
  std::vector<Term> all{acc};
  all.front().others.clear();
  all.insert(all.end(), acc.others.begin(), acc.others.end());
  Term* same = nullptr;
  for (Term& one : all) {
    Term next = sum;
    align(next, one.columns);
    if (!one.partial || one.columns != next.columns ||
        (!one_body(one, next, one.columns) && !one_body_under(one, next, one.columns)) ||
        !one_limit(one.limit, next.limit) || one.monoid != sum.monoid)
      continue;
    if (one.summed_by != sum.summed_by && has_all(one, next)) continue; // twice the same: another sum
    const std::vector<Fact> more = std::move(next.facts);
    one = join(one, next);
    for (const Fact& f : more)
      if (std::find(one.facts.begin(), one.facts.end(), f) == one.facts.end()) one.facts.push_back(f);
    settle(one);
    same = &one;
    break;
  }
  for (const Term& one : all)
    if (!same && one.summed_by == sum.summed_by)
      refute("an accumulator sums one element of the result", describe(one),
             "and then " + describe(sum) + hint_paged(one.expr, sum.expr));
  if (!same) all.push_back(settled(std::move(sum)));
  Term out = std::move(all.front());
  out.others.assign(std::make_move_iterator(all.begin() + 1), std::make_move_iterator(all.end()));
  return out;
}

Term Interpreter::total(const Term& t, Element element) {
  std::vector<Term> all{t};
  all.front().others.clear();
  all.insert(all.end(), t.others.begin(), t.others.end());
  Expr sum;
  std::vector<int> columns;
  const bool wraps =
      std::any_of(all.begin(), all.end(), [](const Term& one) { return one.monoid == Monoid::wrapping_sum; });
  for (std::size_t k = 0; k < all.size(); ++k) {
    all[k] = complete_term(std::move(all[k]));
    rename(all[k], columns);
    all[k].columns.clear();
    const Expr operand = x_.parameter(static_cast<int>(k)), one = wraps ? integer(operand) : operand;
    sum = k == 0 ? one : sum + one;
  }
  Term out = pointwise(wraps ? to_number(sum) : sum, all, columns);
  out.columns = std::move(columns);
  if (element == Element::i32 && !wraps)
    whole_numbers(out, [] { return std::string("sums in one accumulator"); });
  tidy(out);
  return out;
}

void Interpreter::multiply(State& s, const Inst& i, std::size_t half, Term x, Term y) {
  const std::string claim = "A and B are multiplied at the same k, row by row";
  const Term& acc = held(s, i.def).term;
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
  // An operand that was scaled before: the k of an instruction are of one block.
  if (!blocked_.empty())
    for (Term* t : {&x, &y})
      t->expr = within_block(origin + Sym(r.low), origin + Sym(r.high + 1), t->expr, t->columns);
  Sym limit{};
  bool limited = false;
  for (Term* t : {&x, &y}) {
    std::vector<Fact> rest;
    bool found = false;
    for (const Fact& f : t->facts) {
      if (f.condition) {
        if (f.index == bound_ && f.fill == 0) t->ends.push_back(f.bound); // and so the product
        if (const auto b = begin_of(f.index, f.bound, bound_); b && f.fill == 0) t->begins.push_back(*b);
        continue;
      }
      if (!(f.index == bound_)) {
        // One coordinate for all elements, and inside: nothing is left to say. Others say where a later fold ends.
        if (ranged(f.index, t->columns) != f.index || !less_equal(f.index + Sym(1), f.bound))
          rest.push_back(f);
        continue;
      }
      found = true;
      if (limited && !(limit == f.bound))
        refute(claim, describe(*t),
               "k ends at " + to_string(limit) + " and at " + to_string(f.bound) +
                   hint_paged(x.expr, y.expr));
      limit = f.bound;
      limited = true;
      if (f.fill != 0 && !less_equal(origin + Sym(r.high + 1), f.bound))
        refute("beyond the end of k both factors are 0", describe(*t),
               "k from " + to_string(relate(origin + Sym(r.low))) + " to " +
                   to_string(relate(origin + Sym(r.high))) + " may lie beyond " + to_string(relate(f.bound)) +
                   ", where the operand holds what follows in memory\n  hint   k.fill(x, axis, tile * t, "
                   "extent, 0) after the last map "
                   "that makes what is multiplied");
    }
    if (!found) refute(claim, describe(*t), "nothing says where k ends");
    t->facts = std::move(rest);
  }
  prove(
      "beyond the end of k both factors are 0", [&] { return to_string(limit); }, "provenance");

  Term sum;
  rename(x, sum.columns);
  rename(y, sum.columns);
  asks_nothing(x), asks_nothing(y);
  sum.expr = normal_of(x.expr * y.expr);
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
  sum.begins = x.begins;
  sum.begins.insert(sum.begins.end(), y.begins.begin(), y.begins.end());
  sum.has_part = true;
  sum.origin = origin;
  sum.sets = r.sets;
  // Products of integers are added modulo 2^32, where the specification's sum is one of numbers.
  if (i.atom->mma->c_element == Element::i32) whole_numbers(sum, [&] { return i.atom->name; });
  sum.summed_by = i.op;
  const bool empty = !acc.partial && acc.expr == x_.constant(0) && acc.others.empty();
  s.regs[key(i.def)] = {empty ? settled(std::move(sum)) : with_more(acc, std::move(sum)), false};
  prove(claim, i.atom->name, "provenance");
}

} // namespace inlay::codegen::provenance
