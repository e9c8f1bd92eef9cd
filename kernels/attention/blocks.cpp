// row[s,j,x] = cu_seqlens_q[s] + tile j + x, and so on (Blocks): the tables of `varlen_attention`, which each block of slots finds out by itself.
#include "../page.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

/// Of sequences whose queries are rows cu_seqlens_q[s] to cu_seqlens_q[s + 1] of q, and whose keys are cu_seqlens_k[s] to cu_seqlens_k[s + 1] of k,
/// blocks of `tile` slots, as many as the longest sequence has. With n queries, m keys and i = tile j + x,
///
///     row[s,j,x]      = cu_seqlens_q[s] + i where i < n, else -1
///     position[s,j,x] = causal: m - n + min(i, n - 1), else m - 1;   less before(s,j)
///     ends[s,j]       = where tile j < n: causal: max(0, m - n + min(tile (j + 1), n)), else m; less before(s,j), else 0
///     table[s,j,p]    = cu_seqlens_k[s] + before(s,j) + p where that is a key of s, else -1; paged: block_table[s,p]
///
/// before(s,j) = max(0, m - n + tile j - window + 1) with a window, where keys are not paged: the first key that a row of the block sees; else 0.
struct Blocks {
  std::string arch{codegen::usual_target};
  int tile = 64, window = 0;
  bool causal = true, paged = false;
  std::int64_t sequences = 5, blocks = 3, pages = 256;
};

struct Sequence {
  Expr start, queries, first_key, keys;
};

// [attention_blocks]
Program attention_blocks_program(const Blocks& s) {
  const int tile = s.tile, threads = 64;
  const Refusal refuse{"attention_blocks"};
  if (tile != 64 && tile != 128)
    refuse(fmt::format("--tile {}", tile), "64 or 128, the --tile-q of varlen_attention");
  if (s.window > 0 && !s.causal)
    refuse("--window with --causal no", "--causal yes: a window ends at a row's own position");
  Program k("attention_blocks", Target::named(s.arch), threads);
  const Sym S = k.size("sequences", {.most = 1 << 16}), J = k.size("blocks", {.most = 1 << 16}),
            P = k.size("pages", {.most = 1 << 22});
  const Tensor row = k.output("row", Element::i32, {S, J, tile}),
               position = k.output("position", Element::i32, {S, J, tile}),
               ends = k.output("ends", Element::i32, {S, J}),
               table = k.output("table", Element::i32, {S, J, P}),
               starts = k.input("cu_seqlens_q", Element::i32, {S + Sym(1)}),
               key_starts = k.input("cu_seqlens_k", Element::i32, {S + Sym(1)});
  std::optional<Tensor> pages;
  if (s.paged) pages = k.input("block_table", Element::i32, {S, P});
  const auto index = [&](Sym i) { return integer(k.number(i)); };
  const auto least = [](Expr a, Expr b) { return choose(less_signed(a, b), a, b); };
  const auto positive = [&](Expr a) { return choose(less_signed(a, k.integer(0)), k.integer(0), a); };
  const auto sequence = [&](const Exprs& x) { // of starts and ends of queries and keys
    const Expr start = integer(x[0]), first_key = integer(x[2]);
    return Sequence{start, integer(x[1]) - start, first_key, integer(x[3]) - first_key};
  };
  const auto before = [&](Sym j, const Sequence& q) {
    return s.window == 0 || s.paged
               ? k.integer(0)
               : positive(q.keys - q.queries + index(Sym(tile) * j) - k.integer(s.window - 1));
  };
  const auto row_of = [&](Sym i, const Sequence& q) {
    return choose(less_signed(index(i), q.queries), q.start + index(i), k.integer(-1));
  };
  const auto position_of = [&](Sym j, Sym i, const Sequence& q) {
    const Expr at =
        s.causal ? q.keys - q.queries + least(index(i), q.queries - k.integer(1)) : q.keys - k.integer(1);
    return at - before(j, q);
  };
  const auto ends_of = [&](Sym j, const Sequence& q) {
    const Expr last = least(index(Sym(tile) * j + Sym(tile)), q.queries),
               seen = s.causal ? positive(q.keys - q.queries + last) : q.keys;
    return choose(less_signed(index(Sym(tile) * j), q.queries), positive(seen - before(j, q)), k.integer(0));
  };
  const auto key_of = [&](Sym j, Sym p, const Sequence& q) {
    const Expr at = before(j, q) + index(p);
    return choose(less_signed(at, q.keys), q.first_key + at, k.integer(-1));
  };
  const auto said = [&](Sym c) {
    return sequence(
        {k(starts, {c}), k(starts, {c + Sym(1)}), k(key_starts, {c}), k(key_starts, {c + Sym(1)})});
  };
  k.computes(row, [&](const auto& c) { return row_of(Sym(tile) * c[1] + c[2], said(c[0])); });
  k.computes(position, [&](const auto& c) { return position_of(c[1], Sym(tile) * c[1] + c[2], said(c[0])); });
  k.computes(ends, [&](const auto& c) { return ends_of(c[1], said(c[0])); });
  k.computes(table, [&](const auto& c) {
    return s.paged ? k(*pages, {c[0], c[2]}) : key_of(c[1], c[2], said(c[0]));
  });

  const Sym j = k.workgroups(0, J, 1), seq = k.workgroups(1, S, 1);
  const Layout slots = codegen::line_tv(tile, 1, threads), one = codegen::without_axis(slots, 0),
               line = codegen::line_tv(threads, 1, threads);
  std::vector<Fragment> of;
  for (const Tensor& x : {starts, key_starts})
    for (const Sym& at : {seq, seq + Sym(1)}) of.push_back(k.load(k.tile(x, {1}, {at}), one, 1));
  const auto each = [&](const Layout& tv, int n, const std::function<Expr(const Sequence&)>& what) {
    std::vector<Fragment> with = {k.zeros(Element::f32, tv, {n})};
    with.insert(with.end(), of.begin(), of.end());
    return k.map(
        with,
        [&](const Exprs& x) {
          return what(sequence({x.begin() + 1, x.end()}));
        },
        Element::i32);
  };
  const Sym slot = Sym(tile) * j + k.position(0);
  const auto put = [&](const Tensor& to, const std::function<Expr(const Sequence&)>& what) {
    k.store(each(slots, tile, what), k.tile(to, {1, 1, tile}, {seq, j, 0}).keep({2}), 1);
  };
  k.loop(P, threads, {.distance = 0, .ring = 1}, [&](Sym t) {
    k.store(s.paged ? k.load(k.tile(*pages, {1, threads}, {seq, t}).keep({1}), line, 1)
                    : each(line, threads,
                           [&](const Sequence& q) { return key_of(j, threads * t + k.position(0), q); }),
            k.tile(table, {1, 1, threads}, {seq, j, t}).keep({2}), 1);
  });
  put(row, [&](const Sequence& q) { return row_of(slot, q); });
  put(position, [&](const Sequence& q) { return position_of(j, slot, q); });
  k.store(k.map(
              of, [&](const Exprs& x) { return ends_of(j, sequence(x)); }, Element::i32),
          k.tile(ends, {1, 1}, {seq, j}).keep({1}), 1);
  return k;
}
// [attention_blocks end]

// A sequence without queries, one without keys, one of fewer keys than queries, one that has all.
void blocks_data(const Blocks& s, Workload& w, std::uint64_t seed) {
  random_inputs(w, seed);
  std::mt19937_64 random(seed);
  std::vector<double> q = {0}, k = {0}, table;
  for (std::int64_t i = 0; i < s.sequences; ++i) {
    const auto up_to = [&](std::int64_t n) { return static_cast<double>(below(random, n + 1)); };
    q.push_back(q.back() + (i == 1   ? 0
                            : i == 3 ? static_cast<double>(s.blocks * s.tile)
                                     : up_to(s.blocks * s.tile)));
    k.push_back(k.back() + (i == 2   ? 0
                            : i == 3 ? 3
                            : i == 4 ? static_cast<double>(s.pages)
                                     : up_to(s.pages)));
  }
  for (std::int64_t i = 0; i < s.sequences * s.pages; ++i)
    table.push_back(static_cast<double>(random() % 1000) - 1);
  w.set("cu_seqlens_q", q), w.set("cu_seqlens_k", k);
  if (s.paged) w.set("block_table", table);
}

std::vector<Judged> blocks_reference(const Blocks& s, const Workload& w, const Results&) {
  std::vector<double> row, position, ends, table;
  const std::vector<double>&q = w.values("cu_seqlens_q"), &k = w.values("cu_seqlens_k");
  for (std::size_t i = 0; i + 1 < q.size(); ++i)
    for (std::int64_t j = 0; j < s.blocks; ++j) {
      const auto n = static_cast<std::int64_t>(q[i + 1] - q[i]),
                 m = static_cast<std::int64_t>(k[i + 1] - k[i]), first = j * s.tile;
      const std::int64_t before =
          s.window > 0 && !s.paged ? std::max<std::int64_t>(0, m - n + first - s.window + 1) : 0;
      for (std::int64_t x = first; x < first + s.tile; ++x) {
        row.push_back(x < n ? q[i] + static_cast<double>(x) : -1);
        position.push_back(static_cast<double>((s.causal ? m - n + std::min(x, n - 1) : m - 1) - before));
      }
      const std::int64_t seen = s.causal ? std::max<std::int64_t>(0, m - n + std::min(first + s.tile, n)) : m;
      ends.push_back(first < n ? static_cast<double>(std::max<std::int64_t>(0, seen - before)) : 0);
      for (std::int64_t p = 0; p < s.pages; ++p)
        table.push_back(s.paged          ? w.values("block_table")[i * at(s.pages) + at(p)]
                        : before + p < m ? k[i] + static_cast<double>(before + p)
                                         : -1);
    }
  return {exactly("row", row), exactly("position", position), exactly("ends", ends), exactly("table", table)};
}

} // namespace

std::unique_ptr<Kernel> attention_blocks_kernel() {
  using Read = Reads<Blocks>;
  return page_of(Page<Blocks>{
      .summary = "the tables of varlen_attention from cu_seqlens: rows, positions and keys of each block",
      .options =
          {"attention_blocks",
           {arch_option<Blocks>(),
            {"causal", Read::yes(&Blocks::causal), "yes",
             "a query sees up to its own position, the last one that of the last key; no: all keys"},
            {"window", Read::number(&Blocks::window, 0, 1 << 22), "0",
             "as of varlen_attention: a block's tables begin where its first row begins to see; 0: all"},
            {"paged", Read::yes(&Blocks::paged), "no",
             "yes: keys in pages that block_table[s,p] names; no: one after the other, pages of 1"},
            {"tile", Read::number(&Blocks::tile, 1, 1024), "64",
             "slots of a block, 64 or 128: the --tile-q of varlen_attention"},
            {"sequences", Read::number(&Blocks::sequences, 1, 1 << 16), "5", "sequences"},
            {"blocks", Read::number(&Blocks::blocks, 1, 1 << 16), "3",
             "of the queries of the longest sequence"},
            {"pages", Read::number(&Blocks::pages, 1, 1 << 22), "256",
             "of a row of the table: the longest sequence has no more"}}},
      .program = attention_blocks_program,
      .sizes = members(&Blocks::sequences, &Blocks::blocks, &Blocks::pages),
      .size_names = {"sequences", "blocks", "pages"},
      .data = blocks_data,
      .reference = blocks_reference,
      .text = [](const Blocks& s) {
        return fmt::format("tables of {} blocks of {} slots for each of {} sequences, {} pages each",
                           s.blocks, s.tile, s.sequences, s.pages);
      }});
}

} // namespace inlay::kernels
