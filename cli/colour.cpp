#include "colour.h"

#include <cstdlib>
#include <string_view>

namespace inlay::cli {

namespace {

const std::ostream *terminal_out = nullptr, *terminal_err = nullptr;

std::string paint(const std::ostream& stream, Colour colour, const std::string& text) {
  const char* none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return text;
  const char* force = std::getenv("CLICOLOR_FORCE");
  if (!on_terminal(stream) && (force == nullptr || std::string_view(force) != "1")) return text;
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\x1b[0m";
}

} // namespace

void set_terminals(const std::ostream* out, const std::ostream* err) {
  terminal_out = out;
  terminal_err = err;
}
bool on_terminal(const std::ostream& stream) { return &stream == terminal_out || &stream == terminal_err; }

std::string painted(const Session& session, Colour colour, const std::string& text) {
  return paint(session.out, colour, text);
}
std::string painted_verdict(const Session& session, int exit, const std::string& text) {
  return painted(session,
                 exit == Exit::yes  ? Colour::green
                 : exit == Exit::no ? Colour::red
                                    : Colour::yellow,
                 text);
}
std::string painted_error(const Session& session, Colour colour, const std::string& text) {
  return paint(session.err, colour, text);
}

} // namespace inlay::cli
