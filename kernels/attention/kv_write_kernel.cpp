// kv_write on the command line, its data and its judge.
#include "../page.h"
#include "kv_write.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

// Slots in any order, the first and the last among them; padding, and one that is past the cache.
void kv_write_data(const KvWrite& s, Workload& w, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> slots(static_cast<std::size_t>(s.slots)), positions, cos, sin;
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin() + 1, slots.end() - (s.slots > 1 ? 1 : 0), random);
  std::swap(slots.back(), slots[std::min<std::size_t>(2, slots.size() - 1)]);
  slots.resize(static_cast<std::size_t>(s.tokens), -1);
  if (s.tokens > 3) slots[1] = -1, slots[3] = static_cast<double>(s.slots);
  for (std::int64_t t = 0; t < s.tokens; ++t)
    positions.push_back(t == 0 ? static_cast<double>(s.rows - 1)
                               : static_cast<double>(random() % static_cast<std::uint64_t>(s.rows)));
  for (std::int64_t p = 0; p < s.rows; ++p)
    for (int i = 0; i < s.head_dim / 2; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10000, -2.0 * i / s.head_dim);
      cos.push_back(std::cos(angle)), sin.push_back(std::sin(angle));
    }
  random_inputs(w, seed, s.scaled() ? 4 : 1);
  w.set("slot_mapping", slots);
  if (s.rope) w.set("positions", positions), w.set("cos", cos), w.set("sin", sin);
  if (s.scaled()) w.set("scales", {0.05, 0.005}); // some values are past the largest of 8 bits
}

std::vector<Judged> kv_write_reference(const KvWrite& s, const Workload& w, const Results&) {
  const std::int64_t half = s.head_dim / 2, row = s.heads * s.head_dim;
  std::vector<Judged> out;
  for (const bool keys : {true, false}) {
    const std::string name = keys ? "k_cache" : "v_cache";
    Judged y{
        name,
        w.values(name),
        {},
        "4 2^-24 (|x cos| + |x' sin|) / scale + u |y|; 0 of what is copied, and where nothing is written"};
    y.bound.assign(y.value.size(), 0);
    const std::vector<double>& x = w.values(keys ? "k" : "v");
    const double scale = s.scaled() ? w.values("scales")[keys ? 0 : 1] : 1,
                 most = codegen::largest_finite(s.cache);
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const double slot = w.values("slot_mapping")[static_cast<std::size_t>(t)];
      const auto angle = [&](const char* of, std::int64_t i) {
        return w.values(of)[static_cast<std::size_t>(
            static_cast<std::int64_t>(w.values("positions")[static_cast<std::size_t>(t)]) * half + i)];
      };
      if (slot < 0 || slot >= static_cast<double>(s.slots)) continue;
      for (std::int64_t e = 0; e < row; ++e) {
        const std::int64_t i = e % half, is_high = e / half % 2;
        const auto at = [&](std::int64_t n) { return x[static_cast<std::size_t>(t * row + n)]; };
        double a = at(e), b = 0;
        const bool turned = keys && s.rope;
        if (turned) a *= angle("cos", i), b = (is_high ? at(e - half) : -at(e + half)) * angle("sin", i);
        const auto to = static_cast<std::size_t>(static_cast<std::int64_t>(slot) * row + e);
        const double open = 4 * u32 * (std::abs(a) + std::abs(b)) / scale, value = (a + b) / scale;
        y.value[to] = s.scaled() ? std::clamp(value, -most, most) : value;
        if (turned || s.scaled()) y.bound[to] = open + rounding(s.cache, std::abs(y.value[to]) + open);
      }
    }
    out.push_back(std::move(y));
  }
  return out;
}

} // namespace

std::unique_ptr<Kernel> kv_write_kernel() {
  using Read = Reads<KvWrite>;
  return page_of<KvWrite>(
      {.summary = "keys, turned by their position, and values of new tokens into the slots of a paged cache",
       .options =
           {"kv_write",
            {arch_option<KvWrite>(),
             {"dtype", Read::element(&KvWrite::type, "bf16, f16"), "bf16", "element type of K and V"},
             {"kv-dtype", Read::element(&KvWrite::cache, "bf16, f16, fp8"), "bf16",
              "of the caches; fp8: with a scale for K and one for V"},
             {"rope", Read::yes(&KvWrite::rope), "yes", "K is turned by the angles of its position"},
             {"tokens", Read::number(&KvWrite::tokens, 1, 1 << 22), "64", "tokens"},
             {"kv-heads", Read::number(&KvWrite::heads, 1, 256), "8", "heads of keys and values"},
             {"head-dim", Read::number(&KvWrite::head_dim, 1, 1 << 16), "128",
              "elements of a head: 32, 64, 128, 256 or 512"},
             {"slots", Read::number(&KvWrite::slots, 1, 1 << 30), "4096", "pages times slots of a page"},
             {"rows", Read::number(&KvWrite::rows, 1, 1 << 22), "8192", "rows of the tables of angles"},
             {"threads", Read::number(&KvWrite::threads, 1, 1024), "auto",
              "work-items of a workgroup: 64, 128 or 256", "64"}}},
       .program = kv_write_program,
       .sizes =
           [](const KvWrite& s) {
             return s.rope ? std::vector{s.tokens, s.heads, s.slots, s.rows}
                           : std::vector{s.tokens, s.heads, s.slots};
           },
       .size_names = {"tokens", "kv-heads", "slots", "rows"},
       .data = kv_write_data,
       .reference = kv_write_reference,
       .text =
           [](const KvWrite& s) {
             return fmt::format("{} tokens of {} heads of {}, {}, into {} slots of {}", s.tokens, s.heads,
                                s.head_dim, to_string(s.type), s.slots, to_string(s.cache));
           },
       .candidates =
           [](const KvWrite&, const Flags& fixed) {
             std::vector<Flags> all;
             for (const int threads : {64, 128, 256})
               add_candidate(all, {{"threads", std::to_string(threads)}}, fixed);
             return all;
           },
       .bound =
           [](const KvWrite& s) {
             const int tile = s.threads * s.vector_length(), resident = resident_by_waves(s.threads);
             return rounds(s.arch, s.tokens * up(s.heads, s.heads_of_workgroup()), resident) *
                    (2200.0 + resident * tile);
           }});
}

} // namespace inlay::kernels
