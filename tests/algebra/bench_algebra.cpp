// The workload of tests/golden/bench_workload.jsonl.gz (10,000 inputs an operation), read before the clock starts.
// Build with -DINLAY_BENCHMARKS=ON, target benchmarks; run bin/bench_algebra. Time is per operation.
#include <benchmark/benchmark.h>

#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

using namespace inlay;

namespace {

struct Item {
  Layout a;
  Layout b;
  Tile tile;
  Int n = 0;
  IntTuple coordinate;
};

IntTuple tuple(const nlohmann::json& j) {
  if (!j.is_array()) return Int(j.get<std::int64_t>());
  std::vector<IntTuple> parts;
  for (const auto& e : j) parts.push_back(tuple(e));
  return IntTuple::of(parts);
}

const std::vector<Item>& workload(const std::string& op) {
  static const std::map<std::string, std::vector<Item>> all = [] {
    std::map<std::string, std::vector<Item>> items;
    const std::string command =
        "gzip -dc '" + std::string(INLAY_TESTS_DIR) + "/golden/bench_workload.jsonl.gz'";
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run gzip");
    std::string line;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      const auto j = nlohmann::json::parse(line);
      line.clear();
      const auto& args = j["args"];
      Item item;
      const std::string name = j["op"];
      if (name == "crd2idx") {
        item.coordinate = tuple(args[0]);
        item.a = parse_layout(args[1].get<std::string>());
      } else {
        item.a = parse_layout(args[0].get<std::string>());
        if (name == "complement") item.n = Int(args[1].get<std::int64_t>());
        if (name == "composition" || name == "logical_divide") {
          item.b = parse_layout(args[1].get<std::string>());
          item.tile = Tile(item.b);
        }
      }
      items[name].push_back(item);
    }
    pclose(pipe);
    return items;
  }();
  return all.at(op);
}

template <class F>
void run(benchmark::State& state, const char* op, const F& f) {
  const std::vector<Item>& items = workload(op);
  for (auto _ : state)
    for (const Item& item : items) benchmark::DoNotOptimize(f(item));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * items.size()));
}

void composition_10k(benchmark::State& s) {
  run(s, "composition", [](const Item& i) { return composition(i.a, i.b); });
}
void complement_10k(benchmark::State& s) {
  run(s, "complement", [](const Item& i) { return complement(i.a, i.n); });
}
void logical_divide_10k(benchmark::State& s) {
  run(s, "logical_divide", [](const Item& i) { return logical_divide(i.a, i.tile); });
}
void crd2idx_10k(benchmark::State& s) {
  run(s, "crd2idx", [](const Item& i) { return i.a(i.coordinate); });
}
void coalesce_10k(benchmark::State& s) {
  run(s, "coalesce", [](const Item& i) { return coalesce(i.a); });
}
void sym_composition(benchmark::State& s) {
  SymContext ctx;
  const SymLayout a = parse_sym_layout(ctx, "((128,m),(64,k)):((1,8192*k),(128,128*64*m))");
  const SymLayout b = parse_sym_layout(ctx, "(32,4):(1,32)");
  for (auto _ : s) benchmark::DoNotOptimize(composition(a, b));
}
void sym_logical_divide(benchmark::State& s) {
  SymContext ctx;
  const SymLayout a = parse_sym_layout(ctx, "(128*m,64*k):(64*k,1)");
  const SymTile tile = SymTile::by_mode({SymTile(Sym(128)), SymTile(Sym(64))});
  for (auto _ : s) benchmark::DoNotOptimize(logical_divide(a, tile));
}

BENCHMARK(composition_10k);
BENCHMARK(complement_10k);
BENCHMARK(logical_divide_10k);
BENCHMARK(crd2idx_10k);
BENCHMARK(coalesce_10k);
BENCHMARK(sym_composition);
BENCHMARK(sym_logical_divide);

} // namespace

BENCHMARK_MAIN();
