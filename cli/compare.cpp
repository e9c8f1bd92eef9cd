// `inlay compare`: two kernels side by side, and the regression gate.
#include "code_object_input.h"
#include "isa_json.h"

#include <inlay/runtime/isa/compare.h>
#include <memory>
#include <ostream>

namespace inlay::cli {
namespace {

namespace isa = runtime::isa;

struct Options {
  std::string candidate, anchor, kernel, anchor_kernel, arch;
  double tolerance = 0.02;
  unsigned lds = 0, anchor_lds = 0;
  bool json = false, gate = false, brief = false;
};

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
  return j;
}

int compare(Session& session, const Options& o) {
  const auto a = read_code_object(session, o.candidate, o.arch),
             b = read_code_object(session, o.anchor, o.arch);
  const auto ra = isa::report(a, a.kernel(o.kernel), o.lds);
  const auto rb = isa::report(b, b.kernel(o.anchor_kernel), o.anchor_lds);
  auto c = isa::compare(ra, rb, o.tolerance);
  if (o.brief) c.difference.clear();
  if (o.json) {
    auto j = comparison_json(c);
    j["reports"] = nlohmann::ordered_json::array({to_json(ra), to_json(rb)});
    session.out << dump(j) << "\n";
  } else {
    session.out << isa::to_text(c);
    if (o.gate) session.out << (c.passes() ? "gate: passed\n" : "gate: FAILED\n");
  }
  return o.gate && !c.passes() ? Exit::no : Exit::yes;
}

} // namespace

void add_compare(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("compare", "Two kernels side by side: resources, hot loops, what one lacks");
  auto o = std::make_shared<Options>();
  command->add_option("CANDIDATE", o->candidate, "The kernel to judge: code object or assembly")->required();
  command->add_option("ANCHOR", o->anchor, "The kernel it is to be called equal to")->required();
  command->add_option("--kernel", o->kernel, "Kernel of CANDIDATE, when it holds several");
  command->add_option("--anchor-kernel", o->anchor_kernel, "Kernel of ANCHOR");
  command->add_option("--arch", o->arch, "gfx942 or gfx950: which of a bundle, or what assembly is for");
  command->add_option("--lds", o->lds, "Bytes of dynamic LDS of CANDIDATE")->check(CLI::Range(0, 163840));
  command->add_option("--anchor-lds", o->anchor_lds, "Bytes of dynamic LDS of ANCHOR")
      ->check(CLI::Range(0, 163840));
  command->add_option("--tolerance", o->tolerance, "How much worse still passes, as a fraction")
      ->check(CLI::Range(0.0, 10.0));
  command->add_flag("--gate", o->gate, "Exit 1 when a criterion fails");
  command->add_flag("--brief", o->brief, "Without the difference of the loops");
  command->add_flag("--json", o->json, "As JSON");
  command->callback([=, &session] { session.exit = compare(session, *o); });
}

} // namespace inlay::cli
