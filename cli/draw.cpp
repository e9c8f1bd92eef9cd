// `inlay draw EXPRESSION`: pictures of layouts, of an operation with its inputs, of tiles, operands and LDS banks.
#include "atom_names.h"
#include "command.h"
#ifdef INLAY_CLI_CODEGEN
#include "atom_pictures.h"
#endif

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/expression.h>
#include <inlay/algebra/ops/composition.h>
#include <inlay/algebra/parse.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/html.h>
#include <inlay/algebra/render/json.h>
#include <inlay/algebra/render/latex.h>
#include <inlay/algebra/render/svg.h>
#include <inlay/algebra/render/text.h>
#include <inlay/algebra/render/views.h>
#ifdef INLAY_CLI_SOLVER
#include <inlay/machine/target.h>
#include <inlay/solver/lds.h>
#endif

#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>

namespace inlay::cli {
namespace {

struct DrawArguments {
  std::string expression, svg, latex, html, tile, mfma, banks, arch{machine::usual_target}, colour = "auto";
  bool thread_value = false, json = false;
};

[[noreturn]] void refuse(const std::string& summary, const std::string& where, const std::string& hint) {
  throw LayoutError({"draw", "draw", summary, {}, where, {}, hint});
}

/// `composition(A, B)` as its name and the texts of its arguments; nothing when the text is not a call.
struct Call {
  std::string name;
  std::vector<std::string> arguments;
};
std::optional<Call> as_call(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\n");
  const auto end = text.find_last_not_of(" \t\n");
  const auto open = text.find('(');
  if (begin == std::string::npos || open == std::string::npos || open == begin || text[end] != ')')
    return std::nullopt;
  Call call{text.substr(begin, open - begin), {""}};
  if (call.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
      std::string::npos)
    return std::nullopt;
  int depth = 0;
  for (std::size_t i = open; i <= end; ++i) {
    const char c = text[i];
    if (c == ')' || c == '>') --depth;
    if (depth == 0 && c == ')') {
      if (call.arguments == std::vector<std::string>{""}) call.arguments.clear(); // `f()`
      return i == end ? std::optional(call) : std::nullopt;
    }
    if (depth == 1 && c == ',')
      call.arguments.emplace_back();
    else if (depth > 0)
      call.arguments.back() += c;
    if (c == '(' || c == '<') ++depth;
  }
  return std::nullopt;
}

/// The pictures of everything in a value that is a function; results of some operations are several.
void append_pictures(std::vector<Picture>& pictures, const Value& value, const std::string& name) {
  const auto entitled = [&](Picture picture) {
    if (!name.empty()) picture.title = name + " = " + picture.title;
    pictures.push_back(std::move(picture));
  };
  if (const Layout* layout = value.get<Layout>()) return entitled(layout_picture(*layout));
  if (const auto function = as_function(value)) return entitled(layout_picture(*function));
  if (const List* list = value.get<List>())
    for (const Value& entry : *list) append_pictures(pictures, entry, name);
  if (const Record* record = value.get<Record>())
    for (const auto& [entry_name, entry] : *record)
      append_pictures(pictures, entry, name.empty() ? entry_name : name + "." + entry_name);
}

/// Lines around the tiles of a divide: in the picture of what is divided, and around the columns that they are in that of zipped_divide.
void outline_tiles(const Call& call, std::vector<Picture>& pictures, std::size_t inputs) {
  static const std::set<std::string> divides{"logical_divide", "zipped_divide", "tiled_divide", "flat_divide",
                                             "local_tile"};
  if (!divides.count(call.name) || call.arguments.size() < 2 || pictures.empty()) return;
  const auto whole = as_function(evaluate_expression(call.arguments[0]));
  if (!whole || whole->inner().has_basis_strides()) return;
  const Value index[] = {Layout::col_major(whole->shape()), evaluate_expression(call.arguments[1])};
  const Layout tiles = apply_operation("zipped_divide", index).as_layout();
  if (tiles.size() != whole->size()) return; // a tiler that reaches beyond it
  std::vector<int> number(static_cast<std::size_t>(tiles.size().value()), -1);
  const Int tile = tiles.mode(0).size();
  for (Int i = 0; i < tiles.size(); i += 1) {
    const Int at = tiles(i);
    if (at < 0 || at >= whole->size()) return;
    number[static_cast<std::size_t>(at.value())] = static_cast<int>(floor_div(i, tile).value());
  }
  outline(pictures[0], [&](Int i) { return number[static_cast<std::size_t>(i.value())]; });
  if (call.name == "zipped_divide" && pictures.size() > inputs)
    outline(pictures[inputs], [&](Int i) { return static_cast<int>(floor_div(i, tile).value()); });
}

/// Of a thread-value layout whose tile nobody gave: onto the extents of its coordinates, or its elements in rows that can be read.
Picture thread_value_picture_alone(const Layout& layout) {
  if (layout.has_basis_strides()) {
    const IntTuple tile = coshape(layout);
    const Layout onto = composition(Layout::col_major(tile), layout);
    Picture picture = thread_value_picture(onto, tile);
    picture.title.replace(0, to_string(onto).size(), to_string(layout));
    return picture;
  }
  constexpr std::int64_t legible = 32, least = 4;
  const std::int64_t size = layout.cosize().value();
  std::int64_t row = legible;
  while (size % row != 0) --row;
  if (size <= legible || row < least) return thread_value_picture(layout, layout.cosize());
  Picture picture = transposed(thread_value_picture(layout, IntTuple::of({Int(row), Int(size / row)})));
  picture.title += fmt::format("   {} in a row; --tile ({},{}) gives a tile its shape", row, row, size / row);
  return picture;
}

/// Who holds what: of a thread-value layout with its tile, or of the parts of a tiled copy or MMA, which bring theirs.
std::vector<Picture> thread_value_pictures(const DrawArguments& a) {
  const Value value = evaluate_expression(a.expression, atom_names());
  const Record* record = value.get<Record>();
  if (!record) {
    const Layout layout = value.as_layout();
    return {a.tile.empty() ? thread_value_picture_alone(layout)
                           : thread_value_picture(layout, parse_int_tuple(a.tile))};
  }
  const auto entry = [&](const char* name) -> const Value* {
    for (const auto& [key, v] : *record)
      if (key == name) return &v;
    return nullptr;
  };
  const auto entitled = [](const char* name, Picture picture) {
    picture.title = std::string(name) + "   " + picture.title;
    return picture;
  };
  if (const Value* tile = entry("tile_mnk")) {
    const IntTuple mnk = tile->as_tuple();
    const auto picture = [&](const char* name, std::size_t first, std::size_t second) {
      return entitled(name,
                      thread_value_picture(value[name].as_layout(), IntTuple::of({mnk[first], mnk[second]})));
    };
    std::vector<Picture> pictures{picture("A_TV", 0, 2), transposed(picture("B_TV", 1, 2)),
                                  picture("C_TV", 0, 1)};
    pictures[0].place = {1, 0}, pictures[1].place = {0, 1}, pictures[2].place = {1, 1};
    return pictures;
  }
  const Value* tiler = entry("tiler");
  if (!tiler || !entry("layout_tv"))
    refuse("no thread-value layout", a.expression + " is " + to_string(value),
           "make_tiled_copy(8, (32,8):(8,1), (1,8):(0,1))");
  std::vector<IntTuple> extents;
  for (const Value& part : *tiler->get<List>())
    extents.emplace_back(part.get<Int>() ? part.as_int() : part.as_layout().size());
  const IntTuple shape = extents.size() == 1 ? extents[0] : IntTuple::of(extents);
  const Value *source = entry("S_TV"), *destination = entry("D_TV");
  if (!source || !destination || *source == *destination)
    return {entitled("layout_tv", thread_value_picture((*entry("layout_tv")).as_layout(), shape))};
  return {entitled("S_TV", thread_value_picture(source->as_layout(), shape)),
          entitled("D_TV", thread_value_picture(destination->as_layout(), shape))};
}

/// The inputs of an operation, those that are functions and not too large, and its result.
std::vector<Picture> operation_pictures(const std::string& expression, std::exception_ptr& refused) {
  std::vector<Picture> pictures;
  const auto call = as_call(expression);
  if (call)
    for (const std::string& argument : call->arguments) {
      std::vector<Picture> input;
      try {
        append_pictures(input, evaluate_expression(argument, atom_names()), "");
      } catch (const LayoutError& e) {
        if (e.code() != "limit") throw;
        input = {{argument, "too large to draw", {}}};
      }
      for (Picture& p : input) pictures.push_back(std::move(p));
    }
  try {
    const std::size_t inputs = pictures.size();
    const Value value = evaluate_expression(expression, atom_names());
    append_pictures(pictures, value, call ? call->name : "");
    if (call) outline_tiles(*call, pictures, inputs);
    if (pictures.size() == inputs)
      refuse("there is nothing to draw", expression + " is " + to_string(value), "a layout: (4,8):(8,1)");
  } catch (const LayoutError&) {
    if (pictures.empty()) throw;
    refused = std::current_exception(); // shown beside the inputs that caused it
  }
  return pictures;
}

#ifdef INLAY_CLI_SOLVER
/// One picture for each access of a wave: mode 0 of the layout counts the lanes, whatever follows the accesses. A
/// swizzled layout is shown without the swizzle first.
std::vector<Picture> bank_pictures(const Value& value, const DrawArguments& a) {
  constexpr std::int64_t wave = 64, most_accesses = 16;
  const auto function = as_function(value);
  if (!function)
    refuse("banks need a layout from lanes to byte offsets", a.expression + " is " + to_string(value),
           "(64):(16) reads 16 bytes a lane, one after the other");
  const Int lanes = function->rank() < 2 ? function->size() : function->inner().mode(0).size();
  const Int accesses = floor_div(function->size(), lanes);
  if (lanes != wave || accesses > most_accesses)
    refuse("banks need 64 lanes in mode 0, and at most 16 accesses after it",
           to_string(lanes) + " lanes, " + to_string(accesses) + " accesses", "((16,4),2):((128,16),64)");
  const solver::LdsAccess& access = solver::lds_access(a.banks, a.arch);
  const BankModel model{a.banks + " on " + a.arch + (access.measured ? "" : " (phases assumed)"),
                        access.bytes, access.banks, access.phases};
  std::vector<std::pair<std::string, std::function<Int(Int)>>> views;
  if (const Swizzle* swizzle = function->swizzle(); swizzle && !swizzle->is_identity())
    views.emplace_back("without " + to_string(*swizzle),
                       [&](Int i) { return function->offset() + function->inner()(i); });
  views.emplace_back(to_string(value), [&](Int i) { return (*function)(i); });
  std::vector<Picture> pictures;
  for (const auto& [name, offset_at] : views)
    for (Int k = 0; k < accesses; k += 1)
      pictures.push_back(bank_picture(
          accesses == 1 ? name : name + ", access " + to_string(k),
          [&](unsigned lane) { return offset_at(k * lanes + Int(lane)); }, model));
  return pictures;
}
#endif

std::vector<Picture> pictures_of(const DrawArguments& a, std::exception_ptr& refused) {
  if (!a.mfma.empty()) {
#ifdef INLAY_CLI_CODEGEN
    return matrix_pictures(matrix_instruction(a.mfma), a.mfma);
#else
    refuse("this build has no table of instructions", "", "build with the component codegen");
#endif
  }
  if (a.expression.empty())
    refuse("nothing is given", "", "inlay draw '((2,2),3):((24,2),8)', or --mfma 32x32x8");
  if (!a.banks.empty()) {
#ifdef INLAY_CLI_SOLVER
    return bank_pictures(evaluate_expression(a.expression), a);
#else
    refuse("this build has no model of the LDS", "", "build with the component solver");
#endif
  }
  if (a.thread_value) return thread_value_pictures(a);
  return operation_pictures(a.expression, refused);
}

/// A terminal that wants colour: https://no-color.org.
TextColour colour_for(const Session& session, const std::string& wish) {
  if (wish != "auto") return wish == "always" ? TextColour::on : TextColour::off;
  const char* no = std::getenv("NO_COLOR");
  const bool terminal = session.out.rdbuf() == std::cout.rdbuf() && isatty(STDOUT_FILENO) == 1;
  return terminal && !(no && *no) ? TextColour::on : TextColour::off;
}

int draw(Session& session, const DrawArguments& a) {
  std::exception_ptr refused;
  const std::vector<Picture> pictures = pictures_of(a, refused);
  if (!a.svg.empty()) write_text(session, a.svg, render_svg(pictures));
  if (!a.latex.empty()) write_text(session, a.latex, render_latex(pictures));
  if (!a.html.empty())
    write_text(session, a.html, render_html(pictures, a.mfma.empty() ? a.expression : "mfma " + a.mfma));
  if (a.json) session.out << render_json(pictures);
  if (a.svg.empty() && a.latex.empty() && a.html.empty() && !a.json)
    session.out << render_text(pictures, colour_for(session, a.colour));
  if (refused) std::rethrow_exception(refused);
  return Exit::yes;
}

} // namespace

void add_draw(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("draw", "Pictures of a layout, or of an operation with its inputs");
  auto a = std::make_shared<DrawArguments>();
  command->add_option("expression", a->expression, "a layout, or composition(A, B) and the like");
  command->add_option("--svg", a->svg, "write SVG (- is standard output)");
  command->add_option("--latex", a->latex, "write LaTeX with TikZ");
  command->add_option("--html", a->html, "write one self-contained page");
  command->add_flag("--json", a->json, "print the pictures as data");
  command->add_flag("--tv", a->thread_value,
                    "the tile that a thread-value layout covers: who holds which element; also of "
                    "make_tiled_copy(..) and tiled_mma(..)");
  command->add_option("--tile", a->tile, "with --tv: the shape of the tile, (16,16)");
  command->add_option("--mfma", a->mfma, "A, B and C of a matrix instruction: its name, or MxNxK");
  command->add_option("--banks", a->banks, "occupancy of the LDS banks: a DS instruction, ds_read_b128");
  command->add_option("--arch", a->arch, "with --banks: " + machine::names(" or "));
  command->add_option("--colour,--color", a->colour, "of the text")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->callback([=, &session] { session.exit = draw(session, *a); });
}

} // namespace inlay::cli
