// `inlay atoms`: what the instructions of a target do, from the table that the code generator uses.
#include "atom_pictures.h"
#include "command.h"

#include <fmt/format.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/render/html.h>
#include <inlay/algebra/render/latex.h>
#include <inlay/algebra/render/svg.h>
#include <inlay/algebra/render/text.h>
#include <inlay/algebra/render/views.h>
#include <inlay/codegen/atoms.h>
#include <inlay/codegen/error.h>
#include <inlay/machine/target.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace inlay::cli {
namespace {

using namespace codegen;
using Json = nlohmann::ordered_json;

struct AtomsArguments {
  std::string name, arch, kind, type, svg, html, latex;
  bool json = false, draw = false;
};

// `llvm.amdgcn...(<4 x half>, ..., i32 0) -> <4 x float>`
std::string emission_text(const Emission& e) {
  return fmt::format("{}({}) -> {}", e.name, fmt::join(e.operands, ", "), e.result);
}

std::string shape_text(const Mma& m) {
  return fmt::format("{}x{}x{}", m.m, m.n, m.k) +
         (m.blocks == 1 ? "" : fmt::format(" x {} blocks", m.blocks));
}

std::string types_text(const Mma& m) {
  return fmt::format("{} x {} -> {}", to_string(m.a_element), to_string(m.b_element), to_string(m.c_element));
}

std::string side_text(const AtomSide& s) {
  const bool plain = s.addressing == Addressing::none || s.addressing == Addressing::lds;
  return to_string(s.space) + (plain ? "" : " by " + to_string(s.addressing));
}

// One line of the list.
std::string summary(const Atom& a) {
  if (a.mma) {
    const Mma& m = *a.mma;
    std::string what = fmt::format("{} {}, {} passes", shape_text(m), types_text(m), m.passes);
    if (m.sparse) what += ", A 2 of 4";
    what += fmt::format("  A {}", to_string(m.a));
    if (m.b != m.a) what += fmt::format("  B {}", to_string(m.b));
    return what + fmt::format("  C {}", to_string(m.c));
  }
  if (a.kind == Atom::Kind::atomic)
    return fmt::format("{} of {}{}, {}{}", to_string(a.combine), to_string(a.element),
                       a.bits > bits(a.element) ? " x 2" : "", side_text(a.destination),
                       a.returns ? ", returns the old value" : "");
  if (a.kind == Atom::Kind::copy) {
    std::string what =
        fmt::format("{} bits, {} -> {}", a.bits, side_text(a.source), side_text(a.destination));
    if (a.source.data != a.destination.data) what += "  data " + to_string(a.destination.data);
    if (a.forced_place()) what += "  place " + to_string(a.destination.address);
    return what;
  }
  if (a.gather.size() == 64) {
    std::vector<std::string> first;
    for (int lane = 0; lane < 8; ++lane)
      first.push_back(a.gather[static_cast<std::size_t>(lane)] < 0
                          ? "-"
                          : std::to_string(a.gather[static_cast<std::size_t>(lane)]));
    return fmt::format("lanes 0 to 7 get {}", fmt::join(first, " "));
  }
  if (a.source.data != a.destination.data && a.bits == 64)
    return "two registers, data " + to_string(a.destination.data);
  return fmt::format("{} -> {}", side_text(a.source), side_text(a.destination));
}

std::string immediate_text(const Atom& a) {
  std::string text = fmt::format("{} to {} bytes", a.immediate.min, a.immediate.max);
  if (a.immediate.unit != 1) text += fmt::format(" in steps of {}", a.immediate.unit);
  if (a.parts == 2) text += ", one for each half";
  if (a.immediate_moves_both) text += ", added to the LDS address too";
  return text;
}

std::string gather_text(const std::vector<int>& gather) {
  std::string text;
  for (const int from : gather)
    text += (text.empty() ? "" : " ") + (from < 0 ? std::string("-") : std::to_string(from));
  return text;
}

// The whole row, one fact a line.
std::string detail(const Atom& a) {
  std::string out = fmt::format("{}   on {}\n", a.name, a.targets.names());
  const auto line = [&](std::string_view what, const std::string& text) {
    out += fmt::format("  {:<12} {}\n", what, text);
  };
  if (a.mma) {
    const Mma& m = *a.mma;
    line("product", fmt::format("D = A B + C, {}, {}", shape_text(m), types_text(m)));
    const auto operand = [&](std::string_view name, const char* axes, const Layout& l, int values,
                             Element e) {
      line(name, fmt::format("(lane, value) -> ({}{})  {}   {} value{} in {} register{}", axes,
                             m.blocks == 1 ? "" : ", block", to_string(l), values, values == 1 ? "" : "s",
                             std::max(1, values * bits(e) / 32), values * bits(e) <= 32 ? "" : "s"));
    };
    operand("A", "m, k", m.a, m.a_values(), m.a_element);
    operand("B", "n, k", m.b, m.b_values(), m.b_element);
    operand("C, D", "m, n", m.c, m.c_values(), m.c_element);
    if (m.sparse)
      line("sparse",
           "k of A counts the packed elements, two of every four; the index register has 2 bits for each");
    if (m.scale)
      line("scales", fmt::format("lane -> (row, first of 32 k)  {}   e8m0, byte 0 of a register each",
                                 to_string(*m.scale)));
    line("cost", fmt::format("{} passes, {} clocks{}", m.passes, m.clocks(),
                             m.result_wait_states < 0 ? ""
                                                      : fmt::format("; D can be read after {} wait states",
                                                                    m.result_wait_states)));
  } else {
    line("moves", fmt::format("{} bits a lane{}", a.bits,
                              a.sign_extends ? ", sign-extended"
                              : a.bits < 32  ? ", zero-extended"
                                             : ""));
    if (a.kind == Atom::Kind::atomic)
      line("combines", fmt::format("{} of {}{}", to_string(a.combine), to_string(a.element),
                                   a.returns ? ", returns the old value" : ""));
    for (const auto& [name, s] : {std::pair("source", &a.source), std::pair("destination", &a.destination)}) {
      line(name, side_text(*s));
      line("", "(lane, bit) -> bit from the " +
                   std::string(s->addressing == Addressing::none ? "register " : "address  ") +
                   to_string(s->address));
      line("", "(lane, bit) -> slot                  " + to_string(s->data));
    }
    if (!a.gather.empty()) line("from lane", gather_text(a.gather));
    if (a.kind != Atom::Kind::relayout) {
      line("immediate", immediate_text(a));
      line("alignment", fmt::format("{} byte{}", a.alignment, a.alignment == 1 ? "" : "s"));
    }
    line("counter", to_string(a.counter) + (a.counter == Counter::none ? ""
                                            : a.in_order               ? ", in order"
                                                                       : ", in any order"));
  }
  line("LLVM", emission_text(a.emission));
  return out;
}

Json to_json(const Atom& a) {
  Json j = {{"name", a.name}, {"kind", to_string(a.kind)}, {"targets", Json::array()}};
  for (const Target& t : Target::all())
    if (a.targets.contains(t)) j["targets"].push_back(t.name);
  if (a.mma) {
    const Mma& m = *a.mma;
    j["m"] = m.m, j["n"] = m.n, j["k"] = m.k, j["blocks"] = m.blocks;
    j["a"] = {{"element", to_string(m.a_element)}, {"layout", to_string(m.a)}};
    j["b"] = {{"element", to_string(m.b_element)}, {"layout", to_string(m.b)}};
    j["c"] = {{"element", to_string(m.c_element)}, {"layout", to_string(m.c)}};
    j["sparse"] = m.sparse;
    if (m.scale) j["scale"] = to_string(*m.scale);
    j["passes"] = m.passes;
    if (m.result_wait_states >= 0) j["result_wait_states"] = m.result_wait_states;
  } else {
    j["bits"] = a.bits, j["parts"] = a.parts;
    for (const auto& [name, s] : {std::pair("source", &a.source), std::pair("destination", &a.destination)})
      j[name] = {{"space", to_string(s->space)},
                 {"addressing", to_string(s->addressing)},
                 {"address", to_string(s->address)},
                 {"data", to_string(s->data)}};
    if (!a.gather.empty()) j["gather"] = a.gather;
    if (a.kind == Atom::Kind::atomic)
      j["combine"] = to_string(a.combine), j["element"] = to_string(a.element), j["returns"] = a.returns;
    if (a.kind != Atom::Kind::relayout)
      j["alignment"] = a.alignment, j["immediate"] = {{"min", a.immediate.min},
                                                      {"max", a.immediate.max},
                                                      {"unit", a.immediate.unit},
                                                      {"moves_both", a.immediate_moves_both}};
    j["sign_extends"] = a.sign_extends;
    j["counter"] = to_string(a.counter), j["in_order"] = a.in_order, j["forced_place"] = a.forced_place();
  }
  j["llvm"] = {{"name", a.emission.name}, {"result", a.emission.result}, {"operands", a.emission.operands}};
  return j;
}

// Adjacent bits that a layout (lane, bit) -> slot keeps together.
Int run_of(const Layout& data) {
  const Layout bits = data.mode(1);
  return bits.modes()[0].stride.scale == Int(1) ? bits.modes()[0].extent : Int(1);
}

// (lane, bit) -> slot in units of `run` bits, for a picture: slots down 16 rows, column after column.
Picture data_picture(const std::string& title, const Layout& data, int bits, Int run) {
  const Layout values = data.mode(1);
  TupleBuilder<Mode> b;
  const std::size_t at = b.open();
  const auto side = [&](const Layout& l, bool of_bits) {
    std::vector<Mode> modes;
    for (std::size_t i = 0; i < l.modes().size(); ++i) {
      const Mode& m = l.modes()[i];
      const bool within = of_bits && i == 0; // adjacent bits: whole units of them are left
      modes.push_back(within ? Mode{floor_div(m.extent, run), Stride(1)}
                             : Mode{m.extent, Stride(floor_div(m.stride.scale, run))});
    }
    const std::size_t open = b.open();
    for (const Mode& m : modes) b.leaf(m);
    b.close(open, modes.size());
  };
  side(data.mode(0), false);
  side(values, true);
  b.close(at, 2);
  const Int units = floor_div(data.mode(0).size() * Int(bits), run), rows = std::min(units, Int(16));
  Picture p =
      thread_value_picture(Layout(std::move(b).finish()), IntTuple::of({rows, ceil_div(units, rows)}));
  p.title = title + ", units of " + to_string(run) + " bits   " + p.title;
  return p;
}

std::vector<Picture> pictures(const Atom& a) {
  std::vector<Picture> out;
  if (a.mma) return matrix_pictures(a, a.name);
  const Int run = std::min(run_of(a.source.data), run_of(a.destination.data));
  out.push_back(data_picture(a.name + " source", a.source.data, a.bits, run));
  if (a.destination.data != a.source.data)
    out.push_back(data_picture(a.name + " destination", a.destination.data, a.bits, run));
  return out;
}

int atoms_command(Session& session, const AtomsArguments& a) {
  const Target* target = a.arch.empty() ? nullptr : &Target::named(a.arch);
  const auto here = [&](const Atom& atom) { return !target || atom.targets.contains(*target); };
  std::vector<const Atom*> exact, found;
  for (const Atom& atom : Atom::all()) {
    if (!here(atom)) continue;
    if (atom.name == a.name) exact.push_back(&atom);
    const bool kind = a.kind.empty() || to_string(atom.kind) == a.kind;
    bool type = a.type.empty();
    if (!type) {
      const Element e = target ? parse_element(a.type, *target) : parse_element(a.type);
      type = atom.mma ? atom.mma->a_element == e || atom.mma->b_element == e
                      : atom.kind == Atom::Kind::atomic && atom.element == e;
    }
    if (kind && type && atom.name.find(a.name) != std::string::npos) found.push_back(&atom);
  }
  if (!exact.empty()) found = exact;
  if (found.empty()) {
    if (a.name.empty())
      throw CodegenError("no atom of that kind and type", "kind   " + a.kind + "\n  type   " + a.type);
    (void)Atom::named(target ? *target : Target::all()[1], a.name); // says who has it, or what is near
    throw CodegenError("no atom of that name, kind and type", "atom   " + a.name);
  }
  const bool draws = a.draw || !a.svg.empty() || !a.html.empty() || !a.latex.empty();
  const bool one =
      std::all_of(found.begin(), found.end(), [&](const Atom* x) { return x->name == found[0]->name; });
  if (draws && !one)
    throw CodegenError(
        "pictures are of one atom",
        fmt::format("{} atoms have '{}' in their names, the first {}", found.size(), a.name, found[0]->name),
        "a whole name");
  if (a.json) {
    Json list = Json::array();
    for (const Atom* atom : found) list.push_back(to_json(*atom));
    session.out << list.dump(2) << "\n";
    return Exit::yes;
  }
  if (draws) {
    const std::vector<Picture> all = pictures(*found[0]);
    if (!a.svg.empty()) write_text(session, a.svg, render_svg(all));
    if (!a.latex.empty()) write_text(session, a.latex, render_latex(all));
    if (!a.html.empty()) write_text(session, a.html, render_html(all, found[0]->name));
    if (!a.draw) return Exit::yes;
    session.out << detail(*found[0]) << "\n" << render_text(all, TextColour::off);
    return Exit::yes;
  }
  if (one) {
    for (const Atom* atom : found) session.out << detail(*atom);
    return Exit::yes;
  }
  for (const Atom* atom : found)
    session.out << fmt::format("{:<44} {:<14}  {}\n", atom->name, atom->targets.names(), summary(*atom));
  return Exit::yes;
}

} // namespace

void add_atoms(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand(
      "atoms", "Instructions as layouts: which lane holds what, widths, costs, LLVM names");
  auto a = std::make_shared<AtomsArguments>();
  command->add_option("name", a->name, "an instruction as the assembler writes it, or a part of its name");
  command->add_option("--arch", a->arch, machine::names(" or ") + "; without it all");
  command->add_option("--kind", a->kind, "mma, copy, atomic or relayout")
      ->check(CLI::IsMember({"mma", "copy", "atomic", "relayout"}));
  command->add_option("--type", a->type,
                      "an element of A or B, or of an atomic: f16, e4m3fn, fp8 (with --arch)");
  command->add_flag("--draw", a->draw, "who holds which element");
  command->add_option("--svg", a->svg, "write the picture as SVG (- is standard output)");
  command->add_option("--latex", a->latex, "write LaTeX with TikZ");
  command->add_option("--html", a->html, "write one self-contained page");
  command->add_flag("--json", a->json, "as JSON");
  command->callback([=, &session] { session.exit = atoms_command(session, *a); });
}

} // namespace inlay::cli
