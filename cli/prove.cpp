// `inlay prove PROPERTY ARGUMENTS`: is a statement about layouts true for all values of their symbols?
#include "colour.h"

#include <inlay/algebra/nearest.h>
#include <inlay/machine/target.h>
#include <inlay/solver/certificate.h>
#include <inlay/solver/coalescing.h>
#include <inlay/solver/prove.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

using namespace inlay::solver;

struct ProveArguments {
  std::string property;
  std::vector<std::string> arguments, where, domains;
  std::string access, arch{machine::usual_target}, certificate;
  unsigned element_bytes = 1, lines = 0;
  bool by_mode = false, json = false, json_lines = false, recheck = Options{}.recheck;
  std::uint64_t limit = Options{}.enumeration_limit, steps = Options{}.solver_steps;
};

struct Property {
  const char* name;
  std::size_t subjects;
  bool term; // a formula follows the subjects
  const char* usage;
};
constexpr Property properties[] = {
    {"equal", 2, false, "equal A B"},
    {"injective", 1, false, "injective A"},
    {"bijective", 1, false, "bijective A"},
    {"disjoint", 2, false, "disjoint A B"},
    {"covers", 1, true, "covers A N"},
    {"within", 1, true, "within A N"},
    {"aligned", 1, true, "aligned A W"},
    {"inverse", 2, false, "inverse A B"},
    {"conflict-free", 1, false, "conflict-free A --access ds_read_b128 --arch MI300X"},
    {"coalesced", 1, false, "coalesced A --element-bytes 2 --arch MI300X [--lines N]"},
};

Verdict decide(const ProveArguments& a) {
  const Property* property = nullptr;
  std::string usage;
  std::vector<std::string> known;
  for (const Property& p : properties) {
    known.emplace_back(p.name);
    usage += std::string("\n         ") + p.usage;
    if (a.property == p.name) property = &p;
  }
  if (!property)
    throw QuestionError("prove: unknown property '" + a.property + "'\n  hint   " +
                        did_you_mean(a.property, known) + "one of" + usage);
  if (a.arguments.size() != property->subjects + (property->term ? 1 : 0))
    throw QuestionError("prove " + a.property + ": " + std::to_string(a.arguments.size()) +
                        " arguments\n  hint   inlay prove " + property->usage);
  // Domains go to the formulas in order; a single one serves them all.
  std::size_t used = 0;
  auto subject = [&](std::size_t k) {
    const std::string& text = a.arguments[k];
    bool formula = text.find("->") != std::string::npos || text.find(':') == std::string::npos;
    if (!formula || a.domains.empty()) return Subject(text);
    std::size_t which = std::min(used, a.domains.size() - 1);
    ++used;
    return Subject(text, a.domains[which]);
  };
  Options options;
  options.by_mode = a.by_mode;
  options.enumeration_limit = a.limit;
  options.solver_steps = a.steps;
  options.recheck = a.recheck;
  Subject first = subject(0);
  if (a.property == "equal") return prove_equal(first, subject(1), a.where, options);
  if (a.property == "injective") return prove_injective(first, a.where, options);
  if (a.property == "bijective") return prove_bijective(first, a.where, options);
  if (a.property == "disjoint") return prove_disjoint(first, subject(1), a.where, options);
  if (a.property == "covers") return prove_covers(first, a.arguments[1], a.where, options);
  if (a.property == "within") return prove_within(first, a.arguments[1], a.where, options);
  if (a.property == "aligned") return prove_aligned(first, a.arguments[1], a.where, options);
  if (a.property == "inverse") return prove_inverse(first, subject(1), a.where, options);
  if (a.property == "coalesced")
    return prove_coalesced(first, a.element_bytes, a.arch, a.lines, a.where, options);
  if (a.access.empty())
    throw QuestionError(
        "prove conflict-free: --access is missing\n  hint   --access ds_read_b128 --arch MI300X");
  return prove_conflict_free(first, a.access, a.arch, a.where, options);
}

nlohmann::ordered_json to_json(const Verdict& v, std::int64_t microseconds) {
  nlohmann::ordered_json j = {{"property", v.property},
                              {"verdict", to_string(v.outcome)},
                              {"method", v.method},
                              {"time_us", microseconds}};
  j["witness"] = nullptr;
  if (v.witness) {
    const Witness& w = *v.witness;
    nlohmann::ordered_json symbols = nlohmann::ordered_json::object();
    for (const auto& [name, value] : w.symbols) symbols[name] = value;
    nlohmann::ordered_json& out = j["witness"] = {{"symbols", symbols}};
    auto optional = [&](const char* key, const std::optional<std::int64_t>& value) {
      out[key] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
    };
    optional("index", w.index);
    optional("lhs", w.lhs);
    optional("rhs", w.rhs);
    if (w.second_index) optional("second_index", w.second_index);
    out["coordinate"] = w.coordinate;
    out["text"] = w.text;
  }
  j["certificate"] =
      v.certificate.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(v.certificate);
  if (!v.obligations.empty()) j["obligations"] = v.obligations;
  if (!v.smt2.empty()) j["smt2"] = v.smt2;
  if (!v.notes.empty()) j["notes"] = v.notes;
  return j;
}

// {"property": "within", "arguments": ["(M,K):(K,1)", "M*K"], "where": [...], "domain": [...], ...}: the names and meanings of
// the command line's options.
ProveArguments prove_arguments(const nlohmann::ordered_json& j) {
  ProveArguments a;
  auto wrong = [](const std::string& key, const char* what) {
    throw QuestionError("prove: '" + key + "' is " + what +
                        "\n  hint   {\"property\": \"injective\", \"arguments\": [\"(M,K):(K,1)\"], "
                        "\"where\": [\"M >= 2\"]}");
  };
  if (!j.is_object()) wrong("a line", "no JSON object");
  for (const auto& [key, value] : j.items()) {
    auto texts = [&, &key = key, &value = value](std::vector<std::string>& out) {
      if (!value.is_array()) wrong(key, "an array of texts");
      for (const auto& e : value) {
        if (!e.is_string()) wrong(key, "an array of texts");
        out.push_back(e.get<std::string>());
      }
    };
    auto text = [&, &key = key, &value = value](std::string& out) {
      if (!value.is_string()) wrong(key, "a text");
      out = value.get<std::string>();
    };
    auto number = [&, &key = key, &value = value](auto& out) {
      if (!value.is_number_unsigned()) wrong(key, "a number that is not negative");
      out = value.get<std::remove_reference_t<decltype(out)>>();
    };
    auto flag = [&, &key = key, &value = value](bool& out) {
      if (!value.is_boolean()) wrong(key, "true or false");
      out = value.get<bool>();
    };
    if (key == "property")
      text(a.property);
    else if (key == "arguments")
      texts(a.arguments);
    else if (key == "where")
      texts(a.where);
    else if (key == "domain")
      texts(a.domains);
    else if (key == "access")
      text(a.access);
    else if (key == "arch")
      text(a.arch);
    else if (key == "element-bytes")
      number(a.element_bytes);
    else if (key == "lines")
      number(a.lines);
    else if (key == "limit")
      number(a.limit);
    else if (key == "steps")
      number(a.steps);
    else if (key == "by-mode")
      flag(a.by_mode);
    else if (key == "recheck")
      flag(a.recheck);
    else if (key != "id")
      wrong(key, "no part of a question");
  }
  return a;
}

// One answer a line, in order; a question that is none gets an error and the next one is read.
int prove_lines(Session& session) {
  for (std::string line; std::getline(session.in, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    nlohmann::ordered_json out = {{"id", nullptr}};
    auto failed = [&](const char* code, const char* what) {
      out["error"] = {{"code", code}, {"message", what}};
    };
    try {
      auto in = nlohmann::ordered_json::parse(line, nullptr, false);
      if (in.is_object() && in.contains("id")) out["id"] = in["id"];
      ProveArguments a = prove_arguments(in);
      auto start = std::chrono::steady_clock::now();
      Verdict v = decide(a);
      auto us =
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
      out.update(to_json(v, us.count()));
    } catch (const std::invalid_argument& e) {
      failed("question", e.what());
    } catch (const std::runtime_error& e) {
      failed("question", e.what());
    } catch (const std::exception& e) {
      failed("internal", e.what());
    }
    session.out << out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  }
  return Exit::yes;
}

int exit_of(Outcome o) {
  return o == Outcome::proved ? Exit::yes : o == Outcome::refuted ? Exit::no : Exit::undecided;
}

int prove(Session& session, const ProveArguments& a) {
  if (a.json_lines) return prove_lines(session);
  if (a.property.empty() || a.arguments.empty())
    throw QuestionError("prove: what is missing\n  hint   inlay prove injective '(M,K):(K,1)', or --jsonl");
  auto start = std::chrono::steady_clock::now();
  Verdict v = decide(a);
  auto microseconds =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  if (a.json) {
    session.out << to_json(v, microseconds).dump(2) << "\n";
  } else {
    // `injective: refuted (enumeration): ..`, of which the second word is the verdict.
    const std::string text = v.summary(), verdict = to_string(v.outcome);
    const std::size_t at = v.property.size() + 2;
    session.out << text.substr(0, at) << painted_verdict(session, exit_of(v.outcome), verdict)
                << text.substr(at + verdict.size()) << "\n";
    for (const std::string& n : v.notes) session.out << "  note   " << n << "\n";
  }
  if (!a.certificate.empty() && v.outcome == Outcome::proved) {
    write_text(session, a.certificate, v.certificate);
  }
  if (!a.certificate.empty() && v.outcome == Outcome::unknown && !v.smt2.empty()) {
    write_text(session, a.certificate, v.smt2);
  }
  return exit_of(v.outcome);
}

int recheck_file(Session& session, const std::string& file, bool json) {
  Recheck r = recheck(read_text(session, file));
  if (json) {
    nlohmann::ordered_json j = {{"accepted", r.accepted},   {"property", r.property}, {"method", r.method},
                                {"arguments", r.arguments}, {"queries", r.queries},   {"answers", r.answers}};
    if (!r.accepted) j["reason"] = r.reason;
    session.out << j.dump(2) << "\n";
  } else {
    const int exit = r.accepted ? Exit::yes : Exit::no;
    session.out << painted_verdict(session, exit, r.accepted ? "accepted" : "rejected") << ": " << r.property
                << " (" << r.method << ")";
    for (const std::string& a : r.answers) session.out << ", " << a;
    if (!r.accepted) session.out << "\n  reason " << r.reason;
    session.out << "\n";
  }
  return r.accepted ? Exit::yes : Exit::no;
}

} // namespace

void add_prove(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "prove", "Prove or refute a statement about layouts, for all values of their symbols");
  auto a = std::make_shared<ProveArguments>();
  std::string known;
  for (const Property& p : properties) known += (known.empty() ? "" : ",") + std::string(p.name);
  command->add_option("property", a->property, "What is to be proved")->type_name("{" + known + "}");
  command->add_option("arguments", a->arguments, "Layouts, composed layouts, formulas; then N or W");
  // One value an option: with any number of them CLI11 would take every argument that follows, N of `within` among them.
  command->add_option("--where", a->where, "A condition on the symbols, e.g. 'M % 128 == 0'; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--domain", a->domains, "Extents of a formula's coordinates, e.g. '(M,K)'")
      ->allow_extra_args(false);
  command->add_option("--access", a->access, "LDS instruction, e.g. ds_read_b128");
  command->add_option("--arch", a->arch, machine::names(" or "));
  command->add_option("--element-bytes", a->element_bytes, "coalesced: bytes of what A counts in");
  command->add_option("--lines", a->lines, "coalesced: how many cache lines are allowed; 0: the least");
  command->add_option("--cert", a->certificate,
                      "Write the certificate (or, when unknown, the open query) to FILE");
  command->add_option("--limit", a->limit, "How many indices enumeration may look at")->check(at_least(0));
  command->add_option("--steps", a->steps, "Z3's resource limit; 0 asks no solver")->check(at_least(0));
  command->add_flag("--by-mode", a->by_mode, "equal: also the same extents mode by mode");
  command->add_flag("--recheck,!--no-recheck", a->recheck,
                    "A proof counts only when the checker derives it again, with Z3 and cvc5");
  command->add_flag("--json", a->json, "As JSON");
  command->add_flag(
      "--jsonl", a->json_lines,
      "Read {\"property\", \"arguments\", \"where\", ...} from standard input, one a line, and answer each");
  command->callback([=, &session] { session.exit = prove(session, *a); });
}

void add_recheck(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("recheck", "Check a certificate with Z3 and cvc5, without the prover");
  auto file = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("file", *file, "The certificate; - is standard input")->required();
  command->add_flag("--json", *json, "As JSON");
  command->callback([=, &session] { session.exit = recheck_file(session, *file, *json); });
}

} // namespace inlay::cli
