// `inlay inspect`: the static report of a code object.
#include "code_object_input.h"
#include "code_page.h"
#include "exec_debug.h"
#include "isa_json.h"
#include "launch_input.h"
#include "write_all.h"

#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <inlay/machine/target.h>
#include <map>
#include <memory>
#include <ostream>

namespace inlay::cli {
namespace {

namespace isa = runtime::isa;

struct InspectOptions {
  std::string file, kernel, arch, sources, html;
  std::optional<unsigned> lds;
  bool json = false, disassemble = false, loop = false, source = false;
};

std::string arguments_text(const runtime::Kernel& k) {
  if (!k.has_metadata) return fmt::format("  arguments           {} bytes, no metadata\n", k.kernarg_bytes);
  unsigned hidden = 0;
  for (const auto& a : k.arguments) hidden += a.hidden() ? 1 : 0;
  return fmt::format("  arguments           {} bytes: {} explicit, {} hidden\n", k.kernarg_bytes,
                     k.arguments.size() - hidden, hidden);
}

nlohmann::ordered_json arguments_json(const runtime::Kernel& k) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& a : k.arguments)
    list.push_back({{"name", a.name}, {"kind", a.kind}, {"offset", a.offset}, {"size", a.size}});
  return {{"bytes", k.kernarg_bytes}, {"list", list}};
}

/// `; gemm.cpp:41:7` in front of the instructions that were made from there, with the line's text where a file of that name
/// lies in the folder given.
class SourceNotes {
public:
  SourceNotes(const isa::LineTable& lines, std::string folder) : lines_(lines), folder_(std::move(folder)) {}

  std::string operator()(const isa::Instruction& i) {
    const auto here = lines_.at(i.address);
    if (!here || here == last_) {
      last_ = here;
      return "";
    }
    last_ = here;
    const std::string& text = line(*here);
    return "; " + isa::to_string(*here) + (text.empty() ? "" : "  " + text) + "\n";
  }

private:
  const std::string& line(const isa::SourceLine& at) {
    static const std::string none;
    const auto [file, fresh] = files_.try_emplace(at.file);
    if (fresh) {
      // In the folder given; else where the compiler says that it was.
      std::ifstream in(folder_.empty()
                           ? std::filesystem::path(at.file)
                           : std::filesystem::path(folder_) / std::filesystem::path(at.file).filename());
      for (std::string text; std::getline(in, text);) {
        text.erase(0, text.find_first_not_of(" \t"));
        file->second.push_back(text);
      }
    }
    return at.line <= file->second.size() ? file->second[at.line - 1] : none;
  }

  const isa::LineTable& lines_;
  std::string folder_;
  std::map<std::string, std::vector<std::string>> files_;
  std::optional<isa::SourceLine> last_;
};

constexpr const char* lds_by_launch =
    "LDS is used and none declared: its launch says how much; --lds BYTES for the occupancy";

int inspect(Session& session, const InspectOptions& o) {
  if (!o.sources.empty() && !std::filesystem::is_directory(o.sources))
    throw std::invalid_argument(fmt::format("--source {}: no such folder", o.sources));
  const auto source = read_source(session, o.file, o.arch);
  const auto& object = source.object;
  std::vector<const runtime::Kernel*> chosen;
  if (!o.kernel.empty())
    chosen.push_back(&kernel_named(object, o.kernel));
  else
    for (const auto& k : object.kernels()) chosen.push_back(&k);
  if (chosen.empty()) (void)object.kernel(""); // says that there is none
  const auto lines =
      o.disassemble || o.source || !o.html.empty() ? isa::LineTable::read(object) : isa::LineTable();
  if (o.source && lines.empty())
    throw std::invalid_argument(fmt::format(
        "{}: has no line table\n  hint   compile with debug information, or leave out --source", o.file));
  auto list = nlohmann::ordered_json::array();
  std::deque<isa::KernelReport> reports; // of the page, which refers to them
  std::vector<CodePart> parts;
  const std::string title =
      fmt::format("{}: code object v{} for {}, {} kernel{}{}", o.file, object.abi_version(), object.arch(),
                  object.kernels().size(), object.kernels().size() == 1 ? "" : "s",
                  object.relocatable() ? ", relocatable" : "");
  if (!o.json) session.out << title << "\n\n";
  for (const auto* k : chosen) {
    const auto r = isa::report(
        object, *k, o.lds ? *o.lds : source.triton_lds.value_or(source.manifest ? source.manifest->lds : 0));
    const bool lds_unknown = !o.lds && r.resources.lds_bytes == 0 && uses_lds(object, *k);
    std::string text = isa::to_text(r) + arguments_text(*k);
    if (lds_unknown) text += fmt::format("  note                {}\n", lds_by_launch);
    if (!o.html.empty())
      parts.push_back({&reports.emplace_back(r), text,
                       lines.empty() ? CodePart{}.source : SourceNotes(lines, o.sources)});
    if (o.json) {
      auto j = to_json(r);
      j["arguments"] = arguments_json(*k);
      if (lds_unknown) j["lds"] = "said by the launch";
      if (o.disassemble) {
        j["disassembly"] = nlohmann::ordered_json::array();
        for (const auto& i : r.program.instructions) {
          j["disassembly"].push_back({{"address", i.address},
                                      {"kind", std::string(1, isa::letter(isa::kind_of(i)))},
                                      {"text", i.text}});
          if (const auto s = lines.at(i.address)) j["disassembly"].back()["source"] = to_json(*s);
        }
      }
      list.push_back(std::move(j));
      continue;
    }
    session.out << text;
    SourceNotes notes(lines, o.sources);
    if (o.loop) session.out << "\n" << (o.source ? isa::loop_text(r, std::ref(notes)) : isa::loop_text(r));
    if (o.disassemble) {
      session.out << "\n";
      SourceNotes all(lines, o.sources);
      for (const auto& i : r.program.instructions)
        session.out << all(i)
                    << fmt::format("{:8x} {}  {}\n", i.address, isa::letter(isa::kind_of(i)), i.text);
    }
    session.out << "\n";
  }
  if (!o.html.empty()) write_one(o.html, code_page(title, "", parts));
  if (o.json)
    session.out << dump({{"file", o.file},
                         {"arch", object.arch()},
                         {"abi_version", object.abi_version()},
                         {"relocatable", object.relocatable()},
                         {"kernels", std::move(list)}})
                << "\n";
  return Exit::yes;
}

} // namespace

void add_inspect(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("inspect", "Static report of a code object: registers, LDS, occupancy, hot loop");
  auto o = std::make_shared<InspectOptions>();
  command
      ->add_option("FILE", o->file,
                   "HSACO, relocatable object, offload bundle or assembly; - is standard input")
      ->required();
  command->add_option("--kernel", o->kernel, "Only this kernel");
  command->add_option("--arch", o->arch,
                      machine::names(" or ") + ": which of a bundle, or what assembly is for");
  command->add_option("--lds", o->lds, "Bytes of dynamic LDS, for the occupancy")
      ->check(CLI::Range(0, 163840));
  command->add_flag("--json", o->json, "As JSON");
  command->add_flag("--loop", o->loop, "Also the instructions of the hot loop");
  auto* source = command->add_option("--source", o->sources,
                                     "The line of the source before the instructions that were made from it, "
                                     "of --loop or else of the whole kernel, with its text where the "
                                     "compiler says that the file was, or in the folder given");
  source->expected(0, 1)->type_name("[DIR]");
  command->add_flag("--disassemble", o->disassemble, "Also all instructions");
  command->add_option("--html", o->html,
                      "Also the report and all instructions as a page: kinds to show or hide, text to find, "
                      "branches to follow");
  command->callback([=, &session] {
    o->source = source->count() > 0;
    o->disassemble = o->disassemble || (o->source && !o->loop);
    session.exit = inspect(session, *o);
  });
}

} // namespace inlay::cli
