/// Five operations of the algebra beside CUTLASS's `cutegen`, on the same inputs in the same process.
///
/// The workload is tests/golden/bench_workload.jsonl.gz: 10,000 admissible inputs each of composition,
/// complement, logical_divide, crd2idx and coalesce, rank up to 4 and depth up to 2. Before anything is timed
/// both libraries compute every input, and the results are compared as functions; an input that either
/// refuses is left out of both runs and counted in the table. One iteration is one pass over the inputs,
/// operands prepared beforehand, results kept alive. After the runs a table gives nanoseconds per operation
/// (the median of the repetitions) and the ratio.
///
///     cmake --preset release -DINLAY_CUTLASS_DIR=/path/to/cutlass
///     cmake --build --preset release --target bench_algebra_peers
///     build/release/bin/bench_algebra_peers --benchmark_repetitions=7
///
/// Without INLAY_CUTLASS_DIR only inlay runs.
#include <inlay/algebra/ops/coalesce.h>
#include <inlay/algebra/ops/complement.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/ops/divide.h>
#include <inlay/algebra/parse.h>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#ifdef INLAY_WITH_CUTEGEN
#include <cutegen/cutegen_base_dynamic.hpp>
#endif

namespace {

using inlay::Int;
using inlay::IntTuple;
using inlay::Layout;

/// The lines of a gzip file.
std::vector<std::string> read_lines(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> lines(1);
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file.get(), buffer, sizeof buffer)) > 0;)
    for (int i = 0; i < n; ++i) {
      if (buffer[i] == '\n')
        lines.emplace_back();
      else
        lines.back().push_back(buffer[i]);
    }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// `[1,[2,3]]` as the text `(1,(2,3))`.
std::string tuple_text(const nlohmann::json& value) {
  if (!value.is_array()) return value.dump();
  std::string text = "(";
  for (const auto& entry : value) text += (text.size() > 1 ? "," : "") + tuple_text(entry);
  return text + ")";
}

/// One input of the workload: the layout first, then what the operation takes besides.
struct Input {
  std::string layout;
  std::string other; // a layout, a number, a coordinate or nothing
};

std::map<std::string, std::vector<Input>> read_workload(const std::string& path) {
  std::map<std::string, std::vector<Input>> inputs;
  for (const std::string& line : read_lines(path)) {
    const auto object = nlohmann::json::parse(line);
    const std::string op = object.at("op");
    const auto& args = object.at("args");
    if (op == "crd2idx") {
      inputs[op].push_back({args.at(1), tuple_text(args.at(0))});
    } else {
      const std::string other =
          args.size() < 2 ? "" : (args.at(1).is_string() ? args.at(1).get<std::string>() : args.at(1).dump());
      inputs[op].push_back({args.at(0), other});
    }
  }
  return inputs;
}

/// The values of a result at up to 64 indices, which is how results are compared; a number is its own value.
using Values = std::vector<std::int64_t>;
constexpr std::int64_t compared = 64;

/// One operation of one library over prepared operands.
struct Run {
  std::function<std::optional<Values>(std::size_t)> values; // nothing where the library refuses
  std::function<void(const std::vector<std::size_t>&)> pass;
};

// ---- inlay
// ----------------------------------------------------------------------------------------------------------

struct OurOperands {
  std::vector<Layout> layouts, others;
  std::vector<inlay::Tile> tiles;
  std::vector<Int> numbers;
  std::vector<IntTuple> coordinates;
};

Values values_of(const Layout& layout) {
  Values values{layout.size().value()};
  for (std::int64_t i = 0; i < std::min(compared, values[0]); ++i) values.push_back(layout(i).value());
  return values;
}
Values values_of(Int value) { return {value.value()}; }

template <class Operation>
Run our_run(Operation operation) {
  return {[=](std::size_t i) -> std::optional<Values> {
            try {
              return values_of(operation(i));
            } catch (const inlay::LayoutError&) {
              return std::nullopt;
            }
          },
          [=](const std::vector<std::size_t>& which) {
            for (const std::size_t i : which) {
              auto result = operation(i);
              benchmark::DoNotOptimize(result);
            }
          }};
}

Run our_run(const std::string& op, const std::vector<Input>& inputs) {
  auto o = std::make_shared<OurOperands>();
  for (const Input& input : inputs) {
    o->layouts.push_back(inlay::parse_layout(input.layout));
    if (op == "composition") o->others.push_back(inlay::parse_layout(input.other));
    if (op == "logical_divide") o->tiles.emplace_back(inlay::parse_layout(input.other));
    if (op == "complement") o->numbers.push_back(inlay::parse_int(input.other));
    if (op == "crd2idx") o->coordinates.push_back(inlay::parse_int_tuple(input.other));
  }
  if (op == "composition")
    return our_run([o](std::size_t i) { return inlay::composition(o->layouts[i], o->others[i]); });
  if (op == "complement")
    return our_run([o](std::size_t i) { return inlay::complement(o->layouts[i], o->numbers[i]); });
  if (op == "logical_divide")
    return our_run([o](std::size_t i) { return inlay::logical_divide(o->layouts[i], o->tiles[i]); });
  if (op == "crd2idx") return our_run([o](std::size_t i) { return o->layouts[i](o->coordinates[i]); });
  return our_run([o](std::size_t i) { return inlay::coalesce(o->layouts[i]); });
}

// ---- cutegen
// --------------------------------------------------------------------------------------------------------

#ifdef INLAY_WITH_CUTEGEN
namespace cg = cutegen;

struct TheirOperands {
  std::vector<cg::layout> layouts, others;
  std::vector<std::int64_t> numbers;
  std::vector<cg::coord> coordinates;
};

/// Compared through their text: cutegen evaluates a layout to a tuple that holds a number.
Values values_of(const cg::layout& layout) { return values_of(inlay::parse_layout(cg::to_string(layout))); }
Values values_of(const cg::int_tuple& value) { return values_of(inlay::parse_int(cg::to_string(value))); }

template <class T>
T read(const std::string& text) {
  auto value = cg::from_string<T>(text);
  if (!value) throw std::runtime_error("cutegen cannot read " + text);
  return std::move(*value);
}

template <class Operation>
Run their_run(Operation operation) {
  return {[=](std::size_t i) -> std::optional<Values> {
            try {
              return values_of(operation(i));
            } catch (const std::exception&) {
              return std::nullopt;
            }
          },
          [=](const std::vector<std::size_t>& which) {
            for (const std::size_t i : which) {
              auto result = operation(i);
              benchmark::DoNotOptimize(result);
            }
          }};
}

Run their_run(const std::string& op, const std::vector<Input>& inputs) {
  auto o = std::make_shared<TheirOperands>();
  for (const Input& input : inputs) {
    o->layouts.push_back(read<cg::layout>(input.layout));
    if (op == "composition" || op == "logical_divide") o->others.push_back(read<cg::layout>(input.other));
    if (op == "complement") o->numbers.push_back(std::stoll(input.other));
    if (op == "crd2idx") o->coordinates.push_back(read<cg::coord>(input.other));
  }
  if (op == "composition")
    return their_run([o](std::size_t i) { return cg::composition(o->layouts[i], o->others[i]); });
  if (op == "complement")
    return their_run([o](std::size_t i) { return cg::complement(o->layouts[i], o->numbers[i]); });
  if (op == "logical_divide")
    return their_run([o](std::size_t i) { return cg::logical_divide(o->layouts[i], o->others[i]); });
  if (op == "crd2idx")
    return their_run([o](std::size_t i) -> cg::int_tuple { return o->layouts[i](o->coordinates[i]); });
  return their_run([o](std::size_t i) { return cg::coalesce(o->layouts[i]); });
}
#endif

// ---- the table
// ------------------------------------------------------------------------------------------------------

/// Prints as usual and keeps the time per item of every repetition.
class Keeper : public benchmark::ConsoleReporter {
public:
  std::map<std::string, std::vector<double>> nanoseconds; // "composition/inlay"
  std::map<std::string, std::size_t> items;

  using RT = benchmark::BenchmarkReporter::Run;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    for (const auto& run : runs) {
      // Every repetition, or only their median under --benchmark_report_aggregates_only.
      const bool wanted = run.run_type == RT::RT_Iteration || run.aggregate_name == "median";
      if (!wanted || run.error_occurred) continue;
      const std::string& name = run.run_name.function_name;
      nanoseconds[name].push_back(run.GetAdjustedCPUTime() / static_cast<double>(items[name]));
    }
    ConsoleReporter::ReportRuns(runs);
  }
  [[nodiscard]] double median(const std::string& name) const {
    const auto found = nanoseconds.find(name);
    if (found == nanoseconds.end()) return 0;
    std::vector<double> all = found->second;
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }
};

void time(Keeper& keeper, const std::string& name, const Run& run, const std::vector<std::size_t>& which) {
  keeper.items[name] = which.size();
  benchmark::RegisterBenchmark(name.c_str(), [run, which](benchmark::State& state) {
    for (auto _ : state) run.pass(which);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * which.size()));
  });
}

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto workload = read_workload(INLAY_TESTS_DIR "/golden/bench_workload.jsonl.gz");
  Keeper keeper;
  for (const auto& [op, inputs] : workload) {
    const Run ours = our_run(op, inputs);
    std::vector<std::size_t> both;
    std::size_t refused_here = 0;
#ifdef INLAY_WITH_CUTEGEN
    const Run theirs = their_run(op, inputs);
    std::size_t different = 0, refused_there = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto a = ours.values(i), b = theirs.values(i);
      refused_here += !a;
      refused_there += !b;
      if (!a || !b) continue;
      if (*a == *b) {
        both.push_back(i);
      } else if (different++ == 0) {
        std::printf("%s differs at %s, %s\n", op.c_str(), inputs[i].layout.c_str(), inputs[i].other.c_str());
      }
    }
    std::printf("%-15s %zu inputs timed, %zu refused by inlay, %zu refused by cutegen, %zu results differ\n",
                op.c_str(), both.size(), refused_here, refused_there, different);
    time(keeper, op + "/cutegen", theirs, both);
#else
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (ours.values(i))
        both.push_back(i);
      else
        ++refused_here;
    }
    std::printf("%-15s %zu inputs timed, %zu refused by inlay\n", op.c_str(), both.size(), refused_here);
#endif
    time(keeper, op + "/inlay", ours, both);
  }
  benchmark::RunSpecifiedBenchmarks(&keeper);

  std::printf("\n%-15s %12s %12s %8s\n", "operation", "inlay ns", "cutegen ns", "ratio");
  for (const auto& [op, inputs] : workload) {
    const double ours = keeper.median(op + "/inlay"), theirs = keeper.median(op + "/cutegen");
    if (theirs > 0 && ours > 0)
      std::printf("%-15s %12.1f %12.1f %7.1fx\n", op.c_str(), ours, theirs, theirs / ours);
    else
      std::printf("%-15s %12.1f %12s %8s\n", op.c_str(), ours, "-", "-");
  }
}
