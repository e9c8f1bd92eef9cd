// What the stages of the gated delta rule in chunks have in common.
#include "../places.h"
#include "gated_delta_page.h"

namespace inlay::kernels {

using Asked = GatedDeltaChunk;

void check_chunk(const std::string& kernel, const Asked& s) {
  const Refusal refuse{kernel};
  if (s.type != Element::bf16 && s.type != Element::f16)
    refuse(fmt::format("--dtype {}", to_string(s.type)), "bf16 or f16; gates, sums and states are f32");
  if (s.key != 64 && s.key != 128) refuse(fmt::format("--key {}", s.key), "64 or 128");
  if (s.value != 64 && s.value != 128) refuse(fmt::format("--value {}", s.value), "64 or 128");
  if (s.wide() != 16 && s.wide() != 32 && s.wide() != 64)
    refuse(fmt::format("--columns {}", s.columns), "16, 32 or 64, a wave for each 16");
}

DeltaSizes DeltaSizes::of(Program& k, int group, int chunks) {
  DeltaSizes s;
  // Several chunks of a launch lie within 2 GiB of one another.
  const bool near = chunks > 1;
  s.batch = k.size("batch", {.most = near ? 32 : 1 << 12});
  if (chunks == 0)
    s.tokens = k.size("tokens", {.most = 1 << 20}), s.chunks = ceil_div(s.tokens, Sym(delta_chunk));
  s.heads = k.size("heads", {.most = near ? 128 : 1 << 10, .multiple = group});
  return s;
}

SymLayout by_blocks(Sym chunks, Sym batch, Sym heads) {
  const Sym all(delta_chunk * delta_chunk), n(delta_block), count(delta_chunk / delta_block);
  return by_strides({{chunks, batch * heads * all},
                     {batch, heads * all},
                     {heads, all},
                     {{n, n}, {count, count * n * n}},
                     {{n, Sym(1)}, {count, n * n}}});
}

std::vector<Option<Asked>> chunk_options(const std::vector<std::string>& names) {
  using Read = Reads<Asked>;
  const std::vector<Option<Asked>> all{
      arch_option<Asked>(),
      {"dtype", Read::element(&Asked::type, "bf16, f16"), "bf16", "element type of Q, K, V and O"},
      {"batch", Read::number(&Asked::batch, 1, 1 << 12), "2", "sequences"},
      {"tokens", Read::number(&Asked::tokens, 1, 1 << 20), "150", "tokens of a sequence, in chunks of 64"},
      {"heads", Read::number(&Asked::heads, 1, 1 << 10), "4", "heads of V, a multiple of the group"},
      {"group", Read::number(&Asked::group, 1, 64), "2", "heads of V that share one of Q and K"},
      {"key", Read::number(&Asked::key, 1, 1024), "128", "elements of a key: 64 or 128"},
      {"value", Read::number(&Asked::value, 1, 1024), "128", "elements of a value: 64 or 128"},
      {"normalise", Read::yes(&Asked::normalise), "yes", "q and k are divided by their length"},
      {"chunks", Read::number(&Asked::chunks_of_launch, 1, 8), "4",
       "chunks of a launch, one after the other"},
      {"columns", Read::number(&Asked::columns, 0, 1024), "auto",
       "values of a workgroup: 16, 32 or 64; 0: by the device's units", "0"}};
  std::vector<Option<Asked>> out;
  for (const Option<Asked>& o : all)
    if (o.name == "arch" || std::find(names.begin(), names.end(), o.name) != names.end()) out.push_back(o);
  return out;
}

std::vector<double> falling_gates(std::int64_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < delta_chunk; ++i) sum += std::min(0.0, 0.2 * uniform(random)), out.push_back(sum);
  }
  return out;
}

Page<Asked> chunk_page(const std::string& name, const std::string& summary,
                       const std::vector<std::string>& options, Program (*program)(const Asked&),
                       const std::function<std::string(const Asked&)>& text) {
  const auto has = [options](const std::string& o) {
    return std::find(options.begin(), options.end(), o) != options.end();
  };
  Page<Asked> page{
      .summary = summary, .options = {name, chunk_options(options)}, .program = program, .sizes = {}};
  for (const char* size : {"batch", "tokens", "heads"})
    if (has(size)) page.size_names.emplace_back(size);
  page.sizes = [=](const Asked& s) {
    if (has("group") && s.heads % s.group != 0)
      throw std::invalid_argument(
          fmt::format("{}: --heads {} is no multiple of --group {}", name, s.heads, s.group));
    return has("tokens") ? std::vector{s.batch, s.tokens, s.heads} : std::vector{s.batch, s.heads};
  };
  page.text = text;
  if (has("columns"))
    page.candidates = [](const Asked&, const Flags& fixed) {
      std::vector<Flags> all;
      for (const char* columns : {"16", "32", "64"}) add_candidate(all, {{"columns", columns}}, fixed);
      return all;
    };
  return page;
}

} // namespace inlay::kernels
