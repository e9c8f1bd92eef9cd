#include "emit_asm.h"
#include "about.h"

#include "schedule/circle.h"
#include "schedule/scaled_sums.h"
#include "wait_limits.h"

#include <inlay/codegen/schedule.h>

#include <inlay/algebra/error.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <set>
#include <utility>

namespace inlay::codegen {
namespace {

const Register& register_of(const Code& code, int id) { return code.registers[static_cast<std::size_t>(id)]; }

// Of the body with its waits and barriers; where it has two orders, from the first slot of either to the last.
std::vector<Lifetime> lifetimes_of(const Code& code, const CodeRegion& r) {
  const auto of = [&](const std::vector<int>& nodes) {
    const auto [loop, order] = as_region(r, nodes);
    return lifetimes(loop, code.registers, order);
  };
  std::vector<Lifetime> lives = of(own_order(r.body));
  if (r.staggered.empty()) return lives;
  const std::vector<Lifetime> upper = of(r.staggered);
  for (std::size_t n = 0; n < lives.size(); ++n) {
    lives[n].begin = std::min(lives[n].begin, upper[n].begin);
    lives[n].end = std::max(lives[n].end, upper[n].end);
  }
  return lives;
}

// Instructions that the text has words for.
bool has_words(const Code& code, const Inst& i) {
  if (!i.waves.all() && i.kind != InstKind::barrier) return false;
  switch (i.kind) {
  case InstKind::load:
  case InstKind::lds_read:
  case InstKind::lds_write: {
    if (i.access.idle || !i.access.rows.empty()) return false;
    const int d = dwords(register_of(code, i.def.id >= 0 ? i.def.id : i.uses[0].id));
    const int each =
        i.kind == InstKind::lds_read ? d / lds_reads(i, code.registers) : d; // by one instruction
    return each == 1 || each == 2 || each == 4 || (each == 3 && i.direct);
  }
  case InstKind::fill: return i.value == 0;
  case InstKind::map: return multiplies(i, code.registers) || scaled_sum(i, code.registers);
  case InstKind::mma:
  case InstKind::wait:
  case InstKind::barrier:
  case InstKind::priority: return true;
  default: return false;
  }
}

bool scaled(const CodeRegion& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Inst& i) { return i.kind == InstKind::mma && i.atom->mma->scaled; });
}

// Waves on a SIMD for which there is LDS.
int waves_by_lds(const Code& code) {
  const Target& target = code.program->target();
  std::int64_t bytes = 0;
  for (const auto& [tensor, stages] : lds_stages(code)) {
    const Tensor& t = code.program->tensor(tensor);
    bytes += stages * t.stage_elements() * bits(t.element) / 8;
  }
  const std::int64_t groups = target.lds_bytes / std::max(bytes, std::int64_t{1});
  return static_cast<int>(groups * code.program->threads() / (target.wave_size * target.simds));
}

// Runs prologue and trips, those in that order, over the places: whether each value is still where it was put when it is read.
bool keeps_values(const Code& code, const CodeRegion& loop, const BlockRegisters& registers,
                  const std::vector<int>& order) {
  using Held = std::map<int, std::pair<int, int>>; // place -> register, iteration
  Held held;
  bool kept = true;
  const auto each = [&](const Reg& r, int trip, const auto& f) {
    const auto place = registers.rings.find({r.id, modulo(trip + r.ahead, registers.copies)});
    if (place == registers.rings.end()) {
      kept = false;
      return;
    }
    const int size = bits(register_of(code, r.id).element);
    for (int d = r.first * size / 32; d < (r.first * size + r.count * size + 31) / 32; ++d)
      f(place->second + d, std::pair(r.id, trip + r.ahead));
  };
  const auto one = [&](const Inst& i, int trip, Held& in) {
    if (i.direct) return;                            // past the registers
    if (registers.loaded.contains(i.def.id)) return; // places of their own
    for (const Reg& u : i.uses) {
      if (register_of(code, u.id).outside) continue;
      each(u, trip, [&](int at, const auto& value) {
        const auto found = in.find(at);
        kept = kept && found != in.end() && found->second == value;
      });
    }
    if (i.def.id >= 0 && !register_of(code, i.def.id).outside)
      each(i.def, trip, [&](int at, const auto& value) { in[at] = value; });
  };
  const auto run = [&](const std::vector<Inst>& list, int trip, Held& in) {
    for (const Inst& i : list) one(i, trip, in);
  };
  run(loop.prologue, 0, held);
  for (int trip = 0; trip <= 2 * registers.copies && kept; ++trip) {
    Held last = held;
    run(loop.epilogue, trip, last);
    for (const int n : order) one(loop.body[static_cast<std::size_t>(n)], trip, held);
  }
  return kept;
}

} // namespace

std::string register_range(int place, int count) {
  const bool agpr = place >= first_agpr;
  INLAY_CHECK(agpr || place + count <= first_agpr, "a register in one file");
  const std::string file = agpr ? "a" : "v";
  const int first = agpr ? place - first_agpr : place;
  return count == 1 ? file + std::to_string(first)
                    : file + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

namespace {

// What takes no instruction: a register of zeros right before the product that adds to it.
bool fills_before_products(const CodeRegion& loop) {
  for (const auto* list : {&loop.prologue, &loop.body, &loop.epilogue})
    for (std::size_t n = 0; n < list->size(); ++n) {
      const Inst& i = (*list)[n];
      if (i.kind != InstKind::fill) continue;
      std::size_t next = n + 1;
      while (next < list->size() &&
             ((*list)[next].kind == InstKind::wait || (*list)[next].kind == InstKind::barrier))
        ++next;
      if (next == list->size() || (*list)[next].kind != InstKind::mma || !((*list)[next].def == i.def))
        return false;
    }
  return true;
}

int align(int n, int to) { return (n + to - 1) / to * to; }
int file_of(const Code& code) { return code.program->target().registers_per_simd_lane / 2; }

// VGPRs for the masked addresses of the prologue's loads and what else lives beside it.
int beside_prologue(const CodeRegion& loop) {
  const auto loads = std::count_if(loop.body.begin(), loop.body.end(),
                                   [](const Inst& i) { return i.kind == InstKind::load; });
  return static_cast<int>(loads) + prologue_spare;
}
void place_results(const Code& code, const std::set<int>& results, int& at, BlockRegisters& out) {
  for (const int id : results) {
    out.results[id] = at;
    at += dwords(register_of(code, id));
  }
}
void place_second_halves(const Code& code, const CodeRegion& loop, BlockRegisters& out) {
  for (const auto& [second, first] : second_halves(loop.body))
    for (int c = 0; c < out.copies; ++c)
      out.rings[{second, c}] = out.rings.at({first, c}) + dwords(register_of(code, first));
}
// Whether all waves of a workgroup are there at once with so many of both files.
bool all_waves_fit(const Code& code, int vgprs, int agprs) {
  return vgprs <= file_of(code) && agprs <= file_of(code) &&
         align(align(vgprs, 4) + agprs, widest_operand) <=
             code.program->target().registers_per_simd_lane / waves_at_once(*code.program);
}

// What arithmetic reads or writes is in VGPRs; operands of products after it, or all of them in AGPRs.
std::optional<BlockRegisters> arithmetic_registers(const Code& code, const CodeRegion& loop,
                                                   const std::set<int>& results) {
  BlockRegisters out;
  std::set<int> vector, scales;
  for (const Inst& i : loop.body) {
    if (i.kind == InstKind::mma) vector.insert(i.def.id);
    if (i.kind != InstKind::map) continue;
    vector.insert(i.def.id);
    for (const Reg& u : i.uses) vector.insert(u.id);
    if (const auto sum = scaled_sum(i, code.registers))
      scales.insert(i.uses[static_cast<std::size_t>(sum->scale * i.def.count)].id);
  }
  std::vector<Lifetime> of_arithmetic, operands;
  for (Lifetime l : lifetimes_of(code, loop)) {
    // A packed instruction names a pair: its other half must not be on its way from memory.
    if (scales.contains(l.reg)) l.dwords = (l.dwords + 1) / 2 * 2;
    (vector.contains(l.reg) ? of_arithmetic : operands).push_back(l);
  }
  const int slots = static_cast<int>(loop.body.size());
  int ring = loop.ring;
  for (const auto* lives : {&of_arithmetic, &operands})
    for (const Lifetime& l : *lives)
      while (l.end - l.begin + 1 > ring * slots) ring += loop.ring;
  if (ring > most_copies) return std::nullopt;
  const Rings here = ring_registers(of_arithmetic, slots, ring),
              there = ring_registers(operands, slots, ring);
  out.copies = ring;
  const int file = file_of(code);
  const int spare = beside_prologue(loop); // the prologue has sums and so cannot stand before the block
  out.first = align(address_registers(loop.body, *code.program, lds_stages(code)), 4);
  int at = align(out.first + here.dwords, 4);
  place_results(code, results, at, out);
  const bool over = align(at, widest_operand) + there.dwords + spare > file;
  const int behind = over ? first_agpr : align(at, widest_operand);
  for (const auto& [key, place] : here.place) out.rings[key] = out.first + place;
  for (const auto& [key, place] : there.place) out.rings[key] = behind + place;
  out.last = over ? at : behind + there.dwords;
  if (over) out.agprs = {0, there.dwords};
  if (out.last + spare > file || !all_waves_fit(code, out.last, out.agprs.second)) return std::nullopt;
  place_second_halves(code, loop, out);
  out.prologue = std::all_of(loop.prologue.begin(), loop.prologue.end(),
                             [&](const Inst& i) { return has_words(code, i); }) &&
                 keeps_values(code, loop, out, own_order(loop.body));
  if (!out.prologue) return std::nullopt;
  return out;
}

} // namespace

std::optional<BlockRegisters> block_registers(const Code& code, const CodeRegion& loop) {
  BlockRegisters out;
  std::set<int> results;
  const bool arithmetic = with_arithmetic(loop.body);
  for (const auto* list : {&loop.body, &loop.epilogue})
    for (const Inst& i : *list) {
      if (!has_words(code, i)) return std::nullopt;
      const bool sum = i.kind == InstKind::map && scaled_sum(i, code.registers);
      if (sum || (i.kind == InstKind::mma && !arithmetic)) {
        if (!register_of(code, i.def.id).outside || i.def.first != 0 ||
            i.def.count != register_of(code, i.def.id).count)
          return std::nullopt;
        results.insert(i.def.id);
      } else if (arithmetic && i.def.id >= 0 && register_of(code, i.def.id).outside) {
        return std::nullopt;
      }
      for (const Reg& u : i.uses)
        if (register_of(code, u.id).outside && !(sum && u.id == i.def.id)) return std::nullopt;
    }
  if (arithmetic && !loop.staggered.empty()) return std::nullopt;
  if (arithmetic && !fills_before_products(loop)) return std::nullopt;
  if (results.empty() || loop.body.empty()) return std::nullopt;

  if (arithmetic) return arithmetic_registers(code, loop, results);
  std::vector<Inst> early;
  for (const Inst& i : loop.epilogue)
    if (i.kind == InstKind::load && register_of(code, i.def.id).outside) early.push_back(i);
  const Rings rings = ring_registers(lifetimes_of(code, loop), static_cast<int>(loop.body.size()), loop.ring);
  if (rings.copies > most_copies) return std::nullopt;
  out.copies = rings.copies;
  const int file = file_of(code);
  int sum = 0;
  for (const int id : results) sum += dwords(register_of(code, id));
  // In AGPRs, too, where that leaves the prologue room for the masked addresses of its loads, and no other wave would have
  // had the registers, for want of LDS.
  const int spare = waves_by_lds(code) > 1 ? 0 : beside_prologue(loop);
  out.first = align(address_registers(loop.body, *code.program, lds_stages(code)) +
                        load_addresses(early, *code.program),
                    4);
  for (const Inst& i : early) {
    const int size = dwords(register_of(code, i.def.id));
    out.loaded[i.def.id] = out.first = align(out.first, size);
    out.first += size;
  }
  out.first = align(out.first, 4);
  const bool over = out.first + rings.dwords + spare > file && !scaled(loop);
  if (over) out.first = align(out.first, widest_operand);
  out.results_in_agprs =
      over ? sum > file / 2 || out.first + sum + spare > file : out.first + rings.dwords + sum + spare > file;
  // VGPRs: rings, or as much of them as there is room for, before or after the results; AGPRs: results, the other rings.
  int begin = out.first, end = file, at = first_agpr; // of rings in VGPRs; where results are
  if (over) {
    if (!out.results_in_agprs) begin = align(out.first + sum, widest_operand), at = out.first;
    // As much as AGPRs have room for.
    const int room = file - (out.results_in_agprs ? align(sum, widest_operand) : 0);
    end = std::max((file - spare) / widest_operand * widest_operand,
                   align(begin + rings.dwords - room, widest_operand));
    if (begin > end || end > file) return std::nullopt;
  } else if (begin + rings.dwords > file) { // operands and scales of scaled products stay out of AGPRs
    return std::nullopt;
  } else if (!out.results_in_agprs) {
    at = align(out.first + rings.dwords, 4);
  }
  place_results(code, results, at, out);
  const int behind = out.results_in_agprs ? align(at, widest_operand) : first_agpr;
  for (const auto& [key, place] : rings.place)
    out.rings[key] = begin + place < end ? begin + place : behind + begin + place - end;
  place_second_halves(code, loop, out);
  out.last = std::min(begin + rings.dwords, end);
  if (!over && !out.results_in_agprs) out.last = at;
  out.agprs = {behind - first_agpr, behind - first_agpr + std::max(0, begin + rings.dwords - end)};
  if (!all_waves_fit(code, out.last, std::max(out.agprs.second, out.results_in_agprs ? at - first_agpr : 0)))
    return std::nullopt;
  out.prologue =
      std::all_of(loop.prologue.begin(), loop.prologue.end(),
                  [&](const Inst& i) {
                    return i.kind == InstKind::fill || (i.kind != InstKind::mma && has_words(code, i));
                  }) &&
      keeps_values(code, loop, out, own_order(loop.body)) &&
      (loop.staggered.empty() || keeps_values(code, loop, out, loop.staggered));
  return out;
}

namespace {

class Writer {
public:
  Writer(const Code& code, const CodeRegion& loop, const BlockRegisters& registers, const BlockText& how)
      : code_(code), loop_(loop), registers_(registers), how_(how) {}

  std::string run() {
    const int n = registers_.copies;
    line("s_nop 7"); // what LLVM's VALU wrote may be read by anything from here on
    // Empty accumulators among the first loads, which the address unit takes longer for than the wave.
    auto next = how_.prologue ? loop_.prologue.begin() + static_cast<std::ptrdiff_t>(how_.under_way)
                              : loop_.prologue.end();
    auto first_wait = std::find_if(next, loop_.prologue.end(), waits);
    const auto [empty, products] = zeros();
    std::size_t done = 0;
    for (const std::ptrdiff_t loads = first_wait - next; next != first_wait; ++next) {
      one(*next, 0);
      const auto behind = static_cast<std::size_t>(loads - (first_wait - next) + 1);
      while (done * static_cast<std::size_t>(loads) < empty.size() * behind) line(empty[done++]);
    }
    while (done < empty.size()) line(empty[done++]);
    for (; next != loop_.prologue.end(); ++next) one(*next, 0);
    // Before a product reads what was just written: 19 wait states after one of 16 passes.
    line(products ? "s_nop 15" : "s_nop 1");
    if (products) line("s_nop 2");
    for (const BlockCounter& c : how_.counters) line("s_mov_b32 " + c.name + ", " + c.start);
    line("s_mov_b32 " + how_.left + ", " + how_.trips);
    line("s_cmp_eq_u32 " + how_.left + ", 0");
    line("s_cbranch_scc1 " + label("exit0"));
    if (!loop_.staggered.empty()) {
      const int waves = code_.program->threads() / code_.program->target().wave_size;
      line("s_cmp_lt_u32 " + how_.wave + ", " + std::to_string(waves / 2));
      line("s_cbranch_scc1 " + label("trip0"));
      trips("upper", loop_.staggered);
      line("s_branch " + label("exit0"));
    }
    trips("trip", own_order(loop_.body));
    for (int c = 0; c < n; ++c) {
      line(label("exit" + std::to_string(c)) + ":", 0);
      // Sums of what the last products have just made.
      if (with_arithmetic(loop_.epilogue)) line("s_nop 15"), line("s_nop 3");
      const std::vector<int> waits = waits_of_epilogue(c);
      for (std::size_t k = 0; k < loop_.epilogue.size(); ++k) {
        if (waits[k] >= 0) line("s_waitcnt vmcnt(" + std::to_string(waits[k]) + ")");
        one(loop_.epilogue[k], c);
      }
      if (c + 1 < n) line("s_branch " + label("end"));
    }
    line(label("end") + ":", 0);
    // Loads of tiles that nobody wants may still be under way to registers that are LLVM's from here on, and it may read
    // results at once: the longest matrix instruction wants 18 wait states.
    line("s_waitcnt vmcnt(0) lgkmcnt(0)");
    line("s_nop 15");
    line("s_nop 3");
    return std::move(text_);
  }

private:
  // Whether an instruction may have to wait for a load.
  static bool waits(const Inst& i) {
    return i.kind == InstKind::wait || i.kind == InstKind::barrier || i.kind == InstKind::lds_read ||
           (i.kind == InstKind::lds_write && !i.direct);
  }
  // The registers that an instruction writes, from the first on; none: {0, 0}.
  std::pair<int, int> written(const Inst& i, int residue) const {
    if (i.def.id < 0 || i.direct || registers_.results.contains(i.def.id)) return {0, 0};
    const auto loaded = registers_.loaded.find(i.def.id);
    const auto ring = registers_.rings.find({i.def.id, modulo(residue + i.def.ahead, registers_.copies)});
    if (loaded == registers_.loaded.end() && ring == registers_.rings.end()) return {0, 0};
    const int first = loaded != registers_.loaded.end() ? loaded->second : ring->second;
    return {first, first + dwords(register_of(code_, i.def.id))};
  }
  // Behind the loop loads of tiles that nobody wants are still under way: their registers are no longer theirs, but what writes one before
  // such a load has landed is overwritten by it. Which vmcnt each instruction of the epilogue has to wait for first; -1: none.
  std::vector<int> waits_of_epilogue(int residue) const {
    std::vector<int> out(loop_.epilogue.size(), -1);
    const int n = registers_.copies;
    std::vector<std::vector<int>> orders{own_order(loop_.body)};
    if (!loop_.staggered.empty()) orders.push_back(loop_.staggered);
    for (const auto& order : orders)
      for (const int trips : {residue, residue + n, residue + 4 * n}) {
        std::vector<std::pair<int, int>> flying; // oldest first
        const auto run = [&](const Inst& i, int at) {
          if (i.kind == InstKind::load && !i.direct)
            flying.push_back(written(i, at));
          else if (i.kind == InstKind::store || (i.kind == InstKind::lds_write && i.direct))
            flying.emplace_back(0, 0);
          else if (i.kind == InstKind::wait && i.vm >= 0 &&
                   flying.size() > static_cast<std::size_t>(std::min(i.vm, most_vm)))
            flying.erase(flying.begin(), flying.end() - std::min(i.vm, most_vm));
        };
        if (how_.prologue)
          for (const Inst& i : loop_.prologue) run(i, 0);
        for (int t = 0; t < trips; ++t)
          for (const int k : order) run(loop_.body[static_cast<std::size_t>(k)], t % n);
        for (std::size_t k = 0; k < loop_.epilogue.size(); ++k) {
          const auto [first, last] = written(loop_.epilogue[k], residue);
          for (std::size_t f = flying.size(); f-- > 0;)
            if (first < flying[f].second && flying[f].first < last) {
              const auto later = static_cast<int>(flying.size() - 1 - f);
              out[k] = out[k] < 0 ? later : std::min(out[k], later);
              flying.erase(flying.begin(), flying.begin() + static_cast<std::ptrdiff_t>(f) + 1);
              break;
            }
          run(loop_.epilogue[k], residue);
        }
      }
    return out;
  }
  // Empty accumulators. Where they are many, a product of zeros empties 32 of them with 8 bytes of code, in 64 clocks of the matrix pipe that
  // the wave need not wait for. And whether there are such products.
  std::pair<std::vector<std::string>, bool> zeros() const {
    std::vector<std::string> out;
    int first = INT_MAX, last = 0;
    for (const auto& [id, at] : registers_.results)
      first = std::min(first, at), last = std::max(last, at + dwords(register_of(code_, id)));
    int at = first;
    const int single = registers_.results_in_agprs && last - first > 64 ? first + 32 : last;
    for (; at < single; ++at)
      out.push_back((registers_.results_in_agprs ? "v_accvgpr_write_b32 " : "v_mov_b32 ") +
                    register_range(at, 1) + ", 0");
    const bool products = at + 32 <= last;
    const std::string zero = register_range(first, 2);
    for (; at + 32 <= last; at += 32)
      out.push_back(product_of_zeros() + " " + register_range(at, 32) + ", " + zero + ", " + zero + ", 0");
    for (; at < last; ++at) out.push_back("v_accvgpr_write_b32 " + register_range(at, 1) + ", 0");
    return {std::move(out), products};
  }

  // The product of two blocks of f16, whose results fill 32 registers.
  std::string product_of_zeros() const {
    for (const Atom* a : Atom::on(code_.program->target()))
      if (a->mma && a->mma->a_element == Element::f16 && a->mma->blocks == 2 && !a->mma->sparse)
        return std::string(a->mnemonic());
    INLAY_CHECK(false, "a matrix instruction of two blocks");
    return {};
  }

  std::string policy(CachePolicy c) const {
    const bool scopes = code_.program->target().scopes;
    return std::string(c.sc0 ? scopes ? " sc0" : " glc" : "") + (c.nt ? scopes ? " nt" : " slc" : "") +
           (c.sc1 ? scopes ? " sc1" : " scc" : "");
  }
  static std::string label(const std::string& name) { return ".Linlay_${:uid}_" + name; }
  void line(const std::string& s, int indent = 1) { text_ += (indent ? "  " : "") + s + "\n"; }

  // Part `part` of so many.
  std::string vector(const Reg& r, int residue, int part = 0, int parts = 1) const {
    const Register& reg = register_of(code_, r.id);
    const int bits_of = bits(reg.element);
    const auto loaded = registers_.loaded.find(r.id);
    const int first = loaded != registers_.loaded.end()
                          ? loaded->second
                          : registers_.rings.at({r.id, modulo(residue + r.ahead, registers_.copies)});
    INLAY_CHECK(r.first * bits_of % 32 == 0, "an operand of whole registers");
    const int many = (r.count * bits_of + 31) / 32 / parts;
    return register_range(first + r.first * bits_of / 32 + part * many, many);
  }
  std::string operand(const Inst& i, std::size_t which, int residue) const {
    if (operand_parts(i) == 1) return vector(i.uses[which], residue);
    const Reg& r = i.uses[2 * which]; // its other half follows it
    const int first = registers_.rings.at({r.id, modulo(residue + r.ahead, registers_.copies)});
    return register_range(first, 2 * dwords(register_of(code_, r.id)));
  }
  // The registers of both scales, and which byte of each.
  std::string scales(const Inst& i, int residue) const {
    if (!i.atom->mma->scaled) return "";
    std::string registers, low, high;
    for (const std::size_t u : {std::size_t{0}, std::size_t{1}}) {
      const Reg& r = i.uses[2 * operand_parts(i) + u];
      registers += ", " + vector({r.id, r.ahead, r.first / 4 * 4, 4}, residue);
      low += std::to_string(r.first % 2) + ",", high += std::to_string(r.first / 2 % 2) + ",";
    }
    return registers + " op_sel:[" + low + "0] op_sel_hi:[" + high + "0]";
  }
  std::string result(int id) const {
    return register_range(registers_.results.at(id), dwords(register_of(code_, id)));
  }

  std::string text_of(const Inst& i, int residue) {
    switch (i.kind) {
    case InstKind::mma: {
      const std::string name = i.atom->name;
      const std::size_t blank = std::min(name.find(' '), name.size());
      const std::string to =
          registers_.results.contains(i.def.id) ? result(i.def.id) : vector(i.def, residue);
      return name.substr(0, blank) + " " + to + ", " + operand(i, 0, residue) + ", " +
             operand(i, 1, residue) + ", " + (empty_.erase(i.def.id) ? "0" : to) + scales(i, residue) +
             name.substr(blank);
    }
    case InstKind::load: {
      if (i.direct) {
        transfer_ = &i; // the write after it is the other half
        return "";
      }
      const BlockAddress a = how_.address(i, residue);
      const Register& to = register_of(code_, i.def.id);
      const Atom& load =
          Atom::load(code_.program->target(), Addressing::descriptor, to.count * bits(to.element));
      return load.name + " " + vector(i.def, residue) + ", " + a.vector + ", " + a.descriptor + ", " +
             a.scalar + " offen" + (a.immediate ? " offset:" + std::to_string(a.immediate) : "") +
             policy(i.access.cache);
    }
    case InstKind::lds_read:
    case InstKind::lds_write: {
      const BlockAddress a = how_.address(i, residue);
      if (i.direct) {
        INLAY_CHECK(transfer_ && transfer_->def == i.uses[0], "both halves of a transfer");
        const BlockAddress from = how_.address(*transfer_, residue);
        const std::string cache = policy(std::exchange(transfer_, nullptr)->access.cache);
        place(a.vector, a.immediate - from.immediate);
        static const char* const widths[] = {"", "dword", "", "dwordx3", "dwordx4"};
        return std::string("buffer_load_") + widths[dwords(register_of(code_, i.uses[0].id))] + " " +
               from.vector + ", " + from.descriptor + ", " + from.scalar + " offen" +
               (from.immediate ? " offset:" + std::to_string(from.immediate) : "") + cache + " lds";
      }
      const bool read = i.kind == InstKind::lds_read;
      const Reg& r = read ? i.def : i.uses[0];
      const Register& reg = register_of(code_, r.id);
      const int size = reg.count * bits(reg.element);
      const Target& target = code_.program->target();
      const auto offset = [&](int more) {
        const int at = a.immediate + more;
        return at ? " offset:" + std::to_string(at) : "";
      };
      if (!read)
        return Atom::store(target, Addressing::lds, size).name + " " + a.vector + ", " + vector(r, residue) +
               offset(0);
      const Atom& atom = Atom::lds_read(target, size);
      std::string out;
      for (int n = 0, reads = Atom::lds_reads(size); n < reads; ++n)
        out += std::string(n ? "\n  " : "") + atom.name + " " + vector(r, residue, n, reads) + ", " +
               a.vector + offset(n * size / reads / 8);
      return out;
    }
    case InstKind::wait: {
      std::string s;
      if (i.vm >= 0) s += " vmcnt(" + std::to_string(std::min(i.vm, most_vm)) + ")";
      if (i.lgkm >= 0) s += " lgkmcnt(" + std::to_string(std::min(i.lgkm, most_lgkm)) + ")";
      return s.empty() ? "" : "s_waitcnt" + s;
    }
    case InstKind::barrier: return barrier(i.waves);
    case InstKind::priority: return "s_setprio " + std::to_string(static_cast<int>(i.value));
    case InstKind::fill:
      if (!register_of(code_, i.def.id).outside) empty_.insert(i.def.id);
      return "";
    case InstKind::map: return arithmetic(i, residue);
    default: throw InternalError("an instruction that a block can have");
    }
  }

  // For one half of the waves: the others go past it.
  std::string barrier(const Waves& waves) {
    if (waves.all()) return "s_barrier";
    const std::string past = label("past" + std::to_string(half_barriers_++));
    const bool lower = waves.first == 0;
    return "s_cmp_" + std::string(lower ? "ge" : "lt") + "_u32 " + how_.wave + ", " +
           std::to_string(lower ? waves.count : waves.first) + "\n  s_cbranch_scc1 " + past +
           "\n  s_barrier\n" + past + ":";
  }

  // c += s * p, where packed ones wait for no product in pairs: the scale is either half of a pair of registers, for both.
  std::string arithmetic(const Inst& i, int residue) const {
    const auto sum = scaled_sum(i, code_.registers);
    if (!sum)
      return "v_mul_f32_e32 " + vector(i.def, residue) + ", " + vector(i.uses[0], residue) + ", " +
             vector(i.uses[1], residue);
    const auto use = [&](int operand, int e) {
      return i.uses[static_cast<std::size_t>(operand * i.def.count + e)];
    };
    const Reg s = use(sum->scale, 0);
    const int scale = registers_.rings.at({s.id, modulo(residue + s.ahead, registers_.copies)}) + s.first;
    const std::string half = std::to_string(scale % 2), pair = register_range(scale / 2 * 2, 2);
    std::string out;
    if (!code_.program->target().packed_beside_products) {
      for (int e = 0; e < i.def.count; ++e)
        out += std::string(e ? "\n  " : "") + "v_fmac_f32_e32 " +
               register_range(registers_.results.at(i.def.id) + i.def.first + e, 1) + ", " +
               vector(use(sum->product, e), residue) + ", " + register_range(scale, 1);
      return out;
    }
    for (int e = 0; e < i.def.count; e += 2) {
      Reg p = use(sum->product, e);
      p.count = 2;
      const std::string to = register_range(registers_.results.at(i.def.id) + i.def.first + e, 2);
      out += std::string(e ? "\n  " : "") + "v_pk_fma_f32 " + to + ", " + vector(p, residue) + ", " + pair +
             ", " + to + " op_sel:[0," + half + ",0] op_sel_hi:[1," + half + ",1]";
    }
    return out;
  }

  // M0, before the product before, or before an access after it: a transfer may not follow it at once. Transfers one after another
  // may share it.
  void place(const std::string& base, int offset) {
    const std::string m0 = "  s_add_u32 m0, " + base + ", " + std::to_string(offset) + "\n";
    if (m0 == m0_) return forget_places();
    m0_ = m0;
    const std::size_t before = std::min(before_product_, before_access_);
    if (before != std::string::npos) {
      text_.insert(before, m0);
    } else {
      text_ += m0 + "  s_nop 0\n";
    }
    forget_places(); // another one in the same gap has to come after this transfer
  }
  void forget_places() { before_product_ = before_access_ = std::string::npos; }

  void trips(const std::string& name, const std::vector<int>& order) {
    for (int c = 0; c < registers_.copies; ++c) {
      line(label(name + std::to_string(c)) + ":", 0);
      body(order, c);
      if (c + 1 < registers_.copies) {
        line("s_cbranch_scc0 " + label("exit" + std::to_string(c + 1)));
      } else {
        line("s_cbranch_scc1 " + label(name + "0"));
      }
    }
  }
  void body(const std::vector<int>& order, int residue) {
    forget_places(); // what another copy has does not run before this one
    m0_.clear();
    // Counters move on after the last load, one after each product, and the test for the end after them.
    std::vector<std::string> scalar;
    for (const BlockCounter& c : how_.counters)
      scalar.push_back("s_add_u32 " + c.name + ", " + c.name + ", " + c.step);
    scalar.push_back("s_sub_u32 " + how_.left + ", " + how_.left + ", 1");
    scalar.push_back("s_cmp_lg_u32 " + how_.left + ", 0");
    std::size_t last_load = 0, next = 0;
    const auto at = [&](std::size_t n) -> const Inst& {
      return loop_.body[static_cast<std::size_t>(order[n])];
    };
    for (std::size_t n = 0; n < order.size(); ++n)
      if (at(n).kind == InstKind::load) last_load = n;
    for (std::size_t n = 0; n < order.size(); ++n) {
      const Inst& i = at(n);
      one(i, residue);
      if (n > last_load && i.kind == InstKind::mma && next < scalar.size()) line(scalar[next++]);
    }
    while (next < scalar.size()) line(scalar[next++]);
  }
  void one(const Inst& i, int residue) {
    const std::string s = about([&] { return i.where; }, [&] { return text_of(i, residue); });
    if (s.empty()) return;
    if (const std::string at = how_.line(i); !at.empty() && at != at_) line(at_ = at, 0);
    if (i.kind == InstKind::mma) {
      before_product_ = text_.size(), before_access_ = std::string::npos;
    } else if (i.kind == InstKind::lds_read) {
      before_access_ = text_.size();
    }
    line(s);
  }

  const Code& code_;
  const CodeRegion& loop_;
  const BlockRegisters& registers_;
  const BlockText& how_;
  std::string text_, at_;
  std::string m0_; ///< the instruction that wrote what M0 is
  const Inst* transfer_ = nullptr;
  std::set<int> empty_; ///< registers of zeros, which the next product takes as a constant
  std::size_t before_product_ = std::string::npos, before_access_ = std::string::npos;
  int half_barriers_ = 0;
};

} // namespace

std::string block_text(const Code& code, const CodeRegion& loop, const BlockRegisters& registers,
                       const BlockText& how) {
  return Writer(code, loop, registers, how).run();
}

} // namespace inlay::codegen
