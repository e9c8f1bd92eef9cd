#include "commands.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace inlay::cli {

int run(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err) {
  Session session{in, out, err};
  CLI::App app{"inlay: layouts, proofs and kernels for AMD Instinct", "inlay"};
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  for (AddCommand add : commands) add(app, session);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    return session.exit;
  } catch (const CLI::Success& e) { // --help
    return app.exit(e, out, err);
  } catch (const CLI::ParseError& e) {
    err << "error: " << e.what() << "\n  hint   inlay --help, inlay COMMAND --help\n";
    return Exit::bad_input;
  } catch (const std::invalid_argument& e) {
    err << "error: " << e.what() << "\n";
    return Exit::bad_input;
  } catch (const std::runtime_error& e) {
    err << "error: " << e.what() << "\n";
    return Exit::bad_input;
  } catch (const std::exception& e) {
    err << "internal error: " << e.what() << "\n  please report this with the command that caused it\n";
    return Exit::internal;
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
