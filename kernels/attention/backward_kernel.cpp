// The kernels of attention's backward pass on the command line.
#include "backward_data.h"

#include <fmt/format.h>

namespace inlay::kernels {
namespace {

void whole_groups(const std::string& kernel, const AttentionBackward& s) {
  if (s.heads % s.group != 0)
    throw std::invalid_argument(
        fmt::format("{}: --heads {} is no multiple of --group {}", kernel, s.heads, s.group));
}

std::vector<Option<AttentionBackward>> options(bool of_rows) {
  std::vector<Option<AttentionBackward>> all = {
      arch_option<AttentionBackward>(),
      {"dtype", ReadsBackward::element(&AttentionBackward::type, "f16, bf16"), "bf16", "element type"},
      {"head-dim", ReadsBackward::number(&AttentionBackward::head_dim, 1, 1024), "128",
       "elements of a head, 64 or 128"},
      {"batch", ReadsBackward::number(&AttentionBackward::batch, 1, 1 << 16), "1", "sequences"},
      {"queries", ReadsBackward::number(&AttentionBackward::queries, 1, 1 << 17), "200", "rows of Q"},
      {"heads", ReadsBackward::number(&AttentionBackward::heads, 1, 64), "2",
       "heads of Q, a multiple of the group"}};
  all.push_back({"group", ReadsBackward::number(&AttentionBackward::group, 1, 1024), "1",
                 "heads of Q that share one of K and V: 1, 2, 4, 8, 16 or 32"});
  if (!of_rows) return all;
  all.push_back(
      {"keys", ReadsBackward::number(&AttentionBackward::keys, 1, 1 << 16), "300", "rows of K and V"});
  all.push_back(
      {"causal", ReadsBackward::yes(&AttentionBackward::causal), "no", "row q sees columns 0 to q"});
  all.push_back({"tile", ReadsBackward::number(&AttentionBackward::tile, 1, 1024), "auto",
                 "rows of the result that a workgroup has, 16 or 32 for each of its waves", "64"});
  all.push_back({"step", ReadsBackward::number(&AttentionBackward::step, 1, 1024), "auto",
                 "rows that it goes through at a time, 32 or 64", "32"});
  all.push_back({"waves", ReadsBackward::number(&AttentionBackward::waves, 1, 16), "auto",
                 "waves of a workgroup: 1, 2 or 4", "4"});
  return all;
}

std::unique_ptr<Kernel> gradient(const std::string& name, const std::string& of, bool of_keys) {
  return page_of(Page<AttentionBackward>{
      .summary = "gradients of attention with respect to " + of +
                 ", from its logarithms and delta, the same bits in every launch",
      .options = {name, options(true)},
      .program = [=](const AttentionBackward& s) { return attention_backward_program(s, of_keys); },
      .sizes =
          [=](const AttentionBackward& s) {
            whole_groups(name, s);
            return of_keys ? std::vector{s.batch, s.queries * s.group, s.keys, s.heads / s.group}
                           : std::vector{s.batch, s.queries, s.keys, s.heads};
          },
      .size_names = {"batch", "queries", "keys", "heads"},
      .data = [=](const AttentionBackward& s, Workload& w,
                  std::uint64_t seed) { backward_data(s, of_keys, w, seed); },
      .reference = [=](const AttentionBackward& s, const Workload& w,
                       const Results&) { return backward_reference(s, of_keys, w); },
      .text =
          [=](const AttentionBackward& s) {
            return fmt::format(
                "gradients of {0} of attention, Q[{1},{2},{3},{4}], K, V[{1},{5},{6},{4}]{7}, {8}", of,
                s.batch, s.queries, s.heads, s.head_dim, s.keys, s.heads / s.group,
                s.causal ? ", causal" : "", to_string(s.type));
          },
      .candidates =
          [](const AttentionBackward&, const Flags& fixed) {
            std::vector<Flags> all;
            for (const int waves : {2, 4})
              for (const int each : {16, 32}) // rows of a wave
                add_candidate(all,
                              {{"waves", std::to_string(waves)},
                               {"tile", std::to_string(waves * each)},
                               {"step", each == 16 ? "64" : "32"}},
                              fixed);
            return all;
          },
      // A trip of a workgroup by its products, three or five, and what lies between them.
      .bound =
          [=](const AttentionBackward& s) {
            const std::int64_t own = of_keys ? s.keys : s.queries,
                               others = of_keys ? s.queries * s.group : s.keys,
                               heads = of_keys ? s.heads / s.group : s.heads;
            const double products = (of_keys ? 4.0 : 3.0) * s.tile * s.step * s.head_dim * 4 / s.waves /
                                    products_per_clock(s.arch, machine::Operand::f16);
            return rounds(s.arch, s.batch * heads * up(own, s.tile), 4 / s.waves) *
                   (4000 + static_cast<double>(up(others, s.step)) * (800 + products));
          }});
}

} // namespace

std::unique_ptr<Kernel> attention_backward_delta_kernel() {
  return page_of(Page<AttentionBackward>{
      .summary =
          "delta of attention's backward pass, the products of O and its gradient summed over each head",
      .options = {"attention_backward_delta", options(false)},
      .program = attention_delta_program,
      .sizes =
          [](const AttentionBackward& s) {
            whole_groups("attention_backward_delta", s);
            return std::vector{s.batch, s.queries, s.heads};
          },
      .size_names = {"batch", "queries", "heads"},
      .reference =
          [](const AttentionBackward& s, const Workload& w, const Results&) {
            const BackwardRows rows{s};
            const Doubles none(w.values("lse").size());
            Judged delta{"delta", none, none, "(D + 8) 2^-24 sum |do o|"},
                lse2{"lse2", none, none, "2 2^-24 |lse2|"};
            each_query(s, [&](std::int64_t b, std::int64_t q, std::int64_t h) {
              const std::int64_t row = rows.query(b, q, h);
              const auto [sum, size] = dot(w.values("do"), row, w.values("o"), row, s.head_dim);
              const std::size_t to = at((b * s.heads + h) * s.queries + q);
              delta.value[to] = sum, delta.bound[to] = (s.head_dim + 8) * u32 * size;
              lse2.value[to] = w.values("lse")[to] / std::log(2);
              lse2.bound[to] = 2 * u32 * std::abs(lse2.value[to]);
            });
            return std::vector{delta, lse2};
          },
      .text =
          [](const AttentionBackward& s) {
            return fmt::format("delta[{0},{2},{1}] of O[{0},{1},{2},{3}], {4}", s.batch, s.queries, s.heads,
                               s.head_dim, to_string(s.type));
          }});
}

std::unique_ptr<Kernel> attention_backward_dq_kernel() {
  return gradient("attention_backward_dq", "Q", false);
}
std::unique_ptr<Kernel> attention_backward_dkv_kernel() {
  return gradient("attention_backward_dkv", "K and V", true);
}

} // namespace inlay::kernels
