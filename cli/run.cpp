#include "busy.h"
#include "colour.h"
#include "commands.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace inlay::cli {

namespace {

// Insertions, deletions, replacements and swaps of neighbours that make one word the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// CLI11 would say that a subcommand is required, and not that this one does not exist.
void require_known_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return;
  std::string nearest, all;
  std::size_t best = arguments[0].size();
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string& name = command->get_name();
    if (name == arguments[0]) return;
    all += (all.empty() ? "" : ", ") + name;
    if (std::size_t n = distance(arguments[0], name); n < best) best = n, nearest = name;
  }
  throw std::invalid_argument("there is no command '" + arguments[0] + "'\n  hint   " +
                              (best <= 2 ? "did you mean inlay " + nearest + "? " : "") +
                              "The commands are " + all);
}

// Which help says more: of the command that was given, where there was one.
std::string help_hint(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? "inlay --help, inlay COMMAND --help" : "inlay " + given[0]->get_name() + " --help";
}

/// One message: `error: what` with its hint on `err`, and under --json as data on `out`.
int failed(const Session& session, const std::vector<std::string>& arguments, int exit,
           const std::string& what) {
  const bool internal = exit == Exit::internal;
  session.err << painted_error(session, Colour::red, internal ? "internal error" : "error") << ": " << what
              << "\n";
  if (internal) session.err << "  please report this with the command that caused it\n";
  const auto end = std::find(arguments.begin(), arguments.end(), "--"); // what follows is another program's
  if (std::find(arguments.begin(), end, "--json") == end) return exit;
  const auto at = what.find("\n  hint   ");
  nlohmann::ordered_json error = {{"message", what.substr(0, at)}};
  if (at != std::string::npos) error["hint"] = what.substr(at + 10);
  if (internal) error["internal"] = true;
  session.out << nlohmann::ordered_json{{"error", std::move(error)}, {"exit", exit}}.dump(
                     2, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  return exit;
}

} // namespace

int run(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err) {
  Session session{in, out, err};
  set_terminals(out.rdbuf() == std::cout.rdbuf() && isatty(STDOUT_FILENO) == 1 ? &out : nullptr,
                err.rdbuf() == std::cerr.rdbuf() && isatty(STDERR_FILENO) == 1 ? &err : nullptr);
  CLI::App app{"inlay: layouts, proofs and kernels for AMD Instinct", "inlay"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "inlay " INLAY_VERSION,
                       "Version; inlay version says what it was built with");
  app.set_help_all_flag("--help-all", "Help of every command");
  for (AddCommand add : commands) add(app, session);
  if (arguments.empty()) {
    err << app.help() << "\nerror: no command\n  hint   inlay COMMAND --help says more about one\n";
    return Exit::bad_input;
  }
  try {
    require_known_command(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    // The program of run-with has the terminal for itself.
    const Busy busy(out, err, arguments[0], on_terminal(err) && arguments[0] != "run-with");
    app.parse(reversed);
    return session.exit;
  } catch (const CLI::Success& e) { // --help
    return app.exit(e, out, err);
  } catch (const CLI::ParseError& e) {
    // Of an unknown option without a command CLI11 says that a subcommand is required.
    const std::string what = app.get_subcommands().empty()
                                 ? "inlay has no option '" + arguments[0] + "', and no command follows"
                                 : std::string(e.what());
    return failed(session, arguments, Exit::bad_input, what + "\n  hint   " + help_hint(app));
  } catch (const std::invalid_argument& e) {
    return failed(session, arguments, Exit::bad_input, e.what());
  } catch (const std::runtime_error& e) {
    return failed(session, arguments, Exit::bad_input, e.what());
  } catch (const std::exception& e) {
    return failed(session, arguments, Exit::internal, e.what());
  }
}

std::string read_text(Session& session, const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << session.in.rdbuf();
    return text.str();
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read '" + file + "'");
  text << stream.rdbuf();
  return text.str();
}

} // namespace inlay::cli
