// A loop of the machine by induction: two heads, what of them stays, what moves by a step, what holds the same values as the code.
#include "code_sides.h"

#include <inlay/codegen/symbol_kinds.h>

namespace inlay::kernels::validate::sides {

bool Sides::loop(Path& path, std::size_t head, std::string& why) {
  const auto& kept = path.heads[head];
  Abstract a;
  a.head = head;
  a.before = &path.trace.in_place;
  a.from = kept[kept.size() - 2];
  Flow& one = *a.from;
  Flow& two = *kept.back();
  for (const auto& c : two.path()) a.way.push_back(c.second);
  // Which trips of the code the two heads are: where most of what the machine holds is held.
  const auto numbers_in = [&](Flow& f) {
    std::unordered_set<Number> out;
    for (unsigned w = 0; w < f.waves(); ++w)
      for (unsigned r = 0; r < Flow::rows; ++r)
        for (const unsigned l : {0U, 21U, 63U})
          if (const auto d = values_->datum(f.vector(w, r, l)))
            out.insert(d->numbers.begin(), d->numbers.end());
    for (std::size_t k = 0; k < f.lds().size(); k += 37)
      if (const auto d = values_->datum(f.lds()[k])) out.insert(d->numbers.begin(), d->numbers.end());
    return out;
  };
  // Or, of a loop that holds nothing from trip to trip, after as many trips as the code has stored as much.
  const auto by_stores = [&](std::size_t stored, int from, int to) {
    std::size_t so_far = 0;
    for (int b = 0; b <= to; ++b) {
      static_cast<void>(boundary(b));
      so_far += part_.stores_of[static_cast<std::size_t>(b)].size();
      if (b >= from && so_far == stored) return b;
    }
    return from;
  };
  const auto best = [&](Flow& f, std::size_t stored, int from, int to) {
    const auto wanted = numbers_in(f);
    int found = from;
    std::size_t most = 0;
    for (int b = from; b <= to; ++b) {
      std::set<Number> held;
      const auto look = [&](const std::vector<Number>& all) {
        for (const Number v : all)
          if (wanted.contains(v)) held.insert(v);
      };
      const auto& state = boundary(b);
      for (const auto& [key, values] : state.registers) look(values);
      for (const auto& [key, values] : state.lds) look(values);
      const std::size_t n = held.size();
      if (n > most) {
        most = n;
        found = b;
      }
    }
    return most == 0 ? by_stores(stored, from, to) : found;
  };
  const std::vector<std::size_t>& stored = path.stored[head];
  const CodeRegion& region = *shape_->loop;
  const int reach = region.ring * static_cast<int>(kept.size()) + 1;
  a.first = best(one, stored[stored.size() - 2], 0, reach);
  const int second =
      best(two, stored.back(), a.first + 1, a.first + 1 + std::max(2 * region.ring, codegen::most_copies));
  a.period = second - a.first;
  if (a.period % region.ring != 0) {
    why = "its heads are the trips " + std::to_string(a.first) + " and " + std::to_string(second) +
          " of the code";
    return false;
  }
  // The code is in its loop at the first of them.
  if (formulas_->decide(false, Sym(a.first), loop_trips() - Sym(1), known_of(one.path())) != Truth::yes) {
    why = "that the code is in its loop too";
    return false;
  }
  const auto& s1 = boundary(a.first);
  const auto& s2 = boundary(second);
  const auto block = [&](bool lds, int id, int at, const std::vector<Number>& x,
                         const std::vector<Number>& y) {
    if (x.size() != y.size()) return;
    a.blocks.push_back({lds, id, at, a.one.size(), x.size()});
    a.one.insert(a.one.end(), x.begin(), x.end());
    a.two.insert(a.two.end(), y.begin(), y.end());
  };
  for (const auto& [key, values] : s1.registers) {
    const bool outside = code_.registers[static_cast<std::size_t>(key.first)].outside;
    const int relative = outside ? 0 : key.second - a.first;
    const auto other = s2.registers.find({key.first, outside ? 0 : second + relative});
    if (other != s2.registers.end()) block(false, key.first, relative, values, other->second);
  }
  const std::size_t registers_end = a.one.size();
  for (const auto& [key, values] : s1.lds)
    if (const auto other = s2.lds.find(key); other != s2.lds.end())
      block(true, key.first, key.second, values, other->second);
  a.fresh.resize(a.one.size());
  for (std::size_t k = 0; k < a.one.size(); ++k) a.fresh[k] = a.one[k] != a.two[k];
  Flat<Number, int> kinds, in_registers, in_lds;
  std::vector<int> last; // of each kind
  for (std::size_t k = 0; k < a.one.size(); ++k) {
    const Number both = random_of(a.one[k], a.two[k]);
    const int kind = kinds.try_emplace(both, static_cast<int>(kinds.size())).first->second;
    a.kind.push_back(kind);
    a.next_alike.push_back(-1);
    if (static_cast<std::size_t>(kind) == last.size()) {
      last.push_back(static_cast<int>(k));
      a.first_alike.push_back(static_cast<int>(k));
    } else {
      int& before = last[static_cast<std::size_t>(kind)];
      a.next_alike[static_cast<std::size_t>(before)] = static_cast<int>(k);
      before = static_cast<int>(k);
    }
    (k < registers_end ? in_registers : in_lds).try_emplace(both, static_cast<int>(k));
  }
  a.first_kind = a.kind;
  Terms& t = one.terms();
  // What elements are computed to and kept as, two or four in a word.
  std::set<Element> formats;
  const auto in_words = [&](const auto& all) {
    for (const auto& x : all)
      if (bits(x.element) == 16 || bits(x.element) == 8) formats.insert(x.element);
  };
  in_words(code_.registers);
  in_words(p_.tensors());
  // A step is the same in every trip when it is made of arguments.
  Flat<Word, bool> steady_words;
  const std::function<bool(Word)> steady = [&](Word w) {
    if (w == Terms::unknown) return false;
    if (const auto at = steady_words.find(w); at != steady_words.end()) return at->second;
    bool good = true;
    switch (t.kind(w)) {
    case TermKind::symbol: good = formulas_->of(w).has_value(); break;
    case TermKind::linear:
      for (std::size_t k = 0; good && k < t.parts(w).size(); ++k) good = steady(t.parts(w)[k].atom);
      break;
    case TermKind::none:
    case TermKind::unknown:
    case TermKind::load:
    case TermKind::function:
    case TermKind::datum: good = false; break;
    default:
      for (std::size_t k = 0; good && k < t.children(w).size(); ++k) good = steady(t.children(w)[k]);
      break;
    }
    return steady_words[w] = good;
  };
  const auto relate = [&](Word x, Word y, bool lds) -> int {
    if (x == y) return -1;
    Related r;
    // `in_part`: or some of the elements, of a register with one half written that waits for the other one.
    const auto find = [&](Element format, unsigned count, bool in_part, auto&& get) {
      std::vector<int> places(count, -1);
      for (unsigned e = 0; e < count; ++e) {
        const auto v1 = get(x, e), v2 = get(y, e);
        for (const auto* map : {lds ? &in_lds : &in_registers, lds ? &in_registers : &in_lds}) {
          if (!v1 || !v2 || places[e] >= 0) break;
          if (const auto at = map->find(random_of(*v1, *v2)); at != map->end()) places[e] = at->second;
        }
        if (places[e] < 0 && !in_part) return false;
      }
      if (std::all_of(places.begin(), places.end(), [](int p) { return p < 0; })) return false;
      r.kind = Related::Kind::data;
      r.format = format;
      r.places = std::move(places);
      return true;
    };
    const auto d1 = values_->datum(x), d2 = values_->datum(y);
    if (d1 && d2 && d1->format == Element::f64 && d2->format == Element::f64) {
      if (d1->numbers[1] == d2->numbers[1] &&
          find(Element::f64, 1, false,
               [&](Word w, unsigned) -> std::optional<Number> { return (w == x ? d1 : d2)->numbers[0]; }))
        r.half = static_cast<int>(d1->numbers[1]);
    } else if (d1 && d2) {
      if (d1->format == d2->format && d1->numbers.size() == d2->numbers.size())
        find(d1->format, static_cast<unsigned>(d1->numbers.size()), false,
             [&](Word w, unsigned e) -> std::optional<Number> { return (w == x ? d1 : d2)->numbers[e]; });
    } else if (x != 0 && y != 0 && x != Terms::unknown && y != Terms::unknown) {
      const Word step = t.subtract(y, x);
      if (!d1 && !d2 && steady(step)) {
        r.kind = Related::Kind::linear;
        r.step = step;
      } else {
        const auto as = [&](Element format, bool in_part = false) {
          return find(format, 32 / static_cast<unsigned>(bits(format)), in_part,
                      [&](Word w, unsigned e) { return values_->read(w, format, e); });
        };
        const auto half = [&](Element format) { return !lds && bits(format) == 16 && as(format, true); };
        // Of a code without f32 nothing is tried as such: what is found by a conversion would count as one.
        static_cast<void>((has_elements(Element::f32) && as(Element::f32)) ||
                          (has_elements(Element::i32) && as(Element::i32)) ||
                          std::any_of(formats.begin(), formats.end(), [&](Element f) { return as(f); }) ||
                          std::any_of(formats.begin(), formats.end(), half));
      }
    }
    a.related.push_back(std::move(r));
    return static_cast<int>(a.related.size()) - 1;
  };
  for (unsigned w = 0; w < one.waves(); ++w) {
    a.scalars.emplace_back(Flow::scalars, -1);
    a.vectors.emplace_back(Flow::rows * 64, -1);
    for (unsigned r = 0; r < Flow::scalars; ++r)
      a.scalars[w][r] = relate(one.scalar(w, r), two.scalar(w, r), false);
    a.scc.push_back(one.scc(w) != two.scc(w));
    for (unsigned r = 0; r < Flow::rows; ++r) {
      if (one.surely_same(two, w, r)) continue;
      for (unsigned l = 0; l < 64; ++l)
        a.vectors[w][r * 64 + l] = relate(one.vector(w, r, l), two.vector(w, r, l), false);
    }
  }
  a.lds.assign(one.lds().size(), -1);
  for (std::size_t k = 0; k < a.lds.size(); ++k) a.lds[k] = relate(one.lds()[k], two.lds()[k], true);

  const auto reasons = reasons_;
  const auto samples = samples_;
  const std::size_t taken = values_->arithmetic().taken();
  for (int round = 0; round < 12; ++round) {
    reasons_ = reasons;
    samples_ = samples;
    a.changed = false;
    if (attempt(a, why)) {
      ++report_.loops;
      // What the path did up to here is the code's, too.
      for (const auto& p : path.trace.problems) missing(p);
      foreign_loads(path, {}, second, true, "before the loop");
      Events stores;
      for (int k = 0; k <= second; ++k) join(stores, part_.stores_of[static_cast<std::size_t>(k)]);
      compare_stores(path, stores, "before the loop");
      samples_ = samples;
      return true;
    }
    values_->forget_reads(taken); // its words may have been anything
    if (!a.changed) break;
  }
  if (reasons_.size() > reasons.size()) {
    for (const auto& r : reasons_)
      if (!reasons.contains(r)) why = r;
  }
  reasons_ = reasons;
  samples_ = samples;
  return false;
}

bool Sides::attempt(Abstract& a, std::string& why) {
  Flow& one = *a.from;
  Terms& t = one.terms();
  const auto periods = fresh_++;
  const std::string name = "periods." + std::to_string(periods);
  const Interval trips = interval(loop_trips());
  // The code is in its loop at each of these heads: first + period u <= trips - 1. At least 1, as in flow_options.
  const std::int64_t most =
      trips.upper ? std::max<std::int64_t>((trips.upper->value() - 1 - a.first) / a.period, 1) : 0x7fffffff;
  if (a.periods == 0) { // one for all rounds, so that what was made of it is known in the next one
    a.periods = t.symbol(name, static_cast<std::uint32_t>(std::min<std::int64_t>(most, 0x7fffffff)));
    // By its bound too: the program's symbols outlive this, and another loop of the same number has another bound.
    a.u = symbol_of(formulas_->context(), codegen::SymbolKind::periods, {periods, most}, "",
                    {Int(0), Int(most)});
    formulas_->name(a.periods, a.u);
    const bool windows = std::any_of(p_.tensors().begin(), p_.tensors().end(), [](const codegen::Tensor& x) {
      return x.space == codegen::Space::window;
    });
    if (shape_->next || windows) code_run_->names.watch({*a.u.as_atom()});
  }
  a.base = known_of(one.path());
  a.facts = a.base;
  for (const Sym& d : a.invariants) a.facts.push_back(formulas_->fact(d));
  a.facts.push_back(formulas_->fact(loop_trips() - Sym(1) - Sym(a.first) - Sym(a.period) * a.u));
  a.facts.push_back(formulas_->fact(a.u));
  // The code's places: fresh values, but for those that stay.
  a.start = a.one;
  for (std::size_t k = 0; k < a.start.size(); ++k)
    if (a.fresh[k]) a.start[k] = apply(Function::fresh, (fresh_ << 32) + static_cast<Number>(a.kind[k]));
  CodeRun::State state;
  for (const auto& b : a.blocks) {
    const bool outside = !b.lds && code_.registers[static_cast<std::size_t>(b.id)].outside;
    auto& to = (b.lds ? state.lds : state.registers)[{b.id, b.lds || outside ? b.at : a.first + b.at}];
    to.assign(a.start.begin() + static_cast<std::ptrdiff_t>(b.base),
              a.start.begin() + static_cast<std::ptrdiff_t>(b.base + b.size));
  }
  a.runs.clear();
  a.loads.clear();
  a.stores.assign(1, {});
  a.runs.push_back(std::move(state));
  static_cast<void>(after(a, a.period + 1));
  // The machine's words.
  Flow begin = one;
  const auto word_of = [&](const Related& r, Word before) -> Word {
    if (r.kind == Related::Kind::unknown) return values_->anything(); // which may be read and then dropped
    if (r.kind == Related::Kind::linear) return t.add(before, t.multiply(a.periods, r.step));
    std::vector<Number> numbers;
    for (const int p : r.places)
      numbers.push_back(p < 0 ? apply(Function::fresh, (Number{1} << 62) + halves_++)
                              : a.start[static_cast<std::size_t>(p)]);
    return r.half < 0 ? values_->word(r.format, numbers)
                      : values_->half_of_f64(numbers[0], static_cast<unsigned>(r.half));
  };
  for (unsigned w = 0; w < begin.waves(); ++w) {
    for (unsigned r = 0; r < Flow::scalars; ++r)
      if (const int k = a.scalars[w][r]; k >= 0) {
        const Related& x = a.related[static_cast<std::size_t>(k)];
        // Lanes that may be anything would be taken for active ones.
        if (r >= 126 && x.kind == Related::Kind::unknown) {
          why = "EXEC changes from trip to trip";
          return false;
        }
        begin.set_scalar(w, r, word_of(x, begin.scalar(w, r)));
      }
    if (a.scc[w]) begin.set_scc(w, Terms::unknown);
    for (unsigned r = 0; r < Flow::rows; ++r)
      for (unsigned l = 0; l < 64; ++l)
        if (const int k = a.vectors[w][r * 64 + l]; k >= 0)
          begin.set_vector(w, r, l, word_of(a.related[static_cast<std::size_t>(k)], begin.vector(w, r, l)));
  }
  for (std::size_t k = 0; k < a.lds.size(); ++k)
    if (a.lds[k] >= 0)
      begin.lds()[k] = word_of(a.related[static_cast<std::size_t>(a.lds[k])], begin.lds()[k]);
  a.begin = std::make_unique<Flow>(begin);
  // Numbers for the sizes and the periods.
  std::vector<Sample> drawn;
  Draw draw(code_);
  for (int k = 0; k < 400 && drawn.size() < 60; ++k) {
    const auto& of_path = part_.samples;
    Sample s = of_path.empty() ? draw(2 * a.first + 4 * a.period + 8)
                               : of_path[static_cast<std::size_t>(k) % of_path.size()];
    const auto terms_of = [&](Sample& x) {
      for (const auto& [n, v] : x.numbers)
        if (const auto at = flow_options().maxima.find(n); at != flow_options().maxima.end())
          x.words[t.symbol(n, at->second)] = static_cast<std::uint64_t>(v);
        else
          x.words[t.symbol(n, 0x7fffffffU)] = static_cast<std::uint64_t>(v);
    };
    terms_of(s);
    // Of as many trips as an entry of a table says: any number of periods.
    const std::int64_t room =
        value_at(s, loop_trips()).value_or(Int(a.first + 1 + 4 * a.period)).value() - 1 - a.first;
    if (room < 0) continue;
    const bool takes = std::all_of(one.path().begin(), one.path().end(), [&](const auto& c) {
      const auto v = t.evaluate(c.first, s.words);
      return v && (*v != 0) == c.second;
    });
    if (!takes) continue;
    const std::int64_t u = std::max<std::int64_t>(0, (room / a.period) - k % 3);
    s.words[a.periods] = static_cast<std::uint64_t>(u);
    s.symbols.set(a.u, Int(u));
    if (std::any_of(a.invariants.begin(), a.invariants.end(),
                    [&](const Sym& d) { return value_at(s, d).value_or(Int(0)) < Int(0); }))
      continue;
    drawn.push_back(std::move(s));
  }
  samples_ = std::move(drawn);
  Path path(std::move(begin));
  path.trace.in_place = *a.before;
  for (std::size_t k = 0; k < samples_.size(); ++k) path.samples.push_back(k);
  const std::size_t before = reasons_.size();
  explore(std::move(path), &a);
  return !a.changed && reasons_.size() == before;
}

} // namespace inlay::kernels::validate::sides
