#include "inlay/solver/search.h"

#include "inlay/solver/coalescing.h"

#include "questions/engine.h"
#include <inlay/machine/target.h>

#include <algorithm>
#include <bit>

namespace inlay::solver {
namespace {

std::string swizzle_text(int bits, int base, int shift) {
  return "Sw<" + std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift) + ">";
}

// Every instance of a view as addresses of its lanes, evaluated once: the search tries many swizzles on them.
struct Compiled {
  const LdsAccess* access;
  std::vector<std::vector<std::int64_t>> instances;
};

Compiled compile(const LdsView& view, std::string_view arch, std::uint64_t tile_bytes,
                 const naive::Environment& env) {
  Subject subject(view.map);
  Compiled out{&lds_access(view.instruction, arch), {}};
  Evaluator f(subject.parts(), env);
  // The first mode counts lanes; all others are instances of the instruction, each of which has to be free of
  // conflicts.
  auto lanes = static_cast<std::size_t>(f.extents()[0]);
  if (f.extents()[0] > 64)
    throw QuestionError("search: the first mode of a view counts lanes, at most 64\n  in     " + view.map +
                        "\n  hint   group the modes of the lane: ((16,4),...)");
  // A swizzle is tried on all of them, and there are hundreds of swizzles.
  if (f.size() > (Wide{1} << 22))
    throw QuestionError("search: a view has more than 2^22 accesses\n  in     " + view.map);
  for (Wide i = 0; i < f.size(); ++i) {
    if (i % static_cast<Wide>(lanes) == 0) out.instances.emplace_back();
    Wide v = f(i);
    // What leaves the tile before any swizzle is no view of it; a swizzle permutes the tile's bytes and
    // nothing beyond.
    if (v < 0 || (tile_bytes != 0 && v + out.access->bytes > static_cast<Wide>(tile_bytes)))
      throw QuestionError("search: a view leaves the tile of " + std::to_string(tile_bytes) +
                          " bytes\n  in     " + view.map + "\n  at     index " + to_string(i) + ": byte " +
                          to_string(v) + "\n  hint   --tile is the size in bytes");
    out.instances.back().push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

struct Score {
  unsigned degree = 1, clocks = 0;
  bool aligned = true;
};

Score score(const std::vector<Compiled>& views, int bits, int base, int shift) {
  Score out;
  for (const Compiled& view : views)
    for (const auto& lanes : view.instances) {
      LdsConflicts c = lds_conflicts(
          *view.access,
          [&](unsigned lane) { return static_cast<std::int64_t>(swizzle(lanes[lane], bits, base, shift)); },
          static_cast<unsigned>(lanes.size()));
      out.degree = std::max(out.degree, c.degree);
      out.clocks += c.clocks;
      // A swizzle below the width of an access takes its bytes apart; no number of clocks makes up for that.
      out.aligned &= c.misaligned_lane < 0;
    }
  return out;
}

SwizzleChoice with_proofs(const std::vector<LdsView>& views, std::string_view arch, std::uint64_t tile_bytes,
                          int bits, int base, int shift, const Score& s) {
  SwizzleChoice choice{bits, base, shift, tile_bytes, s.degree, s.clocks, {}};
  std::string prefix = choice.text() + " o 0 o ";
  for (const LdsView& v : views)
    // By the prover and not by the score above: what is handed out is a proof with a certificate, that the
    // search does not enter into.
    choice.proofs.push_back(prove_conflict_free(prefix + v.map, v.instruction, arch));
  // A swizzle that left the tile would be conflict-free and wrong.
  choice.proofs.push_back(prove_bijective(prefix + std::to_string(tile_bytes) + ":1"));
  return choice;
}

// Sw<B,M,S> whose blocks of 2^(B+M+S) bytes tile the tile, fewest bits first.
template <class Visit>
void candidates(std::uint64_t tile_bytes, Visit visit) {
  // Blocks that do not divide the tile would move bytes over its end. 2^24 bounds shifts of nonsense sizes:
  // no LDS is that large.
  int reach = std::countr_zero(tile_bytes | (std::uint64_t{1} << 24));
  // Bases below 2 would tear dwords, shifts beyond the reach would read bits that no address of the tile has.
  visit(0, 4, 3); // the identity
  // Six bits are 64 rows, as many as there are lanes; more cannot tell more lanes apart.
  for (int bits = 1; bits <= 6; ++bits)
    for (int base = 2; base <= 8; ++base)
      for (int shift = bits; bits + base + shift <= reach; ++shift) visit(bits, base, shift);
}

std::vector<Compiled> compile_all(const std::vector<LdsView>& views, std::string_view arch,
                                  std::uint64_t tile_bytes) {
  if (views.empty())
    throw QuestionError("search: no view\n  hint   --view 'ds_read_b128 ((16,4)):((128,16))'");
  // Six times the larger LDS: beyond that somebody has counted in bits.
  if (tile_bytes == 0 || tile_bytes > (std::uint64_t{1} << 20))
    throw QuestionError("search: the tile has " + std::to_string(tile_bytes) +
                        " bytes\n  hint   between 1 and 2^20");
  std::vector<Compiled> out;
  for (const LdsView& v : views) out.push_back(compile(v, arch, tile_bytes, {}));
  return out;
}

} // namespace

std::string SwizzleChoice::text() const { return swizzle_text(bits, base, shift); }

std::vector<SwizzleChoice> search_swizzle(const std::vector<LdsView>& views, std::string_view arch,
                                          std::uint64_t tile_bytes) {
  std::vector<Compiled> compiled = compile_all(views, arch, tile_bytes);
  std::vector<SwizzleChoice> out;
  candidates(tile_bytes, [&](int bits, int base, int shift) {
    Score s = score(compiled, bits, base, shift);
    // All that are free of conflicts, not the first: which of them suits depends on what else reads the tile.
    if (s.degree == 1 && s.aligned) out.push_back(with_proofs(views, arch, tile_bytes, bits, base, shift, s));
  });
  return out;
}

SwizzleChoice best_swizzle(const std::vector<LdsView>& views, std::string_view arch,
                           std::uint64_t tile_bytes) {
  std::vector<Compiled> compiled = compile_all(views, arch, tile_bytes);
  // What there is without a swizzle is the one to beat; where nothing does, none is the answer.
  Score best = score(compiled, 0, 4, 3);
  int bits = 0, base = 4, shift = 3;
  candidates(tile_bytes, [&](int b, int m, int s) {
    Score here = score(compiled, b, m, s);
    // Ties go to the one seen first, which has the fewest bits to compute.
    if (!here.aligned || here.clocks >= best.clocks) return;
    best = here;
    bits = b, base = m, shift = s;
  });
  return with_proofs(views, arch, tile_bytes, bits, base, shift, best);
}

std::vector<PaddingChoice> search_padding(const std::vector<LdsView>& views, std::string_view arch,
                                          const std::string& symbol, std::uint64_t row_bytes,
                                          std::uint64_t rows, std::uint64_t step) {
  if (views.empty())
    throw QuestionError("search: no view\n  hint   --view 'ds_read_b128 ((16,4)):((ld,16))'");
  if (row_bytes == 0 || step == 0 || row_bytes > (std::uint64_t{1} << 20))
    throw QuestionError("search: rows of " + std::to_string(row_bytes) + " bytes in steps of " +
                        std::to_string(step));
  std::vector<PaddingChoice> out;
  // The banks repeat within 256 bytes; a padding of a row's own length is more than anybody pays for it.
  for (std::uint64_t bytes = row_bytes; bytes <= 2 * row_bytes; bytes += step) {
    PaddingChoice choice{bytes, bytes * rows, {}};
    bool all = true;
    for (const LdsView& v : views) {
      Subject subject(v.map);
      // A second symbol would make the question one for all of its values, and a misspelt one would be proved
      // without the padding.
      if (subject.parts().symbols() != std::set<std::string>{symbol})
        throw QuestionError("search: a view should have the row stride as its only symbol '" + symbol +
                            "'\n  in     " + v.map);
      choice.proofs.push_back(
          prove_conflict_free(subject, v.instruction, arch, {symbol + " == " + std::to_string(bytes)}));
      all = all && choice.proofs.back().outcome == Outcome::proved;
      if (!all) break;
    }
    if (all) out.push_back(std::move(choice));
  }
  return out;
}

VectorChoice search_vector(const std::vector<Subject>& layouts, const Facts& facts, std::uint64_t limit) {
  if (layouts.empty()) throw QuestionError("search: no layout");
  VectorChoice out;
  auto fits = [&](std::uint64_t width, std::string& why) {
    for (const Subject& s : layouts) {
      // No question of its own, only its digits: what is found is then asked of the prover as two statements
      // (below).
      Engine e("vector", {&s}, {}, facts, {});
      Poly w(static_cast<Wide>(width));
      auto own = e.lower_alone(s.parts());
      // Of digits that reach beyond the layout the first mode could be longer than its neighbours are many.
      auto flat = own && !own->lowering.enlarged() ? own->lowering.flat(own->form) : std::nullopt;
      if (!flat) {
        why = s.text() + " is not a layout that can be lowered";
        return false;
      }
      SymbolicFlat modes = normal_form(*flat);
      // In the normal form the first mode is the longest run of neighbours that there is.
      if (modes.empty() || !modes[0].stride.is_one()) {
        why = s.text() + ": neighbours are " + (modes.empty() ? "none" : e.context.str(modes[0].stride)) +
              " apart";
        return false;
      }
      if (!exact_quotient(modes[0].extent, w)) {
        why = s.text() + ": " + std::to_string(width) + " does not divide the " +
              e.context.str(modes[0].extent) + " neighbours";
        return false;
      }
      // A vector that begins between two multiples of its width needs two accesses, or is refused.
      bool aligned = exact_quotient(own->form.constant, w).has_value();
      for (std::size_t k = 1; k < modes.size(); ++k) aligned = aligned && exact_quotient(modes[k].stride, w);
      if (!aligned) {
        why = s.text() + ": a vector of " + std::to_string(width) + " would not be aligned";
        return false;
      }
    }
    return true;
  };
  // L(i) = L(i - i % w) + i % w, and w divides L where a vector begins.
  auto proofs = [&](std::uint64_t width) {
    std::vector<Verdict> all;
    for (const Subject& s : layouts) {
      // A name that no layout has, as `i` may be one of its symbols.
      FormulaRef i = variable("vector_index"), w = integer(static_cast<Wide>(width));
      FormulaRef first = make(Op::mul, {make(Op::div, {i, w}), w});
      std::string n = to_string(size_formula(s.parts())), head = "(vector_index) -> ";
      std::string whole =
          to_string(expand_index(s.parts(), first)) + " + vector_index % " + std::to_string(width);
      std::string starts = to_string(expand_index(s.parts(), make(Op::mul, {i, w})));
      all.push_back(prove_equal(s, Subject(head + whole, n), facts));
      all.push_back(prove_aligned(Subject(head + starts, "(" + n + ") / " + std::to_string(width)),
                                  std::to_string(width), facts));
    }
    return all;
  };
  // A width that does not fit ends it: every wider one is a multiple of it, and would have to fit as well.
  for (std::uint64_t width = 2; width <= limit; width *= 2) {
    if (!fits(width, out.reason)) return out;
    std::vector<Verdict> all = proofs(width);
    for (const Verdict& v : all)
      if (v.outcome != Outcome::proved) {
        out.reason = "no proof for " + std::to_string(width) + ": " + v.summary();
        return out;
      }
    out.elements = width;
    out.proofs = std::move(all);
  }
  out.reason = "the limit of " + std::to_string(limit);
  return out;
}

std::vector<TilerChoice> search_tiler(std::uint64_t tile_rows, std::uint64_t tile_columns,
                                      std::uint64_t threads, std::uint64_t vector,
                                      std::uint64_t element_bytes) {
  if (tile_rows == 0 || tile_columns == 0 || threads == 0 || vector == 0 || element_bytes == 0 ||
      threads > 1024 || tile_rows > 65536 || tile_columns > 65536)
    throw QuestionError(
        "search: a tiler needs positive sizes, at most 1024 threads and 65536 rows and columns");
  std::vector<TilerChoice> out;
  // All shapes of the threads that tile the tile; at most 1024, so that each may be proved rather than ranked
  // by a formula.
  for (std::uint64_t across = 1; across <= threads; ++across) {
    if (threads % across != 0) continue;
    std::uint64_t down = threads / across;
    TilerChoice c{down, across * vector, {}, 0, 0, {}};
    if (tile_rows % c.rows != 0 || tile_columns % c.columns != 0) continue;
    auto n = [](std::uint64_t v) { return std::to_string(v); };
    // Threads run along a row first; offsets count the tile (rows, columns) column-major.
    c.thread_value = "((" + n(across) + "," + n(down) + ")," + n(vector) + "):((" + n(vector * c.rows) +
                     ",1)," + n(c.rows) + ")";
    c.proofs.push_back(prove_bijective(c.thread_value));
    if (c.proofs.back().outcome != Outcome::proved) continue;
    // Lines that a wave touches in a row-major tensor whose rows begin on a line: counted for one such tensor, then
    // proved for all.
    const GlobalMemory& memory = global_memory(machine::usual_target); // all have the same lines
    std::uint64_t wave = std::min<std::uint64_t>(threads, 64), row = std::min(across, wave);
    // One line more than a row takes, so that no line is shared by two rows: a line shared by chance at one
    // pitch would be counted as saved.
    std::uint64_t pitch = memory.line_bytes * ((tile_columns * element_bytes) / memory.line_bytes + 1);
    WaveAccess w = wave_access(
        memory,
        [&](unsigned lane, unsigned value) {
          return static_cast<std::int64_t>(lane / row * pitch +
                                           (lane % row * vector + value) * element_bytes);
        },
        static_cast<unsigned>(wave), static_cast<unsigned>(vector), static_cast<unsigned>(element_bytes));
    c.lines = w.lines;
    c.least_lines = w.least_lines;
    // What no single access of a wave does is left out, whatever it would cost.
    if (wave % row != 0 || vector * element_bytes > 16 || !std::has_single_bit(vector * element_bytes))
      continue;
    std::string access =
        "((" + n(row) + "," + n(wave / row) + ")," + n(vector) + "):((" + n(vector) + ",ld),1)";
    // The claim is about every pitch that begins rows on a line, which the count above was made for; where an
    // element divides a line, as a condition on ld itself, which becomes a substitution.
    Facts aligned{"ld * " + n(element_bytes) + " % " + n(memory.line_bytes) + " == 0"};
    if (memory.line_bytes % element_bytes == 0)
      aligned = {"ld % " + n(memory.line_bytes / element_bytes) + " == 0"};
    if (row == wave) access = "(" + n(wave) + "," + n(vector) + "):(" + n(vector) + ",1)", aligned.clear();
    c.proofs.push_back(prove_coalesced(access, static_cast<unsigned>(element_bytes), memory.arch,
                                       static_cast<unsigned>(c.lines), aligned));
    if (c.proofs.back().outcome != Outcome::proved) continue;
    out.push_back(std::move(c));
  }
  // Fewest lines first; equal ones in the order of `across`, so that results repeat.
  std::stable_sort(out.begin(), out.end(),
                   [](const TilerChoice& a, const TilerChoice& b) { return a.lines < b.lines; });
  return out;
}

} // namespace inlay::solver
