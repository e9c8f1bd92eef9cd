// Rule of stores: what is written is the specification, every element once, by one workgroup.
#include "interpreter.h"

#include <cstdio>

namespace inlay::codegen::provenance {

namespace {
// Of two that print alike: where they begin to differ.
std::string difference(Expr a, Expr b) {
  const ExprNode& x = a.node();
  const ExprNode& y = b.node();
  if (x.fn == Fn::constant && y.fn == Fn::constant) {
    char text[100];
    (void)std::snprintf(text, sizeof text, "\n  which differ in a constant: %.17g and %.17g", x.value,
                        y.value);
    return text;
  }
  if (x.fn != y.fn || x.args.size() != y.args.size()) return "\n  which differ in kind";
  for (std::size_t k = 0; k < x.args.size(); ++k)
    if (x.args[k] != y.args[k]) return difference({a.arena, x.args[k]}, {b.arena, y.args[k]});
  for (std::size_t k = 0; k < std::min(x.index.size(), y.index.size()); ++k)
    if (!(x.index[k] == y.index[k]))
      return "\n  which differ in an index: " + to_string(x.index[k]) + " and " + to_string(y.index[k]);
  return "";
}
} // namespace

Expr Interpreter::specified(const Program::Specification& spec, std::span<const std::pair<AtomId, Sym>> at,
                            const std::vector<int>& columns) {
  const Expr said = replaced_(spec.value, at);
  std::vector<std::pair<AtomId, Sym>> read;
  const std::vector<AtomId> all = x_.symbols(said);
  // Of all that is stored one entry of a table, which the workgroup has read: p / 64 of a tile of 64.
  const auto read_by_workgroup = [&](int table, Sym entry) -> const Uniform* {
    const auto u = std::find_if(p_.uniforms().begin(), p_.uniforms().end(), [&](const Uniform& x) {
      if (x.tensor != table || !trips_of(p_, x).empty()) return false;
      const Sym own = relate(world(x.at));
      return own == entry || (less_equal(own, entry) && less_equal(entry, own));
    });
    return u == p_.uniforms().end() ? nullptr : &*u;
  };
  for (const Entry& v : p_.values()) {
    if (std::find(all.begin(), all.end(), *v.symbol.as_atom()) == all.end()) continue;
    const Sym entry = ranged(relate(world(replaced_(v.at, at))), columns);
    const Uniform* u = read_by_workgroup(v.tensor, entry);
    if (!u)
      refute("a number that the specification reads of a table is one that the workgroup has read",
             p_.tensor(v.tensor).name + "[" + to_string(entry) + "]",
             "there is no k.uniform(" + p_.tensor(v.tensor).name + ", ..) of that entry");
    read.emplace_back(*v.symbol.as_atom(), u->symbol);
  }
  const Expr wanted = world(read.empty() ? said : replaced_(said, read));
  if (p_.uniforms().empty()) return wanted;
  // As loads at such a number have it, k.value(..) and k.at(..) alike: through the table, at the entry that the workgroup reads.
  return x_.rewrite(wanted, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::load) return std::nullopt;
    std::vector<Sym> index = n.index;
    std::vector<int> through = n.through;
    through.resize(index.size(), -1);
    bool changed = false;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      const Uniform* u = through[axis] < 0
                             ? uniform_of(p_, index[axis])
                             : read_by_workgroup(through[axis], ranged(relate(index[axis]), columns));
      if (!u) continue;
      index[axis] = world(u->at), through[axis] = u->tensor;
      changed = true;
    }
    if (!changed) return std::nullopt;
    return x_.load(n.tensor, std::move(index), std::move(through));
  });
}

void Interpreter::store(State& s, const Inst& i) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const Program::Specification* spec = p_.specification(t);
  if (!spec)
    refute("every tensor that is written has a specification", t.name, "nothing says what it should hold");
  if ((t.in_place || spec->table >= 0) && !running_.empty())
    refute("every element of " + t.name + " is written once", t.name,
           std::string("it ") +
               (t.in_place ? "held something before the launch" : "has rows that a table names") +
               ", and is stored inside of a loop that holds loops");
  const std::optional<Prepared> named_rows = scattered(s, i, *spec);
  const Prepared& r = named_rows ? *named_rows : prepared(i);
  const std::vector<Sym> shape = p_.shape(*spec);
  Term term = part(value(s, i.uses[0]), i.uses[0]);
  std::optional<int> parts;
  if (i.combine && term.partial) {
    settle(term);
    if (!covers(term)) parts = sum_of_parts(term, t);
  }
  // Specification and term over the same columns: those of the coordinates that are written.
  std::vector<int> columns;
  std::vector<std::pair<AtomId, Sym>> at;
  std::vector<Sym> coordinate;
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    auto where = std::find(columns.begin(), columns.end(), r.column[axis]);
    if (where == columns.end()) where = columns.insert(columns.end(), r.column[axis]);
    const auto [low, high] = columns_.range(r.column[axis]);
    coordinate.push_back(
        relate(here(r.origin[axis])) +
        (low == high ? Sym(low) : dollar(static_cast<std::size_t>(where - columns.begin()))));
  }
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis)
    at.emplace_back(*spec->coordinate[axis].as_atom(), coordinate[axis]);
  // A column with one value is that number.
  std::vector<std::pair<AtomId, Sym>> constants;
  const auto find_constants = [&] {
    constants.clear();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto [low, high] = columns_.range(columns[c]);
      if (low == high) constants.emplace_back(*dollar(c).as_atom(), Sym(low));
    }
  };
  find_constants();
  const Expr wanted = specified(*spec, at, columns);
  if (!i.combine && term.partial) {
    settle(term);
    if (!covers(term)) (void)part_of_sum(term, replaced_(relate(wanted), constants));
  }
  term = complete_term(std::move(term));
  if (i.combine) callers(t.name + " holds 0 before the launch", "workgroups add to it");
  // Who comes last stores for all that differ from it along the ticket's axis.
  if (const auto ticket = stores_for_all(s)) {
    if (parts || s.given.contains(t.id))
      refute("every element of " + t.name + " is written once", t.name,
             "it was stored before the ticket too");
    parts = p_.tickets()[static_cast<std::size_t>(*ticket)].axis;
    if (const auto [of, first] = by_ticket_.try_emplace(t.id, *ticket); !first && of->second != *ticket)
      refute("every element of " + t.name + " is written once", t.name, "by the last of two tickets");
  } else if (s.given.contains(t.id)) {
    refute("what was released is not stored again", t.name, "it was stored before the ticket was drawn");
  }
  if (s.passed.contains(t.id))
    refute("what was released is not stored again", t.name, "it was stored before the turn was passed on");
  s.released.reset();
  if (const auto before = s.stored_part.find(t.id); before != s.stored_part.end() && before->second != parts)
    refute("every element of " + t.name + " is written once", "",
           "some of it is added in parts, and some is not");
  s.stored_part[t.id] = parts;
  const std::string claim = t.name + " is what the specification says";

  // A coordinate that is another one and a number, wherever it is stored: rows 2 and 3 of a tile, which are rows 0 and 1 of its lower half.
  for (std::size_t k = 0, n = term.columns.size(); k < n; ++k) {
    if (std::find(columns.begin(), columns.end(), term.columns[k]) != columns.end()) continue;
    for (const int other : columns) {
      const Column &own = columns_[term.columns[k]], &of = columns_[other];
      std::optional<int> apart;
      bool same = own.size() == of.size();
      for (std::size_t slot = 0; same && slot < own.size(); ++slot)
        if (r.acts[slot * r.acts.size() / own.size()]) {
          if (!apart) apart = own[slot] - of[slot];
          same = own[slot] - of[slot] == *apart;
        }
      if (!same || !apart) continue;
      auto found = std::find(term.columns.begin(), term.columns.end(), other);
      if (found == term.columns.end()) found = term.columns.insert(term.columns.end(), other);
      const Sym there = dollar(static_cast<std::size_t>(found - term.columns.begin()));
      const std::pair<AtomId, Sym> moved[] = {{*dollar(k).as_atom(), there + Sym(*apart)}};
      replace_in(term, moved);
      break;
    }
  }
  rename(term, columns);
  find_constants();
  const auto settle_sym = [&](Sym x) { return replaced_(relate(x), constants); };
  std::vector<Asked> asked = term.asked; // and what is lost here
  const Expr held = world(resolve(term.expr, columns, &asked));
  const auto settled = [&](Expr e) { return x_.normal(tabulate(replaced_(e, constants), columns)); };
  const auto settled_held = [&](Expr e) {
    return normal_of(tabulate(replaced_(e, constants), columns), asked);
  };
  // First whatever the number of trips is.
  Expr expected = settled(wanted), got = settled_held(held);
  if (!(expected == got))
    expected = settled(resolve(replaced_(relate(wanted), constants), columns)),
    got = settled_held(relate(held));
  if (!(expected == got)) expected = all_inside(expected, columns), got = all_inside(got, columns, &asked);
  if (!(expected == got)) expected = folds_inside(expected, columns), got = folds_inside(got, columns);
  if (!(expected == got)) expected = parts_inside(expected), got = parts_inside(got);
  // What is chosen in one order. That asks for no more than the specification does: else this would be no number where that is one.
  Expr plain = expected;
  if (!(expected == got) && choices_.chooses(got)) {
    const Expr in_order = ordered(got, asked, true);
    expected = choices_.ordered(expected, true), got = in_order;
    for (const auto& [of, need] : Domains::Needs(domains_.needs(expected))) ask(asked, asking(of, need, at_));
  } else {
    plain = {};
  }
  // What the store's mask leaves out is not stored: of what is, the coordinates are inside.
  for (std::size_t axis = 0; axis < coordinate.size() && !(expected == got); ++axis) {
    if (i.access.gathered(axis) || !i.access.masked[axis]) continue;
    const Fact inside{settle_sym(coordinate[axis]), settle_sym(world(shape[axis])), anything};
    expected = x_.normal(strip_inside(expected, {inside}));
    got = x_.normal(strip_inside(got, {inside}));
  }
  // Where the value is known to be x from n on, and the specification comes to x there, too (`i < n ? f : x`, and 2 (i < n ? f : 0)):
  // what is left to show is what it says of the others.
  std::vector<Fact> told;
  for (const Fact& f : term.facts) {
    if (expected == got) break;
    const Fact from{settle_sym(f.index), settle_sym(f.bound), f.fill};
    if (f.condition || outside(expected, {}, from) != f.fill || !holds(t.element, f.fill)) continue;
    told.push_back(from);
    expected = x_.normal(strip_inside(expected, {from}));
  }
  if (!(expected == got)) {
    const auto name = [&](int id) { return p_.tensor(id).name; };
    std::string columns_text;
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (const Column& own = columns_[columns[c]]; !own.empty()) {
        const auto [least, most] = std::minmax_element(own.begin(), own.end());
        columns_text += "\n  _c" + std::to_string(c) + "     from " + std::to_string(*least) + " to " +
                        std::to_string(*most) + ", the coordinate along axis " + std::to_string(c) +
                        " in the tile that is stored";
      }
    const std::string wanted_text = to_string(expected, name), held_text = to_string(got, name);
    const auto reads = [&](Expr e, int tensor) {
      bool found = false;
      (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
        found = found || (n.fn == Fn::load && n.tensor == tensor);
        return std::nullopt;
      });
      return found;
    };
    std::string of_window; // elements of a window are equal to no others
    for (const Tensor& x : p_.tensors())
      if (x.space == Space::window && reads(got, x.id) && !reads(expected, x.id))
        of_window = "\n  hint   a specification of " + x.name + "[..], which is read, in the place of " +
                    p_.tensor(x.of).name + "[..]";
    refute(claim, wanted_text,
           "it holds " + held_text + (wanted_text == held_text ? difference(expected, got) : "") +
               columns_text + of_window);
  }
  asked_of(wanted, plain ? plain : expected, asked, [&](Expr e) {
    return all_inside(settled(resolve(replaced_(relate(world(e)), constants), columns)), columns);
  });
  for (const Fact& f : term.facts) {
    if (f.condition) continue; // the expression says it too
    const Sym index = settle_sym(f.index), bound = settle_sym(f.bound);
    // What the mask of the store leaves out need not be right, nor what the specification says of it as the fact does.
    bool met = std::any_of(told.begin(), told.end(),
                           [&](const Fact& x) { return x.index == index && x.bound == bound; });
    for (std::size_t axis = 0; axis < coordinate.size() && !met;
         ++axis) // also of a tap, so much further along
      if (const auto tap = (index - settle_sym(coordinate[axis])).constant())
        met = less_equal(settle_sym(world(shape[axis])) + Sym(*tap), bound);
    met = met || less_equal(ranged(index, columns) + Sym(1), bound);
    if (!met)
      refute(claim, describe(term),
             "where " + to_string(index) + " >= " + to_string(bound) +
                 " it holds something else, and that is stored");
  }
  // Outside of the tensor nothing is written.
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    // The mask is the row's, and the entries are all there.
    const bool named = i.access.gathered(axis) || (named_rows && uniform_of(p_, i.access.origin[axis]));
    if (named && !i.access.masked[axis])
      refute("rows that a table names and the tensor has not are not written", t.name,
             "axis " + std::to_string(axis) + " is not masked");
    const bool only = !named && counted(i, axis); // there are no more workgroups
    if ((named || !i.access.masked[axis]) && !only &&
        !less_equal(ranged(settle_sym(coordinate[axis]), columns) + Sym(1), settle_sym(world(shape[axis]))))
      refute("stores stay inside " + t.name, to_string(coordinate[axis]),
             named
                 ? named_past_end(p_.tensor(spec->table), i.access.extents[axis])
                 : "axis " + std::to_string(axis) + " is not masked and may pass " + to_string(shape[axis]));
  }
  prove(
      "stores stay inside " + t.name, [&] { return to_string(t.place); }, "facts");

  if (t.in_place) overwrite(s, i, r);
  record(s.stored[t.id], i, r);
  s.vm.push_back({});
  prove(
      claim, [&] { return to_string(spec->value, name_of_tensor()); }, "provenance");
}

std::string Interpreter::named_past_end(const Tensor& table, int at_once) const {
  const std::string entries = to_string(table.shape[0]);
  return "entries of " + table.name + " are taken " + std::to_string(at_once) +
         " at a time, and those past its " + entries + " name row 0\n  hint   " + entries +
         " declared a multiple of " + std::to_string(at_once) +
         "; or a workgroup for each entry, t = k.workgroups(0, " + entries + ", 1), and the row k.uniform(" +
         table.name + ", t)";
}

void Interpreter::record(Written& w, const Inst& i, const Prepared& r) {
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim = "every element of " + t.name + " is written once";
  std::vector<Sym> origin;
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    origin.push_back(replaced_(r.origin[axis], trips()));
    if (origin[axis] == r.origin[axis]) continue; // it does not move with the loop
    if (w.axis >= 0 && w.axis != static_cast<int>(axis))
      refute(claim, to_string(r.origin[axis]), "tiles follow one another along two axes");
    w.axis = static_cast<int>(axis);
  }
  auto tile = std::find_if(w.tiles.begin(), w.tiles.end(), [&](const Written::Tile& x) {
    return x.origin == origin && x.extents == i.access.extents;
  });
  if (tile == w.tiles.end()) {
    if (w.origin.empty()) w.origin = origin, w.extents = i.access.extents;
    for (std::size_t axis = 0; axis < origin.size(); ++axis) {
      if (static_cast<int>(axis) == w.axis) continue;
      if (w.origin[axis] == origin[axis] && w.extents[axis] == i.access.extents[axis]) continue;
      // The second tile says along which axis they follow one another.
      if (w.axis >= 0)
        refute("a workgroup's tiles of " + t.name + " follow one another along one axis",
               to_string(w.origin[axis]) + ", " + std::to_string(w.extents[axis]) + " long",
               to_string(origin[axis]) + ", " + std::to_string(i.access.extents[axis]) + " long");
      w.axis = static_cast<int>(axis);
    }
    Written::Tile fresh{origin, i.access.extents, {}};
    std::size_t n = 1;
    for (const int e : fresh.extents) n *= static_cast<std::size_t>(e);
    fresh.done.assign(n, false);
    tile = w.tiles.insert(w.tiles.end(), std::move(fresh));
  }
  std::vector<int> at(origin.size());
  for (std::size_t slot = 0; slot < r.coordinate[0].size(); ++slot) {
    if (!r.acts[slot / i.access.elements.size()]) continue;
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = r.coordinate[axis][slot];
    const auto index = tile->index(at);
    if (!index)
      refute(claim, "",
             "work-item " + std::to_string(slot / i.access.elements.size()) +
                 " writes outside of the tile that the store names");
    if (tile->done[*index])
      refute(claim, "",
             "work-item " + std::to_string(slot / i.access.elements.size()) +
                 " writes one that was written before");
    tile->done[*index] = true;
  }
  if (w.axis < 0) return;
  // Whole tiles become runs.
  const auto axis = static_cast<std::size_t>(w.axis);
  for (std::size_t n = 0; n < w.tiles.size();) {
    const Written::Tile& done = w.tiles[n];
    if (!done.whole()) {
      ++n;
      continue;
    }
    const Sym low = done.origin[axis], high = low + Sym(done.extents[axis]);
    if (const auto other = join_interval(w.runs, low, high, false))
      refute(claim, "axis " + std::to_string(axis),
             "[" + to_string(relate(low)) + ", " + to_string(relate(high)) +
                 ") is not shown to be disjoint from [" + to_string(relate(other->first)) + ", " +
                 to_string(relate(other->second)) + ")");
    w.tiles.erase(w.tiles.begin() + static_cast<std::ptrdiff_t>(n));
  }
}

std::optional<Interpreter::Prepared> Interpreter::scattered(State& s, const Inst& i,
                                                            const Program::Specification& spec) {
  if (!i.access.gathered() && spec.table < 0) return {};
  Prepared r = prepared(i);
  const Tensor& t = p_.tensor(i.access.tensor);
  const std::string claim =
      "rows of " + t.name + " are " + (spec.replaces ? "stored" : "added") + " where its table names them";
  bool named = false;
  const auto other_table = [&](int table) {
    refute(claim, p_.tensor(spec.table).name, "the rows are those of " + p_.tensor(table).name);
  };
  for (std::size_t axis = 0; axis < r.origin.size(); ++axis) {
    const Uniform* u = uniform_of(p_, i.access.origin[axis]);
    if (!i.access.gathered(axis) && !u) continue;
    if (axis != 0 || spec.table < 0)
      refute(claim, t.name,
             "axis " + std::to_string(axis) + " goes through a table, and not in the specification");
    if (u) { // one row for the workgroup
      if (u->tensor != spec.table) other_table(u->tensor);
      if (std::any_of(r.coordinate[axis].begin(), r.coordinate[axis].end(), [](int c) { return c != 0; }))
        refute(claim, to_string(u->symbol), "a number of the workgroup is a coordinate by itself");
      r.origin[axis] = world(u->at);
      named = true;
      continue;
    }
    Term of;
    Sym entry = relate(row_index(s, i, axis, of));
    if (row_table_ != spec.table) other_table(row_table_);
    // entry = origin + column
    Column column(r.coordinate[axis].size(), 0);
    for (std::size_t k = 0; k < of.columns.size(); ++k) {
      const auto has = [&](Sym x) {
        const auto all = symbols(x);
        return std::find(all.begin(), all.end(), *dollar(k).as_atom()) != all.end();
      };
      if (!has(entry)) continue;
      entry -= dollar(k);
      if (has(entry)) refute(claim, to_string(entry), "the entry is no sum of an origin and a column");
      for (std::size_t slot = 0; slot < column.size(); ++slot) column[slot] += columns_[of.columns[k]][slot];
    }
    r.origin[axis] = entry;
    r.column[axis] = columns_.intern(column);
    r.coordinate[axis] = std::move(column);
    named = true;
  }
  if (!named) refute(claim, p_.tensor(spec.table).name, "it goes through no table");
  if (!i.combine && !spec.replaces)
    refute(claim, t.name, "a row may be named twice, and what is stored replaces what was there");
  if (i.combine && spec.replaces) refute(claim, t.name, "it is added to what was there");
  if (spec.replaces)
    callers("no two entries of " + p_.tensor(spec.table).name + " name one row of " + t.name,
            "what is stored replaces what was there");
  prove(claim, p_.tensor(spec.table).name, "provenance");
  return r;
}

Expr Interpreter::all_inside(Expr e, const std::vector<int>& columns, std::vector<Asked>* asked) {
  const Expr out = x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::inside) return std::nullopt;
    const Sym index = ranged(n.index[0], columns), bound = ranged(n.index[1], columns);
    if (le(index + Sym(1), bound) == Truth::yes) return Expr{e.arena, n.args[0]};
    if (le(bound, index) == Truth::yes) return x_.constant(n.value);
    return std::nullopt;
  });
  return asked ? normal_of(out, *asked) : x_.normal(out);
}

Expr Interpreter::folds_inside(Expr e, const std::vector<int>& columns) {
  return x_.normal(x_.rewrite(e, [&](const ExprNode& fold) -> std::optional<Expr> {
    if (fold.fn != Fn::fold || (fold.index.size() != 1 && fold.index.size() != 3)) return std::nullopt;
    const AtomId summed = *fold.sym.as_atom();
    const Sym end = fold.index[0]; // of all elements; a part may end before
    const Expr body{&x_, fold.args[0]};
    const Expr out = x_.rewrite(body, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::fold && n.sym == fold.sym) return x_.make(ExprNode(n)); // an index of its own
      if (n.fn != Fn::inside) return std::nullopt;
      const Sym rest = n.index[0] - fold.sym;
      if (mentions(rest, summed) || mentions(n.index[1], summed) ||
          !less_equal(ranged(rest + end, columns), ranged(n.index[1], columns)))
        return std::nullopt;
      return Expr{&x_, n.args[0]};
    });
    if (out == body) return std::nullopt;
    ExprNode whole = fold;
    whole.args[0] = out.id;
    return x_.make(std::move(whole));
  }));
}

Expr Interpreter::parts_inside(Expr e) {
  return x_.normal(x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    if (n.fn != Fn::fold || n.index.size() != 3) return std::nullopt;
    const Sym begin = n.index[1];
    if (less_equal(n.index[2], begin) || less_equal(n.index[0], begin))
      return x_.constant(empty_element(n.monoid));
    ExprNode part = n;
    if (at_most(n.index[0], n.index[2])) part.index[2] = n.index[0]; // no element is beyond the extent
    // From such an end on each is the empty one. It may not be by the index of a fold.
    const std::vector<Sym> ends = ends_of(n);
    const std::set<AtomId> known = ends.empty() ? std::set<AtomId>{} : x_.free_symbols(x_.make(ExprNode(n)));
    for (const Sym& empty : ends)
      if (std::ranges::all_of(symbols(empty), [&](AtomId a) { return known.contains(a); }) &&
          at_most(empty, part.index[2]))
        part.index[2] = empty;
    const Sym end = part.index[2];
    if (!(end - begin == Sym(1)) || !at_most(Sym(0), begin) || !less_equal(end, n.index[0]))
      return end == n.index[2] ? std::nullopt : std::optional(x_.make(std::move(part)));
    const std::pair<AtomId, Sym> first[] = {{*n.sym.as_atom(), begin}};
    return x_.substitute({&x_, n.args[0]}, first);
  }));
}

Expr Interpreter::tabulate(Expr e, std::vector<int>& columns) {
  const auto [plain, fresh] = only_symbols_.try_emplace(e.id, true);
  if (!fresh && plain->second) return e;
  std::vector<std::pair<AtomId, Sym>> replace;
  const auto look = [&](Sym s) {
    for (const inlay::Term& term : s.terms())
      for (const Factor& f : term.factors()) {
        const Sym atom = context_.value(f.atom);
        if (context_.atom(f.atom).kind == AtomKind::symbol) continue;
        only_symbols_[e.id] = false;
        std::vector<std::size_t> used;
        bool only = true;
        for (const AtomId a : symbols(atom)) {
          std::size_t c = 0;
          while (c < columns.size() && *dollar(c).as_atom() != a) ++c;
          only = only && c < columns.size();
          used.push_back(c);
        }
        if (!only || used.empty()) continue;
        Column out;
        Assignment at; // once: it has room for as many symbols as there are
        for (std::size_t slot = 0; slot < columns_[columns[used[0]]].size(); ++slot) {
          for (const std::size_t c : used) at.set(dollar(c), Int(columns_[columns[c]][slot]));
          out.push_back(static_cast<int>(evaluate(atom, at).value()));
        }
        if (std::all_of(out.begin(), out.end(), [&](int v) { return v == out[0]; })) {
          replace.emplace_back(f.atom, Sym(out[0]));
          continue;
        }
        const int id = columns_.intern(std::move(out));
        auto where = std::find(columns.begin(), columns.end(), id);
        if (where == columns.end()) where = columns.insert(columns.end(), id);
        replace.emplace_back(f.atom, dollar(static_cast<std::size_t>(where - columns.begin())));
      }
  };
  (void)x_.rewrite(e, [&](const ExprNode& n) -> std::optional<Expr> {
    for (const Sym& s : n.index) look(s);
    if (n.fn == Fn::number) look(n.sym);
    return std::nullopt;
  });
  return replace.empty() ? e : x_.substitute(e, replace);
}

int Interpreter::sum_of_parts(Term& t, const Tensor& to) {
  const std::string claim =
      "the parts of " + to.name + " that workgroups add make up its sum, each element once";
  // What adds to memory of i32 does so modulo 2^32.
  const bool sums =
      t.monoid == Monoid::sum || (t.monoid == Monoid::wrapping_sum && to.element == Element::i32);
  if (!sums || t.has_part) refute(claim, describe(t), "it is no part of a sum over an interval");
  const Sym limit = relate(t.limit);
  for (const GridAxis& g : p_.grid()) {
    if (!(relate(world(g.extent)) == limit)) continue;
    const auto high = reached(t.intervals, world(Sym(g.tile) * g.symbol), t.monoid);
    if (!high) continue;
    if (!ends_part(g.extent, end_of_part(g), *high, limit))
      refute(claim, describe(t), "part number " + to_string(g.symbol) + " ends at " + to_string(*high));
    prove(claim, to_string(t.limit), "provenance");
    t.intervals = {{Sym(0), t.limit}};
    return g.axis;
  }
  if (const auto& shares = p_.shares(); shares && relate(world(shares->extent)) == limit) {
    const Sym tile(shares->tile), begin = tile * shares->begin, end = begin + tile * shares->count;
    const auto high = reached(t.intervals, relate(world(begin)), t.monoid);
    if (high && ends_part(shares->extent, end, *high, limit)) {
      prove(claim, to_string(t.limit), "provenance");
      t.intervals = {{Sym(0), t.limit}};
      return axis_of_shares;
    }
    refute(claim, describe(t),
           "the share of the workgroup ends at " + to_string(end) +
               (high ? ", and this at " + to_string(*high) : ""));
  }
  refute(claim, describe(t), "no grid axis counts parts of this sum, one after another");
}

bool Interpreter::ends_part(Sym extent, Sym end, Sym high, Sym limit) {
  if (high == relate(world(end))) return true;
  return less_equal(limit, high) && (less_equal(limit, relate(world(end))) ||
                                     std::any_of(given_.begin(), given_.end(), [&](const auto& x) {
                                       return end - extent == x.second - x.first; // extent <= end
                                     }));
}

// A workgroup goes on to its next tile: nobody is still at what is in LDS of this one.
void Interpreter::leaves_lds(const State& s, const char* before) {
  const std::string claim = "all waves are through with LDS before the " + std::string(before);
  if (!s.lgkm.empty() ||
      std::any_of(s.vm.begin(), s.vm.end(), [](const Queued& q) { return q.what == Queued::What::write; }))
    refute(claim, "", "an access to LDS is under way");
  for (const auto& [stage, readings] : s.readings)
    for (const Reading& r : readings)
      if (!r.passed.published(s.barriers))
        refute(claim, p_.tensor(stage.first).name, "no barrier stands after a read of it");
  for (const Batch& b : s.batches)
    if (!b.passed.published(s.barriers)) refute(claim, "", "no barrier stands after a write to LDS");
  prove(claim, "", "provenance");
}

const Inst* Interpreter::last_store(int tensor) const {
  const Inst* last = nullptr;
  for (const CodeRegion& region : code_.regions)
    for (const auto* list : {&region.prologue, &region.body, &region.epilogue})
      for (const Inst& i : *list)
        if (i.kind == InstKind::store && p_.tensor(i.access.tensor).memory() == tensor) last = &i;
  return last;
}

void Interpreter::finish(const State& s) {
  if (s.apart() != 0)
    refute("all waves of the workgroup run as many barriers", "",
           "the upper half runs " + std::to_string(s.apart()) + " more");
  for (const auto& [turn, status] : s.awaited)
    if (!s.signalled.contains(turn))
      refute("a workgroup passes its turn on",
             p_.tensor(p_.turns()[static_cast<std::size_t>(turn)].tensor).name, "others wait for ever");
  if (p_.shares()) leaves_lds(s, "workgroup's next tile");
  leave_peers(s);
  ends_.emplace_back(s.given, s.passed);
  for (const auto& spec : p_.specifications()) {
    const auto found = s.stored.find(spec.tensor);
    const std::string& name = p_.tensor(spec.tensor).name;
    if (found == s.stored.end()) {
      if (path_.empty()) refute("every element of " + name + " is written once", "", "nothing is written");
      // Who comes last stores it.
      const auto other = std::find_if(s.taken.begin(), s.taken.end(), [&](int n) {
        return not_last(p_.tickets()[static_cast<std::size_t>(n)]);
      });
      if (other != s.taken.end()) {
        left_to_last_.emplace_back(spec.tensor, *other);
        continue;
      }
      asked_for_trips_ = true; // what is known goes on with it
      unwritten_.push_back({&spec, relation_});
      continue;
    }
    const Written& w = found->second;
    for (const Written::Tile& tile : w.tiles) {
      const auto first = std::find(tile.done.begin(), tile.done.end(), false);
      if (first == tile.done.end()) continue;
      std::string at;
      auto rest = static_cast<std::size_t>(first - tile.done.begin());
      for (const int e : tile.extents) {
        at += (at.empty() ? "" : ",") + std::to_string(rest % static_cast<std::size_t>(e));
        rest /= static_cast<std::size_t>(e);
      }
      at_ = last_store(spec.tensor);
      refute("every element of " + name + " is written once", "", "(" + at + ") of the tile is not written");
    }
    // All of an axis, or what a workgroup has of it, whatever its parts are.
    StoredTile tile{w.origin, w.extents};
    for (std::size_t axis = 0; axis < tile.origin.size(); ++axis) {
      const Sym extent = relate(world(p_.shape(spec)[axis])), at = tile.origin[axis];
      const bool in_parts = static_cast<int>(axis) == w.axis;
      // The tile that a grid axis counts is that, also on a path whose sizes make it all of the axis.
      const auto counted = std::find_if(p_.grid().begin(), p_.grid().end(), [&](const GridAxis& g) {
        return !in_parts && tile.extents[axis] == g.tile && p_.shape(spec)[axis] == g.extent &&
               !g.symbol.is_constant() && relate(at) == relate(Sym(g.tile) * world(g.symbol));
      });
      if (counted != p_.grid().end()) {
        tile.origin[axis] = Sym(counted->tile) * counted->symbol;
        continue;
      }
      const auto runs = in_parts ? w.runs : std::vector{std::pair(at, at + Sym(tile.extents[axis]))};
      if (cover(runs, {Sym(0)}, {extent}, Monoid::sum)) {
        tile.origin[axis] = Sym(0), tile.extents[axis] = 0;
        continue;
      }
      const Sym begin = std::min_element(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
                          return !(b.first == a.first) && less_equal(a.first, b.first);
                        })->first;
      const auto end = reached(runs, begin, Monoid::sum);
      const auto part = std::find_if(p_.grid().begin(), p_.grid().end(), [&](const GridAxis& g) {
        return end && relate(begin) == relate(Sym(g.tile) * world(g.symbol)) &&
               ends_part(g.extent, end_of_part(g), *end, extent);
      });
      if (part != p_.grid().end())
        tile.origin[axis] = Sym(part->tile) * part->symbol, tile.extents[axis] = part->tile;
      else if (in_parts) {
        at_ = last_store(spec.tensor);
        refute("every element of " + name + " is written once", "axis " + std::to_string(axis),
               "what is written along it is neither all of [0, " + to_string(p_.shape(spec)[axis]) +
                   ") nor what a grid axis counts\n  hint   a store in every trip of a loop over " +
                   to_string(p_.shape(spec)[axis]) + ", or k.workgroups of the tile that is stored");
      }
    }
    if (const auto read = s.read_tile.find(spec.tensor); read != s.read_tile.end()) {
      const std::string claim = "a workgroup reads of " + name + " what it alone writes, and before";
      bool own = true;
      for (std::size_t axis = 0; axis < w.extents.size() && own; ++axis) {
        const Sym begin = read->second.first[axis], end = begin + Sym(read->second.second[axis]);
        const auto until = static_cast<int>(axis) == w.axis ? reached(w.runs, begin, Monoid::sum)
                           : begin == w.origin[axis] ? std::optional(relate(begin + Sym(w.extents[axis])))
                                                     : std::nullopt;
        own = until && less_equal(end, *until);
      }
      if (!own) refute(claim, name, "it reads beyond the tile that it writes");
      prove(claim, name, "enumeration");
    }
    if (const auto [before, first] = stored_tile_.try_emplace(spec.tensor, tile);
        !first && before->second != tile) {
      const auto of = [](const StoredTile& t) {
        std::string text;
        for (std::size_t axis = 0; axis < t.origin.size(); ++axis)
          text += (axis > 0 ? ", " : "") + to_string(t.origin[axis]) + ": " +
                  (t.extents[axis] > 0 ? std::to_string(t.extents[axis]) : "all");
        return text;
      };
      refute("a workgroup writes one tile of " + name + ", however often its loops run",
             of(before->second) + " on one path, " + of(tile) + " on another",
             "it depends on the number of trips");
    }
    const std::optional<int>& part = s.stored_part.at(spec.tensor);
    if (const auto [before, first] = stored_part_.try_emplace(spec.tensor, part);
        !first && before->second != part)
      refute("workgroups share out " + name + " in one way", "", "it depends on the path");
    prove("every element of a tile of " + name + " is written once", "", "enumeration");
  }
}

void Interpreter::adds_nothing(const Program::Specification& spec) {
  const std::string& name = p_.tensor(spec.tensor).name;
  const std::string claim = "what a workgroup leaves out of " + name + " is 0";
  const auto tile = stored_tile_.find(spec.tensor);
  const bool zero = std::any_of(out_.contract.begin(), out_.contract.end(), [&](const auto& c) {
    return c.condition == name + " holds 0 before the launch";
  });
  if (tile == stored_tile_.end() || !zero)
    refute("every element of " + name + " is written once", "", "on one path nothing is written");
  std::vector<std::pair<AtomId, Sym>> at;
  for (std::size_t axis = 0; axis < spec.coordinate.size(); ++axis) {
    const int extent = tile->second.extents[axis];
    const Sym inside =
        extent == 0 ? symbol_of(context_, SymbolKind::any, {axis}, "", {Int(0), std::nullopt})
                    : symbol_of(context_, SymbolKind::in_tile, {extent, axis}, "", {Int(0), Int(extent - 1)});
    at.emplace_back(*spec.coordinate[axis].as_atom(), relate(world(tile->second.origin[axis])) + inside);
  }
  const Expr value = x_.normal(relate(specified(spec, at)));
  if (!(value == x_.constant(0)))
    refute(claim, to_string(value, name_of_tensor()),
           "it is not 0 where the path that adds nothing is taken");
  prove(
      claim, [&] { return to_string(spec.value, name_of_tensor()); }, "provenance");
}

void Interpreter::coverage() {
  for (const auto& [tensor, by_turn, number] : needed_)
    for (const auto& [given, passed] : ends_) {
      const std::map<int, int>& stored = by_turn ? passed : given;
      if (const auto at = stored.find(tensor); at == stored.end() || at->second != number)
        refute("what is read of " + p_.tensor(tensor).name + " was released by whoever stores it",
               p_.tensor(tensor).name, "on one path a workgroup does not store it before");
    }
  for (const auto& [tensor, ticket] : left_to_last_)
    if (const auto by = by_ticket_.find(tensor); by == by_ticket_.end() || by->second != ticket)
      refute("every element of " + p_.tensor(tensor).name + " is written once", "",
             "the workgroups that do not come last leave it out, and the last one does not store it");
  for (const Unwritten& u : unwritten_) {
    relation_ = u.relation;
    adds_nothing(*u.spec);
  }
  relation_.clear();
  if (const auto& map = p_.tile_map()) {
    const std::string claim = "each tile is one workgroup's, whatever the size of the grid";
    const auto axis = [&](int n) {
      return *std::find_if(p_.grid().begin(), p_.grid().end(),
                           [&](const GridAxis& g) { return g.axis == n; });
    };
    const GridAxis x = axis(0), y = axis(1);
    const auto& shares = p_.shares();
    if (const auto why = unproved(*map, context_, prover_, ceil_div(x.extent, Sym(x.tile)),
                                  ceil_div(y.extent, Sym(y.tile)), x.symbol, y.symbol,
                                  shares ? std::optional(shares->number) : std::nullopt))
      refute(claim, to_string(map->order), *why);
    prove(claim, to_string(map->order), "prover");
    if (shares) {
      const std::string each = "each trip of each tile is in one share, whatever the sizes";
      const std::string subject = std::to_string(shares->workers) + " workgroups";
      if (const auto why = unproved(*shares, context_, prover_, map->tiles)) refute(each, subject, *why);
      prove(each, subject, "prover");
      out_.contract.push_back({to_string(map->tiles) + " * " + to_string(shares->trips) +
                                   " <= " + std::to_string(Shares::most_steps),
                               "trips of all tiles are counted in 32 bits"});
    }
  }
  for (const auto& [tensor, tile] : stored_tile_) {
    const auto& [origin, extents] = tile;
    const Tensor& t = p_.tensor(tensor);
    std::set<int> used;
    const auto wrong = [&, id = tensor](const std::string& of_grid, const std::string& subject,
                                        const std::string& why) {
      at_ = last_store(id);
      refute(of_grid, subject, why);
    };
    for (std::size_t axis = 0; axis < origin.size(); ++axis) {
      const Sym of = p_.shape(*p_.specification(t))[axis];
      const std::string claim = "workgroups share out axis " + std::to_string(axis) + " of " + t.name;
      bool met = extents[axis] == 0;
      for (const GridAxis& g : p_.grid()) {
        const Sym tiles(extents[axis]);
        if (met || (!(origin[axis] == tiles * g.symbol) && !(origin[axis] == tiles * world(g.symbol))))
          continue;
        // One for each workgroup: the extent is their number.
        if (extents[axis] == 1 && of == ceil_div(g.extent, Sym(g.tile))) {
          if (!used.insert(g.axis).second) wrong(claim, to_string(g.symbol), "the grid axis is used twice");
          met = true;
          continue;
        }
        if (g.tile != extents[axis] || !(g.extent == of))
          wrong(claim, to_string(g.extent),
                "tiles of " + std::to_string(extents[axis]) + " on " + to_string(of) + ", and ceil(" +
                    to_string(g.extent) + " / " + std::to_string(g.tile) +
                    ") workgroups\n  hint   k.workgroups(" + std::to_string(g.axis) + ", " + to_string(of) +
                    ", " + std::to_string(extents[axis]) + ")");
        if (!used.insert(g.axis).second) wrong(claim, to_string(g.symbol), "the grid axis is used twice");
        // (r, w) -> tile * w + r is one-to-one onto what the workgroups have, and that is at least the extent.
        const Sym count = symbol_of(context_, SymbolKind::count, {g.axis}, "", {Int(1), std::nullopt});
        TupleBuilder<BasicMode<Sym>> b;
        const std::size_t open = b.open();
        b.leaf(BasicMode<Sym>{Sym(g.tile), BasicStride<Sym>(Sym(1))});
        b.leaf(BasicMode<Sym>{count, BasicStride<Sym>(Sym(g.tile))});
        b.close(open, 2);
        Claim c{ClaimKind::bijective, {}, {SymLayout(std::move(b).finish())}};
        // An extent is tile*q + r + 1 with 0 <= r < tile.
        const Sym extent_form =
            Sym(g.tile) * symbol_of(context_, SymbolKind::tiles, {}, "", {Int(0), std::nullopt}) +
            symbol_of(context_, SymbolKind::last, {g.tile}, "", {Int(0), Int(g.tile - 1)}) + Sym(1);
        met = prover_.decide(c) == Truth::yes &&
              decide(ClaimKind::less_equal, extent_form, Sym(g.tile) * ceil_div(extent_form, Sym(g.tile)));
      }
      if (!met) wrong(claim, to_string(origin[axis]), "no grid axis counts these tiles");
      prove(claim, to_string(origin[axis]), "prover");
    }
    if (p_.shares() && !p_.shares()->whole_tiles() && stored_part_[tensor] != axis_of_shares)
      wrong("no two workgroups write one element of " + t.name, t.name,
            "workgroups have shares of one tile, and what each stores is not added");
    if (const auto part = stored_part_[tensor]; part && !used.insert(*part).second)
      wrong("every element of " + t.name + " is written once", "",
            "workgroups along grid axis " + std::to_string(*part) +
                " have tiles of their own, and one of them stores");
    for (const GridAxis& g : p_.grid())
      if (!used.contains(g.axis) && le(p_.count(g.axis), Sym(1)) != Truth::yes)
        wrong("no two workgroups write one element of " + t.name, to_string(g.symbol),
              "workgroups along grid axis " + std::to_string(g.axis) + " write the same tile");
  }
}

} // namespace inlay::codegen::provenance
