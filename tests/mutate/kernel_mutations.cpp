// One place of a kernel's code changed, again and again: either a claim is refuted, or the code still computes its
// specification. The second is decided by tokens.h, which shares nothing with the claims.
//
//   kernel_mutations [--sample N] [--seed S] [--only KERNEL] [--verbose]
//
// For each change: `caught` (refuted; tokens wrong), `cautious` (refuted; tokens right for every size and schedule tried),
// `harmless` (not refuted, tokens right: the change means nothing), `MISSED` (not refuted, tokens wrong: a wrong proof).
// The last line is `caught X of N`, N being the changes that the tokens or the claims object to. Exit 1 when anything is missed, or
// when a kernel as it is is refuted or wrong.
#include "tokens.h"

#include <inlay/codegen/provenance.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/attention/spec.h>
#include <inlay/kernels/block_scale/spec.h>
#include <inlay/kernels/gemm/spec.h>
#include <inlay/kernels/moe/spec.h>
#include <inlay/kernels/rows/spec.h>
#include <inlay/solver/prover.h>

#include <cstring>
#include <iostream>
#include <random>
#include <string>

using namespace inlay;
using namespace inlay::codegen;
using namespace inlay::mutate;

namespace {

struct Subject {
  std::string name;
  Program program;
  std::vector<Sizes> sizes;
  Scheduler scheduler = Scheduler::plain;
};

std::vector<Subject> subjects() {
  std::vector<Subject> out;
  for (const bool pre : {false, true}) {
    kernels::GemmSpec spec;
    spec.preshuffled_b = pre;
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = pre ? 1 : 2, spec.waves_n = pre ? 2 : 1;
    // One tile of K, two, three and four; ragged in each direction.
    out.push_back({pre ? "preshuffle_gemm" : "gemm", kernels::gemm_program(spec),
                   pre ? std::vector<Sizes>{{33, 16, 32}, {20, 32, 96}, {7, 16, 64}}
                       : std::vector<Sizes>{{33, 30, 24}, {20, 32, 104}, {7, 31, 40}}});
  }
  // The same in an order of the modulo scheduler, through registers and past them.
  for (const bool transfer : {false, true}) {
    kernels::GemmSpec spec;
    spec.transfer = transfer;
    spec.arch = transfer ? "gfx950" : "gfx942";
    spec.tile_m = 32, spec.tile_n = 32, spec.tile_k = 32;
    spec.waves_m = 2, spec.waves_n = 1;
    out.push_back({transfer ? "gemm, transfers" : "gemm, modulo",
                   kernels::gemm_program(spec),
                   {{33, 30, 24}, {20, 32, 168}, {7, 31, 40}},
                   Scheduler::modulo});
  }
  kernels::RowSpec rows;
  rows.threads = 128;
  rows.vectors = 2;
  out.push_back({"softmax", kernels::softmax_program(rows), {{2, 8}, {1, 1048}}});
  out.push_back({"rmsnorm", kernels::rmsnorm_program(rows), {{2, 8}, {1, 1048}}});
  kernels::MoeSpec moe;
  moe.tile_m = moe.tile_n = moe.tile_k = 32;
  moe.waves_n = 1;
  out.push_back({"moe_stage1", kernels::moe_stage1_program(moe), {{5, 40, 40, 3, 33}, {3, 96, 8, 2, 70}}});
  kernels::BlockScaleSpec scaled;
  scaled.tile_m = 32;
  scaled.waves_m = 1;
  out.push_back(
      {"block_scale_gemm", kernels::block_scale_gemm_program(scaled), {{33, 16, 256}, {7, 144, 384}}});
  for (const bool causal : {false, true}) {
    kernels::AttentionSpec attention;
    attention.head_dim = 64;
    attention.waves = 1;
    attention.tile_q = 16;
    attention.tile_k = 32;
    attention.causal = causal;
    attention.group = causal ? 2 : 1;
    out.push_back({causal ? "causal attention" : "attention",
                   kernels::flash_attention_program(attention),
                   {{1, 18, 40, 2}, {1, 3, 70, 2}, {1, 2, 130, 2}}});
  }
  return out;
}

Code code_of(const Subject& s) {
  const Graph graph = expand(s.program);
  return apply(graph, schedule_with(s.scheduler, graph));
}

std::string refuted(const Code& code) {
  solver::SolverProver prover;
  const Derivation d = derive(code, prover);
  const DerivedClaim* c = d.refuted();
  return c ? c->claim + ": " + c->counterexample : "";
}

std::string wrong(const Code& code, const std::vector<Sizes>& sizes) {
  for (const Sizes& s : sizes)
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      if (const std::string what = run_tokens(code, s, seed); !what.empty()) return what;
  return "";
}

using Random = std::mt19937_64;
template <class T>
T& pick(Random& random, std::vector<T>& from) {
  return from[random() % from.size()];
}

/// Changes one place; says what, or "" when this place has nothing of that kind.
std::string change(Code& code, Random& random) {
  CodeRegion& region = pick(random, code.regions);
  std::vector<std::vector<Inst>*> lists;
  for (auto* list : {&region.prologue, &region.body, &region.epilogue})
    if (!list->empty()) lists.push_back(list);
  if (lists.empty()) return "";
  std::vector<Inst>& list = *lists[random() % lists.size()];
  const std::size_t at = random() % list.size();
  Inst& i = list[at];
  const std::string where = std::string(to_string(i.kind)) + " number " + std::to_string(at) + " of " +
                            std::to_string(list.size()) + ": ";
  const bool memory = i.access.tensor >= 0;
  const auto axis = [&] { return random() % i.access.origin.size(); };
  switch (random() % 20) {
  case 0:
    if (at + 1 == list.size()) return "";
    std::swap(list[at], list[at + 1]);
    return where + "exchanged with the next";
  case 1: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); return where + "left out";
  case 2:
    if (i.kind != InstKind::wait) return "";
    (i.vm >= 0 ? i.vm : i.lgkm) += 1;
    return where + "waits for one access less";
  case 3: {
    if (!memory) return "";
    const std::size_t a = axis();
    const int by = std::vector<int>{1, -1, 8, 32}[random() % 4];
    i.access.origin[a] += Sym(by);
    return where + "origin of axis " + std::to_string(a) + " by " + std::to_string(by);
  }
  case 4: {
    if (!memory) return "";
    const std::size_t e = random() % i.access.elements.size(), a = axis();
    i.access.elements[e][a] ^= 1 << random() % 5;
    return where + "element " + std::to_string(e) + " elsewhere";
  }
  case 5: {
    if (!memory) return "";
    const std::size_t a = axis();
    i.access.masked[a] = !i.access.masked[a];
    return where + "mask of axis " + std::to_string(a) + " " + (i.access.masked[a] ? "on" : "off");
  }
  case 6:
    if (!memory) return "";
    i.access.slot += 1;
    return where + "the next stage";
  case 7: {
    if (i.uses.empty()) return "";
    Reg& r = pick(random, i.uses);
    const int total = code.registers[static_cast<std::size_t>(r.id)].count;
    if (r.count == total) return "";
    r.first = (r.first + r.count) % total;
    return where + "another part of an operand";
  }
  case 8: {
    if (i.uses.empty()) return "";
    Reg& r = pick(random, i.uses);
    r.ahead += random() % 2 == 0 ? 1 : -1;
    return where + "an operand of another iteration";
  }
  case 9: {
    Inst& other = pick(random, list);
    if (other.kind != i.kind || &other == &i || i.def.id < 0) return "";
    std::swap(i.def, other.def);
    return where + "destination exchanged with another";
  }
  case 10: {
    Inst& other = pick(random, list);
    if (other.kind != i.kind || &other == &i || i.uses.size() != other.uses.size() || i.uses.empty())
      return "";
    const std::size_t u = random() % i.uses.size();
    std::swap(i.uses[u], other.uses[u]);
    return where + "an operand exchanged with another's";
  }
  case 11:
    if (i.kind != InstKind::fold_lanes) return "";
    i.lane_mask = 1 << random() % 6;
    return where + "another lane";
  case 12:
    if (i.kind != InstKind::fold_lanes && i.kind != InstKind::fold_values) return "";
    i.monoid = i.monoid == Monoid::sum ? Monoid::max : Monoid::sum;
    return where + "another monoid";
  case 13:
    if (i.kind != InstKind::mma) return "";
    std::swap(i.uses[0], i.uses[1]);
    return where + "operands exchanged";
  case 14: {
    if (!memory || i.access.threads.modes().size() < 2) return "";
    // Two strides of the threads exchanged: a transposed access.
    TupleBuilder<Mode> b;
    std::vector<Mode> modes(i.access.threads.modes().begin(), i.access.threads.modes().end());
    std::swap(modes[0].stride, modes[1].stride);
    b.profile(i.access.threads.profile().view());
    for (const Mode& m : modes) b.leaves().push_back(m);
    i.access.threads = Layout(std::move(b).finish());
    return where + "threads transposed";
  }
  case 15: {
    if (i.kind != InstKind::fill) return "";
    i.value = i.value == 0 ? 1 : 0;
    return where + "another value";
  }
  case 16: {
    if (i.kind != InstKind::map) return "";
    // One constant, one operand, or one bound of the map.
    const Expr all = i.map;
    std::vector<int> places;
    (void)all.arena->rewrite(all, [&](const ExprNode& n) -> std::optional<Expr> {
      if (n.fn == Fn::constant || n.fn == Fn::inside || n.fn == Fn::sub || n.fn == Fn::max)
        places.push_back(all.arena->make(n).id);
      return std::nullopt;
    });
    if (places.empty()) return "";
    const int place = places[random() % places.size()];
    const int by = random() % 2 == 0 ? 1 : -1;
    i.map = all.arena->rewrite(all, [&](const ExprNode& n) -> std::optional<Expr> {
      if (all.arena->make(n).id != place) return std::nullopt;
      ExprNode other = n;
      if (n.fn == Fn::constant) {
        other.value = n.value * 1.5 + 0.25;
      } else if (n.fn == Fn::inside) {
        other.index[random() % 2] += Sym(by);
      } else if (n.fn == Fn::sub) {
        std::swap(other.args[0], other.args[1]);
      } else {
        other.fn = Fn::min;
      }
      return all.arena->make(other);
    });
    return where + "another map";
  }
  case 17: {
    if (!i.access.idle) return "";
    i.access.idle.reset();
    return where + "every work-item takes part";
  }
  case 18: {
    if (i.access.rows.empty() || i.uses.size() < 1) return "";
    Inst& other = pick(random, list);
    if (other.access.rows.empty() || other.uses.empty() || &other == &i) return "";
    std::swap(i.uses.back(), other.uses.back());
    return where + "another row of the table";
  }
  default:
    if (i.uses.size() < 2 || i.kind == InstKind::mma) return "";
    i.uses.pop_back();
    if (i.kind == InstKind::map) return "";
    return where + "an operand less";
  }
}

} // namespace

int main(int argc, char** argv) {
  std::size_t sample = 300;
  std::uint64_t seed = 1;
  bool verbose = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--verbose")) {
      verbose = true;
    } else if (i + 1 < argc && !std::strcmp(argv[i], "--sample")) {
      sample = std::stoul(argv[++i]);
    } else if (i + 1 < argc && !std::strcmp(argv[i], "--only")) {
      only = argv[++i];
    } else if (i + 1 < argc && !std::strcmp(argv[i], "--seed")) {
      seed = std::stoull(argv[++i]);
    } else {
      std::cerr << "error: unknown argument '" << argv[i]
                << "'\n  hint   --sample N --seed S --only KERNEL --verbose\n";
      return 2;
    }
  }
  std::vector<Subject> all = subjects();
  if (!only.empty()) std::erase_if(all, [&](const Subject& s) { return s.name != only; });
  bool sound = true;
  for (const Subject& s : all) {
    const Code code = code_of(s);
    const std::string claim = refuted(code), token = wrong(code, s.sizes);
    if (!claim.empty()) std::cout << s.name << " as it is: refuted: " << claim << "\n", sound = false;
    if (!token.empty()) std::cout << s.name << " as it is: wrong: " << token << "\n", sound = false;
  }
  Random random(seed);
  std::size_t tried = 0, caught = 0, cautious = 0, harmless = 0, missed = 0;
  while (tried < sample) {
    Subject& s = all[random() % all.size()];
    // A change of attention costs as much as ten of a GEMM.
    if (all.size() > 1 && s.name.find("attention") != std::string::npos && random() % 4 != 0) continue;
    Code code = code_of(s);
    const std::string what = change(code, random);
    if (what.empty()) continue;
    ++tried;
    std::string claim;
    try {
      claim = refuted(code);
    } catch (const std::exception& e) {
      claim = e.what();
    }
    const std::string token = wrong(code, s.sizes);
    const char* fate = nullptr;
    if (!claim.empty() && !token.empty()) {
      ++caught, fate = "caught";
    } else if (!claim.empty()) {
      ++cautious, fate = "cautious";
    } else if (token.empty()) {
      ++harmless, fate = "harmless";
    } else {
      ++missed, fate = "MISSED";
    }
    if (verbose || fate[0] == 'M')
      std::cout << fate << ": " << s.name << ": " << what << "\n    claim: " << claim
                << "\n    tokens: " << token << "\n";
  }
  std::cout << tried << " changes: " << caught << " caught, " << cautious
            << " refused though the tokens are right, " << harmless << " harmless, " << missed << " missed\n";
  std::cout << "caught " << caught << " of " << caught + missed << "\n";
  return sound && missed == 0 ? 0 : 1;
}
