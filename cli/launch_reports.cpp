#include "launch_reports.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <inlay/runtime/names.h>
#include <map>
#include <set>

namespace inlay::cli {

namespace {

std::string text_of(const Launch& l, const char* field) {
  const auto at = l.find(field);
  return at != l.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const Launch& findings_of(const Launch& l) {
  static const Launch none = Launch::array();
  const auto at = l.find("findings");
  return at == l.end() ? none : *at;
}

/// One message: what is wrong with a launch, by kind.
struct Problem {
  std::string kind, message, text, source;
  const Launch* line = nullptr;
  bool note = false;
};

std::vector<Problem> problems_of(const Launch& l) {
  std::vector<Problem> out;
  for (const auto& f : findings_of(l))
    out.push_back({text_of(f, "kind"), text_of(f, "message") + " (" + text_of(f, "disassembly") + ")",
                   text_of(f, "text"), text_of(f, "source"), f.contains("line") ? &f.at("line") : nullptr,
                   f.value("note", false)});
  if (const auto e = text_of(l, "error"); !e.empty()) out.push_back({"error", e, e, "", nullptr, false});
  if (const auto s = text_of(l, "stress"); !s.empty())
    out.push_back(
        {"stress", "another schedule leaves other bits: " + s, "stress: " + s + "\n", "", nullptr, false});
  return out;
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char ch : text) {
    const auto u = static_cast<unsigned char>(ch);
    if (ch == '&')
      out += "&amp;";
    else if (ch == '<')
      out += "&lt;";
    else if (ch == '>')
      out += "&gt;";
    else if (ch == '"')
      out += "&quot;";
    else if (ch == '\n')
      out += "&#10;";
    else if (u < 32 && ch != '\t')
      out += '?';
    else
      out += ch;
  }
  return out;
}

std::string name_of(const Launch& l) { return runtime::demangled(text_of(l, "kernel")); }

} // namespace

std::size_t defects_of(const Launch& l) {
  std::size_t n = 0;
  for (const Problem& p : problems_of(l)) n += p.note ? 0 : 1;
  return n;
}

std::string report_text(const std::vector<Launch>& launches) {
  struct Kernel {
    std::size_t launches = 0, defects = 0;
    std::uint64_t instructions = 0;
    double microseconds = 0;
    bool timed = false;
    std::string bottleneck;
  };
  std::map<std::string, Kernel> kernels;
  std::string out;
  std::set<std::string> said;
  std::size_t number = 0, repeated = 0;
  for (const Launch& l : launches) {
    ++number;
    Kernel& k = kernels[name_of(l)];
    ++k.launches;
    k.defects += defects_of(l);
    k.instructions += l.value("instructions", std::uint64_t{0});
    if (const auto t = l.find("timing"); t != l.end() && t->contains("microseconds")) {
      k.microseconds += t->at("microseconds").get<double>();
      k.timed = true;
      k.bottleneck = text_of(*t, "bottleneck");
    }
    for (const Problem& p : problems_of(l)) {
      if (!said.insert(name_of(l) + p.kind + p.text.substr(0, p.text.find("\n  in "))).second) {
        ++repeated;
        continue;
      }
      out += p.text + (p.text.ends_with("\n") ? "" : "\n");
      out += fmt::format("  launch {} of {}: {} {}\n\n", number, launches.size(), name_of(l),
                         text_of(l, "geometry"));
      if (const auto m = text_of(l, "manifest"); !m.empty()) out += "  again  inlay exec " + m + "\n\n";
    }
  }
  if (repeated != 0) out += fmt::format("{} more of the same in other launches\n\n", repeated);
  for (const auto& [name, k] : kernels) {
    out += fmt::format("{:<40} {:>6} launch{} {:>12} instructions  {}", name, k.launches,
                       k.launches == 1 ? "  " : "es", k.instructions,
                       k.defects == 0 ? "no defect"
                                      : fmt::format("{} DEFECT{}", k.defects, k.defects == 1 ? "" : "S"));
    if (k.timed) out += fmt::format("  {:.1f} us modelled, {}", k.microseconds, k.bottleneck);
    out += "\n";
  }
  return out + (launches.empty() ? "no kernel was launched: does the program use HIP, and this libamdhip64?\n"
                                 : "");
}

std::string report_json(const std::vector<Launch>& launches, const std::string& command, int status) {
  std::size_t defects = 0;
  for (const Launch& l : launches) defects += defects_of(l);
  return Launch{{"command", command},
                {"exit", status},
                {"ok", defects == 0},
                {"defects", defects},
                {"launches", launches}}
             .dump(2, ' ', false, Launch::error_handler_t::replace) +
         "\n";
}

std::string report_junit(const std::vector<Launch>& launches, const std::string& command) {
  std::size_t failures = 0;
  double seconds = 0;
  std::string cases;
  std::size_t number = 0;
  for (const Launch& l : launches) {
    ++number;
    seconds += l.value("seconds", 0.0);
    cases += fmt::format("    <testcase classname=\"{}\" name=\"launch {}: {}\" time=\"{:.6f}\">\n",
                         xml(name_of(l)), number, xml(text_of(l, "geometry")), l.value("seconds", 0.0));
    bool failed = false;
    std::string notes;
    for (const Problem& p : problems_of(l)) {
      if (p.note) {
        notes += p.text + "\n";
        continue;
      }
      failed = true;
      cases += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml(p.kind),
                           xml(p.message), xml(p.text));
    }
    if (!notes.empty()) cases += "      <system-out>" + xml(notes) + "</system-out>\n";
    failures += failed ? 1 : 0;
    cases += "    </testcase>\n";
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
                     "tests=\"{}\" failures=\"{}\" "
                     "errors=\"0\" skipped=\"0\" time=\"{:.6f}\">\n",
                     xml("inlay run-with " + command), launches.size(), failures, seconds) +
         cases + "  </testsuite>\n</testsuites>\n";
}

namespace {

/// Where a file is in a pull request: below the repository, GITHUB_WORKSPACE or else this folder; else where it lies. Source: RFC 3986, 2.3; SARIF
/// 2.1.0, 3.4.4.
std::string uri_of(const Launch& line) {
  std::string path = text_of(line, "path");
  std::error_code none;
  // One that was compiled elsewhere, as a compiler's cache keeps it, is known by its name.
  if (path.empty() || (path.starts_with("/") && !std::filesystem::exists(path, none)))
    path = text_of(line, "file");
  path = std::filesystem::path(path).lexically_normal().string(); // a build system's build/../kernels.hip
  const char* const repository = std::getenv("GITHUB_WORKSPACE");
  std::string root = repository != nullptr ? repository : std::filesystem::current_path(none).string();
  if (!root.ends_with("/")) root += "/";
  if (root != "/" && path.starts_with(root)) path.erase(0, root.size()); // nobody's repository is /
  std::string out = path.starts_with("/") ? "file://" : "";
  for (const char c : path)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("/-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

} // namespace

std::string report_sarif(const std::vector<Launch>& launches) {
  static const std::map<std::string, std::string> rules = {
      {"bounds", "Access outside of every buffer, of LDS or of scratch"},
      {"uninit", "A value that nothing has written decides something or is stored"},
      {"races", "Two waves access one place without an order"},
      {"waits", "A result is used before an s_waitcnt covers it"},
      {"barrier", "Waves of a workgroup meet at different barriers"},
      {"align", "An address is not aligned as the instruction demands"},
      {"hazard", "Wait states that the manual asks for are missing"},
      {"stress", "Another schedule of the same launch leaves other bits"},
      {"error", "The launch ended with an error"}};
  Launch list = Launch::array(), results = Launch::array();
  for (const auto& [id, text] : rules) list.push_back({{"id", id}, {"shortDescription", {{"text", text}}}});
  std::map<std::string, std::size_t> seen; // where each stands in the results
  for (const Launch& l : launches)
    for (const Problem& p : problems_of(l)) {
      const std::string key =
          name_of(l) + "|" + p.kind + "|" + p.source + "|" + (p.source.empty() ? p.message : "");
      const auto [at, fresh] = seen.try_emplace(key, results.size());
      if (!fresh) {
        auto& count = results[at->second]["occurrenceCount"];
        count = count.get<int>() + 1;
        continue;
      }
      Launch r = {{"ruleId", p.kind},
                  {"level", p.note ? "note" : "error"},
                  {"message", {{"text", name_of(l) + ": " + p.message}}},
                  {"occurrenceCount", 1}};
      Launch location = {{"logicalLocations", {{{"name", name_of(l)}, {"kind", "function"}}}}};
      if (p.line != nullptr) {
        Launch region = {{"startLine", std::max(1U, p.line->value("line", 1U))}};
        if (const auto column = p.line->value("column", 0U); column != 0) region["startColumn"] = column;
        location["physicalLocation"] = {{"artifactLocation", {{"uri", uri_of(*p.line)}}}, {"region", region}};
      }
      r["locations"] = Launch::array({location});
      results.push_back(std::move(r));
    }
  return Launch{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                {"version", "2.1.0"},
                {"runs",
                 {{{"tool", {{"driver", {{"name", "inlay"}, {"version", INLAY_VERSION}, {"rules", list}}}}},
                   {"results", results}}}}}
             .dump(2, ' ', false, Launch::error_handler_t::replace) +
         "\n";
}

std::string report_for(const std::string& file, const std::vector<Launch>& launches,
                       const std::string& command, int status) {
  if (file.ends_with(".xml")) return report_junit(launches, command);
  if (file.ends_with(".sarif")) return report_sarif(launches);
  if (file.ends_with(".json")) return report_json(launches, command, status);
  return report_text(launches);
}

} // namespace inlay::cli
