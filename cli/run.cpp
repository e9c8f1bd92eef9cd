#include "busy.h"
#include "colour.h"
#include "commands.h"

#include <inlay/algebra/nearest.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace inlay::cli {

namespace {

// CLI11 would say that a subcommand is required, and not that this one does not exist.
void require_known_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return;
  std::string all;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
    if (names.back() == arguments[0]) return;
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const std::string nearest = arguments[0] == "check" // as Python calls what are two commands here
                                  ? "inlay run-with -- COMMAND checks every launch of a program, inlay exec "
                                    "FILE one launch of a kernel. "
                                  : did_you_mean(arguments[0], names, "inlay ");
  throw std::invalid_argument("there is no command '" + arguments[0] + "'\n  hint   " + nearest +
                              "The commands are " + all);
}

// Which help says more: of the command that was given, where there was one. An option that it does not have is near one that it has.
std::string help_hint(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  std::string name = "inlay";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands()[0];
    name += " " + command->get_name();
  }
  if (command == &app) return "inlay --help, inlay COMMAND --help";
  if (command->get_name() == "run-with" &&
      std::find(arguments.begin(), arguments.end(), "--") == arguments.end())
    return "inlay run-with [OPTIONS] -- COMMAND: options after -- are the command's own";
  // A word where the name of one of its commands is wanted.
  std::vector<std::string> below;
  for (const CLI::App* a : command->get_subcommands(nullptr)) below.push_back(a->get_name());
  const auto after = std::find(arguments.begin(), arguments.end(), command->get_name());
  if (!below.empty() && after != arguments.end() && after + 1 != arguments.end())
    if (const std::string hint = did_you_mean(after[1], below); !hint.empty()) return hint + name + " --help";
  std::vector<std::string> known;
  for (const CLI::App* level = command; level; level = level->get_parent())
    for (const CLI::Option* o : level->get_options())
      for (const std::string& n : o->get_lnames()) known.push_back("--" + n);
  for (const std::string& a : arguments) {
    const std::string option = a.substr(0, a.find('='));
    if (option.rfind("--", 0) != 0 || option.size() < 4 ||
        std::find(known.begin(), known.end(), option) != known.end())
      continue;
    if (std::string hint = did_you_mean(option, known); !hint.empty()) return hint + name + " --help";
  }
  return name + " --help";
}

// Chips by their product's name.
std::string architecture(const std::string& name) {
  if (const machine::Target* t = machine::find_chip(name)) return std::string(t->name);
  std::vector<std::string> known;
  for (const machine::Target& t : machine::Target::all()) {
    known.emplace_back(t.name);
    std::istringstream chips{std::string(t.chips)};
    for (std::string chip; chips >> chip;) {
      for (char& c : chip) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      known.push_back(chip);
    }
  }
  const std::string hint = did_you_mean(name, known);
  try {
    return std::string(machine::Target::named(name).name);
  } catch (const machine::UnknownTarget& e) {
    std::string what = e.what();
    what.insert(what.find("hint   ") + 7, hint);
    throw std::invalid_argument(what);
  }
}

// An option that a kernel does not have may be one of the command's.
std::string with_own_options(const CLI::App& app, std::string what) {
  const std::size_t at = what.find("option '--"), hint = what.find("\n  hint   ");
  if (at == std::string::npos || hint == std::string::npos || app.get_subcommands().empty()) return what;
  const std::string given = what.substr(at + 8, what.find('\'', at + 8) - at - 8);
  std::vector<std::string> own;
  for (const CLI::Option* o : app.get_subcommands()[0]->get_options())
    for (const std::string& n : o->get_lnames()) own.push_back("--" + n);
  const std::string mine = nearest(given, own);
  if (mine.empty()) return what;
  const std::string asks = "did you mean ";
  const std::size_t begin = hint + 10;
  if (what.compare(begin, asks.size(), asks) == 0) { // the nearer one
    const std::size_t name = begin + asks.size(), end = what.find('?', name);
    if (edit_distance(given, what.substr(name, end - name)) <= edit_distance(given, mine)) return what;
    what.erase(begin, end + 2 - begin);
  }
  return what.insert(begin, asks + mine + "? ");
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
  const auto given = [&](const NamedCommand& c) { return !arguments.empty() && c.name == arguments[0]; };
  const auto add = [&](const NamedCommand& c) { c.add(app, session); };
  if (const auto one = std::ranges::find_if(commands, given);
      one != std::end(commands) && one->name != "completion" && one->name != "man" && // these speak of all
      std::ranges::find(arguments, "--help-all") == arguments.end())
    add(*one);
  else
    std::ranges::for_each(commands, add);
  if (arguments.empty()) {
    err << app.help() << "\nerror: no command\n  hint   inlay COMMAND --help says more about one\n";
    return Exit::bad_input;
  }
  try {
    require_known_command(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    for (std::size_t k = reversed.size();
         k-- > 0 && reversed[k] != "--";) { // what follows -- is another program's
      if (reversed[k].rfind("--arch=", 0) == 0) reversed[k] = "--arch=" + architecture(reversed[k].substr(7));
      if (reversed[k] == "--arch" && k > 0) reversed[k - 1] = architecture(reversed[k - 1]);
    }
    // The program of run-with has the terminal for itself.
    const Busy busy(out, err, arguments[0], on_terminal(err) && arguments[0] != "run-with");
    app.parse(reversed);
    return session.exit;
  } catch (const CLI::Success& e) { // --help
    try {
      return app.exit(e, out, err);
    } catch (const std::invalid_argument& wrong) { // of a kernel that there is not
      return failed(session, arguments, Exit::bad_input, wrong.what());
    }
  } catch (const CLI::ParseError& e) {
    // Of an unknown option without a command CLI11 says that a subcommand is required.
    std::string what = app.get_subcommands().empty()
                           ? "inlay has no option '" + arguments[0] + "', and no command follows"
                           : std::string(e.what());
    const std::string unread = "Could not convert: ", is = " = ";
    if (const auto equals = what.find(is); what.rfind(unread, 0) == 0 && equals != std::string::npos)
      what = what.substr(unread.size(), equals - unread.size()) + " cannot be '" +
             what.substr(equals + is.size()) + "'";
    return failed(session, arguments, Exit::bad_input, what + "\n  hint   " + help_hint(app, arguments));
  } catch (const std::invalid_argument& e) {
    return failed(session, arguments, Exit::bad_input, with_own_options(app, e.what()));
  } catch (const std::runtime_error& e) {
    return failed(session, arguments, Exit::bad_input, e.what());
  } catch (const std::bad_alloc&) {
    return failed(session, arguments, Exit::bad_input,
                  "not enough memory for what is asked for\n  hint   smaller sizes");
  } catch (const std::exception& e) {
    return failed(session, arguments, Exit::internal, e.what());
  }
}

CLI::Validator at_least(int least) {
  const auto check = [least](const std::string& text) -> std::string {
    double number = least;
    if (!CLI::detail::lexical_cast(text, number) || number >= least)
      return ""; // what is no number is refused as one
    return text + " is less than " + std::to_string(least);
  };
  return CLI::Validator(check, "at least " + std::to_string(least), "at_least");
}

std::string read_text(Session& session, const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << session.in.rdbuf();
    return text.str();
  }
  if (std::filesystem::is_directory(file)) throw std::runtime_error("'" + file + "' is a directory");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read '" + file + "'");
  text << stream.rdbuf();
  return text.str();
}

void write_text(Session& session, const std::string& file, const std::string& text) {
  if (file == "-") {
    session.out << text;
    return;
  }
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write '" + file + "'");
}

} // namespace inlay::cli
