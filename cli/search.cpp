// `inlay search swizzle|padding|vector|tiler`: what would make a set of claims true, with the proof.
#include "command.h"

#include <inlay/machine/target.h>
#include <inlay/solver/search.h>

#include <bit>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

using namespace inlay::solver;

struct SearchArguments {
  std::string kind;
  std::vector<std::string> arguments, views, where;
  std::string arch{machine::usual_target}, symbol = "ld";
  std::uint64_t tile = 0, row_bytes = 0, rows = 0, step = 16, limit = 16;
  std::uint64_t columns = 0, threads = 256, vector = 8, element_bytes = 2;
  bool json = false, all = false;
};

using Json = nlohmann::ordered_json;

// "ds_read_b128 ((16,4),2):((128,16),64)"
std::vector<LdsView> views_of(const SearchArguments& a) {
  std::vector<LdsView> out;
  for (const std::string& text : a.views) {
    std::size_t space = text.find(' ');
    if (space == std::string::npos || text.rfind("ds_", 0) != 0)
      throw QuestionError("search: '" + text +
                          "' is not a view\n  hint   --view 'ds_read_b128 ((16,4)):((128,16))': instruction, "
                          "then (lane, instance...) -> bytes");
    out.push_back({text.substr(space + 1), text.substr(0, space)});
  }
  if (out.empty())
    throw QuestionError("search: --view is missing\n  hint   --view 'ds_read_b128 ((16,4)):((128,16))'");
  return out;
}

Json proofs_of(const std::vector<Verdict>& proofs) {
  Json out = Json::array();
  for (const Verdict& v : proofs) {
    out.push_back({{"property", v.property}, {"verdict", to_string(v.outcome)}, {"method", v.method}});
    if (v.witness) out.back()["witness"] = v.witness->text;
    if (!v.notes.empty()) out.back()["notes"] = v.notes;
  }
  return out;
}

void print_notes(Session& session, const std::vector<Verdict>& proofs) {
  std::vector<std::string> said;
  for (const Verdict& v : proofs)
    for (const std::string& n : v.notes)
      if (std::find(said.begin(), said.end(), n) == said.end()) {
        said.push_back(n);
        session.out << "  note   " << n << "\n";
      }
}

int search_swizzles(Session& session, const SearchArguments& a) {
  auto views = views_of(a);
  auto found = search_swizzle(views, a.arch, a.tile);
  Json j = {{"arch", a.arch}, {"tile_bytes", a.tile}, {"found", Json::array()}};
  for (const SwizzleChoice& c : found)
    j["found"].push_back({{"swizzle", c.text()},
                          {"footprint", c.footprint},
                          {"clocks", c.clocks},
                          {"proofs", proofs_of(c.proofs)}});
  if (found.empty()) {
    SwizzleChoice best = best_swizzle(views, a.arch, a.tile);
    j["best"] = {{"swizzle", best.text()},
                 {"degree", best.degree},
                 {"clocks", best.clocks},
                 {"proofs", proofs_of(best.proofs)}};
    if (!a.json) {
      session.out << "no swizzle is conflict-free; the best is " << best.text() << ": " << best.degree
                  << "-way, " << best.clocks << " clocks\n";
      for (const Verdict& v : best.proofs)
        if (v.witness) session.out << "  " << v.witness->text << "\n";
      // A swizzle permutes tiles of whole powers of two.
      if (const std::uint64_t whole = std::bit_ceil(a.tile); whole != a.tile)
        if (const auto larger = search_swizzle(views, a.arch, whole); !larger.empty())
          session.out << "  " << larger.front().text() << " is, of a tile of " << whole
                      << " bytes; it does not permute " << a.tile << "\n";
    }
  } else if (!a.json) {
    session.out << found.front().text() << " is conflict-free on " << a.arch << " for " << views.size()
                << " views (proved), " << found.front().clocks << " clocks, " << found.front().footprint
                << " bytes\n";
    for (std::size_t k = 1; k < found.size() && (a.all || k < 8); ++k)
      session.out << "  also " << found[k].text() << "\n";
    if (!a.all && found.size() > 8) session.out << "  and " << found.size() - 8 << " more (--all)\n";
    print_notes(session, found.front().proofs);
  }
  if (a.json) session.out << j.dump(2) << "\n";
  return found.empty() ? Exit::no : Exit::yes;
}

int search_paddings(Session& session, const SearchArguments& a) {
  auto found = search_padding(views_of(a), a.arch, a.symbol, a.row_bytes, a.rows, a.step);
  Json j = {{"arch", a.arch}, {"found", Json::array()}};
  for (const PaddingChoice& c : found)
    j["found"].push_back(
        {{"row_bytes", c.row_bytes}, {"footprint", c.footprint}, {"proofs", proofs_of(c.proofs)}});
  if (a.json) {
    session.out << j.dump(2) << "\n";
  } else if (found.empty()) {
    session.out << "no row stride from " << a.row_bytes << " to " << 2 * a.row_bytes
                << " bytes is conflict-free\n";
  } else {
    for (const PaddingChoice& c : found)
      session.out << a.symbol << " = " << c.row_bytes << " (" << c.row_bytes - a.row_bytes
                  << " bytes of padding, " << c.footprint << " bytes in all)\n";
    print_notes(session, found.front().proofs);
  }
  return found.empty() ? Exit::no : Exit::yes;
}

int search_vectors(Session& session, const SearchArguments& a) {
  std::vector<Subject> subjects;
  for (const std::string& text : a.arguments) subjects.emplace_back(text);
  if (subjects.empty())
    throw QuestionError(
        "search vector: no layout\n  hint   inlay search vector '(K,M):(1,K)' --where 'K % 8 == 0'");
  VectorChoice c = search_vector(subjects, a.where, a.limit);
  if (a.json) {
    session.out << Json{{"elements", c.elements}, {"reason", c.reason}, {"proofs", proofs_of(c.proofs)}}.dump(
                       2)
                << "\n";
  } else {
    session.out << c.elements
                << (c.proofs.empty() ? " elements; no wider: " : " elements (proved); no wider: ") << c.reason
                << "\n";
  }
  return Exit::yes;
}

int search_tilers(Session& session, const SearchArguments& a) {
  auto found = search_tiler(a.rows, a.columns, a.threads, a.vector, a.element_bytes);
  Json j = {{"found", Json::array()}};
  for (const TilerChoice& c : found)
    j["found"].push_back({{"rows", c.rows},
                          {"columns", c.columns},
                          {"thread_value", c.thread_value},
                          {"lines", c.lines},
                          {"least_lines", c.least_lines},
                          {"proofs", proofs_of(c.proofs)}});
  if (a.json) {
    session.out << j.dump(2) << "\n";
  } else if (found.empty()) {
    session.out << "no tile of " << a.threads << " threads with vectors of " << a.vector << " divides "
                << a.rows << " x " << a.columns << "\n";
  } else {
    for (const TilerChoice& c : found)
      session.out << c.rows << " x " << c.columns << "  " << c.thread_value << "  " << c.lines
                  << " lines a wave (least " << c.least_lines << ", proved)\n";
  }
  return found.empty() ? Exit::no : Exit::yes;
}

} // namespace

void add_search(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("search", "Find a swizzle, padding, vector width or tiler, with its proof");
  command->require_subcommand(1);
  auto a = std::make_shared<SearchArguments>();
  auto repeated = [](CLI::Option* o) {
    o->allow_extra_args(false); // else it would take every argument that follows
  };
  auto lds = [&](CLI::App* sub) {
    repeated(sub->add_option(
        "--view", a->views,
        "Instruction and map from (lane, instance) to the byte in LDS at which the access starts, e.g. "
        "'ds_read_b128 ((16,4),2):((128,16),64)' (bytes, not elements); may be repeated"));
    sub->add_option("--arch", a->arch, machine::names(" or "));
    sub->add_flag("--json", a->json, "As JSON");
  };
  auto* swizzles = command->add_subcommand(
      "swizzle",
      "Conflict-free Sw<B,M,S> for all views of an LDS tile at once; views map (lane, instance) to bytes");
  lds(swizzles);
  swizzles->add_option("--tile", a->tile, "Bytes of the tile")->required();
  swizzles->add_flag("--all", a->all, "List every one");
  swizzles->callback([=, &session] { session.exit = search_swizzles(session, *a); });
  auto* paddings = command->add_subcommand(
      "padding", "Conflict-free row strides of an LDS tile; views map (lane, instance) to bytes");
  lds(paddings);
  paddings->add_option("--row-bytes", a->row_bytes, "Bytes of a row without padding")->required();
  paddings->add_option("--rows", a->rows, "Rows")->required();
  paddings->add_option("--symbol", a->symbol, "The row stride's name in the views (ld)");
  paddings->add_option("--step", a->step, "Granularity of the padding in bytes (16)");
  paddings->callback([=, &session] { session.exit = search_paddings(session, *a); });
  auto* vectors = command->add_subcommand("vector", "Widest vector that all layouts allow");
  vectors->add_option("layouts", a->arguments, "Layouts of one index")->required();
  repeated(vectors->add_option("--where", a->where, "A condition on the symbols"));
  vectors->add_option("--limit", a->limit, "Elements at most (16)");
  vectors->add_flag("--json", a->json, "As JSON");
  vectors->callback([=, &session] { session.exit = search_vectors(session, *a); });
  auto* tilers = command->add_subcommand("tiler", "Thread-value layouts that move a row-major tile once");
  tilers->add_option("--rows", a->rows, "Rows of the tile")->required();
  tilers->add_option("--columns", a->columns, "Columns of the tile")->required();
  tilers->add_option("--threads", a->threads, "Threads (256)");
  tilers->add_option("--vector", a->vector, "Elements a thread moves at once (8)");
  tilers->add_option("--element-bytes", a->element_bytes, "Bytes of an element (2)");
  tilers->add_flag("--json", a->json, "As JSON");
  tilers->callback([=, &session] { session.exit = search_tilers(session, *a); });
}

} // namespace inlay::cli
