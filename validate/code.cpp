// Machine code and the Code that it was made from, side by side: path by path, loops by induction.
#include "code_run.h"
#include "guards.h"
#include "numeric_access.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/schedule.h>
#include <inlay/codegen/target.h>
#include <inlay/runtime/isa/line_table.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace inlay::kernels::validate {

using codegen::Code;
using codegen::CodeRegion;
using codegen::Inst;
using codegen::InstKind;
using runtime::symbolic::Flow;
using runtime::symbolic::FlowAccess;
using runtime::symbolic::FlowAdd;
using runtime::symbolic::FlowMatrix;
using runtime::symbolic::FlowOptions;
using MachineVerdict = runtime::symbolic::Verdict;

namespace {

std::string hex(std::uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// ---- what the machine does ------------------------------------------------------------------------------------------

struct MachineEvent {
  std::size_t instruction = 0;
  unsigned wave = 0, lane = 0;
  std::optional<Number> value;
  std::size_t missing = 0; ///< why there is none: into `Trace::missing`
  int adds = 0;            ///< as an Event's; -1: stored as well as added to
};
Element element_of(FlowAdd add) {
  return add == FlowAdd::f32   ? Element::f32
         : add == FlowAdd::i32 ? Element::i32
         : add == FlowAdd::f16 ? Element::f16
                               : Element::bf16;
}
std::string how_often(int adds) {
  return adds == 0   ? "stores"
         : adds == 1 ? "adds to"
         : adds > 0  ? "adds " + std::to_string(adds) + " times to"
                     : "stores and adds to";
}
struct Trace {
  std::size_t elements = 0; ///< loaded
  int latest = 0;           ///< the last trip of the code that loads one of them
  /// Loads that are none of the code's up to here, all of them where nobody knows; and stores.
  Flat<ElementAccess, MachineEvent, HashAccess> loads, stores;
  Flat<ElementAccess, MachineEvent, HashAccess> of_latest; ///< what that trip loads
  std::vector<std::string> missing = {""};
  struct Product {
    std::size_t instruction = 0;
    unsigned wave = 0;
    Number hash = 0;
  };
  std::vector<Product> products;
  std::vector<std::string> problems; ///< an access without a formula
  std::string unread;                ///< the first matrix product of what has no value
  [[nodiscard]] std::size_t bytes() const {
    return (loads.size() + stores.size() + of_latest.size()) *
               (sizeof(ElementAccess) + sizeof(MachineEvent)) +
           products.size() * sizeof(Product);
  }
};

struct Sample {
  std::vector<std::pair<std::string, std::int64_t>>
      numbers; ///< sizes and wg_x, ..., by the names of the program
  Assignment symbols;
  Terms::Assignment words;
};

/// Answers the flow's questions: elements by their accesses, products by the field.
class Client : public runtime::symbolic::FlowClient {
public:
  Client(const Code& code, CodeRun& run, const Flow& flow, Formulas& formulas, ValuesOfWords& values)
      : p_(*code.program), run_(run), flow_(flow), t_(flow.terms()), formulas_(formulas), values_(values) {}

  Trace* trace = nullptr;
  const std::vector<Sample>* samples = nullptr;
  std::vector<std::size_t>* possible = nullptr; ///< samples that take this path
  std::function<std::vector<std::string>()> facts;
  /// What the path says of the code's number of trips, or of the machine's, to be replaced in formulas.
  std::function<std::vector<std::pair<AtomId, Sym>>()> resolve;
  /// The trip after which the code has loaded an element, -1: not up to here.
  std::function<int(const ElementAccess&)> known_load;
  /// Where the code has loaded up to here: each name once, at byte 0.
  std::function<std::vector<ElementAccess>()> loaded;
  std::set<std::size_t> load_sites, store_sites, product_sites;

  void load(const FlowAccess& access, std::vector<std::array<Word, 64>>& words) override {
    load_sites.insert(access.instruction);
    each_lane(access, true, [&](unsigned l, const ElementAccess& first, Element format, unsigned size) {
      const unsigned per_word = 8 * std::min(4U, access.bytes) / size;
      for (unsigned k = 0; k < words.size(); ++k) {
        std::vector<Number> numbers(32 / size, 0);
        for (unsigned e = 0; e < per_word; ++e) {
          const ElementAccess a = first.further(32 * k + e * size);
          numbers[e] = run_.value_of(a);
          if (a.name->inside.never) continue;
          ++trace->elements;
          if (const int trip = known_load ? known_load(a) : -1; trip >= 0) {
            if (trip > trace->latest) {
              trace->latest = trip;
              trace->of_latest.clear();
            }
            if (trip == trace->latest)
              trace->of_latest.try_emplace(a, MachineEvent{access.instruction, access.wave, l, {}, {}});
            continue;
          }
          trace->loads.try_emplace(a, MachineEvent{access.instruction, access.wave, l, numbers[e], {}});
        }
        words[k][l] = values_.word(format, numbers);
      }
    });
  }

  void store(const FlowAccess& access, const std::vector<std::array<Word, 64>>& words) override {
    store_sites.insert(access.instruction);
    if (resolve) values_.known(resolve());
    each_lane(access, false, [&](unsigned l, const ElementAccess& first, Element format, unsigned size) {
      if (first.name->inside.never) return;
      for (unsigned bit = 0; bit < 8 * access.bytes; bit += size) {
        values_.forget_missing();
        const auto v = values_.read(words[bit / 32][l], format, bit % 32 / size);
        const auto [was, fresh] = trace->stores.try_emplace(first.further(bit));
        MachineEvent now{access.instruction, access.wave, l, v, 0};
        if (!v) {
          if (trace->missing.back() != values_.missing()) trace->missing.push_back(values_.missing());
          now.missing = trace->missing.size() - 1;
        }
        if (const MachineEvent& e = was->second; access.adds != FlowAdd::none) {
          now.adds = fresh || e.adds > 0 ? e.adds + 1 : -1;
          if (!fresh && v) now.value = e.value ? std::optional(add(*e.value, *v)) : std::nullopt;
          if (!fresh && !e.value) now.missing = e.missing;
        } else if (!fresh && e.adds != 0) {
          now.adds = -1;
        }
        was->second = std::move(now);
      }
    });
  }

  void matrix(FlowMatrix& x) override {
    if (empties(t_, flow_.instruction(x.instruction), x)) return;
    product_sites.insert(x.instruction);
    if (resolve) values_.known(resolve());
    const auto& i = flow_.instruction(x.instruction);
    const codegen::Atom* atom = matrix_atom(p_.target(), i);
    if (atom == nullptr) return;
    std::string why;
    const auto product = multiply_words(x, i, *atom, run_.product(*atom), values_, why);
    if (!product) {
      if (trace->unread.empty()) trace->unread = why;
      return;
    }
    trace->products.push_back({x.instruction, x.wave, CodeRun::hash(*product)});
  }

  std::optional<bool> decide(Word condition) override {
    bool seen[2] = {false, false};
    if (samples != nullptr)
      for (const std::size_t s : *possible) {
        const auto v = t_.evaluate(condition, (*samples)[s].words);
        if (v) seen[*v != 0 ? 1 : 0] = true;
      }
    if (seen[0] && seen[1]) return std::nullopt;
    const auto known = facts ? facts() : formulas_.contract();
    for (const bool v : {true, false}) {
      if (seen[v ? 0 : 1]) continue;
      const auto c = formulas_.condition(condition, v, known);
      if (!c || c->never) continue;
      if (std::all_of(c->all.begin(), c->all.end(),
                      [&](const Sym& d) { return formulas_.decide(false, Sym(0), d, known) == Truth::yes; }))
        return v;
    }
    return std::nullopt;
  }

  /// What an access says for all lanes.
  struct Uniform {
    int tensor = -1;
    Sym address{}, step{}, records{};
    bool below_2_31 = false;
    unsigned id = 0;
    std::vector<std::pair<AtomId, Sym>> known; ///< the number of trips, where the path says it
  };
  std::optional<Uniform> uniform(const FlowAccess& access) {
    const std::array<Word, 6> key{access.descriptor[0], access.descriptor[1],
                                  access.descriptor[2], access.descriptor[3],
                                  access.soffset,       access.plain && access.buffer ? Word{1} : Word{0}};
    auto at = uniforms_.find(key);
    if (at == uniforms_.end()) {
      auto u = parse_uniform(access);
      if (!u) return u;
      u->id = static_cast<unsigned>(uniforms_.size());
      at = uniforms_.emplace(key, std::move(*u)).first;
    }
    Uniform u = at->second;
    if (resolve) u.known = resolve();
    if (u.known != resolved_by_) {
      for (auto& names : resolved_) names.clear();
      same_.clear();
      resolved_by_ = u.known;
    }
    return u;
  }

  std::optional<Uniform> parse_uniform(const FlowAccess& access) {
    formulas_.forget_missing();
    Uniform u;
    if (!access.plain || !access.buffer) {
      why_ = "an access that is not by a raw buffer";
      return std::nullopt;
    }
    const auto& d = access.descriptor;
    if (t_.value(d[3]) != std::uint64_t{p_.target().buffer_flags}) {
      why_ = "word 3 of the descriptor is " + t_.text(d[3], 3);
      return std::nullopt;
    }
    Word high = d[1];
    if (t_.kind(high) == TermKind::bit_and && t_.value(t_.children(high)[1]) == 0xffff) {
      high = t_.children(high)[0];
    } else if (high == Terms::unknown || t_.bound(high) > 0xffff) {
      why_ = "the stride of the descriptor is not 0: " + t_.text(d[1], 4);
      return std::nullopt;
    }
    const Word base = t_.join(d[0], high);
    const auto p = pointer(base);
    if (!p) {
      why_ = "no pointer argument in the base " + t_.text(base, 5);
      return std::nullopt;
    }
    u.tensor = p->first;
    const auto from = formulas_.of(p->second);
    const auto step = formulas_.of(access.soffset);
    const auto records = formulas_.number(d[2]);
    if (!from || !step || !records) {
      why_ = formulas_.missing().empty() ? "no integer formula" : formulas_.missing() + " is not known";
      return std::nullopt;
    }
    u.address = *from + *step;
    u.step = *step;
    u.records = *records;
    u.below_2_31 =
        formulas_.decide(false, *records, Sym(out_of_range - 1), formulas_.contract()) == Truth::yes;
    return u;
  }

  /// `sure`: without the guards by trips that the path says hold.
  ElementAccess resolved(const ElementAccess& a, const std::vector<std::pair<AtomId, Sym>>& known,
                         bool sure) {
    if (!a.name->by_trips) return a;
    const auto now = [&](Sym s) { return substitute(s, known); };
    auto& done = resolved_[sure ? 1 : 0];
    auto at = done.find(a.name);
    if (at == done.end()) {
      const AccessName& n = *a.name;
      Formulas::Condition inside;
      inside.never = n.inside.never;
      for (const Sym& d : n.inside.all)
        if (!sure || !run_.names.watched(d) ||
            formulas_.decide(false, Sym(0), now(d), sure_facts_) != Truth::yes)
          Formulas::require(inside, now(d));
      at = done.emplace(a.name, run_.names.of(n.tensor, now(n.address), now(n.room), now(n.step),
                                              formulas_.canonical(inside)))
               .first;
    }
    ElementAccess out = at->second;
    out.byte += a.byte;
    out.left += a.left;
    return out;
  }

  /// The element that the code has loaded and that is this one on the path, guards that hold there left out of both; the
  /// first that it has loaded.
  std::optional<ElementAccess> same_of_code(const ElementAccess& a,
                                            const std::vector<std::pair<AtomId, Sym>>& known) {
    if (!known_load || !facts) return std::nullopt;
    if (auto path = facts(); path != sure_facts_ || same_.empty()) {
      sure_facts_ = std::move(path);
      resolved_[1].clear();
      same_.clear();
      for (const ElementAccess& e : loaded()) {
        const ElementAccess sure = resolved(e, known, true);
        same_[sure.name].emplace_back(e, sure);
      }
    }
    const ElementAccess sure = resolved(a, known, true);
    std::optional<ElementAccess> out;
    int first = 0;
    if (const auto all = same_.find(sure.name); all != same_.end())
      for (const auto& [of_code, then] : all->second) {
        ElementAccess e = of_code;
        e.byte = sure.byte - then.byte;
        e.left = sure.left - then.left;
        e.bit = a.bit;
        if (const int trip = known_load(e); trip >= 0 && (!out || trip < first)) {
          out = e;
          first = trip;
        }
      }
    return out;
  }

  /// The first element that a lane accesses.
  std::optional<ElementAccess> first_of(const FlowAccess& access, const Uniform& u, unsigned lane) {
    const std::array<Word, 3> key{u.id, access.guard[lane], access.offset[lane]};
    if (const auto at = firsts_.find(key); at != firsts_.end()) return at->second;
    auto a = parse(access, u, lane);
    if (a) firsts_.try_emplace(key, *a);
    return a;
  }
  std::optional<ElementAccess> parse(const FlowAccess& access, const Uniform& u, unsigned lane) {
    formulas_.forget_missing();
    Formulas::Condition inside;
    if (!guard(access.guard[lane], true, inside)) return std::nullopt;
    // Lanes that are sent out of range instead of being switched off.
    Word offset = access.offset[lane];
    for (bool again = true; again;) {
      again = false;
      if (offset == Terms::unknown) {
        why_ = "nothing is known of the address";
        return std::nullopt;
      }
      std::vector<TermPart> parts(t_.parts(offset).begin(), t_.parts(offset).end());
      if (t_.kind(offset) == TermKind::select) parts = {{offset, 1}};
      for (const TermPart& part : parts) {
        if (part.coefficient != 1 || t_.kind(part.atom) != TermKind::select) continue;
        const Word c = t_.children(part.atom)[0], yes = t_.children(part.atom)[1],
                   no = t_.children(part.atom)[2];
        const Word rest = t_.subtract(offset, part.atom);
        // The word that the machine uses then, sums included, is beyond every number of records.
        const auto dropped = [&](Word arm) {
          return static_cast<std::int64_t>(t_.value(t_.add(rest, arm)).value_or(0)) >= out_of_range;
        };
        const bool drops_no = dropped(no);
        if ((!drops_no && !dropped(yes)) || !u.below_2_31) continue;
        if (!guard(c, drops_no, inside)) return std::nullopt;
        offset = t_.add(rest, drops_no ? yes : no);
        again = true;
        break;
      }
    }
    const bool endless = run_.is_seen(u.tensor) && u.records == Sym(out_of_range - 1);
    const auto at = formulas_.number(offset, inside.all);
    if (!at) {
      why_ = formulas_.missing().empty() ? "no integer formula" : formulas_.missing() + " is not known";
      return std::nullopt;
    }
    // One of several work-items that hold the same stores it: the others are sent out of range.
    if (const auto v = at->constant(); v && v->value() >= out_of_range && u.below_2_31) inside.never = true;
    if (endless) {
      // No end that anybody is to meet: what passes is inside of it, whether or not the scalar offset counts.
      const auto step = formulas_.number(access.soffset);
      std::vector<std::string> known = formulas_.contract();
      for (const Sym& d : inside.all) known.push_back("0 <= " + to_string(d));
      const Sym end = u.records - Sym(std::int64_t{access.bytes}) - *at;
      if (!step || formulas_.decide(false, Sym(0), end - *step, known) != Truth::yes) {
        why_ = "that " + to_string(*at) + " bytes and " + to_string(u.step) + " are inside of 2^31";
        return std::nullopt;
      }
      return run_.names.endless(u.tensor, u.address + *at, formulas_.asked(formulas_.canonical(inside)));
    }
    return run_.names.of(u.tensor, u.address + *at, u.records - *at, u.step, formulas_.canonical(inside));
  }

private:
  static constexpr std::int64_t out_of_range = 0x80000000LL;

  /// Calls f(lane, first element, format, bits of one) for every lane that may take part.
  template <class F>
  void each_lane(const FlowAccess& access, bool is_load, F f) {
    const auto u = uniform(access);
    for (unsigned l = 0; l < 64; ++l) {
      if (access.guard[l] == 0) continue;
      const auto first = u ? first_of(access, *u, l) : std::nullopt;
      const Element format = first ? p_.tensor(first->name->tensor).element : Element::f32;
      const int width = bits(format);
      if (first && ((width != 4 && width != 8 && width != 16 && width != 32) ||
                    access.bytes * 8 % static_cast<unsigned>(width) != 0))
        why_ = "parts of elements";
      else if (first && access.adds != FlowAdd::none && format != element_of(access.adds))
        why_ = "an addition of another format than the tensor's";
      else if (first) {
        // By the name that the code has used for it, or else with the number of trips that the path says.
        const auto used = [&](const ElementAccess& x) { return known_load && known_load(x) >= 0; };
        ElementAccess named = *first;
        if (!u->known.empty() && !used(named)) {
          named = resolved(*first, u->known, false);
          if (const auto e = is_load && !used(named) ? same_of_code(*first, u->known) : std::nullopt)
            named = *e;
        }
        f(l, named, format, static_cast<unsigned>(width));
        continue;
      }
      problem(access, l);
    }
  }

  bool guard(Word c, bool value, Formulas::Condition& into) {
    if (t_.value(c) && (*t_.value(c) != 0) == value) return true;
    const auto one = formulas_.condition(c, value);
    if (!one) {
      why_ = "no formula for the guard " + t_.text(c, 5);
      return false;
    }
    for (const Sym& d : one->all) Formulas::require(into, d);
    into.never = into.never || one->never;
    return true;
  }

  /// The tensor whose pointer argument is in an address, and the rest.
  std::optional<std::pair<int, Word>> pointer(Word address) {
    if (address == Terms::unknown) return std::nullopt;
    std::vector<TermPart> parts(t_.parts(address).begin(), t_.parts(address).end());
    if (t_.kind(address) != TermKind::linear) parts = {{address, 1}};
    for (const TermPart& p : parts) {
      if (t_.kind(p.atom) != TermKind::pair || p.coefficient != 1) continue;
      const Word low = t_.children(p.atom)[0], high = t_.children(p.atom)[1];
      if (t_.kind(low) != TermKind::symbol || t_.kind(high) != TermKind::symbol) continue;
      for (const codegen::Tensor& t : p_.tensors())
        if (t.space == codegen::Space::global && t_.name(low) == t.name + ".lo" &&
            t_.name(high) == t.name + ".hi")
          return {{t.id, t_.subtract(address, p.atom)}};
    }
    return std::nullopt;
  }

  void problem(const FlowAccess& access, unsigned lane) {
    if (trace->problems.size() > 3) return;
    const auto& i = flow_.instruction(access.instruction);
    trace->problems.push_back(located(i) + ", wave " + std::to_string(access.wave) + " lane " +
                              std::to_string(lane) + ": " + why_);
  }

  const codegen::Program& p_;
  CodeRun& run_;
  const Flow& flow_;
  Terms& t_;
  Formulas& formulas_;
  ValuesOfWords& values_;
  std::string why_;
  // What words say is the same on every path.
  struct HashWords {
    template <std::size_t n>
    std::size_t operator()(const std::array<Word, n>& words) const {
      Number h = n;
      for (const Word w : words) h = random_of(h, w);
      return static_cast<std::size_t>(h);
    }
  };
  std::unordered_map<std::array<Word, 6>, Uniform, HashWords> uniforms_;
  Flat<std::array<Word, 3>, ElementAccess, HashWords> firsts_;
  std::vector<std::pair<AtomId, Sym>> resolved_by_;
  std::array<std::unordered_map<const AccessName*, ElementAccess>, 2> resolved_; ///< names with that put in
  std::vector<std::string> sure_facts_;                                          ///< for the second
  std::unordered_map<const AccessName*, std::vector<std::pair<ElementAccess, ElementAccess>>> same_;
};

/// The bytes after the symbol `zeros`, where they are 0 and no code; an empty range where there are none.
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
        } else if (v && words[b / 4][l] != Terms::unknown)
          e.value = (*v >> (8 * (b % 4))) & (size >= 4 ? 0xffffffffU : (1U << (8 * size)) - 1);
        stores[address + b] = e;
        b += size;
      }
    });
  }

  void matrix(FlowMatrix& x) override {
    if (empties(t_, flow_.instruction(x.instruction), x)) return;
    const auto& i = flow_.instruction(x.instruction);
    const codegen::Atom* atom = matrix_atom(p_.target(), i);
    if (atom == nullptr || bits(atom->mma->c_element) != 32) return;
    const Element result = atom->mma->c_element;
    const MatrixProduct& f = run_.product(*atom);
    std::vector<Number> a, b, c, d(static_cast<std::size_t>(64 * f.c_values));
    const auto fetch = [&](const std::vector<std::array<Word, 64>>& from, Element format, int values,
                           std::vector<Number>& to) {
      const int width = bits(format);
      if (width != 4 && width != 8 && width != 16 && width != 32) return false;
      for (unsigned l = 0; l < 64; ++l)
        for (int v = 0; v < values; ++v) {
          const auto w = t_.value(from.at(static_cast<std::size_t>(v * width / 32))[l]);
          if (!w) return false;
          to.push_back(RealArithmetic::number(
              ValuesOfWords::real_of_bits(format, static_cast<std::uint32_t>(*w >> (v * width % 32)))));
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
        x.d[k][l] = t_.constant(
            bits_of(result, RealArithmetic::real(d[l * static_cast<std::size_t>(f.c_values) + k])));
  }

  std::optional<bool> decide(Word) override { return std::nullopt; }

private:
  static std::uint32_t bits_of(Element format, double v) {
    return format == Element::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v))
                                  : static_cast<std::uint32_t>(codegen::encode(format, v));
  }

  /// The tensor in which an address lies, and its byte there.
  [[nodiscard]] std::pair<int, std::int64_t> home(std::uint64_t address) const {
    for (const auto& [id, p] : pointers_)
      if (address >= p && address - p < (std::uint64_t{1} << 39))
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
      if (loads.contains({tensor, at})) {
        if (bits(format) < 8) {
          std::uint32_t all = 0;
          for (int bit = 0; bit < 8; bit += bits(format))
            all |= bits_of(format, run_.real_at(tensor, at, bit)) << bit;
          return all;
        }
        const double v = run_.real_at(tensor, at);
        const std::uint32_t element = bits_of(format, v);
        return (element >> (8 * (offset - at))) & 0xffU;
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

// ---- the code, trip by trip -----------------------------------------------------------------------------------------

/// The regions of a Code that has at most one loop.
struct Shape {
  std::vector<const CodeRegion*> before, after;
  const CodeRegion* loop = nullptr;
  explicit Shape(const Code& code) {
    for (const CodeRegion& r : code.regions) {
      if (r.is_loop && loop != nullptr) throw NotFollowed{"more than one loop in the code"};
      if (r.is_loop)
        loop = &r;
      else
        (loop == nullptr ? before : after).push_back(&r);
    }
  }
};

/// Whether the region `r` runs wherever `other` does; throws where that depends on something else.
bool runs_with(const CodeRegion& r, const CodeRegion& other) {
  for (const codegen::Guard& g : r.guards) {
    const auto same = std::find_if(other.guards.begin(), other.guards.end(),
                                   [&](const codegen::Guard& o) { return o.condition == g.condition; });
    if (same == other.guards.end()) throw NotFollowed{"a branch in front of the code's loop"};
    if (same->holds != g.holds) return false;
  }
  return true;
}

using Versions = std::map<std::pair<Sym, int>, bool>;

std::vector<std::pair<Sym, int>> versions_of(const Code& code) {
  std::vector<std::pair<Sym, int>> out;
  for (const CodeRegion& r : code.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list)
        if (i.when &&
            std::find(out.begin(), out.end(), std::pair(i.when->size, i.when->modulus)) == out.end())
          out.emplace_back(i.when->size, i.when->modulus);
  return out;
}

/// Sizes and workgroup that the contract allows.
class Draw {
public:
  explicit Draw(const Code& code, std::uint64_t seed = 1) : code_(code), p_(*code.program), random_(seed) {}
  /// The same with that many trips of the loop.
  Sample with_trips(int trips, bool large) {
    exact_ = true;
    large_ = large;
    Sample s = (*this)(trips);
    exact_ = false;
    return s;
  }
  Sample operator()(int trips) {
    Sample s;
    const auto set = [&](const std::string& name, Sym symbol, std::int64_t v) {
      s.numbers.emplace_back(name, v);
      s.symbols.set(symbol, Int(v));
    };
    for (const codegen::Size& z : p_.sizes()) {
      std::int64_t tile = 64;
      bool of_loop = false;
      for (const CodeRegion& r : code_.regions)
        if (r.is_loop && r.extent == z.symbol) tile = r.tile, of_loop = true;
      for (const codegen::GridAxis& g : p_.grid())
        if (g.extent == z.symbol) tile = g.tile;
      const std::int64_t most = std::min<std::int64_t>(z.facts.most, std::max<std::int64_t>(tile, 4) * trips);
      std::int64_t v = 1 + static_cast<std::int64_t>(
                               random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1)));
      if (random_() % 4 == 0) v = (v + tile - 1) / tile * tile;
      if (exact_ && of_loop)
        v = tile * (trips - 1) + 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(tile));
      if (exact_ && !of_loop && most > 3 * tile) v = v % (3 * tile) + 1;
      if (exact_ && !of_loop && large_) // a workgroup far out
        v = z.facts.least + static_cast<std::int64_t>(
                                random_() % static_cast<std::uint64_t>(z.facts.most - z.facts.least + 1));
      if (exact_ && random_() % 3 == 0) v = (v + 15) / 16 * 16;
      if (exact_ && !of_loop && !large_ && most > 3 * tile && random_() % 3 == 0) // nearly three whole tiles
        v = 3 * tile - static_cast<std::int64_t>(random_() % 4);
      v = std::min(std::max(v, z.facts.least), z.facts.most);
      v = std::max(v / z.facts.multiple * z.facts.multiple,
                   (z.facts.least + z.facts.multiple - 1) / z.facts.multiple * z.facts.multiple);
      set(z.name, z.symbol, v);
    }
    // Tensors that fit a memory.
    const auto elements = [&](const codegen::Tensor& t) {
      double n = 1;
      for (const Sym& x : t.shape) n *= static_cast<double>(evaluate(x, s.symbols).value());
      return n;
    };
    for (bool again = true; again;) {
      again = false;
      for (const codegen::Tensor& t : p_.tensors()) {
        if (t.space != codegen::Space::global || elements(t) < 1e11) continue;
        std::size_t largest = 0;
        for (std::size_t z = 0; z < p_.sizes().size(); ++z)
          if (s.numbers[z].second > s.numbers[largest].second) largest = z;
        const codegen::Size& z = p_.sizes()[largest];
        std::int64_t& v = s.numbers[largest].second;
        v = std::max(v / 3 / z.facts.multiple * z.facts.multiple,
                     (z.facts.least + z.facts.multiple - 1) / z.facts.multiple * z.facts.multiple);
        s.symbols.set(z.symbol, Int(v));
        again = true;
      }
    }
    for (const codegen::GridAxis& g : p_.grid()) {
      const std::int64_t extent = evaluate(g.extent, s.symbols).value();
      const std::int64_t count = (extent + g.tile - 1) / g.tile;
      const std::int64_t w = random_() % 2 == 0
                                 ? count - 1
                                 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
      const auto& map = p_.tile_map();
      set(std::string("workgroup_") + "xyz"[g.axis],
          map && g.axis == 0   ? map->id_x
          : map && g.axis == 1 ? map->id_y
                               : g.symbol,
          w);
    }
    if (p_.tile_map())
      for (const auto& d : p_.tile_map()->definitions())
        s.symbols.set(d.symbol, evaluate(d.value, s.symbols));
    return s;
  }

private:
  const Code& code_;
  const codegen::Program& p_;
  std::mt19937_64 random_;
  bool exact_ = false, large_ = false;
};

// ---- side by side ---------------------------------------------------------------------------------------------------

struct Snapshot {
  Flow flow;
};

struct Path {
  Flow flow;
  Trace trace;
  std::vector<std::size_t> samples;
  std::map<std::size_t, std::vector<std::shared_ptr<Flow>>> heads;
  explicit Path(Flow f) : flow(std::move(f)) {}
};

/// A word of the machine at the head of its loop.
struct Related {
  enum class Kind : std::uint8_t { data, linear, unknown };
  Kind kind = Kind::unknown;
  Element format = Element::f32;
  std::vector<int> places;
  Word step = 0; ///< of a period: a number, or made of arguments
};

class Sides {
public:
  Sides(const runtime::CodeObject& object, const runtime::Kernel& kernel, const Code& code,
        const CodeOptions& o)
      : object_(object), kernel_(kernel), code_(code), p_(*code.program), options_(o),
        lines_(runtime::isa::LineTable::read(object)), steps_(o.budget, o.progress) {}

  CodeReport run();

private:
  FlowOptions flow_options() const {
    FlowOptions f;
    f.max_bytes = options_.max_bytes;
    f.executed = [this](std::uint64_t n) { steps_.take(n * Steps::followed_instruction); };
    f.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
    for (const codegen::Size& z : p_.sizes()) f.maxima[z.name] = static_cast<std::uint32_t>(z.facts.most);
    for (const codegen::GridAxis& g : p_.grid()) {
      const Interval i = interval(ceil_div(g.extent, Sym(g.tile)));
      // At least 1: a carry of what can only be 0 is none, and the sum it belongs to is one no more.
      if (i.upper && *i.upper <= Int(INT32_MAX))
        f.maxima[std::string("workgroup_") + "xyz"[g.axis]] =
            static_cast<std::uint32_t>(std::max<std::int64_t>(i.upper->value() - 1, 1));
    }
    return f;
  }
  bool same_arguments();
  [[nodiscard]] bool has_elements(Element e) const;
  void order();
  void judge();
  template <class F>
  void try_to(F f);
  void symbolic();
  void concrete(unsigned from, unsigned to);
  struct Abstract;
  void explore(Path start, Abstract* abstract);
  void ended(Path& path, Abstract* abstract);
  bool loop(Path& path, std::size_t head, std::string& why);
  bool attempt(Abstract& a, std::string& why);
  void compare(const Path& path, const Events& stores, const Events& loads, int trips, bool by_number,
               const std::string& where);
  bool compare_stores(const Path& path, const Events& stores, const std::string& where);
  void join(Events& to, const Events& from) const;
  void foreign_loads(const Path& path, const Events& loads, int trips, bool by_number,
                     const std::string& where);
  const CodeRun::State& after(Abstract& a, int r);
  const CodeRun::State& boundary(int trips);
  [[nodiscard]] std::vector<std::string> facts(const Path& path, const Abstract* a);
  Versions versions(const Path& path, const Abstract* a);
  bool runs(const CodeRegion& r, const Path& path, const Abstract* a);
  std::optional<int> trips_of(const Path& path, const Abstract* a);
  std::vector<std::pair<AtomId, Sym>> counted(const Path& path, const Abstract* a);
  /// Where K is a multiple of the tile, K itself is so many: it is not replaced by what a path says of it.
  [[nodiscard]] bool trips_are_a_size() const {
    const auto atom = formulas_->canonical(shape_->loop->trips).as_atom();
    return atom && formulas_->context().atom(*atom).kind == AtomKind::symbol;
  }
  void missing(const std::string& what) { reasons_.insert(what); }
  /// Where the two sides name an element differently on a path, or only the path tells: where sizes of a counterexample are
  /// looked for.
  struct Difference {
    std::shared_ptr<const std::vector<std::pair<Word, bool>>> path;
    std::optional<ElementAccess> machine, code;
  };
  std::vector<Difference> differences_;
  template <class Accesses>
  void differs(const Path& path, std::optional<ElementAccess> machine, const Accesses& all,
               std::optional<ElementAccess> code = {});
  [[nodiscard]] bool tells(const Difference& d, const Sample& s, bool outside) const;
  void number_words(Sample& s) const;
  void concrete_at(const Sample& s, unsigned k);
  void directed();
  void guards();
  std::string at(std::size_t instruction) const {
    const auto& i = flow_->instruction(instruction);
    const auto line = lines_.at(i.address);
    return located(i) + (line ? " (line " + std::to_string(line->line) + ")" : "");
  }
  /// What the code has for that address.
  template <class Accesses>
  std::string instead(const ElementAccess& a, const Accesses& all) const {
    for (const auto& [key, event] : all)
      if (key.name->tensor == a.name->tensor && key.byte == a.byte && key.name->address == a.name->address)
        return "; but " + text(key);
    return "";
  }
  std::string text(const ElementAccess& a) const {
    const AccessName& n = *a.name;
    std::string s = p_.tensor(n.tensor).name + " byte " + to_string(n.address + Sym(a.byte)) + ", room " +
                    to_string(n.room + Sym(a.left));
    if (!(n.step == Sym(0))) s += ", step " + to_string(n.step);
    for (const Sym& d : n.inside.all) s += ", if " + to_string(d) + " >= 0";
    return s;
  }

  const runtime::CodeObject& object_;
  const runtime::Kernel& kernel_;
  const Code& code_;
  const codegen::Program& p_;
  CodeOptions options_;
  runtime::isa::LineTable lines_;
  mutable Steps steps_;
  CodeReport report_;
  std::set<std::string> reasons_;

  std::unique_ptr<Flow> flow_; ///< for terms and texts
  std::unique_ptr<Shape> shape_;
  std::unique_ptr<CodeRun> code_run_;
  std::unique_ptr<Formulas> formulas_;
  std::unique_ptr<ValuesOfWords> values_;
  std::unique_ptr<Client> client_;
  std::vector<Sample> samples_;
  std::vector<CodeRun::State> boundaries_;
  std::size_t most_boundaries_ = 0; ///< as far as loads of the machine are looked for in later trips
  using Loads = Flat<ElementAccess, int, HashAccess>;
  Loads loads_until_;          ///< by which boundary
  std::vector<Events> stores_; ///< of the trip that leads to each boundary
  unsigned paths_ = 0;
  Number fresh_ = 1;
};

/// A loop of the machine for any number of periods.
struct Sides::Abstract {
  std::size_t head = 0;
  Word periods = 0;
  Sym u;
  int first = 0, period = 1; ///< trips of the code before, and a period
  std::shared_ptr<Flow> from;
  std::vector<std::string> base;  ///< facts of the path to the head
  std::vector<std::string> facts; ///< the same, and the invariants
  std::vector<Sym> invariants;    ///< each at least 0: what the branch back has checked, one period ago
  // Places of the code: blocks of values.
  struct Block {
    bool lds = false;
    int id = 0, at = 0; ///< register and iteration from the current trip on; tensor and stage
    std::size_t base = 0, size = 0;
  };
  std::vector<Block> blocks;
  std::vector<Number> one, two;      ///< values at the two heads
  std::vector<bool> fresh;           ///< of each place: changes from head to head
  std::vector<int> kind, first_kind; ///< places of one kind hold the same
  std::vector<int> first_alike;      ///< of each first kind: the first place that held the same at both heads
  std::vector<int> next_alike;       ///< and after each place the next one; -1: none
  std::vector<Number> start;
  // Words of the machine.
  std::vector<std::vector<int>>
      vectors; ///< [wave][row * 64 + lane]: index into `related`, -1: stays as it is
  std::vector<std::vector<int>> scalars;
  std::vector<int> lds;
  std::vector<bool> scc; ///< of each wave: may be anything
  std::vector<Related> related;
  bool changed = false;
  std::vector<bool> way; ///< how the conditions went from the first head to the second
  bool guessed = false;  ///< invariants have been looked for
  std::optional<AtomId> last_u;
  // States of the code after r more trips, made when wanted.
  std::vector<CodeRun::State> runs;
  std::vector<Events> stores;  ///< of each of these trips
  Loads loads;                 ///< by the number of trips after which they have been made
  std::unique_ptr<Flow> begin; ///< the abstract state
};

std::vector<std::string> Sides::facts(const Path& path, const Abstract* a) {
  if (a == nullptr) return formulas_->facts(formulas_->contract(), path.flow.path());
  const auto& all = path.flow.path();
  return formulas_->facts(a->facts,
                          {all.begin() + static_cast<std::ptrdiff_t>(a->from->path().size()), all.end()});
}

const CodeRun::State& Sides::boundary(int trips) {
  const CodeRegion* loop = shape_->loop;
  if (boundaries_.empty()) {
    code_run_->state = {};
    code_run_->loads.clear();
    code_run_->stores.clear();
    for (const CodeRegion* r : shape_->before)
      if (loop == nullptr || runs_with(*r, *loop)) code_run_->run(r->body, *r, 0, Sym(0), {});
    if (loop != nullptr) code_run_->run(loop->prologue, *loop, 0, Sym(0), {});
    boundaries_.push_back(code_run_->state);
    stores_.push_back(std::move(code_run_->stores));
    for (const auto& [key, event] : code_run_->loads) loads_until_.try_emplace(key, 0);
  }
  while (static_cast<int>(boundaries_.size()) <= trips) {
    const int b = static_cast<int>(boundaries_.size()) - 1;
    code_run_->state = boundaries_.back();
    code_run_->loads.clear();
    code_run_->stores = {};
    code_run_->run(loop->body, *loop, b, Sym(b), {});
    std::erase_if(code_run_->state.registers, [&](const auto& e) {
      return !code_.registers[static_cast<std::size_t>(e.first.first)].outside && e.first.second < b - 1;
    });
    boundaries_.push_back(code_run_->state);
    stores_.push_back(std::move(code_run_->stores));
    for (const auto& [key, event] : code_run_->loads) loads_until_.try_emplace(key, b + 1);
  }
  return boundaries_[static_cast<std::size_t>(trips)];
}

/// How many more trips the code makes on a path, when that is one number.
std::optional<int> Sides::trips_of(const Path& path, const Abstract* a) {
  const CodeRegion* loop = shape_->loop;
  const Sym base = a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0);
  std::vector<int> candidates;
  if (!path.samples.empty()) {
    for (const std::size_t k : path.samples) {
      const auto& s = samples_[k].symbols;
      const auto n = static_cast<int>((evaluate(loop->trips, s) - Int(1) - evaluate(base, s)).value());
      if (!candidates.empty() && candidates[0] != n) return std::nullopt;
      candidates.assign(1, n);
    }
  } else {
    for (int k = 0; k < 40; ++k) candidates.push_back(k);
  }
  const auto known = facts(path, a);
  for (const int c : candidates)
    if (c >= 0 && c < 64 && formulas_->decide(true, loop->trips - Sym(1), base + Sym(c), known) == Truth::yes)
      return c;
  return std::nullopt;
}

/// Quotients in the conditions of a path that are one number on it, or that many more than the loop's periods: the trips of a
/// machine's loop that takes several of the code's at once, where the path leaves open how many those are.
std::vector<std::pair<AtomId, Sym>> Sides::counted(const Path& path, const Abstract* a) {
  std::vector<std::pair<AtomId, Sym>> out;
  if (path.samples.empty()) return out;
  std::set<Sym> quotients;
  const auto known = facts(path, a);
  for (const auto& [word, value] : path.flow.path())
    for (const Sym& d : formulas_->either(word, value, known))
      for (const auto& t : d.terms())
        for (const Factor& f : t.factors())
          if (formulas_->context().atom(f.atom).kind == AtomKind::floor_div)
            quotients.insert(formulas_->context().product(Int(1), std::array{Factor{f.atom, 1}}));
  for (const Sym& q : quotients)
    for (const int step : a != nullptr ? std::vector{1, a->period, 0} : std::vector{0}) {
      const Sym base = a != nullptr ? Sym(step) * a->u : Sym(0);
      std::optional<Int> one;
      const auto rest = [&](std::size_t k) {
        return evaluate(q, samples_[k].symbols) - evaluate(base, samples_[k].symbols);
      };
      const bool same = std::all_of(path.samples.begin(), path.samples.end(), [&](std::size_t k) {
        const Int v = rest(k);
        return *(one ? one : one = v) == v;
      });
      if (!same || formulas_->decide(true, q, base + Sym(*one), known) != Truth::yes) continue;
      for (const Sym& form : {q, formulas_->canonical(q)})
        if (const auto atom = form.as_atom()) out.emplace_back(*atom, base + Sym(*one));
      break;
    }
  return out;
}

Versions Sides::versions(const Path& path, const Abstract* a) {
  Versions out;
  for (const auto& v : versions_of(code_)) {
    std::optional<bool> divides;
    for (const std::size_t s : path.samples) {
      const bool d = evaluate(v.first, samples_[s].symbols).value() % v.second == 0;
      if (divides && *divides != d)
        throw NotFollowed{"the machine code takes one way for " + to_string(v.first) + " % " +
                          std::to_string(v.second) + " = 0 and otherwise"};
      divides = d;
    }
    const Sym rest = floor_mod(v.first, Sym(v.second));
    const auto known = facts(path, a);
    for (const bool d : {true, false}) {
      if (divides && *divides != d) continue;
      const bool shown = d ? formulas_->decide(true, rest, Sym(0), known) == Truth::yes
                           : formulas_->decide(false, Sym(1), rest, known) == Truth::yes;
      if (shown) {
        out[v] = d;
        break;
      }
    }
    if (!out.contains(v))
      throw NotFollowed{"whether " + std::to_string(v.second) + " divides " + to_string(v.first) +
                        " on a path of the machine code"};
  }
  return out;
}

/// Whether the code runs a region on a path: what the path says of the conditions of its branches.
bool Sides::runs(const CodeRegion& r, const Path& path, const Abstract* a) {
  for (const codegen::Guard& g : r.guards) {
    const codegen::Condition c = code_run_->fixed(g.condition);
    const auto known = facts(path, a);
    const bool below = formulas_->decide(false, c.a + Sym(1), c.b, known) == Truth::yes;
    if (!below && formulas_->decide(false, c.b, c.a, known) != Truth::yes)
      throw NotFollowed{"whether " + to_string(c.a) + " < " + to_string(c.b) +
                        " on a path of the machine code"};
    if (below != g.holds) return false;
  }
  return true;
}

template <class Accesses>
void Sides::differs(const Path& path, std::optional<ElementAccess> machine, const Accesses& all,
                    std::optional<ElementAccess> code) {
  if (differences_.size() > 400) return;
  if (machine && !code)
    for (const auto& [key, event] : all)
      if (key.name->tensor == machine->name->tensor && key.byte == machine->byte &&
          key.name->address == machine->name->address) {
        code = key;
        break;
      }
  if (differences_.empty() || *differences_.back().path != path.flow.path())
    differences_.push_back({std::make_shared<const std::vector<std::pair<Word, bool>>>(path.flow.path()),
                            std::move(machine), std::move(code)});
  else
    differences_.push_back({differences_.back().path, std::move(machine), std::move(code)});
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
    s.words[flow_->terms().symbol(n, at != maxima.end() ? at->second : 0x7fffffffU)] =
        static_cast<std::uint64_t>(v);
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

/// Loads that the code has not made after so many trips, nor in `loads`.
void Sides::foreign_loads(const Path& path, const Events& loads, int trips, bool by_number,
                          const std::string& where) {
  std::size_t bad = 0;
  for (const auto& [key, event] : path.trace.loads) {
    const auto known = loads_until_.find(key);
    if (loads.contains(key) || (by_number && known != loads_until_.end() && known->second <= trips)) continue;
    if (++bad % 16 == 1) differs(path, key, loads_until_);
    if (bad < 3)
      missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
              std::to_string(event.lane) + ", loads " + text(key) + ", which the code does not in this form" +
              instead(key, loads_until_) + instead(key, loads));
  }
  // The last trip has no prefetch, and is not one of those that are counted.
  for (const auto& [key, event] : path.trace.of_latest)
    if (path.trace.latest > trips + 1 || (path.trace.latest > trips && !loads.contains(key))) {
      missing(where + ": " + at(event.instruction) + " loads what the code loads in a later trip only");
      break;
    }
}

/// The code's state after r more trips of the abstract loop.
const CodeRun::State& Sides::after(Abstract& a, int r) {
  while (static_cast<int>(a.runs.size()) <= r) {
    const int k = static_cast<int>(a.runs.size());
    code_run_->loads.clear();
    code_run_->stores = {};
    code_run_->state = a.runs.back();
    code_run_->run(shape_->loop->body, *shape_->loop, a.first + k - 1,
                   Sym(a.first) + Sym(a.period) * a.u + Sym(k - 1), {});
    for (const auto& [key, event] : code_run_->loads) a.loads.try_emplace(key, k);
    a.runs.push_back(code_run_->state);
    a.stores.push_back(std::move(code_run_->stores));
  }
  return a.runs[static_cast<std::size_t>(r)];
}

/// What is stored later takes the place of what was; sums are added.
void Sides::join(Events& to, const Events& from) const {
  for (const auto& [key, e] : from) {
    const auto [was, fresh] = to.try_emplace(key, e);
    if (fresh) continue;
    Event now = e;
    if ((e.adds != 0) != (was->second.adds != 0))
      throw NotFollowed{"the code stores an element and adds to it"};
    if (e.adds != 0) {
      now.value = values_->arithmetic().sum(was->second.value, e.value);
      now.adds += was->second.adds;
    }
    was->second = now;
  }
}

bool Sides::compare_stores(const Path& path, const Events& stores, const std::string& where) {
  std::size_t wrong = 0;
  for (const auto& [key, event] : path.trace.stores) {
    const auto found = stores.find(key);
    if (found == stores.end()) {
      if (wrong % 16 == 0) differs(path, key, stores);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", stores " + text(key) +
                ", which the code does not in this form" + instead(key, stores));
    } else if (event.adds != found->second.adds) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", " + how_often(event.adds) + " " + text(key) + ", the code " +
                how_often(found->second.adds) + " it");
    } else if (!event.value) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": what " + at(event.instruction) + ", wave " + std::to_string(event.wave) +
                " lane " + std::to_string(event.lane) + ", stores: " + path.trace.missing[event.missing] +
                (path.trace.unread.empty() ? "" : "; " + path.trace.unread));
    } else if (*event.value != found->second.value) {
      if (wrong % 16 == 0) differs(path, key, stores, key);
      if (++wrong < 3)
        missing(where + ": " + at(event.instruction) + ", wave " + std::to_string(event.wave) + " lane " +
                std::to_string(event.lane) + ", stores another value than the code at " + text(key));
    }
  }
  if (wrong == 0 && path.trace.stores.size() != stores.size())
    for (const auto& [key, event] : stores)
      if (!path.trace.stores.contains(key)) {
        differs(path, {}, stores, key);
        missing(where + ": nothing stores " + text(key) + " of work-item " + std::to_string(event.thread));
        ++wrong;
        break;
      }
  return wrong == 0;
}

void Sides::compare(const Path& path, const Events& stores, const Events& loads, int trips, bool by_number,
                    const std::string& where) {
  for (const auto& p : path.trace.problems) missing(p);
  compare_stores(path, stores, where);
  foreign_loads(path, loads, trips, by_number, where);
  for (const auto& p : path.trace.products)
    if (!code_run_->products.contains(p.hash)) {
      missing(where + ": " + at(p.instruction) + ", wave " + std::to_string(p.wave) +
              ", makes what no matrix product of the code makes");
      break;
    }
  report_.elements_loaded = std::max(report_.elements_loaded, path.trace.elements);
  report_.elements_stored = std::max(report_.elements_stored, path.trace.stores.size());
}

void Sides::ended(Path& path, Abstract* a) {
  const CodeRegion* loop = shape_->loop;
  if (loop != nullptr && !runs(*loop, path, a)) loop = nullptr;
  const std::string where =
      a != nullptr ? "after a loop of any number of trips" : "on a path without induction";
  int trips = 0;
  if (loop != nullptr) {
    // How many trips the code makes here.
    const auto n = trips_of(path, a);
    if (!n) {
      differs(path, {}, Events(), {});
      missing(where + ": that the code leaves its loop after as many trips");
      return;
    }
    trips = *n;
  }
  const Versions chosen = versions(path, a);
  Events stores; // of the trips before the last
  if (loop == nullptr) {
    code_run_->state = {};
  } else {
    const CodeRun::State& state = a == nullptr ? boundary(trips) : after(*a, trips);
    for (int k = 0; k <= trips; ++k)
      join(stores, (a == nullptr ? stores_ : a->stores)[static_cast<std::size_t>(k)]);
    code_run_->state = state;
  }
  code_run_->loads.clear();
  code_run_->stores.clear();
  code_run_->begin();
  const int number = (a != nullptr ? a->first : 0) + trips;
  if (loop != nullptr && loop->trips.as_atom() && !trips_are_a_size())
    code_run_->known = {{*loop->trips.as_atom(),
                         (a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0)) + Sym(trips + 1)}};
  if (loop != nullptr) code_run_->run(loop->epilogue, *loop, number, loop->trips - Sym(1), chosen);
  if (loop == nullptr) {
    code_run_->state = {};
    for (const CodeRegion* r : shape_->before)
      if (runs(*r, path, a)) code_run_->run(r->body, *r, 0, Sym(0), chosen);
  }
  for (const CodeRegion* r : shape_->after)
    if (runs(*r, path, a)) code_run_->run(r->body, *r, 0, Sym(0), chosen);
  code_run_->known.clear();
  join(stores, code_run_->stores);
  compare(path, stores, code_run_->loads, trips, a == nullptr, where);
}

void Sides::explore(Path start, Abstract* a) {
  std::vector<Path> stack;
  stack.push_back(std::move(start));
  const auto filter = [&](Path& p) {
    const auto& [condition, value] = p.flow.path().back();
    std::erase_if(p.samples, [&](std::size_t s) {
      const auto v = p.flow.terms().evaluate(condition, samples_[s].words);
      return v && (*v != 0) != value;
    });
  };
  while (!stack.empty() && reasons_.size() < (a == nullptr ? 6U : 60U)) {
    Path path = std::move(stack.back());
    stack.pop_back();
    values_->known({});
    client_->trace = &path.trace;
    client_->samples = &samples_;
    client_->possible = &path.samples;
    client_->facts = [&] { return facts(path, a); };
    client_->known_load = [&](const ElementAccess& key) {
      const Loads& in = a != nullptr ? a->loads : loads_until_;
      for (;;) {
        if (const auto found = in.find(key); found != in.end()) return found->second;
        // What a later trip loads may be loaded before.
        if (a != nullptr || shape_->loop == nullptr || boundaries_.size() > most_boundaries_) return -1;
        static_cast<void>(boundary(static_cast<int>(boundaries_.size())));
      }
    };
    client_->loaded = [&] {
      std::unordered_set<const AccessName*> seen;
      std::vector<ElementAccess> out;
      for (const auto& [key, trip] : a != nullptr ? a->loads : loads_until_)
        if (seen.insert(key.name).second) out.push_back({key.name, key.hash, 0, 0, 0});
      return out;
    };
    std::size_t asked = ~std::size_t{0};
    std::vector<std::pair<AtomId, Sym>> resolved;
    client_->resolve = [&] {
      if (shape_->loop == nullptr || asked == path.flow.path().size()) return resolved;
      asked = path.flow.path().size();
      resolved.clear();
      if (asked == 0) return resolved;
      if (const auto n = shape_->loop->trips.as_atom() ? trips_of(path, a) : std::nullopt) {
        const Sym number = (a != nullptr ? Sym(a->first) + Sym(a->period) * a->u : Sym(0)) + Sym(*n + 1);
        for (const Sym& t : {shape_->loop->trips, formulas_->canonical(shape_->loop->trips)})
          if (const auto atom = t.as_atom(); atom && !trips_are_a_size())
            resolved.emplace_back(*atom, number);
      }
      if (resolved.empty()) resolved = counted(path, a);
      return resolved;
    };
    const Flow::Stop stop = path.flow.run(*client_);
    client_->facts = nullptr;
    client_->resolve = nullptr;
    client_->known_load = nullptr;
    client_->loaded = nullptr;
    if (stop == Flow::Stop::failed) {
      missing(path.flow.why());
      continue;
    }
    if (stop == Flow::Stop::fork) {
      Path other = path;
      other.flow.assume(false);
      path.flow.assume(true);
      filter(other);
      filter(path);
      // In the abstract loop the way around comes first: what it changes is not worth following to the end.
      const std::size_t at_once = path.flow.path().size() - 1;
      if (a != nullptr && at_once < a->way.size() && a->way[at_once] != path.flow.path().back().second)
        std::swap(other, path);
      // Where a loop has no head, because it is entered in its middle, nothing else ends this.
      const std::size_t each = path.flow.bytes() + path.trace.bytes();
      stack.push_back(std::move(other));
      stack.push_back(std::move(path));
      if (stack.size() * each > options_.max_bytes) {
        missing("more than " + std::to_string(options_.max_bytes >> 20) + " MB wait at forks");
        return;
      }
      continue;
    }
    if (++paths_ > options_.max_paths) {
      missing("more than " + std::to_string(options_.max_paths) + " paths");
      return;
    }
    if (stop == Flow::Stop::ended) {
      ended(path, a);
      continue;
    }
    const std::size_t head = path.flow.at();
    if (a != nullptr && head != a->head) {
      missing("a loop after a loop");
      continue;
    }
    if (a != nullptr) {
      // Around once more: the same places of the code, one period on.
      if (a->runs.empty()) continue;
      if (!path.flow.same_scratch(*a->begin)) {
        missing("a loop that changes what is spilled to scratch");
        continue;
      }
      const CodeRun::State& state = after(*a, a->period);
      // What the branch back has checked holds at the head one period later, if it did at first.
      const AtomId u_atom = *a->u.as_atom();
      const auto known = facts(path, a);
      std::vector<Sym> kept_invariants;
      for (const Sym& d : a->invariants) {
        const std::pair<AtomId, Sym> next[] = {{u_atom, a->u + Sym(1)}};
        if (formulas_->decide(false, Sym(0), substitute(d, next), known) == Truth::yes)
          kept_invariants.push_back(d);
        else
          a->changed = true;
      }
      if (a->invariants.empty() && !a->guessed) {
        a->guessed = true;
        for (std::size_t k = a->from->path().size(); k < path.flow.path().size(); ++k) {
          const auto& all = path.flow.path();
          const auto& before_it =
              formulas_->facts(a->facts, {all.begin() + static_cast<std::ptrdiff_t>(a->from->path().size()),
                                          all.begin() + static_cast<std::ptrdiff_t>(k)});
          for (const Sym& d : formulas_->either(all[k].first, all[k].second, before_it)) {
            const std::pair<AtomId, Sym> before[] = {{u_atom, a->u - Sym(1)}}, first[] = {{u_atom, Sym(-1)}};
            const auto used = symbols(d);
            if (std::find(used.begin(), used.end(), u_atom) == used.end() ||
                formulas_->decide(false, Sym(0), substitute(d, first), a->base) != Truth::yes)
              continue;
            kept_invariants.push_back(substitute(d, before));
            a->changed = true;
          }
        }
      }
      a->invariants = std::move(kept_invariants);
      const Sym reached = Sym(a->first) + Sym(a->period) * (a->u + Sym(1));
      if (formulas_->decide(false, reached, shape_->loop->trips - Sym(1), facts(path, a)) != Truth::yes) {
        if (!a->changed) { // with the invariants just found it may be
          missing("that the code stays in its loop as long as the machine code: " + to_string(reached) +
                  " <= " + to_string(shape_->loop->trips - Sym(1)));
          continue;
        }
      }
      for (const auto& p : path.trace.problems) missing(p);
      foreign_loads(path, {}, a->period, false, "in the loop");
      for (const auto& p : path.trace.products)
        if (!code_run_->products.contains(p.hash) && !a->changed) {
          missing("in the loop: " + at(p.instruction) + ", wave " + std::to_string(p.wave) +
                  ", makes what no matrix product of the code makes");
          break;
        }
      // Places of the code that were taken to stay.
      std::vector<Number> end(a->start.size());
      for (const auto& b : a->blocks) {
        const auto& from = b.lds ? state.lds : state.registers;
        const bool outside = !b.lds && code_.registers[static_cast<std::size_t>(b.id)].outside;
        const auto found = from.find({b.id, b.lds || outside ? b.at : a->first + a->period + b.at});
        for (std::size_t k = 0; k < b.size; ++k) {
          const std::size_t place = b.base + k;
          end[place] = found == from.end() ? apply(Function::fresh, 1000 + place) : found->second[k];
          if (!a->fresh[place] && end[place] != a->start[place]) {
            a->fresh[place] = true;
            a->changed = true;
          }
        }
      }
      // Places that were taken to hold the same.
      Flat<Number, int> refined;
      std::vector<int> kinds(end.size());
      for (std::size_t k = 0; k < end.size(); ++k)
        kinds[k] = refined
                       .try_emplace(
                           random_of(static_cast<Number>(a->kind[k]) + (a->fresh[k] ? 0 : (Number{1} << 40)),
                                     end[k]),
                           static_cast<int>(refined.size()))
                       .first->second;
      const auto largest =
          std::max_element(a->kind.begin(), a->kind.end()); // none: nothing stays from trip to trip
      if (largest != a->kind.end() && refined.size() > static_cast<std::size_t>(1 + *largest)) {
        a->changed = true;
        a->kind = std::move(kinds);
      }
      Terms& t = path.flow.terms();
      const auto lose = [&](Related& r) {
        r.kind = Related::Kind::unknown;
        a->changed = true;
      };
      const auto holds = [&](int& index, Word now, Word before) {
        if (index < 0) {
          if (now == before) return;
          index = static_cast<int>(a->related.size());
          a->related.emplace_back();
          a->changed = true;
          return;
        }
        Related& r = a->related[static_cast<std::size_t>(index)];
        if (r.kind == Related::Kind::linear) {
          if (now == Terms::unknown || before == Terms::unknown || t.subtract(now, before) != r.step) lose(r);
        } else if (r.kind == Related::Kind::data) {
          for (std::size_t e = 0; e < r.places.size(); ++e) {
            const auto v = now == 0 ? std::nullopt : values_->read(now, r.format, static_cast<unsigned>(e));
            if (v && *v == end[static_cast<std::size_t>(r.places[e])]) continue;
            // Another place that held the same at both heads may be the one.
            const auto kind = static_cast<std::size_t>(a->first_kind[static_cast<std::size_t>(r.places[e])]);
            int other = v ? a->first_alike[kind] : -1;
            while (other >= 0 && end[static_cast<std::size_t>(other)] != *v)
              other = a->next_alike[static_cast<std::size_t>(other)];
            if (other >= 0) {
              r.places[e] = other;
              a->changed = true;
            } else {
              lose(r);
              return;
            }
          }
        }
      };
      for (unsigned w = 0; w < path.flow.waves(); ++w) {
        for (unsigned r = 0; r < Flow::scalars; ++r)
          holds(a->scalars[w][r], path.flow.scalar(w, r), a->begin->scalar(w, r));
        if (!a->scc[w] && path.flow.scc(w) != a->begin->scc(w)) a->scc[w] = a->changed = true;
        for (unsigned r = 0; r < Flow::rows; ++r) {
          const bool plain = std::all_of(a->vectors[w].begin() + r * 64, a->vectors[w].begin() + r * 64 + 64,
                                         [](int x) { return x < 0; });
          if (plain && path.flow.surely_same(*a->begin, w, r)) continue;
          for (unsigned l = 0; l < 64; ++l)
            holds(a->vectors[w][r * 64 + l], path.flow.vector(w, r, l), a->begin->vector(w, r, l));
        }
      }
      for (std::size_t k = 0; k < a->lds.size(); ++k)
        holds(a->lds[k], path.flow.lds()[k], a->begin->lds()[k]);
      if (a->changed) return;
      Events stores; // of one period, for any number of them
      for (int k = 1; k <= a->period; ++k) join(stores, a->stores[static_cast<std::size_t>(k)]);
      compare_stores(path, stores, "in the loop");
      continue;
    }
    auto& kept = path.heads[head];
    kept.push_back(std::make_shared<Flow>(path.flow));
    std::string why = "its head was not come to often enough";
    if (shape_->loop == nullptr) {
      missing("a loop that the code does not have");
      continue;
    }
    if (kept.size() >= 2 && loop(path, head, why)) continue;
    if (kept.size() >= options_.visits) {
      missing("the loop at " + at(head) + ": " + why);
      continue;
    }
    stack.push_back(std::move(path));
  }
}

bool Sides::loop(Path& path, std::size_t head, std::string& why) {
  auto& kept = path.heads[head];
  Abstract a;
  a.head = head;
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
  const auto best = [&](Flow& f, int from, int to) {
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
    return found;
  };
  const CodeRegion& region = *shape_->loop;
  const int reach = region.ring * static_cast<int>(kept.size()) + 1;
  a.first = best(one, 0, reach);
  const int second = best(two, a.first + 1, a.first + 1 + std::max(2 * region.ring, codegen::most_copies));
  a.period = second - a.first;
  if (a.period % region.ring != 0) {
    why = "its heads are the trips " + std::to_string(a.first) + " and " + std::to_string(second) +
          " of the code";
    return false;
  }
  // The code is in its loop at the first of them.
  if (formulas_->decide(false, Sym(a.first), region.trips - Sym(1),
                        formulas_->facts(formulas_->contract(), one.path())) != Truth::yes) {
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
  // What elements are computed to and kept as, two in a word.
  std::set<Element> formats;
  for (const codegen::Register& r : code_.registers)
    if (bits(r.element) == 16) formats.insert(r.element);
  for (const codegen::Tensor& x : p_.tensors())
    if (bits(x.element) == 16) formats.insert(x.element);
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
    const auto find = [&](Element format, unsigned count, auto&& get) {
      std::vector<int> places;
      for (unsigned e = 0; e < count; ++e) {
        const auto v1 = get(x, e), v2 = get(y, e);
        if (!v1 || !v2) return false;
        const Number key = random_of(*v1, *v2);
        for (const auto* map : {lds ? &in_lds : &in_registers, lds ? &in_registers : &in_lds})
          if (const auto at = map->find(key); at != map->end()) {
            places.push_back(at->second);
            break;
          }
        if (places.size() != e + 1) return false;
      }
      r.kind = Related::Kind::data;
      r.format = format;
      r.places = std::move(places);
      return true;
    };
    const auto d1 = values_->datum(x), d2 = values_->datum(y);
    if (d1 && d2) {
      if (d1->format == d2->format && d1->numbers.size() == d2->numbers.size())
        find(d1->format, static_cast<unsigned>(d1->numbers.size()),
             [&](Word w, unsigned e) -> std::optional<Number> { return (w == x ? d1 : d2)->numbers[e]; });
    } else if (x != 0 && y != 0 && x != Terms::unknown && y != Terms::unknown) {
      const Word step = t.subtract(y, x);
      if (!d1 && !d2 && steady(step)) {
        r.kind = Related::Kind::linear;
        r.step = step;
      } else {
        const auto as = [&](Element format) {
          return find(format, 32 / static_cast<unsigned>(bits(format)),
                      [&](Word w, unsigned e) { return values_->read(w, format, e); });
        };
        static_cast<void>(as(Element::f32) || std::any_of(formats.begin(), formats.end(), as));
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
      for (int k = 0; k <= second; ++k) join(stores, stores_[static_cast<std::size_t>(k)]);
      compare_stores(path, stores, "before the loop");
      samples_ = samples;
      return true;
    }
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
  const CodeRegion& region = *shape_->loop;
  const std::string name = "periods." + std::to_string(fresh_++);
  const Interval trips = interval(region.trips);
  const std::int64_t most = trips.upper ? (trips.upper->value() - a.first) / a.period + 1 : 0x7fffffff;
  a.periods = t.symbol(name, static_cast<std::uint32_t>(std::min<std::int64_t>(most, 0x7fffffff)));
  // By its bound too: the program's symbols outlive this, and another loop of the same number has another bound.
  a.u = formulas_->context().symbol("_periods" + name.substr(8) + "_" + std::to_string(most),
                                    {Int(0), Int(most)});
  formulas_->name(a.periods, a.u);
  a.base = formulas_->facts(formulas_->contract(), one.path());
  a.facts = a.base;
  const AtomId u_atom = *a.u.as_atom();
  if (a.last_u) { // its symbol is new
    const std::pair<AtomId, Sym> renamed[] = {{*a.last_u, a.u}};
    for (Sym& d : a.invariants) d = substitute(d, renamed);
  }
  a.last_u = u_atom;
  for (const Sym& d : a.invariants) a.facts.push_back("0 <= " + to_string(d));
  a.facts.push_back(to_string(Sym(a.first) + Sym(a.period) * a.u) +
                    " <= " + to_string(region.trips - Sym(1)));
  a.facts.push_back(to_string(a.u) + " >= 0");
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
    for (const int p : r.places) numbers.push_back(a.start[static_cast<std::size_t>(p)]);
    return values_->word(r.format, numbers);
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
    Sample s = draw(2 * a.first + 4 * a.period + 8);
    const auto terms_of = [&](Sample& x) {
      for (const auto& [n, v] : x.numbers)
        if (const auto at = flow_options().maxima.find(n); at != flow_options().maxima.end())
          x.words[t.symbol(n, at->second)] = static_cast<std::uint64_t>(v);
        else
          x.words[t.symbol(n, 0x7fffffffU)] = static_cast<std::uint64_t>(v);
    };
    terms_of(s);
    const std::int64_t room = evaluate(region.trips, s.symbols).value() - 1 - a.first;
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
                    [&](const Sym& d) { return evaluate(d, s.symbols) < Int(0); }))
      continue;
    drawn.push_back(std::move(s));
  }
  samples_ = std::move(drawn);
  Path path(std::move(begin));
  for (std::size_t k = 0; k < samples_.size(); ++k) path.samples.push_back(k);
  const std::size_t before = reasons_.size();
  explore(std::move(path), &a);
  return !a.changed && reasons_.size() == before;
}

void Sides::symbolic() {
  shape_ = std::make_unique<Shape>(code_);
  flow_ = std::make_unique<Flow>(object_, kernel_, flow_options());
  formulas_ = std::make_unique<Formulas>(p_, flow_->terms());
  formulas_->steps = &steps_;
  formulas_->divide_by({flow_->terms(), flow_->program(), flow_->rounds_to_nearest()});
  values_ = std::make_unique<ValuesOfWords>(*flow_, *formulas_);
  code_run_ = std::make_unique<CodeRun>(code_, std::vector<std::pair<AtomId, Sym>>());
  code_run_->arithmetic = &values_->arithmetic();
  code_run_->formulas = formulas_.get();
  code_run_->steps = &steps_;
  code_run_->begin(); // what it says of numbers from tables, before anybody asks
  for (const codegen::Tensor& t : p_.tensors())
    if (t.space == codegen::Space::global && bits(t.element) < 8) code_run_->names.by_multiples(*formulas_);
  if (shape_->loop != nullptr) {
    std::vector<AtomId> of_trips = symbols(shape_->loop->trips);
    const auto by_multiples = symbols(formulas_->canonical(shape_->loop->trips));
    of_trips.insert(of_trips.end(), by_multiples.begin(), by_multiples.end());
    code_run_->names.watch(std::move(of_trips));
  }
  formulas_->value_of_datum = [this](Word w) -> std::optional<std::uint64_t> {
    if (flow_->terms().kind(w) != TermKind::datum) return values_->truncated(w);
    const auto d = values_->datum(w);
    if (!d || d->format != Element::i32 || d->numbers.size() != 1) return std::nullopt;
    return d->numbers[0];
  };
  client_ = std::make_unique<Client>(code_, *code_run_, *flow_, *formulas_, *values_);
  values_->is_of_code = [this](Number n) { return code_run_->conditions.contains(n); };
  Draw draw(code_);
  for (int k = 0; k < 120; ++k) {
    samples_.push_back(draw(k % 2 == 0 ? 4 : 14));
    number_words(samples_.back());
    formulas_->launch(samples_.back().symbols);
  }
  if (shape_->loop != nullptr)
    for (const auto* list : {&shape_->loop->prologue, &shape_->loop->body})
      for (const Inst& i : *list)
        if (i.kind == InstKind::store) throw NotFollowed{"stores inside of a loop"};
  most_boundaries_ = shape_->loop != nullptr ? 3 * shape_->loop->ring + 2 : 0;
  if (shape_->loop != nullptr) static_cast<void>(boundary(0));
  Path path(*flow_);
  for (std::size_t k = 0; k < samples_.size(); ++k) path.samples.push_back(k);
  explore(std::move(path), nullptr);
  report_.paths = paths_;
  report_.loads = client_->load_sites.size();
  report_.stores = client_->store_sites.size();
  report_.products = client_->product_sites.size();
}

/// Sizes, pointers and elements that are numbers: the code's masks one by one, what is stored element by element.
void Sides::concrete(unsigned from, unsigned to) {
  Draw draw(code_);
  for (unsigned k = 0; k < to && report_.refuted.empty(); ++k) {
    const Sample s = draw.with_trips(static_cast<int>(k % 6) + 1, k % 4 == 3);
    if (k >= from) concrete_at(s, k);
  }
}

/// What formulas and machine code have in common with the code's own guards, against the masks by enumeration.
void Sides::guards() {
  Guards guards(code_);
  Draw draw(code_, 3);
  for (unsigned k = 0; k < options_.guard_sizes; ++k) {
    const Sample s = draw.with_trips(static_cast<int>(k % 6) + 1, k % 4 == 3);
    steps_.take(Steps::question);
    const auto bad = guards.at(s.symbols, k);
    if (!bad) continue;
    for (unsigned garbage = 0; garbage < 2 && report_.refuted.empty(); ++garbage)
      try { // the machine instruction that shows it
        concrete_at(s, garbage);
      } catch (const std::exception&) {
      } catch (const NotFollowed&) {
      }
    if (!report_.refuted.empty()) return;
    const std::string file = bad->inst->where.file_name();
    report_.refuted.push_back(
        {0, "the code itself",
         file.substr(file.rfind('/') + 1) + ":" + std::to_string(bad->inst->where.line()),
         static_cast<unsigned>(bad->thread) / 64, static_cast<unsigned>(bad->thread) % 64, bad->message,
         s.numbers});
    return;
  }
}

void Sides::concrete_at(const Sample& s, unsigned k) {
  FlowOptions o;
  o.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
  o.max_instructions = 3'000'000;
  o.max_bytes = options_.max_bytes;
  o.executed = [this](std::uint64_t n) { steps_.take(n * Steps::number_instruction); };
  o.reals = false;
  o.garbage = k + 1;
  std::vector<std::pair<AtomId, Sym>> sizes;
  for (const auto& [n, v] : s.numbers) o.values[n] = static_cast<std::uint32_t>(v);
  for (const codegen::Size& z : p_.sizes())
    sizes.emplace_back(*z.symbol.as_atom(), Sym(evaluate(z.symbol, s.symbols)));
  for (const codegen::GridAxis& g : p_.grid())
    sizes.emplace_back(*g.symbol.as_atom(), Sym(evaluate(g.symbol, s.symbols)));
  // Pointers from which sums carry into the upper word.
  std::map<int, std::uint64_t> pointers;
  for (const codegen::Tensor& t : p_.tensors()) {
    if (t.space != codegen::Space::global) continue;
    // All bits of the upper word in turn; a pointer is below 2^47.
    const unsigned pattern = k % 2 == 0 ? 0x2a55U : 0x55aaU;
    const std::uint64_t p = (std::uint64_t{pattern ^ (0x100U * static_cast<unsigned>(t.id))} << 32) +
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
    const auto trips = evaluate(r.trips, s.symbols).value();
    if (trips > 64) return; // too long to be gone through; another launch tells
    run.run(r.prologue, r, 0, Sym(0), chosen);
    for (std::int64_t j = 0; j + 1 < trips; ++j) run.run(r.body, r, static_cast<int>(j), Sym(j), chosen);
    run.run(r.epilogue, r, static_cast<int>(trips - 1), Sym(trips - 1), chosen);
  }
  Numbers client(p_, run, *flow, pointers);
  client.zeros = zeros_of(object_);
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
    report_.refuted.push_back(
        {i.address, i.text, line ? runtime::isa::to_string(*line) : "", e.wave, e.lane, message, s.numbers});
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
    refute(e, client.wild_text + "; the view of this work-item says " + expected);
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
    if (!found->second.value) continue;
    const double got = ValuesOfWords::real_of_bits(format, static_cast<std::uint32_t>(*found->second.value));
    const double wanted = RealArithmetic::real(e.value);
    const double tolerance = RealArithmetic::error(e.value) + CodeRun::rounding(format, e.value);
    if (!(tolerance < INFINITY) || std::isnan(wanted) || got == wanted ||
        std::fabs(got - wanted) <= tolerance)
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

/// The launch passes arguments by place.
bool Sides::same_arguments() {
  const std::vector<codegen::KernelArgument> expected = codegen::arguments_of(p_);
  std::size_t k = 0;
  std::uint32_t offset = 0;
  for (const runtime::KernelArgument& a : kernel_.arguments) {
    if (a.kind.starts_with("hidden_")) continue;
    const std::uint32_t size = k < expected.size() ? static_cast<std::uint32_t>(expected[k].bytes()) : 0;
    if (size != 0) offset = (offset + size - 1) / size * size; // each lies at a multiple of its size
    if (k >= expected.size() || a.name != expected[k].name() || a.size != size || a.offset != offset) {
      missing(
          "argument " + std::to_string(k) + " of the code object is '" + a.name + "' at byte " +
          std::to_string(a.offset) + ", the kernel's is " +
          (k < expected.size() ? "'" + expected[k].name() + "' at byte " + std::to_string(offset) : "none"));
      return false;
    }
    offset += a.size;
    ++k;
  }
  if (k != expected.size()) missing("the code object has fewer arguments than the kernel");
  const auto& required = kernel_.required_workgroup;
  const bool fits =
      required.size() == 3
          ? required[0] * required[1] * required[2] == static_cast<std::uint32_t>(p_.threads()) &&
                required[0] == static_cast<std::uint32_t>(p_.threads())
          : kernel_.max_flat_workgroup_size >= static_cast<std::uint32_t>(p_.threads());
  if (!fits)
    missing("the code object is not for workgroups of " + std::to_string(p_.threads()) + " work-items");
  return k == expected.size() && fits;
}

void Sides::order() {
  runtime::symbolic::OrderOptions o;
  o.max_bytes = options_.max_bytes;
  o.budget = options_.budget == 0 ? 0 : options_.budget - steps_.used();
  o.progress = [this](std::uint64_t n) { steps_.take(n); };
  o.max_instructions = 2'000'000; // the largest kernel that was tried, of several loops, takes 172,000
  o.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
  for (const codegen::Tensor& t : p_.tensors())
    if (t.space == codegen::Space::global && !t.output) o.read_only.push_back(t.name);
  const auto r = runtime::symbolic::check_order(object_, kernel_, o);
  report_.order = r.verdict;
  for (const auto& f : r.findings) {
    CodeFinding c{f.address, f.text, "", f.wave, f.lane, f.message, {}};
    for (const auto& [symbol, value] : f.witness)
      c.sizes.emplace_back(r.terms->text(symbol), static_cast<std::int64_t>(value));
    if (f.conditional)
      missing("order: " + f.message);
    else
      report_.refuted.push_back(std::move(c));
  }
  for (const auto& u : r.undecided) missing("order: " + u);
  // Shipped kernels of others read earlier than the tables ask; what the generator emits keeps to them. Hardware may interlock, so
  // that a missing one is no counterexample.
  for (std::size_t k = 0; k < std::min<std::size_t>(r.notes.size(), 4); ++k)
    missing("wait states: '" + r.notes[k].text + "', wave " + std::to_string(r.notes[k].wave) + ": " +
            r.notes[k].message + ", which software owes by the manual");
}

/// Does a part of the work; why it could not is what is missing.
template <class F>
void Sides::try_to(F f) {
  try {
    f();
  } catch (const NotFollowed& n) {
    missing(n.why);
  } catch (const std::exception& e) {
    missing(e.what());
  }
}

/// Whether a register or a tensor has elements of that format. The field takes what is converted for the same number, so that a
/// conversion that the code does not have would not be seen.
bool Sides::has_elements(Element e) const {
  const auto is = [&](const auto& x) { return x.element == e; };
  return std::any_of(code_.registers.begin(), code_.registers.end(), is) ||
         std::any_of(p_.tensors().begin(), p_.tensors().end(), is);
}

CodeReport Sides::run() {
  judge();
  if (values_)
    for (const auto& [domain, x] : values_->arithmetic().unsaid())
      missing("values: " + unsaid_text(domain, "its instructions do"));
  if (values_)
    for (const Element e : values_->narrowed())
      if (!has_elements(e))
        missing("its instructions convert to " + to_string(e) + ", of which the code has nothing");
  report_.steps = steps_.used();
  report_.undecided.assign(reasons_.begin(), reasons_.end());
  report_.verdict = !report_.refuted.empty()    ? MachineVerdict::refuted
                    : report_.undecided.empty() ? MachineVerdict::validated
                                                : MachineVerdict::undecided;
  return std::move(report_);
}

void Sides::judge() {
  if (!same_arguments()) return;
  if (kernel_.descriptor.mode != runtime::FloatMode{.denorm_32 = 3})
    return missing("its waves begin in another MODE than to round to nearest, keep subnormals "
                   "and overflow to infinity "
                   "(.amdhsa_float_*, .amdhsa_fp16_overflow, .amdhsa_dx10_clamp, .amdhsa_ieee_mode)");
  if (kernel_.descriptor.tg_split)
    return missing(
        "waves of a workgroup may be on several compute units (.amdhsa_tg_split), where LDS is not");
  if (p_.shares()) {
    missing("a workgroup goes on from tile to tile (stream-K), and is followed through one");
    return;
  }
  try_to([&] { guards(); });
  if (options_.order && report_.refuted.empty()) try_to([&] { order(); });
  if (!report_.refuted.empty() || steps_.spent()) return;
  if (kernel_.descriptor.private_segment_buffer && kernel_.descriptor.scratch_bytes != 0) {
    missing(std::to_string(kernel_.descriptor.scratch_bytes) +
            " bytes a work-item are spilled to scratch by a buffer, which is not followed");
    return;
  }
  const auto of_order = reasons_;
  const unsigned first = std::min(options_.first_runs, options_.refuter_runs);
  try_to([&] { concrete(0, first); });
  if (!report_.refuted.empty() || steps_.spent()) return;
  // What numbers could not follow is said where symbols do not show it, or would have to share all of what they show it with.
  const auto of_numbers = std::exchange(reasons_, of_order);
  if (!options_.symbols) {
    missing("symbols were not asked");
  } else {
    try_to([&] { symbolic(); });
  }
  if (reasons_ == of_order || steps_.spent()) return;
  reasons_.insert(of_numbers.begin(), of_numbers.end());
  if (options_.symbols && options_.refuter_runs != 0) {
    try {
      directed();
    } catch (const NotFollowed&) { // the reasons are there already
    } catch (const std::exception&) {
    }
  }
  if (report_.refuted.empty() && options_.symbols) try_to([&] { concrete(first, options_.refuter_runs); });
}

} // namespace

CodeReport validate_code(const runtime::CodeObject& object, const runtime::Kernel& kernel, const Code& code,
                         const CodeOptions& options) {
  return Sides(object, kernel, code, options).run();
}

} // namespace inlay::kernels::validate
