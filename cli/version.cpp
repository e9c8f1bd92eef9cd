#include "command.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

int version(Session& session, bool json) {
  nlohmann::ordered_json facts = {
      {"name", "inlay"}, {"version", INLAY_VERSION}, {"components", nlohmann::json::array()}};
  std::string components = INLAY_COMPONENTS;
  for (std::size_t begin = 0; begin < components.size();) {
    std::size_t end = std::min(components.find(',', begin), components.size());
    facts["components"].push_back(components.substr(begin, end - begin));
    begin = end + 1;
  }
  if (json) {
    session.out << facts.dump(2) << "\n";
  } else {
    session.out << "inlay " << INLAY_VERSION << " (" << INLAY_COMPONENTS << ")\n";
  }
  return Exit::yes;
}

} // namespace

void add_version(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("version", "Version of inlay and of what it was built with");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->callback([=, &session] { session.exit = version(session, *json); });
}

} // namespace inlay::cli
