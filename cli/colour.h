/// Who looks at what a command prints, and colour for words that are looked for: on a terminal, and where the environment does not ask
/// for none (NO_COLOR, no-color.org).
#pragma once

#include "command.h"

namespace inlay::cli {

enum class Colour : int { red = 31, green = 32, yellow = 33, bold = 1 };

/// `out` and `err` of a session are terminals; nullptr: not. `run` says so once, before a command begins.
void set_terminals(const std::ostream* out, const std::ostream* err);
[[nodiscard]] bool on_terminal(const std::ostream& stream);

/// `text` in that colour when session.out is a terminal and NO_COLOR is not set; CLICOLOR_FORCE=1 asks for colour everywhere.
[[nodiscard]] std::string painted(const Session& session, Colour colour, const std::string& text);
/// A verdict in the colour of what it ends a command with: green of `Exit::yes`, red of `no`, yellow of `undecided`.
[[nodiscard]] std::string painted_verdict(const Session& session, int exit, const std::string& text);
/// The same for session.err.
[[nodiscard]] std::string painted_error(const Session& session, Colour colour, const std::string& text);

} // namespace inlay::cli
