// Ping-pong loops: two halves of the waves a phase apart, on the emulator against the specification; and what the claims say of each
// wait, barrier and access that is elsewhere or gone, against the order of waves counted by hand.
#include "../mutate/tokens.h"
#include "ordered_loops.h"

#include <algorithm>
#include <array>
#include <climits>
#include <deque>
#include <map>
#include <set>

namespace pingpong_test {

using namespace inlay;
using namespace inlay::codegen;
using Catch::Matchers::Contains;
using specified::refuted;
using namespace ordered_loops;

namespace {

struct Form {
  const char* name;
  const char* arch;
  Element in;
  int m, n, k, stages, waves_m, waves_n;
};
const Form forms[] = {{"two stages", "gfx950", Element::f16, 64, 128, 64, 2, 2, 4},
                      {"three stages", "gfx950", Element::bf16, 128, 64, 64, 3, 4, 2},
                      {"fp8", "gfx950", Element::e4m3fn, 64, 128, 128, 2, 2, 4},
                      {"odd numbers of blocks", "gfx950", Element::f16, 64, 192, 64, 2, 2, 4},
                      {"4 bytes a lane", "gfx942", Element::f16, 64, 128, 32, 2, 2, 4},
                      {"of the waves, A alone", "gfx950", Element::f16, 128, 256, 32, 4, 2, 4}};

kernels::GemmSpec spec_of(const Form& f) {
  kernels::GemmSpec s;
  s.arch = f.arch;
  s.in = f.in, s.out = Element::f32;
  s.tile_m = f.m, s.tile_n = f.n, s.tile_k = f.k;
  s.waves_m = f.waves_m, s.waves_n = f.waves_n;
  s.stages = f.stages;
  s.transfer = s.pingpong = true;
  return s;
}
std::vector<std::vector<Inst>*> lists_of(Code& code) {
  CodeRegion& r = loop_of(code);
  return {&r.prologue, &r.body, &r.epilogue};
}

// Which elements of its tile an access of LDS touches, by the work-items of one half.
std::vector<bool> touched(const Inst& i, int half) {
  std::vector<bool> out(static_cast<std::size_t>(i.access.extents[0] * i.access.extents[1]), false);
  for (int thread = 256 * half; thread < 256 * (half + 1); ++thread)
    for (const auto& e : i.access.elements) {
      int at[2] = {};
      for (std::size_t axis = 0; axis < 2; ++axis) {
        at[axis] = static_cast<int>(i.access.origin[axis].constant()->value()) + e[axis];
        int rest = thread;
        for (const Mode& m : i.access.threads.modes()) {
          const int extent = static_cast<int>(m.extent.value());
          if (m.stride.is_basis() && m.stride.axis[0] == axis)
            at[axis] += rest % extent * static_cast<int>(m.stride.scale.value());
          rest /= extent;
        }
      }
      out[static_cast<std::size_t>(at[0] * i.access.extents[1] + at[1])] = true;
    }
  return out;
}

// The order of waves by counting: each half runs the lists for so many trips; an access is there for a wave that has run more barriers
// than the one that waited for it had.
bool in_order(Code code, int trips) {
  const CodeRegion& loop = loop_of(code);
  struct Access {
    const Inst* inst = nullptr;
    std::pair<int, int> stage;
    bool write = false;
    int issued[2] = {0, 0}, done[2] = {INT_MAX, INT_MAX};
  };
  std::vector<Access> accesses;
  bool waited = true;
  for (const int half : {0, 1}) {
    int barriers = 0;
    std::size_t number = 0;
    std::deque<std::size_t> vm, lgkm;
    std::map<std::pair<int, int>, std::size_t> loading; // register, iteration -> its read
    const auto run = [&](const std::vector<Inst>& list, int trip) {
      for (const Inst& i : list) {
        const bool write = i.kind == InstKind::lds_write;
        if (write || i.kind == InstKind::lds_read) {
          if (half == 0)
            accesses.push_back({&i, {i.access.tensor, (trip + i.access.slot) % loop.ring}, write});
          accesses[number].issued[half] = barriers;
          (write ? vm : lgkm).push_back(number);
          if (!write) loading[{i.def.id, trip + i.def.ahead}] = number;
          ++number;
        } else if (i.kind == InstKind::wait) {
          for (auto [queue, keep] : {std::pair(&vm, i.vm), std::pair(&lgkm, i.lgkm)})
            for (; keep >= 0 && static_cast<int>(queue->size()) > keep; queue->pop_front())
              accesses[queue->front()].done[half] = barriers;
        } else if (i.kind == InstKind::barrier) {
          barriers += i.waves.contains(7 * half);
        } else if (i.kind == InstKind::mma) {
          for (const Reg& u : i.uses)
            if (const auto r = loading.find({u.id, trip + u.ahead}); r != loading.end())
              waited = waited && accesses[r->second].done[half] != INT_MAX;
        }
      }
    };
    run(loop.prologue, 0);
    for (int trip = 0; trip < trips; ++trip) run(loop.body, trip);
    run(loop.epilogue, trips);
    static int of_lower = 0;
    waited = waited && (half == 0 || barriers == of_lower); // as many for all waves
    of_lower = barriers;
  }
  std::map<const Inst*, std::array<std::vector<bool>, 2>> places;
  std::map<std::array<std::pair<const Inst*, int>, 2>, bool> known;
  const auto meet = [&](const Inst* x, int a, const Inst* y, int b) {
    const auto [at, fresh] = known.try_emplace({std::pair(x, a), std::pair(y, b)}, false);
    if (!fresh) return at->second;
    for (const Inst* i : {x, y})
      if (!places.contains(i)) places[i] = {touched(*i, 0), touched(*i, 1)};
    const auto &one = places[x][static_cast<std::size_t>(a)], &two = places[y][static_cast<std::size_t>(b)];
    for (std::size_t k = 0; k < one.size() && !at->second; ++k) at->second = one[k] && two[k];
    return at->second;
  };
  for (std::size_t x = 0; x < accesses.size(); ++x)
    for (std::size_t y = x + 1; y < accesses.size(); ++y) {
      if (accesses[x].stage != accesses[y].stage || accesses[x].write == accesses[y].write) continue;
      for (const int a : {0, 1})
        for (const int b : {0, 1})
          waited = waited && (accesses[y].issued[b] > accesses[x].done[a] ||
                              !meet(accesses[x].inst, a, accesses[y].inst, b));
    }
  return waited;
}
bool in_order(const Code& code) {
  for (const int trips : {0, 1, 2, 7})
    if (!in_order(code, trips)) return false;
  return true;
}

const mutate::Sizes ragged = {60, 120, 328};

} // namespace

TEST_CASE("ping-pong: right, and silent under sanitizers and hostile schedules") {
  for (const Form& f : forms) {
    INFO(f.arch << " " << f.name);
    // Whole tiles and edges; one trip, which is none of the loop's, and several.
    check_silent(spec_of(f), {{64, 128, 64}, {70, 150, 416}, {1, 16, 320}, {130, 128, 32}});
  }
}

TEST_CASE("ping-pong: phases of products and of accesses in turn, the halves one apart, each read and "
          "transfer once") {
  for (const Form& f : forms) {
    INFO(f.arch << " " << f.name);
    Code code = code_of(spec_of(f));
    CHECK(refuted(code) == "");
    CHECK(in_order(code));
    // Accesses late, early and at random.
    for (const std::uint64_t seed : {3, 1, 2})
      if (f.m * f.n <= 64 * 128) CHECK(mutate::run_tokens(code, ragged, seed) == "");
    const CodeRegion& loop = loop_of(code);
    CHECK(loop.phases == 8);
    std::vector<int> products, accesses; // of each phase
    products.push_back(0), accesses.push_back(0);
    int reads = 0, transfers = 0, sum = 0;
    for (const Inst& i : loop.body) {
      if (i.kind == InstKind::barrier) {
        CHECK(i.waves.all());
        products.push_back(0), accesses.push_back(0);
      }
      products.back() += i.kind == InstKind::mma, sum += i.kind == InstKind::mma;
      accesses.back() += i.access.tensor >= 0;
      reads += i.kind == InstKind::lds_read, transfers += i.kind == InstKind::lds_write && i.direct;
    }
    REQUIRE(products.size() == 9); // the last one is empty: a trip ends with a barrier
    for (std::size_t p = 0; p < 8; ++p) {
      if (p % 2 == 0) CHECK((products[p] > 0 && accesses[p] == 0));
      // After a barrier what the matrix pipe does while the other half comes: 32 clocks, and never all.
      if (p % 2 == 1) CHECK(products[p] < products[p - 1] + products[p]);
    }
    const int rows = f.m / f.waves_m / 16, columns = f.n / f.waves_n / 16,
              elements = f.in == Element::e4m3fn ? 16 : 8;
    CHECK(reads == (rows + columns) * 16 * f.k / (64 * elements));
    CHECK(transfers == (f.m + f.n) * f.k / elements * (std::string(f.arch) == "gfx942" ? 4 : 1) / 512);
    CHECK(sum % (rows * columns) == 0);
    // One barrier more for the upper half before the loop, for the lower half after it.
    std::vector<Waves> halves;
    for (const auto* list : {&loop.prologue, &loop.epilogue})
      for (const Inst& i : *list)
        if (i.kind == InstKind::barrier && !i.waves.all()) halves.push_back(i.waves);
    CHECK(halves == std::vector<Waves>{{4, 4}, {0, 4}});
  }
}

TEST_CASE("ping-pong: the claims refuse what the count of barriers does not order, and nothing else") {
  for (const Form& f : {forms[0], forms[1], forms[4]}) {
    const Code right = code_of(spec_of(f));
    int waits = 0, needed = 0, spare = 0, halves = 0, looser = 0;
    Code count = right;
    for (std::size_t l = 0; l < 3; ++l)
      for (std::size_t n = 0; n < lists_of(count)[l]->size(); ++n) {
        const Inst is = (*lists_of(count)[l])[n];
        if (is.kind != InstKind::wait && is.kind != InstKind::barrier) continue;
        Code other = right;
        auto& list = *lists_of(other)[l];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
        INFO(f.arch << " " << f.name << ": without " << to_string(is.kind) << " " << n << " of list " << l);
        const bool ordered = in_order(other);
        const std::string said = refuted(other);
        CHECK((said == "") == ordered);
        if (is.kind == InstKind::wait) {
          ++waits;
          CHECK_FALSE(ordered); // no wait is there for nothing
        } else if (is.waves.all()) {
          ++(ordered ? spare : needed);
        } else {
          ++halves;
          CHECK_THAT(said, Contains("all waves of the workgroup run"));
        }
        if (ordered && f.m * f.n <= 64 * 128) CHECK(mutate::run_tokens(other, ragged, 3) == "");
        for (const bool vm : {true, false}) { // one more under way
          if (is.kind != InstKind::wait || (vm ? is.vm : is.lgkm) < 0) continue;
          Code late = right;
          ++(vm ? (*lists_of(late)[l])[n].vm : (*lists_of(late)[l])[n].lgkm);
          const bool still = in_order(late);
          looser += !still;
          CHECK((refuted(late) == "") == still);
        }
      }
    CHECK(halves == 2);
    CHECK(waits > 3);
    CHECK(looser > 1);
    // Of a trip's barriers those between a wait and what the lower half does with what the upper one has waited for; the others are there
    // for the phases alone.
    CHECK(needed >= 1);
    CHECK(needed + spare == 9); // one of the prologue
    // Both halves in step are right as well: that is asked less of.
    Code in_step = right;
    for (auto* list : lists_of(in_step))
      std::erase_if(*list, [](const Inst& i) { return i.kind == InstKind::barrier && !i.waves.all(); });
    CHECK(in_order(in_step));
    CHECK(refuted(in_step) == "");
  }
}

TEST_CASE("ping-pong: an access in another phase is refused where its stage is not ready, and where it is "
          "not free") {
  for (const Form& f : {forms[0], forms[1]}) {
    INFO(f.arch << " " << f.name);
    const Code right = code_of(spec_of(f));
    int early_reads = 0, early_transfers = 0, legal = 0;
    Code count = right;
    const std::vector<Inst>& body = loop_of(count).body;
    // In front of one, two, .. barriers before it: reads before their tile, transfers before the stage's readers are through.
    for (std::size_t n = 0; n < body.size(); ++n) {
      const bool transfer = body[n].kind == InstKind::load;
      if (!transfer && body[n].kind != InstKind::lds_read) continue;
      int barriers = 0;
      for (std::size_t at = n; at-- > 0 && barriers < 3;) {
        if (body[at].kind != InstKind::barrier) continue;
        ++barriers;
        Code other = right;
        auto& list = loop_of(other).body;
        const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(at), from = static_cast<std::ptrdiff_t>(n),
                             many = transfer ? 2 : 1;
        std::rotate(list.begin() + to, list.begin() + from, list.begin() + from + many);
        INFO(to_string(body[n].kind) << " " << n << " before the barrier " << at);
        const bool ordered = in_order(other);
        CHECK((refuted(other) == "") == ordered);
        if (ordered)
          ++legal;
        else
          ++(transfer ? early_transfers : early_reads);
      }
    }
    CHECK(early_reads > 0);
    CHECK(early_transfers > 0);
    CHECK(legal > 0);
  }
}

TEST_CASE("ping-pong: halves that run other numbers of barriers are refused") {
  const Code right = code_of(spec_of(forms[0]));
  const auto with = [&](auto change) {
    Code other = right;
    change(loop_of(other));
    return std::pair(refuted(other), mutate::run_tokens(other, ragged, 1));
  };
  const auto half = [](std::vector<Inst>& list) {
    return std::find_if(list.begin(), list.end(),
                        [](const Inst& i) { return i.kind == InstKind::barrier && !i.waves.all(); });
  };
  const auto both_refuse = [&](auto change) {
    const auto [claims, tokens] = with(change);
    CHECK_THAT(claims, Contains("all waves of the workgroup run"));
    CHECK_THAT(tokens, Contains("a barrier that some waves do not come to"));
  };
  both_refuse([&](CodeRegion& r) { r.epilogue.erase(half(r.epilogue)); });
  both_refuse([&](CodeRegion& r) { r.prologue.erase(half(r.prologue)); });
  both_refuse([&](CodeRegion& r) { half(r.epilogue)->waves = {4, 4}; });
  // Other halves, two apart, a part of a half: refused by the claims, which do not count such.
  const auto claims_refuse = [&](auto change) {
    CHECK_THAT(with(change).first, Contains("all waves of the workgroup run every barrier"));
  };
  claims_refuse([&](CodeRegion& r) { half(r.prologue)->waves = {4, 2}; });
  claims_refuse([&](CodeRegion& r) { std::swap(half(r.prologue)->waves, half(r.epilogue)->waves); });
  claims_refuse([&](CodeRegion& r) {
    const Inst more = *half(r.prologue), less = *half(r.epilogue);
    r.prologue.push_back(more), r.epilogue.push_back(less);
  });
  CHECK_THAT(with([](CodeRegion& r) {
               for (Inst& i : r.body)
                 if (i.kind == InstKind::priority) i.value = 4;
             }).first,
             Contains("a wave has a priority of 0 to 3"));
}

TEST_CASE("ping-pong: refused where it cannot be") {
  const auto refusal = [](const kernels::GemmSpec& s,
                          const kernels::BuildOptions& options = {}) -> std::string {
    try {
      (void)kernels::build_gemm(s, options);
    } catch (const CodegenError& e) {
      return e.what();
    }
    return "";
  };
  const kernels::GemmSpec right = spec_of(forms[0]);
  const auto with = [&](auto change) {
    kernels::GemmSpec s = right;
    change(s);
    return refusal(s);
  };
  CHECK(refusal(right) == "");
  CHECK_THAT(refusal(right, {.scheduler = "default"}), Contains("its order is LLVM's"));
  CHECK_THAT(refusal(right, {.loops = "ir"}), Contains("it is IR") && Contains("--loops asm or auto"));
  CHECK_THAT(with([](auto& s) { s.waves_n = 2; }),
             Contains("4 waves of a workgroup") && Contains("two on each"));
  CHECK_THAT(with([](auto& s) { s.transfer = false, s.stages = 0; }), Contains("is no direct-to-LDS load"));
  CHECK_THAT(with([](auto& s) { s.stagger = true; }), Contains("staggered, too"));
  CHECK_THAT(with([](auto& s) { s.depth = parse_depth("lead 1"); }), Contains("its pipeline is given"));
  CHECK_THAT(with([](auto& s) { s.tile_n = 64; }), Contains("one row or one column"));
  CHECK_THAT(with([](auto& s) {
               s.direct = kernels::GemmSpec::Direct::b, s.waves_m = 1, s.waves_n = 8, s.tile_n = 256;
             }),
             Contains("is no direct-to-LDS load"));
  CHECK_THAT(with([](auto& s) { s.tile_m = s.tile_n = 256, s.waves_m = 8, s.waves_n = 1; }),
             Contains("there are 256"));
}

} // namespace pingpong_test
