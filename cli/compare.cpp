// `inlay compare`: two kernels side by side, and the regression gate.
#include "code_object_input.h"
#include "isa_json.h"
#include "launch_input.h"
#include "time_kernel.h"

#include <fmt/format.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/timing/compare.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <tuple>

namespace inlay::cli {
namespace {

namespace isa = runtime::isa;

struct Options {
  std::string candidate, anchor, kernel, anchor_kernel, arch;
  double tolerance = 0.02;
  std::optional<unsigned> lds, anchor_lds;
  bool json = false, gate = false, brief = false, time = false;
  std::string grid = "1", block, anchor_grid, anchor_block;
  std::vector<std::string> arguments, anchor_arguments;
  TimeOptions timing;
};

/// Both launches modelled. What is not said of the anchor is as for the candidate.
struct Times {
  TimeResult candidate, anchor;
  [[nodiscard]] double ratio() const { return candidate.chip.clocks / anchor.chip.clocks; }
};

TimeResult time_one(const Options& o, const runtime::CodeObject& object, const isa::KernelReport& report,
                    const std::string& grid, const std::string& block,
                    const std::vector<std::string>& arguments, unsigned lds) {
  const runtime::Kernel& kernel = object.kernel(report.name);
  runtime::LaunchGeometry g;
  g.grid = parse_extent("--grid", grid);
  g.block = block.empty() ? block_of(kernel).extent : parse_extent("--block", block);
  g.dynamic_lds = lds;
  runtime::check_geometry(kernel, g, static_cast<unsigned>(machine::target(report.arch).lds_bytes));
  std::vector<ArgumentSpec> specs;
  for (const auto& text : arguments) specs.push_back(parse_argument(text));
  return time_code_object(o.timing, object, report.arch, kernel, g, specs);
}

std::string times_text(const Times& t) {
  namespace timing = runtime::timing;
  const auto row = [](const std::string& what, const std::string& a, const std::string& b) {
    return fmt::format("  {:<26}{:>16}{:>16}\n", what, a, b);
  };
  const auto& a = t.candidate;
  const auto& b = t.anchor;
  std::string out = "\n" + row("modelled", "candidate", "anchor");
  out +=
      row("clocks of the launch", fmt::format("{:.0f}", a.chip.clocks), fmt::format("{:.0f}", b.chip.clocks));
  const auto* ha = a.report.hot();
  const auto* hb = b.report.hot();
  if (ha != nullptr && hb != nullptr) {
    out += row("trips of the hot loop", fmt::format("{:.0f}", ha->trips), fmt::format("{:.0f}", hb->trips));
    out += row("clocks a trip", fmt::format("{:.0f}", ha->clocks_per_trip),
               fmt::format("{:.0f}", hb->clocks_per_trip));
    out += row("matrix pipe in use", fmt::format("{:.1f} %", 100 * ha->efficiency()),
               fmt::format("{:.1f} %", 100 * hb->efficiency()));
    out += "  of the clocks of the hot loop\n";
    const double sa = ha->clocks_per_trip, sb = hb->clocks_per_trip;
    for (std::size_t c = 0; c < timing::causes; ++c)
      if (ha->spent[c] > 0.002 * sa || hb->spent[c] > 0.002 * sb)
        out += row("  " + std::string(timing::to_string(static_cast<timing::Cause>(c))),
                   fmt::format("{:.1f} %", 100 * ha->spent[c] / sa),
                   fmt::format("{:.1f} %", 100 * hb->spent[c] / sb));
  }
  if (!a.report.bottlenecks.empty())
    out += row("bottleneck", std::string(timing::to_string(a.report.bottleneck())),
               std::string(timing::to_string(b.report.bottleneck())));
  out += fmt::format("  the candidate takes {:.3f} of the anchor's clocks\n", t.ratio());
  return out;
}

nlohmann::ordered_json comparison_json(const isa::Comparison& c) {
  nlohmann::ordered_json j = {
      {"candidate", c.candidate}, {"anchor", c.anchor}, {"passes", c.passes()}, {"similarity", c.similarity}};
  j["rows"] = nlohmann::ordered_json::array();
  for (const auto& r : c.rows)
    j["rows"].push_back(
        {{"name", r.name}, {"candidate", r.candidate}, {"anchor", r.anchor}, {"same", r.same}});
  j["criteria"] = nlohmann::ordered_json::array();
  static constexpr const char* verdicts[] = {"pass", "fail", "undecided", "does not apply"};
  for (const auto& k : c.criteria)
    j["criteria"].push_back({{"number", k.number},
                             {"name", k.name},
                             {"candidate", k.candidate},
                             {"anchor", k.anchor},
                             {"verdict", verdicts[static_cast<std::size_t>(k.verdict)]},
                             {"why", k.why}});
  j["difference"] = nlohmann::ordered_json::array();
  for (const auto& d : c.difference)
    if (d.side != ' ')
      j["difference"].push_back(
          {{"only_in", d.side == '-' ? "candidate" : "anchor"}, {"text", d.text}, {"count", d.count}});
  const auto stretch = [](const std::optional<isa::Stretch>& s) {
    return s ? nlohmann::ordered_json{{"text", s->text},
                                      {"matrix_clocks", s->matrix_clocks},
                                      {"clocks", s->clocks ? nlohmann::ordered_json(*s->clocks) : nullptr}}
             : nlohmann::ordered_json(nullptr);
  };
  j["schedule"] = nlohmann::ordered_json::array();
  for (const auto& p : c.schedule)
    j["schedule"].push_back({{"candidate", stretch(p.candidate)}, {"anchor", stretch(p.anchor)}});
  return j;
}

int compare(Session& session, const Options& o) {
  const auto sa = read_source(session, o.candidate, o.arch), sb = read_source(session, o.anchor, o.arch);
  const auto &a = sa.object, &b = sb.object;
  // As given, as a manifest says, none.
  const auto lds_of = [](const std::optional<unsigned>& given, const SourceFile& s) {
    return given ? *given : s.triton_lds.value_or(s.manifest ? s.manifest->lds : 0);
  };
  const unsigned lds_a = lds_of(o.lds, sa), lds_b = lds_of(o.anchor_lds, sb);
  const auto ra = isa::report(a, a.kernel(o.kernel), lds_a);
  const auto rb = isa::report(b, b.kernel(o.anchor_kernel), lds_b);
  const auto missing = [](const std::optional<unsigned>& given, const isa::KernelReport& r,
                          const runtime::CodeObject& object) {
    return !given && r.resources.lds_bytes == 0 && uses_lds(object, object.kernel(r.name));
  };
  const bool missing_a = missing(o.lds, ra, a), missing_b = missing(o.anchor_lds, rb, b);
  if (o.time && (missing_a || missing_b))
    refuse((missing_a ? ra.name : rb.name) +
               " reads or writes LDS and declares none: how much there is, its launch says",
           missing_a ? "--lds BYTES" : "--anchor-lds BYTES");
  auto c = isa::compare(ra, rb, o.tolerance);
  if (o.brief) c.difference.clear(), c.schedule.clear();
  std::optional<Times> times;
  if (o.time)
    times = Times{time_one(o, a, ra, o.grid, o.block, o.arguments, lds_a),
                  time_one(o, b, rb, o.anchor_grid.empty() ? o.grid : o.anchor_grid,
                           o.anchor_block.empty() ? o.block : o.anchor_block,
                           o.anchor_arguments.empty() ? o.arguments : o.anchor_arguments, lds_b)};
  if (times) {
    const auto modelled = [](const TimeResult& t) {
      return runtime::timing::Modelled{t.report, t.trace, t.plan, t.chip, t.sharing};
    };
    runtime::timing::judge(c, modelled(times->candidate), modelled(times->anchor), o.tolerance);
  }
  if (o.json) {
    auto j = comparison_json(c);
    if (times)
      j["timing"] = {{"ratio", times->ratio()},
                     {"candidate", time_json(times->candidate)},
                     {"anchor", time_json(times->anchor)}};
    j["reports"] = nlohmann::ordered_json::array({to_json(ra), to_json(rb)});
    session.out << dump(j) << "\n";
  } else {
    session.out << isa::to_text(c);
    for (const auto& [is_missing, option, of] :
         {std::tuple{missing_a, "--lds", &ra}, std::tuple{missing_b, "--anchor-lds", &rb}})
      if (is_missing)
        session.out << "  note: " << of->name << " uses LDS and declares none; " << option
                    << " BYTES for its occupancy\n";
    if (times) session.out << times_text(*times);
    if (o.gate) session.out << (c.passes() ? "gate: passed\n" : "gate: FAILED\n");
  }
  return o.gate && !c.passes() ? Exit::no : Exit::yes;
}

} // namespace

void add_compare(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("compare", "Compare two kernels: resources, hot loops, what one lacks");
  auto o = std::make_shared<Options>();
  command->add_option("CANDIDATE", o->candidate, "The kernel to judge: code object or assembly")->required();
  command->add_option("ANCHOR", o->anchor, "Baseline kernel")->required();
  command->add_option("--kernel", o->kernel, "Kernel of CANDIDATE, when it holds several");
  command->add_option("--anchor-kernel", o->anchor_kernel, "Kernel of ANCHOR");
  command->add_option("--arch", o->arch,
                      machine::names(" or ") + ": which of a bundle, or what assembly is for");
  command->add_option("--lds", o->lds, "Bytes of dynamic LDS of CANDIDATE")->check(CLI::Range(0, 163840));
  command->add_option("--anchor-lds", o->anchor_lds, "Bytes of dynamic LDS of ANCHOR")
      ->check(CLI::Range(0, 163840));
  command->add_option("--tolerance", o->tolerance, "How much worse still passes, as a fraction")
      ->check(CLI::Range(0.0, 10.0));
  command->add_flag("--gate", o->gate, "Exit 1 when a criterion fails");
  command->add_flag("--brief", o->brief, "Leave out the loops side by side");
  command->add_flag("--time", o->time,
                    "Also model the clocks of a launch of each; the gate then asks for no more clocks");
  command->add_option("--grid", o->grid, "Workgroups of the launch: X,Y,Z");
  command->add_option("--block", o->block, "Work-items of a workgroup; as compiled for when left out");
  command->add_option("--arg", o->arguments, "As for time")->allow_extra_args(false);
  command->add_option("--anchor-grid", o->anchor_grid, "When it differs");
  command->add_option("--anchor-block", o->anchor_block, "When it differs");
  command->add_option("--anchor-arg", o->anchor_arguments, "When they differ")->allow_extra_args(false);
  add_time_options(*command, o->timing);
  command->add_flag("--json", o->json, "As JSON");
  command->callback([=, &session] { session.exit = compare(session, *o); });
}

} // namespace inlay::cli
