// `inlay fuzz LAW|OP`: random inputs against a law of the algebra, or against another implementation of an operation.
#include "command.h"
#include "foreign.h"
#include "fuzz_against.h"
#include "fuzz_engine.h"
#include "progress.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/laws.h>
#include <inlay/algebra/nearest.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <random>

namespace inlay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct FuzzArguments {
  std::string name, against, replay;
  std::uint64_t cases = 10000, seed = 0;
  bool seeded = false, json = false, list = false;
  FuzzLimits limits;
  double minutes = 0, seconds_per_answer = 10;
};

/// Operations by their names in `eval` that a law of another name covers.
constexpr const char* aliases[][2] = {
    {"logical divide", "divide"},   {"tiled divide", "zipped divide"}, {"flat divide", "zipped divide"},
    {"logical product", "product"}, {"blocked product", "product"},    {"raked product", "product"},
    {"upcast", "recast"},           {"make layout like", "like"},      {"flatten", "coalesce"},
    {"unflatten", "coalesce"},      {"layout call", "evaluation"},     {"crd2idx", "evaluation"},
    {"idx2crd", "evaluation"},      {"slice and offset", "slice"},
};

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  std::replace(name.begin(), name.end(), '-', ' ');
  return name;
}
std::string hyphened(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<const laws::Law*> laws_named(const std::string& name) {
  std::string wanted = spaced(name);
  for (const auto& [alias, law] : aliases)
    if (wanted == alias) wanted = law;
  std::vector<const laws::Law*> found;
  std::string names;
  std::vector<std::string> known;
  for (const laws::Law& law : laws::all) {
    if (wanted == "all" || wanted == law.name) found.push_back(&law);
    known.push_back(hyphened(law.name));
    names += " " + known.back();
  }
  if (found.empty())
    throw std::invalid_argument("fuzz: there is no law '" + name + "'\n  hint   " +
                                did_you_mean(name, known) + "all" + names);
  return found;
}

/// Inside single quotes for a shell.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}

std::string input_text(const FuzzInput& input) {
  return to_string(input.a) + "; " + to_string(input.b) + "; " + to_string(input.n);
}
FuzzInput parse_input(const std::string& text) {
  const auto first = text.find(';'), second = text.find(';', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    throw std::invalid_argument("fuzz: not an input: " + text +
                                "\n  hint   --replay 'A; B; N', as a counterexample prints it");
  return {parse_layout(text.substr(0, first)), parse_layout(text.substr(first + 1, second - first - 1)),
          parse_int(text.substr(second + 1)), 0};
}

FuzzProgress progress_on(ProgressBar& bar) {
  return [&bar](double fraction, const FuzzReport& report) {
    bar.show(fraction, std::to_string(report.cases) + " cases");
  };
}

FuzzOptions options_of(const FuzzArguments& a) { return {a.limits, a.cases, a.seed, a.minutes}; }

// ---- a law ------------------------------------------------------------------------------------------------

laws::Outcome check(const laws::Law& law, const FuzzInput& input) {
  try {
    return law.check({input.a, input.b, input.n});
  } catch (const LayoutError& e) { // outside the operation that the law is about
    return {laws::Verdict::refused, e.code()};
  }
}

int fuzz_law(Session& session, const FuzzArguments& a, const laws::Law& law, Json& reports) {
  const auto kind = [&](const FuzzInput& input) { return static_cast<int>(check(law, input).verdict); };
  ProgressBar bar(session, law.name);
  const FuzzReport report =
      fuzz(options_of(a), static_cast<int>(laws::Verdict::broken), true, kind, progress_on(bar));
  bar.erase();
  const auto count = [&](laws::Verdict v) {
    const auto found = report.count.find(static_cast<int>(v));
    return found == report.count.end() ? std::uint64_t{0} : found->second;
  };
  const std::uint64_t refused = count(laws::Verdict::refused);
  const auto broken = report.findings.find(static_cast<int>(laws::Verdict::broken));
  const bool holds = broken == report.findings.end();
  const bool tested = count(laws::Verdict::holds) > 0 || !holds;
  Json j = {{"law", law.name},
            {"statement", law.statement},
            {"verdict", holds ? (tested ? "holds" : "untested") : "broken"},
            {"cases", report.cases},
            {"refused", refused},
            {"seed", a.seed}};
  session.out << (a.json ? ""
                         : fmt::format("{:<20} {:<8} {} cases, {} of them refused, seed {}\n", law.name,
                                       holds ? (tested ? "holds" : "untested") : "BROKEN", report.cases,
                                       refused, a.seed));
  if (!holds) {
    const FuzzFinding& found = broken->second;
    const std::string text = input_text(found.input);
    const std::string command = "inlay fuzz " + hyphened(law.name) + " --replay " + quoted(text);
    const std::string message = check(law, found.input).message;
    j["counterexample"] = {{"a", to_string(found.input.a)},
                           {"b", to_string(found.input.b)},
                           {"n", found.input.n.value()},
                           {"message", message},
                           {"command", command},
                           {"shrunk", found.shrunk}};
    if (!a.json)
      session.out << "  law    " << law.statement << "\n  at     " << text << "   (case " << found.number
                  << ", shrunk " << found.shrunk << " times)\n  says   " << message << "\n  again  "
                  << command << "\n";
  }
  reports.push_back(std::move(j));
  return holds ? (tested ? Exit::yes : Exit::undecided) : Exit::no;
}

int replay_law(Session& session, const laws::Law& law, const std::string& text) {
  const laws::Outcome outcome = check(law, parse_input(text));
  const char* const words[] = {"holds", "refused", "BROKEN"};
  session.out << law.name << " " << words[static_cast<int>(outcome.verdict)]
              << (outcome.message.empty() ? "" : ": " + outcome.message) << "\n";
  return outcome.verdict == laws::Verdict::broken ? Exit::no : Exit::yes;
}

// ---- another implementation ---------------------------------------------------------------------------------

struct Exchange {
  Question question;
  OwnAnswer ours;
  Foreign::Answer theirs;
  Agreement agreement;
};
Exchange exchange(Foreign& foreign, Question q) {
  Exchange e{std::move(q), {}, {}, same};
  e.ours = answer_here(e.question);
  const std::int64_t id = foreign.next_id();
  e.theirs = foreign.ask(request(e.question, e.ours, id));
  e.agreement = compare(e.question, e.ours, e.theirs.alive, e.theirs.line, id);
  return e;
}

std::string their_text(const Exchange& e) {
  if (!e.theirs.alive) return e.theirs.line;
  const Json j = Json::parse(e.theirs.line, nullptr, false);
  if (!j.is_object()) return "unreadable: " + e.theirs.line.substr(0, 80);
  if (j.contains("error")) return "refuses: " + j["error"].dump();
  if (!j.contains("result")) return "unreadable: " + e.theirs.line.substr(0, 80);
  return j["result"].is_string() ? j["result"].get<std::string>() : j["result"].dump();
}
std::string our_text(const Exchange& e) {
  if (e.ours.value) return to_string(*e.ours.value);
  return "refuses: " + e.ours.refusal.substr(0, e.ours.refusal.find('\n'));
}

Json show(Session& session, const FuzzArguments& a, const Exchange& e) {
  const std::string line = e.question.json.dump();
  const std::string command =
      "inlay fuzz " + e.question.op + " --against " + quoted(a.against) + " --replay " + quoted(line);
  if (!a.json)
    session.out << "    input  " << line << "\n    ours   " << our_text(e) << "\n    theirs " << their_text(e)
                << "\n    again  " << command << "\n";
  return {{"input", e.question.json}, {"ours", our_text(e)}, {"theirs", their_text(e)}, {"command", command}};
}

int fuzz_against(Session& session, const FuzzArguments& a) {
  Foreign foreign(a.against, std::chrono::milliseconds(static_cast<long long>(a.seconds_per_answer * 1000)));
  foreign.greet();
  if (!a.replay.empty()) {
    const Exchange e = exchange(foreign, parse_question(a.replay));
    if (!a.json) session.out << to_string(e.agreement) << "\n";
    Json j = show(session, a, e);
    j["agreement"] = to_string(e.agreement);
    if (a.json) session.out << j.dump() << "\n";
    return e.agreement >= first_fault ? Exit::no : Exit::yes;
  }
  (void)question(a.name, {}); // an unknown operation is refused before anything starts
  const auto kind = [&](const FuzzInput& input) {
    return static_cast<int>(exchange(foreign, question(a.name, input)).agreement);
  };
  ProgressBar bar(session, a.name);
  const FuzzReport report = fuzz(options_of(a), first_difference, false, kind, progress_on(bar));
  bar.erase();

  Json j = {{"op", a.name},
            {"against", a.against},
            {"cases", report.cases},
            {"seed", a.seed},
            {"agreement", Json::object()}};
  if (!a.json)
    session.out << a.name << " against " << a.against << ": " << report.cases << " cases, seed " << a.seed
                << "\n";
  bool fault = false;
  for (const auto& [k, n] : report.count) {
    const auto agreement = static_cast<Agreement>(k);
    fault = fault || k >= first_fault;
    if (!a.json) session.out << fmt::format("  {:<20} {:>8}\n", to_string(agreement), n);
    Json& entry = j["agreement"][to_string(agreement)] = {{"cases", n}};
    const auto found = report.findings.find(k);
    if (found == report.findings.end()) continue;
    entry["smallest"] = show(session, a, exchange(foreign, question(a.name, found->second.input)));
  }
  if (a.json) session.out << j.dump() << "\n";
  const bool nothing = report.count.size() == 1 && report.count.count(unsupported) == 1;
  return fault ? Exit::no : (nothing ? Exit::undecided : Exit::yes);
}

int list(Session& session) {
  session.out << "laws\n";
  for (const laws::Law& law : laws::all)
    session.out << fmt::format("  {:<20} {}\n", hyphened(law.name), law.statement);
  session.out << "operations for --against\n ";
  for (const std::string& op : foreign_operations()) session.out << " " << op;
  session.out << "\n";
  return Exit::yes;
}

int fuzz_command(Session& session, FuzzArguments a) {
  if (a.list) return list(session);
  if (a.name.empty()) throw std::invalid_argument("fuzz: nothing is given\n  hint   inlay fuzz --list");
  if (!a.seeded) a.seed = std::random_device{}();
  if (!a.against.empty()) return fuzz_against(session, a);
  Json reports = Json::array();
  int exit = Exit::yes;
  for (const laws::Law* law : laws_named(a.name)) {
    const int one =
        a.replay.empty() ? fuzz_law(session, a, *law, reports) : replay_law(session, *law, a.replay);
    if (exit != Exit::no && one != Exit::yes) exit = one;
  }
  if (a.json && a.replay.empty()) session.out << reports.dump() << "\n";
  return exit;
}

} // namespace

void add_fuzz(CLI::App& app, Session& session) {
  // CLI11's own says the range, up to the largest double in 309 digits.
  const CLI::Validator above_zero(
      [](const std::string& text) {
        double n = 0;
        return CLI::detail::lexical_cast(text, n) && n > 0 ? std::string() : "'" + text + "' is not above 0";
      },
      "POSITIVE");
  auto* c = app.add_subcommand("fuzz", "Random inputs against a law, or against another implementation");
  auto a = std::make_shared<FuzzArguments>();
  std::string known = "all";
  for (const laws::Law& law : laws::all) known += "," + hyphened(law.name);
  c->add_option("law", a->name, "a law or an operation (--list), or all")->type_name("{" + known + "}");
  c->add_flag("--list", a->list, "the laws and the operations");
  c->add_option("--cases", a->cases, "how many inputs")->check(above_zero);
  auto* seed = c->add_option("--seed", a->seed, "the same inputs again; drawn and printed otherwise");
  c->add_option("--minutes", a->minutes, "run this long instead")->check(above_zero);
  c->add_option("--max-size", a->limits.max_size, "elements of a layout")->check(CLI::Range(1, 4096));
  c->add_option("--max-rank", a->limits.max_rank, "modes of a layout")->check(CLI::Range(1, 16));
  c->add_option("--max-depth", a->limits.max_depth, "nesting; 1 is flat")->check(CLI::Range(1, 4));
  c->add_option("--against", a->against, "a command that speaks the JSON lines of eval --jsonl");
  c->add_option("--answer-seconds", a->seconds_per_answer, "how long it may take for one")->check(above_zero);
  c->add_option("--replay", a->replay, "one input, as a counterexample prints it");
  c->add_flag("--json", a->json, "as JSON");
  c->callback([=, &session] {
    FuzzArguments arguments = *a;
    arguments.seeded = seed->count() > 0;
    session.exit = fuzz_command(session, arguments);
  });
}

} // namespace inlay::cli
