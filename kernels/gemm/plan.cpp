#include "plan.h"

#include <inlay/algebra/print.h>
#include <inlay/codegen/target.h>
#include <inlay/codegen/tensor.h>
#include <inlay/solver/prove.h>

#include <bit>
#include <fmt/format.h>

namespace inlay::kernels {

std::string to_string(DType type) {
  switch (type) {
  case DType::f16: return "f16";
  case DType::bf16: return "bf16";
  case DType::f32: return "f32";
  }
  return "?";
}

DType parse_dtype(const std::string& text) {
  for (DType type : {DType::f16, DType::bf16, DType::f32})
    if (text == to_string(type)) return type;
  throw std::invalid_argument("unknown element type '" + text + "'\n  hint   f16, bf16, f32");
}

int bytes_of(DType type) { return type == DType::f32 ? 4 : 2; }

std::string ChunkSwizzle::text() const { return fmt::format("Sw<{},4,{}>", bits, shift); }

namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& value, const std::string& hint) {
  throw std::invalid_argument(fmt::format("gemm: {} = {} is not supported\n  hint   {}", field, value, hint));
}

bool power_of_two(int n) { return n > 0 && std::has_single_bit(static_cast<unsigned>(n)); }

void check(const GemmSpec& s, const codegen::Target& target) {
  if (s.in == DType::f32) refuse("in", "f32", "f16 or bf16; the accumulation is f32 in any case");
  if (s.out != DType::f32 && s.out != s.in)
    refuse("out", to_string(s.out), fmt::format("f32 or the type of A and B, {}", to_string(s.in)));
  if (s.mfma != 16 && s.mfma != 32) refuse("mfma", std::to_string(s.mfma), "16 or 32 rows");
  if (s.waves_m < 1 || s.waves_n < 1 || !power_of_two(s.waves_m * s.waves_n) || s.waves_m * s.waves_n > 16)
    refuse("waves", fmt::format("{} x {}", s.waves_m, s.waves_n), "1, 2, 4, 8 or 16 waves altogether");
  if (s.tile_k != 32 && s.tile_k != 64 && s.tile_k != 128 && s.tile_k != 256)
    refuse("tile_k", std::to_string(s.tile_k), "32, 64, 128 or 256");
  if (s.preshuffled_b && s.mfma != 16)
    refuse("mfma", std::to_string(s.mfma), "16 rows when B is preshuffled: its blocks are 16 rows of 32 k");
  const int threads = 64 * s.waves_m * s.waves_n;
  const int rows_per_pass = threads / (s.tile_k * 2 / 16);
  for (const auto& [name, tile, waves] :
       {std::tuple{"tile_m", s.tile_m, s.waves_m}, std::tuple{"tile_n", s.tile_n, s.waves_n}}) {
    if (tile < 1 || tile > 512 || tile % (waves * s.mfma) != 0)
      refuse(
          name, std::to_string(tile),
          fmt::format("a multiple of {} ({} waves of {} rows), at most 512", waves * s.mfma, waves, s.mfma));
    const bool loaded_by_rows = !(s.preshuffled_b && tile == s.tile_n && name[5] == 'n');
    if (loaded_by_rows && (rows_per_pass < 1 || tile % rows_per_pass != 0))
      refuse(name, std::to_string(tile),
             fmt::format("a multiple of {}, the rows that {} work-items load at once",
                         std::max(rows_per_pass, 1), threads));
  }
  const int lds = 2 * (s.tile_m + (s.preshuffled_b ? 0 : s.tile_n)) * s.tile_k * 2;
  if (lds > target.lds_bytes)
    refuse("tile", fmt::format("{} x {} x {}", s.tile_m, s.tile_n, s.tile_k),
           fmt::format("two stages take {} bytes of LDS and {} has {}; halve tile_k or a tile", lds, s.arch,
                       target.lds_bytes));
  const int accumulators = s.tile_m / s.waves_m * (s.tile_n / s.waves_n) / 64;
  if (accumulators > 256)
    refuse("tile", fmt::format("{} x {}", s.tile_m, s.tile_n),
           fmt::format("a lane would hold {} accumulators, at most 256; more waves or a smaller tile",
                       accumulators));
}

std::string under(const ChunkSwizzle& swizzle, const std::string& layout) {
  return swizzle.text() + " o 0 o " + layout;
}

/// The smallest swizzle, by bits and then by shift, under which neither the writes nor the reads of A and B conflict.
ChunkSwizzle find_swizzle(const GemmPlan& p) {
  const int row_bits = std::countr_zero(static_cast<unsigned>(p.chunks));
  for (int bits = 0; bits <= row_bits; ++bits)
    for (int shift = bits; shift <= row_bits + 3; ++shift) {
      if (bits == 0 && shift > 0) break;
      const ChunkSwizzle swizzle{bits, shift};
      bool free = true;
      for (const OperandPlan* x : p.through_lds())
        free =
            free &&
            solver::prove_conflict_free(under(swizzle, p.write_layout(*x)), "ds_write_b128", p.spec.arch) &&
            solver::prove_conflict_free(under(swizzle, p.read_layout(*x)), "ds_read_b128", p.spec.arch);
      if (free) return swizzle;
    }
  refuse("tile_k", std::to_string(p.spec.tile_k),
         "no swizzle of 16-byte chunks makes reads and writes of these tiles free of bank conflicts");
}

} // namespace

GemmPlan plan_gemm(const GemmSpec& spec) {
  const codegen::Target& target = codegen::Target::named(spec.arch);
  check(spec, target);
  GemmPlan p;
  p.spec = spec;
  p.waves = spec.waves_m * spec.waves_n;
  p.threads = 64 * p.waves;
  p.pitch = spec.tile_k * 2;
  p.chunks = p.pitch / 16;
  p.rows_per_pass = p.threads / p.chunks;
  p.groups = 64 / spec.mfma;
  p.steps = p.chunks / p.groups;
  p.atom = &codegen::MfmaAtom::best(
      target, spec.in == DType::f16 ? codegen::Element::f16 : codegen::Element::bf16, spec.mfma);
  p.values = p.atom->operand_values();
  p.mfmas_per_step = 8 / p.values;
  p.acc_values = p.atom->result_values();
  const auto operand = [&](const char* name, int tile, int waves, int offset) {
    const int wave_rows = tile / waves;
    return OperandPlan{name, tile, waves, wave_rows, wave_rows / spec.mfma, tile / p.rows_per_pass, offset};
  };
  p.a = operand("A", spec.tile_m, spec.waves_m, 0);
  p.b = operand("B", spec.tile_n, spec.waves_n, spec.tile_m * p.pitch);
  p.stage_bytes = (spec.tile_m + (spec.preshuffled_b ? 0 : spec.tile_n)) * p.pitch;
  if (spec.preshuffled_b) p.b.passes = 0;
  p.lds_bytes = 2 * p.stage_bytes;
  if (p.steps < 1) refuse("tile_k", std::to_string(spec.tile_k), fmt::format("at least {}", p.groups * 8));
  p.write_swizzle = p.read_swizzle = find_swizzle(p);
  if (spec.fault == GemmFault::swizzle_on_write_only) p.read_swizzle = {};
  if (spec.fault == GemmFault::tile_does_not_cover_m) --p.a.repeats;
  return p;
}

std::vector<const OperandPlan*> GemmPlan::through_lds() const {
  if (spec.preshuffled_b) return {&a};
  return {&a, &b};
}

std::int64_t GemmPlan::write_address(int t, int pass) const {
  return write_swizzle((t / chunks + pass * rows_per_pass) * pitch + t % chunks * 16);
}

std::int64_t GemmPlan::read_address(const OperandPlan& operand, int t, int r, int s) const {
  const int lane = t % 64, wave = t / 64;
  const int index = &operand == &b ? wave / spec.waves_m : wave % spec.waves_m;
  const int row = index * operand.wave_rows + r * spec.mfma + lane % spec.mfma;
  return read_swizzle(row * pitch + (s * groups + lane / spec.mfma) * 16);
}

std::string GemmPlan::copy_layout(const OperandPlan& x) const {
  return fmt::format("(({},{}),(8,{})):(({},1),({},{}))", chunks, rows_per_pass, x.passes, 8 * x.tile_rows,
                     x.tile_rows, rows_per_pass);
}

std::string GemmPlan::write_layout(const OperandPlan& x) const {
  const int wave_rows = 64 / chunks;
  return fmt::format("(({},{}),({},{})):((16,{}),({},{}))", chunks, wave_rows, waves, x.passes, pitch,
                     wave_rows * pitch, rows_per_pass * pitch);
}

std::string GemmPlan::read_layout(const OperandPlan& x) const {
  return fmt::format("(({},{}),({},{},{})):(({},16),({},{},{}))", spec.mfma, groups, x.waves, x.repeats,
                     steps, pitch, x.wave_rows * pitch, spec.mfma * pitch, groups * 16);
}

std::string GemmPlan::lds_layout(const OperandPlan& x, const ChunkSwizzle& swizzle) const {
  return under(swizzle, fmt::format("({},{}):({},1)", x.tile_rows, pitch, pitch));
}

std::string GemmPlan::k_order(bool of_b) const {
  if (of_b &&
      spec.fault == GemmFault::k_order_of_b) // even values first: what a mistaken packing of B would do
    return fmt::format("(({},2),{},{},{}):((2,1),8,{},{})", values / 2, groups, mfmas_per_step, steps, values,
                       groups * 8);
  return fmt::format("({},{},{},{}):(1,8,{},{})", values, groups, mfmas_per_step, steps, values, groups * 8);
}

std::string GemmPlan::c_atom_layout() const {
  const int tm = spec.tile_m;
  return fmt::format("(({},{}),(4,{})):((1,{}),({},{}))", spec.mfma, groups, acc_values / 4, 4 * tm, tm,
                     4 * groups * tm);
}

std::string GemmPlan::c_layout() const {
  const int tm = spec.tile_m;
  return fmt::format("(({},{},{},{}),(4,{},{},{})):((1,{},{},{}),({},{},{},{}))", spec.mfma, groups,
                     spec.waves_m, spec.waves_n, acc_values / 4, a.repeats, b.repeats, 4 * tm, a.wave_rows,
                     b.wave_rows * tm, tm, 4 * groups * tm, spec.mfma, spec.mfma * tm);
}

ProofReport prove_gemm(const GemmPlan& p) {
  using namespace solver;
  ProofReport report("gemm", p.spec.where);
  for (const OperandPlan* x : p.through_lds()) {
    const std::string& name = x->name;
    const std::string lds = p.lds_layout(*x, p.write_swizzle), seen = p.lds_layout(*x, p.read_swizzle);
    const std::string writes = under(p.write_swizzle, p.write_layout(*x)),
                      reads = under(p.read_swizzle, p.read_layout(*x));
    report.require("the tile of " + name + " is loaded exactly once", p.copy_layout(*x),
                   prove_bijective(p.copy_layout(*x)));
    report.require("the LDS layout of " + name + " is a bijection", lds, prove_bijective(lds));
    report.require("LDS reads of " + name + " see what was written", lds + " = " + seen,
                   prove_equal(lds, seen));
    // One address of each access is 16 bytes: 16 divides the addresses, and addresses / 16 are the chunks of the tile.
    const std::string chunks_read =
        fmt::format("(({},{}),({},{},{})):(({},1),({},{},{}))", p.spec.mfma, p.groups, x->waves, x->repeats,
                    p.steps, p.chunks, x->wave_rows * p.chunks, p.spec.mfma * p.chunks, p.groups);
    report.require("the waves read every chunk of " + name + " exactly once", chunks_read,
                   prove_covers(chunks_read, std::to_string(x->tile_rows * p.chunks)));
    report.require("LDS writes of " + name + " are aligned to 16 bytes", writes, prove_aligned(writes, "16"));
    report.require("LDS reads of " + name + " are aligned to 16 bytes", reads, prove_aligned(reads, "16"));
    const std::string limit = std::to_string(x->tile_rows * p.pitch - 15);
    report.require("LDS writes of " + name + " stay inside its tile", writes, prove_within(writes, limit));
    report.require("LDS reads of " + name + " stay inside its tile", reads, prove_within(reads, limit));
    report.require("LDS writes of " + name + " have no bank conflict (ds_write_b128, " + p.spec.arch + ")",
                   writes, prove_conflict_free(writes, "ds_write_b128", p.spec.arch));
    report.require("LDS reads of " + name + " have no bank conflict (ds_read_b128, " + p.spec.arch + ")",
                   reads, prove_conflict_free(reads, "ds_read_b128", p.spec.arch));
  }
  if (p.spec.preshuffled_b) {
    // N = 16 x, K = 32 c. A lane's coordinates are row r, group g, value v of block (y, b).
    const std::string order = "((16,x),(8,4,c)):((8,512*c),(1,128,512))";
    report.require("the order of preshuffled B has a place for every element", order, prove_bijective(order));
    const std::string rows_of = "16*y + r", k_of_lane = "(32*b + 8*g + v)";
    const std::string place =
        fmt::format("(r,g,v,y,b) -> ({0})%16*8 + ({0})/16*(512*c) + {1}%8 + {1}/8%4*128 + {1}/32*512",
                    rows_of, k_of_lane);
    const std::string loaded = "(16,4,8,x,c):(8,128,1,512*c,512)";
    report.require("each lane loads the elements of B that its k and row stand for", loaded,
                   prove_equal(Subject(place, "(16,4,8,x,c)"), loaded));
    const std::string blocks = fmt::format("({},{},{}):(1,{},{})", p.spec.waves_n, p.b.repeats, p.steps,
                                           p.spec.waves_n, p.spec.waves_n * p.b.repeats);
    report.require("the waves along N share out the blocks of B", blocks, prove_bijective(blocks));
    report.require("loads of B are aligned to 16 bytes", "(64,x,c):(16,1024*c,1024)",
                   prove_aligned("(64,x,c):(16,1024*c,1024)", "16"));
    report.require("loads of B inside the matrix stay inside the descriptor", "(64,x,c):(16,1024*c,1024)",
                   prove_within("(64,x,c):(16,1024*c,1024)", "1024*x*c - 15"));
    report.at_launch("N % 16 == 0 and K % 32 == 0", "preshuffled B consists of whole blocks");
  }
  report.require("A and B are fed in the same order of k", p.k_order(false) + " = " + p.k_order(true),
                 prove_equal(p.k_order(false), p.k_order(true)));
  report.require("every k of a tile is fed exactly once", p.k_order(false),
                 prove_bijective(p.k_order(false)));
  // The instruction's rows are B's rows: its (row, column) is C's (n, m).
  const Int exchanged[] = {p.spec.tile_m, 1};
  const Layout result = codegen::offsets(p.atom->result_layout(), exchanged);
  report.require(fmt::format("accumulators lie where {} leaves them", p.atom->instruction),
                 p.c_atom_layout() + " = " + to_string(result), prove_equal(p.c_atom_layout(), result));
  // Which k a lane holds is the same for both operands of the instruction, so only the order of feeding matters.
  const Int k_of[] = {0, 1};
  const Layout held = codegen::offsets(p.atom->operand_layout(), k_of);
  report.require(
      fmt::format("a lane of {} holds {} adjacent k of its group", p.atom->instruction, p.values),
      to_string(held),
      prove_equal(held, fmt::format("(({},{}),{}):((0,{}),1)", p.spec.mfma, p.groups, p.values, p.values)));
  report.require("two stages fit into the LDS of " + p.spec.arch,
                 fmt::format("{} of {} bytes", p.lds_bytes, codegen::Target::named(p.spec.arch).lds_bytes),
                 prove_within(std::to_string(p.lds_bytes) + ":1",
                              std::to_string(codegen::Target::named(p.spec.arch).lds_bytes)));
  report.require("the tile of C is computed exactly once", p.c_layout(),
                 prove_covers(p.c_layout(), std::to_string(p.spec.tile_m * p.spec.tile_n)));
  report.require("and by no two lanes", p.c_layout(), prove_injective(p.c_layout()));

  // For all sizes. R rows of a tile are inside the matrix, K = 8 c.
  const std::string rows = "(R,c):(16*c,16)";
  report.require("global loads are aligned to 16 bytes", rows, prove_aligned(rows, "16"));
  report.require("loads inside the matrix stay inside the descriptor", rows + " < 16*R*c - 15",
                 prove_within(rows, "16*R*c - 15"));
  report.require("loads of rows beyond the matrix start at or after its end",
                 "16*R*c <= " + rows + " + 16*R*c", prove_within(rows, "16*R*c"));
  for (const auto& [symbol, tile] : {std::pair{"M", p.spec.tile_m}, std::pair{"N", p.spec.tile_n}}) {
    const std::string tile_of = fmt::format("i/{}", tile),
                      tiles = fmt::format("({}+{})/{}", symbol, tile - 1, tile);
    report.require(fmt::format("every index below {} is in a tile that is launched", symbol),
                   fmt::format("{} < {} for i < {}", tile_of, tiles, symbol),
                   prove_within(Subject(tile_of, symbol), tiles));
  }
  const std::string split = fmt::format("{0}*(K/{0}) + K%{0}", p.spec.tile_k);
  report.require("full tiles and the tail make up K", split,
                 prove_equal(Subject(split, "1"), Subject("K", "1")));

  report.at_launch("K % 8 == 0",
                   "rows of A and B start on 16 bytes, and a chunk is wholly inside or outside a row");
  report.at_launch(fmt::format("1 <= K <= {0} and 1 <= N <= {0}", max_row_elements),
                   "byte offsets inside a tile fit 31 bits");
  report.at_launch("M, N and the number of workgroups fit 31 bits", "the launch's own limits");
  return report;
}

LaunchPlan plan_gemm_launch(const GemmSpec& spec, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto need = [](bool holds, const std::string& what, const std::string& hint) {
    if (!holds) throw std::invalid_argument("gemm: " + what + "\n  hint   " + hint);
  };
  for (const auto& [name, value] : {std::pair{"M", m}, std::pair{"N", n}, std::pair{"K", k}})
    need(value >= 1, fmt::format("{} = {}", name, value), "sizes are at least 1");
  if (spec.preshuffled_b) {
    need(k % 32 == 0, fmt::format("K = {}: preshuffled B consists of blocks of 32 k", k),
         fmt::format("pad K to {} with zeros", (k + 31) / 32 * 32));
    need(n % 16 == 0, fmt::format("N = {}: preshuffled B consists of blocks of 16 rows", n),
         fmt::format("pad N to {} with zeros", (n + 15) / 16 * 16));
  }
  need(k % 8 == 0, fmt::format("K = {}: a row of A and B must be a multiple of 16 bytes", k),
       fmt::format("pad K to {} with zeros", (k + 7) / 8 * 8));
  need(k <= max_row_elements && n <= max_row_elements,
       fmt::format("N = {}, K = {}: a row is too long for 32-bit offsets", n, k),
       fmt::format("at most {} elements", max_row_elements));
  need(m <= INT32_MAX, fmt::format("M = {}", m), "at most 2^31 - 1 rows");
  LaunchPlan plan;
  plan.grid = {static_cast<std::uint32_t>((n + spec.tile_n - 1) / spec.tile_n),
               static_cast<std::uint32_t>((m + spec.tile_m - 1) / spec.tile_m), 1};
  need(plan.grid[1] <= 65535, fmt::format("M = {} makes {} rows of workgroups", m, plan.grid[1]),
       "at most 65535; raise tile_m");
  plan.block = {static_cast<std::uint32_t>(64 * spec.waves_m * spec.waves_n), 1, 1};
  for (int i = 0; i < 3; ++i) plan.arguments.push_back(LaunchArgument::of_buffer(i));
  for (std::int64_t size : {m, n, k})
    plan.arguments.push_back(LaunchArgument::of_i32(static_cast<std::int32_t>(size)));
  return plan;
}

} // namespace inlay::kernels
