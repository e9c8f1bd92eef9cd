/// What a path of the machine code does: what it loads, stores and multiplies, as elements of the program's tensors.
#pragma once

#include "code_run.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/schedule.h>
#include <inlay/codegen/target.h>
#include <inlay/runtime/hex.h>
#include <inlay/runtime/isa/line_table.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace inlay::kernels::validate::sides {

using codegen::Code;
using codegen::CodeRegion;
using codegen::Inst;
using codegen::InstKind;
using runtime::symbolic::Flow;
using runtime::symbolic::FlowAccess;
using runtime::symbolic::FlowAdd;
using runtime::symbolic::FlowFence;
using runtime::symbolic::FlowMatrix;
using runtime::symbolic::FlowOptions;
using MachineVerdict = runtime::symbolic::Verdict;

using runtime::hex;

struct MachineEvent {
  std::size_t instruction = 0;
  unsigned wave = 0, lane = 0;
  std::optional<Number> value;
  std::size_t missing = 0; ///< why there is none: into `Trace::missing`
  int adds = 0;            ///< as an Event's; -1: stored as well as added to
};
inline Element element_of(FlowAdd add) {
  return add == FlowAdd::f32   ? Element::f32
         : add == FlowAdd::i32 ? Element::i32
         : add == FlowAdd::f16 ? Element::f16
                               : Element::bf16;
}
inline std::string how_often(int adds) {
  return adds == 0   ? "stores"
         : adds == 1 ? "adds to"
         : adds > 0  ? "adds " + std::to_string(adds) + " times to"
                     : "stores and adds to";
}
/// Memory that a launch reads and writes: what a load of it brings is what was there at launch, or at the last fence of who loads, as
/// long as no wave has stored there since.
class InPlace {
public:
  bool drawn = false; ///< the workgroup has its number
  /// Whether a wave may load the element: nothing that it may be has been stored before, by that wave, nor by another at all.
  bool loads(const ElementAccess& a, unsigned wave) {
    const Number address = address_of(a);
    if (const auto own = stored_by_.find({a.name->tensor, a.name->epoch, wave}); own != stored_by_.end())
      if (own->second.size() > 1 || !own->second.contains(address)) return false;
    Waves& w = elements_[element(address, a)];
    w.loaded |= 1U << wave;
    return w.stored == 0;
  }
  /// Whether it may store there: no other wave loads the element.
  bool stores(const ElementAccess& a, unsigned wave) {
    const Number address = address_of(a);
    stored_by_[{a.name->tensor, a.name->epoch, wave}].insert(address);
    Waves& w = elements_[element(address, a)];
    w.stored |= 1U << wave;
    return (w.loaded & ~(1U << wave)) == 0;
  }

private:
  struct Waves {
    std::uint32_t loaded = 0, stored = 0; ///< a bit each; at most 16
  };
  static Number address_of(const ElementAccess& a) {
    return random_of(static_cast<Number>(a.name->tensor) + (static_cast<Number>(a.name->epoch) << 32),
                     stable_hash(a.name->address));
  }
  static Number element(Number address, const ElementAccess& a) {
    return random_of(address, static_cast<Number>(8 * a.byte + a.bit));
  }
  std::unordered_map<Number, Waves> elements_;
  std::map<std::tuple<int, int, unsigned>, std::set<Number>>
      stored_by_; ///< (tensor, epoch, wave): addresses without their constants
};

/// What a wave does that orders it after others or others after it, one after another.
struct Meeting {
  enum class Kind : std::uint8_t { write_back, invalidate, barrier, read, tell, wait };
  Kind kind = Kind::barrier;
  std::size_t instruction = 0;
  bool device = false, system = false; ///< scopes
  bool landed = false;                 ///< every store before it has been waited for
  /// read, tell, wait: of each lane that takes part its word, what it holds then or gets, and of a wait when the lane goes on waiting.
  struct Lane {
    unsigned lane = 0;
    ElementAccess at;
    Word word = 0, stays = 0;
  };
  std::vector<Lane> lanes;
};

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
  InPlace in_place;
  std::vector<std::vector<Meeting>> meetings; ///< by wave
  bool scopes = true;                         ///< of the target: see is_fence
  /// Fences of a wave so far.
  [[nodiscard]] int epoch(unsigned wave) const {
    if (wave >= meetings.size()) return 0;
    return static_cast<int>(
        std::count_if(meetings[wave].begin(), meetings[wave].end(), [&](const Meeting& m) {
          return m.kind == Meeting::Kind::invalidate ||
                 m.kind == (scopes ? Meeting::Kind::write_back : Meeting::Kind::tell);
        }));
  }
  Meeting& meets(unsigned wave) {
    if (wave >= meetings.size()) meetings.resize(wave + 1);
    return meetings[wave].emplace_back();
  }
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
  bool several_loops = false; ///< symbols of trips stand for something else in each
  /// Where the code has loaded up to here: each name once, at byte 0.
  std::function<std::vector<ElementAccess>()> loaded;
  std::set<std::size_t> load_sites, store_sites, product_sites;
  std::set<int> words_of_order;                  ///< see code_run.h
  std::pair<std::uint64_t, std::uint64_t> zeros; ///< what of the code object holds zeros, by address

  void load(const FlowAccess& access, std::vector<std::array<Word, 64>>& words) override {
    load_sites.insert(access.instruction);
    run_.names.epoch = trace->epoch(access.wave);
    Meeting* meeting = nullptr;
    each_lane(access, true, [&](unsigned l, const ElementAccess& first, Element format, unsigned size) {
      if (words_of_order.contains(first.name->tensor)) {
        meeting = with_lane(access, meeting, Meeting::Kind::read, l, first);
        if (meeting == nullptr) return;
        // Nobody knows what it holds: a number of its own each time.
        const Number now[] = {
            apply(Function::fresh, random_of(random_of(0x6d656574, access.wave),
                                             64 * trace->meetings[access.wave].size() + l))};
        meeting->lanes.back().word = words[0][l] = values_.word(Element::i32, now);
        return;
      }
      const bool wide = size == 64; // an element in two words
      const unsigned per_word = wide ? 1 : 8 * std::min(4U, access.bytes) / size;
      for (unsigned k = 0; k < words.size(); k += wide ? 2 : 1) {
        std::vector<Number> numbers(wide ? 1 : 32 / size, 0);
        for (unsigned e = 0; e < per_word; ++e) {
          const ElementAccess a = first.further(32 * k + e * size);
          numbers[e] = run_.value_of(a);
          if (a.name->inside.never) continue;
          if (given(a.name->tensor)) {
            if (!access.acquired)
              problem(access, l,
                      "loads " + p_.tensor(a.name->tensor).name +
                          ", and has not acquired what others released");
          } else if (run_.in_place.contains(a.name->tensor) && !trace->in_place.loads(a, access.wave))
            problem(access, l,
                    "loads " + p_.tensor(a.name->tensor).name + " where it may have been stored to before");
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
        if (wide)
          for (const unsigned half : {0U, 1U}) words[k + half][l] = values_.half_of_f64(numbers[0], half);
        else
          words[k][l] = values_.word(format, numbers);
      }
    });
  }

  void store(const FlowAccess& access, const std::vector<std::array<Word, 64>>& words) override {
    store_sites.insert(access.instruction);
    if (resolve) values_.known(resolve());
    run_.names.epoch = trace->epoch(access.wave);
    if (!access.buffer && words_of_order.empty())
      return problem(access, 0, "a store that is not by a raw buffer");
    Meeting* meeting = nullptr;
    each_lane(access, false, [&](unsigned l, const ElementAccess& first, Element format, unsigned size) {
      if (words_of_order.contains(first.name->tensor)) {
        meeting = with_lane(access, meeting, Meeting::Kind::tell, l, first);
        if (meeting != nullptr) meeting->lanes.back().word = words[0][l];
        return;
      }
      if (!access.buffer) return problem(access, l, "a store that is not by a raw buffer");
      if (first.name->inside.never) return;
      for (unsigned bit = 0; bit < 8 * access.bytes; bit += size) {
        values_.forget_missing();
        const auto v = size == 64 ? values_.read_f64(words[bit / 32][l], words[bit / 32 + 1][l])
                                  : values_.read(words[bit / 32][l], format, bit % 32 / size);
        const ElementAccess at = first.further(bit);
        if (given(at.name->tensor)) {
          if (trace->in_place.drawn)
            problem(access, l, "stores to " + p_.tensor(at.name->tensor).name + " after it was released");
        } else if (run_.in_place.contains(at.name->tensor) && !trace->in_place.stores(at, access.wave))
          problem(access, l, "stores to " + p_.tensor(at.name->tensor).name + " what another wave loads");
        const auto [was, fresh] = trace->stores.try_emplace(at);
        MachineEvent now{access.instruction, access.wave, l, v, 0};
        if (!v) {
          if (trace->missing.back() != values_.missing()) trace->missing.push_back(values_.missing());
          now.missing = trace->missing.size() - 1;
        }
        const MachineEvent& e = was->second; // what was stored or added there before
        // Waves are in no order, nor are the lanes of one instruction: what is stored last is not known, and has to be the same.
        if (!fresh && access.adds == FlowAdd::none && e.adds == 0 && (!v || e.value != v) &&
            (e.wave != access.wave || e.instruction == access.instruction))
          problem(access, l,
                  "stores to " + p_.tensor(at.name->tensor).name + " another value than wave " +
                      std::to_string(e.wave) + " lane " + std::to_string(e.lane) + " does at " +
                      hex(flow_.instruction(e.instruction).address) + ", and nothing says which is later");
        if (access.adds != FlowAdd::none) {
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

  /// What the code's ticket counts in, in bytes of its tensor, and up to; the word that stands for the number.
  struct TicketOfCode {
    int tensor = -1;
    Sym at{}, last{};
    Word number = 0;
  };
  std::optional<TicketOfCode> ticket;
  /// Whether a tensor is what others store, which is loaded by who has drawn the last number.
  [[nodiscard]] bool given(int tensor) const {
    return ticket && run_.in_place.contains(tensor) && !p_.tensor(tensor).in_place;
  }

  std::optional<Word> draw(const FlowAccess& access, Word limit, bool released) override {
    if (!ticket || trace->in_place.drawn) return std::nullopt;
    unsigned lane = 0;
    while (access.guard[lane] == 0) ++lane;
    const auto p = pointer(access.offset[lane]);
    const auto at = p ? formulas_.of(p->second) : std::nullopt;
    const auto last = formulas_.number(limit);
    const auto known = facts ? facts() : formulas_.contract();
    const auto same = [&](const std::optional<Sym>& a, Sym b) {
      return a &&
             formulas_.decide(true, formulas_.canonical(*a), formulas_.canonical(b), known) == Truth::yes;
    };
    if (!p || p->first != ticket->tensor || !same(at, ticket->at)) {
      problem(access, lane, "counts where the code does not");
    } else if (!same(last, ticket->last)) {
      problem(access, lane, "counts up to another number than the code");
    } else if (!released) {
      problem(access, lane, "draws a number before all waves have released what they stored");
    }
    trace->in_place.drawn = true;
    return ticket->number;
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

  void fence(const FlowFence& f) override {
    Meeting& m = trace->meets(f.wave);
    m.kind = f.kind == FlowFence::Kind::barrier      ? Meeting::Kind::barrier
             : f.kind == FlowFence::Kind::write_back ? Meeting::Kind::write_back
                                                     : Meeting::Kind::invalidate;
    m.instruction = f.instruction;
    m.device = f.device;
    m.system = f.system;
    m.landed = f.landed;
  }

  /// The wave's last read is the one that it leaves the loop by.
  void left(const FlowAccess& poll, const std::array<Word, 64>& stays) override {
    if (poll.wave >= trace->meetings.size() || trace->meetings[poll.wave].empty() ||
        trace->meetings[poll.wave].back().instruction != poll.instruction)
      return problem(poll, 0, "waits for a word that is none of the program's");
    Meeting& m = trace->meetings[poll.wave].back();
    m.kind = Meeting::Kind::wait;
    for (Meeting::Lane& lane : m.lanes) lane.stays = stays[lane.lane];
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
    const std::array<Word, 7> key{access.descriptor[0],
                                  access.descriptor[1],
                                  access.descriptor[2],
                                  access.descriptor[3],
                                  access.soffset,
                                  !access.buffer ? Word{2}
                                  : access.plain ? Word{1}
                                                 : Word{0},
                                  static_cast<Word>(run_.names.epoch)};
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
    if (!access.buffer) return u; // each lane has its pointer
    if (!access.plain) {
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
      why_ = unknown_place(u.tensor);
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
      const auto holds = [&](Sym d) {
        if (sure && formulas_.steps != nullptr) formulas_.steps->take(Steps::guard);
        return sure && run_.names.watched(d) &&
               formulas_.decide(false, Sym(0), now(d), sure_facts_) == Truth::yes;
      };
      at = done.emplace(a.name, renamed(*a.name, known, holds)).first;
    }
    ElementAccess out = at->second;
    out.byte += a.byte;
    out.left += a.left;
    return out;
  }

  /// The name with what symbols stand for in their place, without the guards that `holds` says hold.
  template <class F>
  ElementAccess renamed(const AccessName& n, const std::vector<std::pair<AtomId, Sym>>& known, F holds) {
    const auto now = [&](Sym s) { return substitute(s, known); };
    Formulas::Condition inside;
    inside.never = n.inside.never;
    for (const Sym& d : n.inside.all)
      if (!holds(d)) Formulas::require(inside, now(d));
    run_.names.epoch = n.epoch;
    return run_.names.of(n.tensor, now(n.address), now(n.room), now(n.step), formulas_.canonical(inside));
  }
  /// The same element by that name.
  ElementAccess by_other_symbols(const ElementAccess& a, const std::vector<std::pair<AtomId, Sym>>& known) {
    ElementAccess out = renamed(*a.name, known, [](Sym) { return false; });
    out.byte += a.byte, out.left += a.left, out.bit = a.bit;
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
    if (!access.buffer) return by_pointer(access, lane, std::move(inside));
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
      why_ = unknown_place(u.tensor);
      return std::nullopt;
    }
    // One of several work-items that hold the same stores it: the others are sent out of range.
    if (const auto v = at->constant(); v && v->value() >= out_of_range && u.below_2_31) inside.never = true;
    if (endless && !inside.never) {
      // No end that anybody is to meet: what passes is inside of it, whether or not the scalar offset counts.
      const auto step = formulas_.number(access.soffset);
      std::vector<std::string> known = formulas_.contract();
      for (const Sym& d : inside.all) known.push_back(formulas_.fact(d));
      const Sym end = u.records - Sym(std::int64_t{access.bytes}) - *at;
      if (!step || formulas_.decide(false, Sym(0), end - *step, known) != Truth::yes) {
        why_ = "that " + to_string(*at) + " bytes and " + to_string(u.step) + " are inside of 2^31";
        return std::nullopt;
      }
      return run_.names.endless(u.tensor, u.address + *at, formulas_.left_open(inside));
    }
    return run_.names.of(u.tensor, u.address + *at, u.records - *at, u.step,
                         run_.names.without_sure(formulas_, formulas_.canonical(inside)));
  }

  /// A word or address that is one of two, by a condition: that, and both.
  std::optional<std::array<Word, 3>> chosen(Word x) {
    if (x == Terms::unknown) return std::nullopt;
    if (t_.kind(x) == TermKind::select)
      return std::array{t_.children(x)[0], t_.children(x)[1], t_.children(x)[2]};
    if (t_.kind(x) != TermKind::pair) return std::nullopt;
    const Word low = t_.children(x)[0], high = t_.children(x)[1];
    if (t_.kind(low) != TermKind::select || t_.kind(high) != TermKind::select ||
        t_.children(low)[0] != t_.children(high)[0])
      return std::nullopt;
    return std::array{t_.children(low)[0], t_.join(t_.children(low)[1], t_.children(high)[1]),
                      t_.join(t_.children(low)[2], t_.children(high)[2])};
  }
  /// Whether an address is among the zeros that loads which no guard lets through read.
  bool in_zeros(const FlowAccess& access, Word address) const {
    const auto at = t_.value(address);
    return at && *at >= zeros.first && *at + access.bytes <= zeros.second;
  }
  /// The conditions that all have that value where `condition` has.
  std::vector<Word> parts(Word condition, bool value) const {
    if (t_.kind(condition) != (value ? TermKind::all : TermKind::any)) return {condition};
    return {t_.children(condition).begin(), t_.children(condition).end()};
  }
  static std::optional<bool> answer(const FlowAccess& access, Word condition) {
    for (const auto& [c, is] : access.settled)
      if (c == condition) return is;
    return std::nullopt;
  }

  /// What a load in front of the next trip asks about the number of trips: the code makes the load only where there is that trip.
  Word open(const FlowAccess& access) override {
    if (access.buffer) return 0;
    const auto first = std::find_if(access.guard.begin(), access.guard.end(), [](Word g) { return g != 0; });
    if (first == access.guard.end()) return 0;
    Word address = access.offset[static_cast<std::size_t>(first - access.guard.begin())];
    for (auto c = chosen(address); c; c = chosen(address)) {
      const auto [condition, yes, no] = *c;
      if (!in_zeros(access, yes) && !in_zeros(access, no)) return 0;
      for (const Word part : parts(condition, in_zeros(access, no)))
        if (const auto one = formulas_.condition(part);
            one && !answer(access, part) &&
            std::any_of(one->all.begin(), one->all.end(), [&](Sym d) { return run_.names.watched(d); }))
          return part;
      address = in_zeros(access, no) ? yes : no;
    }
    return 0;
  }

  /// A load by the lane's own pointer: of a tensor, or of zeros where its guards do not hold.
  std::optional<ElementAccess> by_pointer(const FlowAccess& access, unsigned lane,
                                          Formulas::Condition inside) {
    Word address = access.offset[lane];
    for (auto c = chosen(address); c; c = chosen(address)) {
      const auto [condition, yes, no] = *c;
      const bool if_no = in_zeros(access, yes);
      if (!if_no && !in_zeros(access, no)) break;
      for (const Word part : parts(condition, !if_no))
        if (const auto is = answer(access, part))
          inside.never = inside.never || *is == if_no;
        else if (!guard(part, !if_no, inside))
          return std::nullopt;
      address = if_no ? no : yes;
    }
    const auto p = pointer(address);
    if (!p) {
      why_ = "no pointer argument in the address " + t_.text(address, 5);
      return std::nullopt;
    }
    const auto at = formulas_.of(p->second);
    if (!at) {
      why_ = unknown_place(p->first);
      return std::nullopt;
    }
    return run_.names.endless(p->first, *at, formulas_.left_open(inside));
  }

private:
  static constexpr std::int64_t out_of_range = 0x80000000LL;

  /// The same of one more lane; a new one with the first. Null, and a problem, where it is no plain access of a word.
  Meeting* with_lane(const FlowAccess& access, Meeting* meeting, Meeting::Kind kind, unsigned lane,
                     const ElementAccess& at) {
    if (access.bytes != 4 || access.adds != FlowAdd::none || t_.value(access.guard[lane]) != 1U ||
        !at.name->inside.all.empty() || at.name->inside.never) {
      problem(access, lane,
              "a word of " + p_.tensor(at.name->tensor).name + " in another way than by itself");
      return nullptr;
    }
    if (meeting == nullptr) {
      meeting = &trace->meets(access.wave);
      meeting->kind = kind;
      meeting->instruction = access.instruction;
      meeting->device = access.device_scope;
      meeting->system = access.system_scope;
      meeting->landed = access.landed;
    }
    meeting->lanes.push_back({lane, at, 0, 0});
    return meeting;
  }

  /// Calls f(lane, first element, format, bits of one) for every lane that may take part.
  template <class F>
  void each_lane(const FlowAccess& access, bool is_load, F f) {
    const auto u = uniform(access);
    for (unsigned l = 0; l < 64; ++l) {
      if (access.guard[l] == 0) continue;
      const auto first = u ? first_of(access, *u, l) : std::nullopt;
      const Element format = first ? p_.tensor(first->name->tensor).element : Element::f32;
      const int width = bits(format);
      if (first && ((width != 4 && width != 8 && width != 16 && width != 32 && format != Element::f64) ||
                    access.bytes * 8 % static_cast<unsigned>(width) != 0))
        why_ = "parts of elements";
      else if (first && access.adds != FlowAdd::none && format != element_of(access.adds))
        why_ = "an addition of another format than the tensor's";
      else if (first) {
        // By the name that the code has used for it, with the number of trips that the path says or without: by that of the earlier trip
        // where symbols of trips mean the same in both.
        const auto trip = [&](const ElementAccess& x) { return known_load ? known_load(x) : -1; };
        ElementAccess named = u->known.empty() ? *first : resolved(*first, u->known, false);
        if (is_load && (!u->known.empty() || run_.is_seen(first->name->tensor))) {
          const int with = trip(named), without = u->known.empty() ? with : trip(*first);
          // Of two names in one trip the one that says less of the path is that of the same instruction.
          const bool sooner =
              without < with || (without == with && !run_.in_place.contains(first->name->tensor));
          if (without >= 0 && (with < 0 || (sooner && !several_loops)))
            named = *first;
          else if (const auto e = with < 0 ? same_of_code(*first, u->known) : std::nullopt)
            named = *e;
        }
        f(l, named, format, static_cast<unsigned>(width));
        continue;
      }
      problem(access, l, why_);
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

  std::string unknown_place(int tensor) const {
    return "where it is in " + p_.tensor(tensor).name + ": " +
           (formulas_.missing().empty() ? "no integer formula" : formulas_.missing() + " is not known");
  }

  void problem(const FlowAccess& access, unsigned lane, const std::string& why) {
    if (trace->problems.size() > 3) return;
    const auto& i = flow_.instruction(access.instruction);
    trace->problems.push_back(located(i) + ", wave " + std::to_string(access.wave) + " lane " +
                              std::to_string(lane) + ": " + why);
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
  std::unordered_map<std::array<Word, 7>, Uniform, HashWords> uniforms_;
  Flat<std::array<Word, 3>, ElementAccess, HashWords> firsts_;
  std::vector<std::pair<AtomId, Sym>> resolved_by_;
  std::array<std::unordered_map<const AccessName*, ElementAccess>, 2> resolved_; ///< names with that put in
  std::vector<std::string> sure_facts_;                                          ///< for the second
  std::unordered_map<const AccessName*, std::vector<std::pair<ElementAccess, ElementAccess>>> same_;
};

} // namespace inlay::kernels::validate::sides
