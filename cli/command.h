/// How a command of `inlay` is written: one file a command, one function that adds it to the application.
///
/// A command reads its arguments through CLI11, computes with the library, and writes to `session.out`; what it
/// returns is its exit status. Nothing here prints on its own and nothing but main() touches the process, so that
/// tests run commands in-process.
///
///     int version(Session& s, bool json) { s.out << ...; return Exit::yes; }
///     void add_version(CLI::App& app, Session& s) {
///       auto* c = app.add_subcommand("version", "...");
///       auto json = std::make_shared<bool>(false);
///       c->add_flag("--json", *json, "...");
///       c->callback([=, &s] { s.exit = version(s, *json); });
///     }
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace inlay::cli {

/// Exit status, the contract of the command line: 0 yes or done, 1 a negative answer (refuted, mismatch),
/// 2 bad input, 3 undecided within the budget, 70 internal error.
enum Exit : int { yes = 0, no = 1, bad_input = 2, undecided = 3, internal = 70 };

/// Where a command reads and writes, and where it leaves its exit status.
struct Session {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  int exit = Exit::yes;
};

/// Runs `inlay ARGUMENTS` and returns its exit status. User errors (std::invalid_argument, std::runtime_error)
/// become one message on `err` and 2; anything else that is thrown becomes 70 with a request to report it.
[[nodiscard]] int run(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out,
                      std::ostream& err);

/// The whole of FILE, or of `session.in` when FILE is `-`. Throws std::runtime_error naming the file.
[[nodiscard]] std::string read_text(Session& session, const std::string& file);

/// `text` into FILE, or to `session.out` when FILE is `-`. Throws std::runtime_error naming the file.
void write_text(Session& session, const std::string& file, const std::string& text);

/// A check that an option's number is at least `least`: `-1 is less than 0`.
[[nodiscard]] CLI::Validator at_least(int least);

using AddCommand = void (*)(CLI::App&, Session&);

} // namespace inlay::cli
