// Sizes, pointers and elements that are numbers: what the machine does then, against the code's masks one by one.
#include "code_sides.h"
#include "numeric_access.h"

namespace inlay::kernels::validate::sides {

std::pair<std::uint64_t, std::uint64_t> zeros_of(const runtime::CodeObject& object) {
  for (const runtime::Symbol& s : object.symbols()) {
    if (s.name != "zeros" || s.function || s.section >= object.sections().size()) continue;
    const runtime::Section& in = object.sections()[s.section];
    if (in.executable || s.address < in.address || s.address - in.address > in.bytes.size() ||
        s.size > in.bytes.size() - (s.address - in.address))
      continue;
    const auto bytes = in.bytes.subspan(s.address - in.address, s.size);
    if (std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; }))
      return {s.address, s.address + s.size};
  }
  return {};
}

namespace {

/// Answers with numbers: everything the machine code does then is one workgroup of one launch.
class Numbers : public runtime::symbolic::FlowClient {
public:
  Numbers(const codegen::Program& p, CodeRun& run, const Flow& flow, std::map<int, std::uint64_t> pointers)
      : p_(p), run_(run), flow_(flow), t_(flow.terms()), pointers_(std::move(pointers)) {}

  std::set<std::pair<int, std::int64_t>> loads; ///< what the code loads
  std::map<std::uint64_t, MachineEvent> stores; ///< by address of the element; its bits
  std::vector<Trace::Product> products;
  std::optional<MachineEvent> wild; ///< the first access that is not the code's
  std::string wild_text;
  std::string endless; ///< why the machine is taken to be in its loop when the code has left it
  std::optional<std::int64_t> number; ///< that the workgroup draws; what others store is then what was there
  /// Of the code object, which holds zeros for who has an address of 64 bits and is outside: [first, second).
  std::pair<std::uint64_t, std::uint64_t> zeros{};

  void load(const FlowAccess& access, std::vector<std::array<Word, 64>>& words) override {
    each_numeric_lane(t_, access, [&](unsigned l, std::uint64_t address, std::uint64_t room) {
      if (access.typed) { // what a format makes of the bytes is not said: the words stay unknown
        for (unsigned b = 0; b < *access.typed && room >= *access.typed; ++b)
          static_cast<void>(byte(access, l, address + b));
        return;
      }
      for (unsigned k = 0; k < words.size(); ++k) {
        std::uint32_t word = 0;
        for (unsigned b = 0; b < std::min(4U, access.bytes); ++b) {
          if (room < 4 * k + std::min(4U, access.bytes)) continue; // by whole words
          word |= byte(access, l, address + 4 * k + b) << (8 * b);
        }
        words[k][l] = t_.constant(word);
      }
    });
  }

  void store(const FlowAccess& access, const std::vector<std::array<Word, 64>>& words) override {
    each_numeric_lane(t_, access, [&](unsigned l, std::uint64_t address, std::uint64_t room) {
      if (access.typed && room < *access.typed) return;
      for (unsigned b = 0; b < access.typed.value_or(access.bytes);) {
        if (!access.typed && room < b / 4 * 4 + std::min(4U, access.bytes)) {
          ++b;
          continue;
        }
        const auto [tensor, offset] = home(address + b);
        const auto size =
            tensor < 0 ? 1U : std::max(1U, static_cast<unsigned>(bits(p_.tensor(tensor).element) / 8));
        if (access.adds != FlowAdd::none && tensor >= 0 &&
            p_.tensor(tensor).element != element_of(access.adds))
          note(access, l,
               std::string("adds ") + to_string(element_of(access.adds)) + " at " + name(address + b) +
                   ", which holds something else");
        if (tensor < 0 || offset % size != 0 || !run_stores(tensor, offset)) {
          note(access, l, "stores at " + name(address + b) + ", where the code stores nothing");
        }
        const auto v = access.typed ? std::nullopt : t_.value(words[b / 4][l]);
        MachineEvent e{access.instruction, access.wave, l, {}, {}};
        if (v && words[b / 4][l] != Terms::unknown && access.adds != FlowAdd::none) {
          const auto was = stores.find(address + b); // memory held 0
          const auto before =
              was == stores.end() ? 0U : static_cast<std::uint32_t>(was->second.value.value_or(0));
          const auto more = static_cast<std::uint32_t>(*v >> (8 * (b % 4)));
          const Element format = element_of(access.adds);
          e.adds = (was == stores.end() ? 0 : was->second.adds) + 1;
          e.value =
              access.adds == FlowAdd::i32
                  ? before + more
                  : codegen::encode(format, codegen::decode(format, before) + codegen::decode(format, more));
        } else if (v && words[b / 4][l] != Terms::unknown) {
          e.value = (*v >> (8 * (b % 4))) & (size >= 4 ? 0xffffffffU : (1U << (8 * size)) - 1);
          if (size == 8) { // in two words
            const auto high = b / 4 + 1 < words.size() && words[b / 4 + 1][l] != Terms::unknown
                                  ? t_.value(words[b / 4 + 1][l])
                                  : std::nullopt;
            e.value = high ? std::optional(*e.value | *high << 32) : std::nullopt;
          }
        }
        stores[address + b] = e;
        b += size;
      }
    });
  }

  std::optional<Word> draw(const FlowAccess&, Word, bool) override {
    return number ? std::optional(t_.constant(static_cast<std::uint32_t>(*number))) : std::nullopt;
  }

  void matrix(FlowMatrix& x) override {
    if (empties(t_, flow_.instruction(x.instruction), x)) return;
    const auto& i = flow_.instruction(x.instruction);
    const codegen::Atom* atom = matrix_atom(p_.target(), i);
    const bool wide = atom != nullptr && atom->mma->c_element == Element::f64;
    if (atom == nullptr || (bits(atom->mma->c_element) != 32 && !wide)) return;
    const Element result = atom->mma->c_element;
    const MatrixProduct& f = run_.product(*atom);
    std::vector<Number> a, b, c, d(static_cast<std::size_t>(64 * f.c_values));
    const auto fetch = [&](const std::vector<std::array<Word, 64>>& from, Element format, int values,
                           std::vector<Number>& to) {
      const int width = bits(format);
      if (width != 4 && width != 8 && width != 16 && width != 32 && format != Element::f64) return false;
      for (unsigned l = 0; l < 64; ++l)
        for (int v = 0; v < values; ++v) {
          const auto word = [&](int at) { return t_.value(from.at(static_cast<std::size_t>(at))[l]); };
          const auto w = word(v * width / 32),
                     high = width == 64 ? word(2 * v + 1) : std::optional<std::uint64_t>(0);
          if (!w || !high) return false;
          to.push_back(RealArithmetic::number(
              ValuesOfWords::real_of_bits(format, (*w | *high << 32) >> (v * width % 32))));
        }
      return true;
    };
    if (!fetch(x.a, atom->mma->a_element, f.a_values, a) || !fetch(x.b, atom->mma->b_element, f.b_values, b))
      return;
    if (x.c.empty()) {
      if (i.operands[3].value != 0) return;
      c.assign(d.size(), 0);
    } else if (!fetch(x.c, result, f.c_values, c)) {
      return;
    }
    for (int operand = 0; atom->mma->scaled && operand < 2; ++operand) {
      const auto& scales = operand == 0 ? x.scale_a : x.scale_b;
      auto& values = operand == 0 ? a : b;
      const std::vector<int>& lane_of = f.scale_of(operand);
      for (std::size_t at = 0; at < values.size(); ++at) {
        const auto w =
            scales.size() != 1 ? std::nullopt : t_.value(scales[0][static_cast<std::size_t>(lane_of[at])]);
        if (!w) return;
        const auto byte_of = static_cast<std::uint32_t>(*w >> (8 * scale_byte(i, operand))) & 0xffU;
        values[at] = RealArithmetic().product(
            values[at], RealArithmetic::number(ValuesOfWords::real_of_bits(Element::e8m0, byte_of)));
      }
    }
    f.real(a, b, c, d);
    products.push_back({x.instruction, x.wave, CodeRun::hash(d, true)});
    if (run_.products_made != 0 && products.size() > 4 * run_.products_made + 64) {
      endless = "more than " + std::to_string(products.size() - 1) +
                " matrix products, and no end; the code makes " + std::to_string(run_.products_made);
      throw std::runtime_error(endless);
    }
    for (std::size_t k = 0; k < x.d.size(); ++k)
      for (unsigned l = 0; l < 64; ++l)
        x.d[k][l] = t_.constant(static_cast<std::uint32_t>(
            bits_of(result,
                    RealArithmetic::real(d[l * static_cast<std::size_t>(f.c_values) + (wide ? k / 2 : k)])) >>
            (wide && k % 2 == 1 ? 32 : 0)));
  }

  std::optional<bool> decide(Word) override { return std::nullopt; }

private:
  static std::uint64_t bits_of(Element format, double v) {
    return format == Element::f64   ? std::bit_cast<std::uint64_t>(v)
           : format == Element::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v))
                                    : static_cast<std::uint32_t>(codegen::encode(format, v));
  }

  /// The tensor in which an address lies, and its byte there.
  [[nodiscard]] std::pair<int, std::int64_t> home(std::uint64_t address) const {
    for (const auto& [id, p] : pointers_)
      if (address >= p && address - p < (std::uint64_t{1} << 40))
        return {id, static_cast<std::int64_t>(address - p)};
    return {-1, static_cast<std::int64_t>(address)};
  }
  [[nodiscard]] std::string name(std::uint64_t address) const {
    const auto [tensor, offset] = home(address);
    return tensor < 0 ? "address " + hex(address) + ", which is in no tensor"
                      : p_.tensor(tensor).name + " byte " + std::to_string(offset);
  }
  void note(const FlowAccess& access, unsigned lane, const std::string& text) {
    wild = MachineEvent{access.instruction, access.wave, lane, {}, {}};
    wild_text = text;
    throw std::runtime_error(text); // nothing after it is worth following
  }
  bool run_stores(int tensor, std::int64_t byte_of) {
    if (store_set_.empty())
      for (const auto& [key, e] : run_.stores) store_set_.insert({key.name->tensor, key.byte});
    return store_set_.contains({tensor, byte_of});
  }
  std::uint32_t byte(const FlowAccess& access, unsigned lane, std::uint64_t address) {
    if (address >= zeros.first && address < zeros.second) return 0;
    const auto [tensor, offset] = home(address);
    if (tensor >= 0) {
      const Element format = p_.tensor(tensor).element;
      const std::int64_t size = std::max(1, bits(format) / 8), at = offset / size * size;
      // What the workgroup has stored there.
      const bool given = number && !p_.tensor(tensor).in_place;
      if (const auto was = stores.find(address - static_cast<std::uint64_t>(offset - at));
          !given && was != stores.end() && was->second.adds == 0 && was->second.value)
        return static_cast<std::uint32_t>(*was->second.value >> (8 * (offset - at))) & 0xffU;
      if (loads.contains({tensor, at})) {
        if (bits(format) < 8) {
          std::uint32_t all = 0;
          for (int bit = 0; bit < 8; bit += bits(format))
            all |= static_cast<std::uint32_t>(bits_of(format, run_.real_at(tensor, at, bit))) << bit;
          return all;
        }
        const double v = run_.real_at(tensor, at);
        const std::uint64_t element = bits_of(format, v);
        return static_cast<std::uint32_t>(element >> (8 * (offset - at))) & 0xffU;
      }
    }
    note(access, lane, "loads " + name(address) + ", which the code does not");
    return 0xa5;
  }

  const codegen::Program& p_;
  CodeRun& run_;
  const Flow& flow_;
  Terms& t_;
  std::map<int, std::uint64_t> pointers_;
  std::set<std::pair<int, std::int64_t>> store_set_;
};

} // namespace

std::vector<FlowOptions::Table> tables_by_problem(const codegen::Program& p) {
  std::vector<FlowOptions::Table> out;
  for (const codegen::Tensor& t : p.tensors())
    if (t.addresses >= 0) out.push_back({p.tensor_name(t.addresses), {t.name + ".lo", t.name + ".hi"}});
  for (const codegen::Problems::Own& own : p.problems().sizes)
    out.push_back({p.tensor_name(own.table), {p.tensor_name(own.table)}});
  return out;
}

/// Whether the machine accesses there what the code does not, or the other way around; or both, and something else. Where
/// one of them has no name for what it does, with `outside`: whether the other does not access it.
bool Sides::tells(const Difference& d, const Sample& s, bool outside) const {
  const auto acts = [&](const std::optional<ElementAccess>& a) {
    return a && !a->name->inside.never && evaluate(a->name->room, s.symbols) + Int(a->left) > Int(0) &&
           std::none_of(a->name->inside.all.begin(), a->name->inside.all.end(),
                        [&](const Sym& x) { return evaluate(x, s.symbols) < Int(0); });
  };
  const bool machine = acts(d.machine), code = acts(d.code);
  const bool both = d.machine && d.code;
  const bool differ = !both                             ? (machine || code) != outside
                      : d.machine->name == d.code->name ? machine
                                                        : machine != code;
  if (!differ) return false;
  return std::all_of(d.path->begin(), d.path->end(), [&](const auto& c) {
    const auto v = flow_->terms().evaluate(c.first, s.words);
    return !v || (*v != 0) == c.second;
  });
}

void Sides::number_words(Sample& s) const {
  const auto maxima = flow_options().maxima;
  for (const auto& [n, v] : s.numbers) {
    const auto at = maxima.find(n);
    const std::uint32_t most = at != maxima.end() ? at->second : 0x7fffffffU;
    s.words[flow_->terms().symbol(n, most)] = static_cast<std::uint64_t>(v);
    for (const codegen::Problems::Own& own : p_.problems().sizes) // the largest of them is this one
      if (n == to_string(own.size))
        s.words[flow_->terms().symbol(p_.tensor_name(own.table), most)] = static_cast<std::uint64_t>(v);
  }
}

/// Numbers for the sizes at which the symbols of the two sides differ.
void Sides::directed() {
  Draw draw(code_, 2);
  std::vector<Sample> found;
  for (unsigned k = 0; k < 3000 && found.size() < 6 && !differences_.empty(); ++k) {
    Sample s = draw.with_trips(static_cast<int>(k % 6) + 1, k % 4 == 3);
    number_words(s);
    for (std::size_t d = 0; d < differences_.size(); ++d) {
      bool good = false;
      try {
        good = tells(differences_[d], s, k % 2 == 1);
      } catch (const std::exception&) { // a number of periods, an element: not of sizes alone
        differences_.erase(differences_.begin() + static_cast<std::ptrdiff_t>(d--));
      }
      if (!good) continue;
      found.push_back(s);
      // The next numbers are for another one of them.
      std::rotate(differences_.begin() + static_cast<std::ptrdiff_t>(d),
                  differences_.begin() + static_cast<std::ptrdiff_t>(d) + 1, differences_.end());
      break;
    }
  }
  for (unsigned k = 0; k < 2 * found.size() && report_.refuted.empty();
       ++k) // with small and with large garbage
    concrete_at(found[k / 2], options_.refuter_runs + k);
}

/// Sizes, pointers and elements that are numbers: the code's masks one by one, what is stored element by element.
void Sides::concrete(unsigned from, unsigned to) {
  Draw draw(code_);
  for (unsigned k = 0; k < to && report_.refuted.empty(); ++k) {
    const Sample s = draw.with_trips(static_cast<int>(k % 6) + 1, k % 4 == 3);
    if (k >= from) concrete_at(s, k);
  }
}

/// Numbers of tables about which what a branch or a loop of the code asks of them changes; negative ones, too, for which the code
/// takes 0.
void Sides::at_roots() {
  if (p_.uniforms().empty()) return;
  std::vector<Sym> asked; // whether each is above 0
  for (const CodeRegion& r : code_.regions) {
    for (const codegen::Guard& g : r.guards) asked.push_back(g.condition.b - g.condition.a);
    if (r.is_loop) asked.push_back(r.trips);
  }
  Draw draw(code_, 3);
  unsigned runs = 0;
  for (unsigned k = 0; k < 12; ++k) {
    const Sample s = draw.with_trips(static_cast<int>(k % 3) + 1, false);
    for (const Sym& of : asked)
      for (const codegen::Uniform& u : p_.uniforms()) {
        if (!codegen::is_bound(code_, u)) continue; // what is no bound may have to lie inside of something
        Assignment numbers = s.symbols;
        for (const codegen::Uniform& other : p_.uniforms()) numbers.set(other.symbol, Int(1));
        const auto at = [&](std::int64_t entry) {
          numbers.set(u.symbol, Int(entry));
          return evaluate(of, numbers).value();
        };
        const std::int64_t none = at(0), slope = at(1) - none;
        if (slope == 0) continue;
        const std::int64_t byte = evaluate(u.at, numbers).value() * bits(p_.tensor(u.tensor).element) / 8;
        for (const std::int64_t entry : {-none / slope, -none / slope - 1}) {
          concrete_at(s, options_.refuter_runs + k, {{{u.tensor, byte}, entry}});
          if (!report_.refuted.empty() || ++runs == 16) return;
        }
      }
  }
}

void Sides::concrete_at(const Sample& of, unsigned k, const CodeRun::Entries& chosen_entries) {
  Sample s = of;
  if (follows_ticket()) s.symbols.set(p_.tickets()[0].symbol, Int(number_at(s, k)));
  FlowOptions o;
  o.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
  o.max_instructions = 3'000'000;
  o.max_bytes = options_.max_bytes;
  o.executed = [this](std::uint64_t n) { steps_.take(n * Steps::number_instruction); };
  o.reals = false;
  o.garbage = k + 1;
  std::vector<std::pair<AtomId, Sym>> sizes;
  for (const auto& [n, v] : s.numbers) o.values[n] = static_cast<std::uint32_t>(v);
  o.tables = tables_by_problem(p_);
  for (const codegen::Problems::Own& own : p_.problems().sizes) {
    o.values["workgroup_z"] = 7919 * k % 65535;
    o.values[p_.tensor_name(own.table)] = o.values.at(to_string(own.size));
  }
  for (const codegen::Size& z : p_.sizes())
    sizes.emplace_back(*z.symbol.as_atom(), Sym(evaluate(z.symbol, s.symbols)));
  for (const codegen::GridAxis& g : p_.grid())
    sizes.emplace_back(*g.symbol.as_atom(), Sym(evaluate(g.symbol, s.symbols)));
  if (follows_ticket()) sizes.emplace_back(*p_.tickets()[0].symbol.as_atom(), Sym(number_at(s, k)));
  // Pointers from which sums carry into the upper word.
  std::map<int, std::uint64_t> pointers;
  for (const codegen::Tensor& t : p_.tensors()) {
    if (t.space != codegen::Space::global) continue;
    // All bits of the upper word in turn; a pointer is below 2^47.
    const unsigned pattern = k % 2 == 0 ? 0x2a55U : 0x55aaU;
    const std::uint64_t p = (std::uint64_t{pattern ^ (0x200U * static_cast<unsigned>(t.id))} << 32) +
                            0xfffff000U - 4096U * (k + 16U * static_cast<unsigned>(t.id));
    pointers[t.id] = p;
    o.values[t.name + ".lo"] = static_cast<std::uint32_t>(p);
    o.values[t.name + ".hi"] = static_cast<std::uint32_t>(p >> 32);
  }
  CodeRun run(code_, sizes);
  RealArithmetic real;
  run.arithmetic = &real;
  run.steps = &steps_;
  Versions chosen;
  for (const auto& v : versions_of(code_)) chosen[v] = evaluate(v.first, s.symbols).value() % v.second == 0;
  auto flow = std::make_unique<Flow>(object_, kernel_, o);
  Formulas formulas(p_, flow->terms());
  run.formulas = &formulas;
  run.chosen = chosen_entries;
  run.begin();
  for (const CodeRegion& r : code_.regions) {
    const bool runs = std::all_of(r.guards.begin(), r.guards.end(), [&](const codegen::Guard& g) {
      const codegen::Condition c = run.fixed(g.condition);
      return (evaluate(c.a, s.symbols) < evaluate(c.b, s.symbols)) == g.holds;
    });
    if (!runs) continue;
    if (!r.is_loop) {
      run.run(r.body, r, 0, Sym(0), chosen);
      continue;
    }
    const auto trips = evaluate(run.fixed(r.trips), s.symbols).value();
    if (trips > 64) return; // too long to be gone through; another launch tells
    run.run(r.prologue, r, 0, Sym(0), chosen);
    for (std::int64_t j = 0; j + 1 < trips; ++j) run.run(r.body, r, static_cast<int>(j), Sym(j), chosen);
    run.run(r.epilogue, r, static_cast<int>(trips - 1), Sym(trips - 1), chosen);
  }
  Numbers client(p_, run, *flow, pointers);
  client.zeros = zeros_of(object_);
  if (follows_ticket()) client.number = number_at(s, k);
  for (const auto& [key, e] : run.loads)
    if (!key.name->inside.never) client.loads.insert({key.name->tensor, key.byte});
  // What was there before a launch is anything.
  std::mt19937_64 random(k + 1);
  for (Word& w : flow->lds())
    w = flow->terms().constant(0x5f000000U | static_cast<std::uint32_t>(random() & 0xfffff));
  Flow::Stop stop = Flow::Stop::head;
  while (stop == Flow::Stop::head) stop = flow->run(client);
  const auto refute = [&](const MachineEvent& e, const std::string& message) {
    const auto& i = flow->instruction(e.instruction);
    const auto line = lines_.at(i.address);
    auto numbers = s.numbers;
    for (const auto& [name, value] : run.entries)
      numbers.emplace_back(name, static_cast<std::int64_t>(RealArithmetic::real(value)));
    report_.refuted.push_back(
        {i.address, i.text, line ? runtime::isa::to_string(*line) : "", e.wave, e.lane, message, numbers});
  };
  const auto byte = [&](int tensor, std::int64_t b) {
    return p_.tensor(tensor).name + " byte " + std::to_string(b);
  };
  if (client.wild) { // the first access that is none of the code's
    const MachineEvent& e = *client.wild;
    const auto line = lines_.at(flow->instruction(e.instruction).address);
    std::string expected = "nothing";
    for (const auto* events : {&run.loads, &run.stores})
      for (const auto& [key, x] : *events)
        if (expected == "nothing" && x.thread == static_cast<int>(e.wave * 64 + e.lane) &&
            x.inst != nullptr && !key.name->inside.never && (!line || x.inst->where.line() == line->line))
          expected = "for example " + byte(key.name->tensor, key.byte);
    refute(e, client.wild_text + "; the view of this work-item says " + expected +
                  (expected == "nothing" ? " is loaded or stored here" : ""));
    return;
  }
  if (stop != Flow::Stop::ended) {
    const std::string why = stop == Flow::Stop::failed ? flow->why() : "";
    MachineEvent where;
    where.instruction = flow->stopped_at().instruction;
    where.wave = flow->stopped_at().wave;
    where.lane = flow->stopped_at().lane;
    if (!client.endless.empty()) {
      refute(where, client.endless);
    } else if (why.starts_with("no instruction at")) {
      refute(where, "a wave comes to what is no instruction");
    } else if (why == "a wave halts itself") {
      refute(where, "a wave halts itself here and does not end");
    } else if (why.starts_with("a register that is not reserved")) {
      refute(where, "a wave comes to " + why);
    } else if (why.starts_with("beyond LDS")) {
      refute(where, "an LDS access beyond the workgroup's LDS, where no view has a place: " +
                        why.substr(why.find(':') + 2));
    } else if (why.starts_with("misaligned in LDS")) { // every place of a view is a multiple of what is moved
      refute(where, "an LDS address that is no multiple of what the instruction moves, as all places of "
                    "the views are");
    } else {
      missing("with numbers for the sizes: " +
              (stop == Flow::Stop::failed ? flow->why() : "a branch depends on what is no number"));
    }
    return;
  }
  const MachineEvent* first = nullptr;
  std::string message;
  for (const auto& [key, e] : run.stores) {
    const std::uint64_t address = pointers[key.name->tensor] + static_cast<std::uint64_t>(key.byte);
    const auto found = client.stores.find(address);
    const Element format = p_.tensor(key.name->tensor).element;
    if (found == client.stores.end()) {
      if (first == nullptr)
        message = "nothing stores " + byte(key.name->tensor, key.byte) + " of work-item " +
                  std::to_string(e.thread);
      continue;
    }
    if (found->second.adds != e.adds && first == nullptr) {
      first = &found->second;
      message = how_often(first->adds) + " " + byte(key.name->tensor, key.byte) + ", the code " +
                how_often(e.adds) + " it";
    }
    if (!found->second.value || e.contested) continue;
    const double got = ValuesOfWords::real_of_bits(format, *found->second.value);
    const double wanted = RealArithmetic::real(e.value);
    const double tolerance = RealArithmetic::error(e.value) + CodeRun::rounding(format, e.value);
    if (!(tolerance < INFINITY) || std::isnan(wanted) || got == wanted ||
        std::fabs(got - wanted) <= tolerance)
      continue;
    // What may be rounded to more than the format has: an infinity, or of 8 bits and fewer the end of its range, or its NaN.
    const double most = codegen::largest_finite(format),
                 least = codegen::is_integer(format) ? -most - 1 : -most;
    if (std::fabs(wanted) + tolerance > most &&
        ((std::isinf(got) && (got > 0) == (wanted > 0)) ||
         (codegen::bits(format) <= 8 && (std::isnan(got) || got == (wanted > 0 ? most : least)))))
      continue;
    const MachineEvent& m = found->second;
    if (first != nullptr &&
        std::tuple(first->instruction, first->wave, first->lane) <= std::tuple(m.instruction, m.wave, m.lane))
      continue;
    first = &m;
    message = "stores " + std::to_string(got) + " at " + byte(key.name->tensor, key.byte) + ", the code " +
              std::to_string(wanted);
  }
  if (first == nullptr && message.empty()) return;
  for (const auto& p : client.products)
    if (first != nullptr && !run.products.contains(p.hash)) {
      const auto& i = flow->instruction(p.instruction);
      message += "; the first matrix product that is none of the code's is at " + located(i) + " in wave " +
                 std::to_string(p.wave);
      break;
    }
  MachineEvent none;
  if (!client.stores.empty()) none.instruction = client.stores.begin()->second.instruction;
  refute(first != nullptr ? *first : none, message);
}

} // namespace inlay::kernels::validate::sides
