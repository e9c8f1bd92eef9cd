// `inlay compare`: two kernels side by side, and the regression gate.
#include "code_object_input.h"
#include "code_page.h"
#include "colour.h"
#include "isa_json.h"
#include "launch_input.h"
#include "time_kernel.h"
#include "write_all.h"

#include <filesystem>
#include <fmt/format.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/isa/compare.h>
#include <inlay/runtime/names.h>
#include <inlay/runtime/timing/compare.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <tuple>

namespace inlay::cli {
namespace {

namespace isa = runtime::isa;

struct CompareOptions {
  LaunchOptions candidate, anchor;
  std::string html;
  double tolerance = 0.02;
  bool json = false, gate = false, brief = false, time = false;
  TimeOptions timing;
};

/// Both launches modelled.
struct Times {
  TimeResult candidate, anchor;
  [[nodiscard]] double ratio() const { return candidate.chip.clocks / anchor.chip.clocks; }
};

TimeResult time_one(Session& session, const TimeOptions& timing, const LaunchOptions& o) {
  const LaunchInput in = read_launch(session, o);
  return time_code_object(timing, in.object, in.arch, in.kernel(), in.geometry, in.specs);
}

/// What is not said of the anchor is as for the candidate; a launch manifest says all itself, but for sizes.
LaunchOptions anchor_launch(const CompareOptions& o, bool is_manifest) {
  LaunchOptions out = o.anchor;
  out.arch = o.candidate.arch;
  if (is_manifest) {
    if (out.sizes.empty()) out.sizes = o.candidate.sizes;
    return out;
  }
  if (out.grid.empty()) out.grid = o.candidate.grid;
  if (out.block.empty()) out.block = o.candidate.block;
  if (out.arguments.empty()) out.arguments = o.candidate.arguments;
  return out;
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

int compare(Session& session, const CompareOptions& o) {
  const SourceFile sa = read_source(session, o.candidate.file, o.candidate.arch),
                   sb = read_source(session, o.anchor.file, o.candidate.arch);
  const LaunchOptions &la = o.candidate, lb = anchor_launch(o, sb.manifest.has_value());
  const auto &a = sa.object, &b = sb.object;
  // As given, as a manifest says, none.
  const auto report_of = [](const LaunchOptions& l, const SourceFile& s) {
    const std::string name = l.kernel.empty() && s.manifest ? s.manifest->kernel : l.kernel;
    return isa::report(s.object, kernel_named(s.object, name),
                       l.lds ? *l.lds : s.triton_lds.value_or(s.manifest ? s.manifest->lds : 0));
  };
  const auto ra = report_of(la, sa), rb = report_of(lb, sb);
  const auto missing = [](const LaunchOptions& l, const isa::KernelReport& r,
                          const runtime::CodeObject& object) {
    return !l.lds && r.resources.lds_bytes == 0 && uses_lds(object, object.kernel(r.name));
  };
  const bool missing_a = missing(la, ra, a), missing_b = missing(lb, rb, b);
  if (o.time && (missing_a || missing_b))
    refuse(runtime::demangled(missing_a ? ra.name : rb.name) +
               " reads or writes LDS and declares none: how much there is, its launch says",
           missing_a ? "--lds BYTES" : "--anchor-lds BYTES");
  auto c = isa::compare(ra, rb, o.tolerance);
  if (c.candidate == c.anchor && la.file != lb.file) { // columns are of about 14 letters
    const std::filesystem::path fa(la.file), fb(lb.file);
    const bool tell = fa.filename() != fb.filename();
    c.candidate = (tell ? fa.filename() : fa.parent_path().filename() / fa.filename()).string();
    c.anchor = (tell ? fb.filename() : fb.parent_path().filename() / fb.filename()).string();
  }
  if (o.brief) c.difference.clear(), c.schedule.clear();
  std::optional<Times> times;
  if (o.time) times = Times{time_one(session, o.timing, la), time_one(session, o.timing, lb)};
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
  }
  std::string text = isa::to_text(c);
  for (const auto& [is_missing, option, of] :
       {std::tuple{missing_a, "--lds", &ra}, std::tuple{missing_b, "--anchor-lds", &rb}})
    if (is_missing)
      text += fmt::format("  note: {} uses LDS and declares none; {} BYTES for its occupancy\n",
                          runtime::demangled(of->name), option);
  if (times) text += times_text(*times);
  if (!o.html.empty()) {
    const CodePart parts[] = {{&ra, {}, {}}, {&rb, {}, {}}};
    write_one(o.html,
              code_page(fmt::format("{} beside {}", runtime::demangled(ra.name), runtime::demangled(rb.name)),
                        text, parts));
  }
  if (!o.json) {
    session.out << text;
    if (o.gate)
      session.out << "gate: "
                  << (c.passes() ? painted(session, Colour::green, "passed")
                                 : painted(session, Colour::red, "FAILED"))
                  << "\n";
  }
  return o.gate && !c.passes() ? Exit::no : Exit::yes;
}

} // namespace

void add_compare(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("compare", "Compare two kernels: resources, hot loops, what one lacks");
  auto o = std::make_shared<CompareOptions>();
  LaunchOptions &a = o->candidate, &b = o->anchor;
  command->add_option("CANDIDATE", a.file, "The kernel to judge: code object, assembly or launch manifest")
      ->required();
  command->add_option("ANCHOR", b.file, "Baseline kernel")->required();
  command->add_option("--kernel", a.kernel, "Kernel of CANDIDATE, when it holds several");
  command->add_option("--anchor-kernel", b.kernel, "Kernel of ANCHOR");
  command->add_option("--arch", a.arch,
                      machine::names(" or ") + ": which of a bundle, or what assembly is for");
  command->add_option("--lds", a.lds, "Bytes of dynamic LDS of CANDIDATE")->check(CLI::Range(0, 163840));
  command->add_option("--anchor-lds", b.lds, "Bytes of dynamic LDS of ANCHOR")->check(CLI::Range(0, 163840));
  command->add_option("--tolerance", o->tolerance, "How much worse still passes, as a fraction")
      ->check(CLI::Range(0.0, 10.0));
  command->add_flag("--gate", o->gate, "Exit 1 when a criterion fails");
  command->add_flag("--brief", o->brief, "Leave out the loops side by side");
  command->add_flag("--time", o->time,
                    "Also model the clocks of a launch of each; the gate then asks for no more clocks");
  command->add_option("--grid", a.grid, "Workgroups of the launch: X,Y,Z");
  command->add_option("--block", a.block, "Work-items of a workgroup; as compiled for when left out");
  command->add_option("--arg", a.arguments, "As for time");
  command->add_option("--size", a.sizes, "NAME=NUMBER: a size, where the kernel is a launch manifest");
  command->add_option("--anchor-grid", b.grid, "When it differs");
  command->add_option("--anchor-block", b.block, "When it differs");
  command->add_option("--anchor-arg", b.arguments, "When they differ");
  command->add_option("--anchor-size", b.sizes, "When they differ");
  add_time_options(*command, o->timing);
  for (const char* of_one_launch : {"--svg", "--html", "--export", "--timeline"})
    command->remove_option(command->get_option(of_one_launch));
  command->add_flag("--json", o->json, "As JSON");
  command->add_option("--html", o->html, "Also the comparison and both kernels' instructions as a page");
  command->callback([=, &session] { session.exit = compare(session, *o); });
}

} // namespace inlay::cli
