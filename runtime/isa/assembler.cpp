// Text to object through LLVM MC's parser, object to loadable code object through lld; both in process.
#include "llvm.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <inlay/runtime/isa/assemble.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace inlay::runtime::isa {
namespace {

struct Diagnostics {
  std::string text;
  unsigned count = 0;
};

void collect(const llvm::SMDiagnostic& diagnostic, void* context) {
  auto& out = *static_cast<Diagnostics*>(context);
  if (diagnostic.getKind() != llvm::SourceMgr::DK_Error || ++out.count > 5) {
    return;
  }
  out.text += "\n  line " + std::to_string(diagnostic.getLineNo()) + ", column " +
              std::to_string(diagnostic.getColumnNo() + 1) + ": " + diagnostic.getMessage().str() + "\n    " +
              diagnostic.getLineContents().str();
}

/// A directory of its own for lld, which reads and writes files; gone at the end of the scope.
struct ScratchDirectory {
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "inlay-link-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("link: cannot create a temporary directory " + pattern);
    }
    path = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::filesystem::path path;
};

/// LLVM 23 and later write the processor into the triple: `.amdgcn_target "amdgpu9.42-amd-amdhsa-unknown-gfx942"` (LLVM "User
/// Guide for AMDGPU Backend", "Target Triples"). The parser here, which is older, takes the form without; the text keeps
/// its lines. The same spelling in metadata is a string that nothing reads.
std::string with_plain_target(std::string_view text) {
  std::string out(text);
  constexpr std::string_view directive = ".amdgcn_target", newer = "\"amdgpu9.";
  for (std::size_t at = 0; (at = out.find(directive, at)) != std::string::npos; at += directive.size()) {
    const std::size_t end = std::min(out.find('\n', at), out.size());
    const std::size_t begin = out.find(newer, at);
    if (begin >= end) continue;
    const std::size_t processor = out.find("-gfx", begin);
    if (processor < end) out.replace(begin + 1, processor - begin, "amdgcn-amd-amdhsa--");
  }
  return out;
}

} // namespace

std::vector<std::uint8_t> assemble_object(std::string_view given, Arch arch, std::string_view source_file) {
  const std::string text = with_plain_target(given);
  const LlvmTarget llvm_target(arch);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(
          llvm::StringRef(text.data(), text.size()),
          source_file.empty() ? "assembly" : llvm::StringRef(source_file.data(), source_file.size())),
      llvm::SMLoc());
  Diagnostics diagnostics;
  sources.setDiagHandler(collect, &diagnostics);

  llvm::MCContext context(llvm_target.triple, llvm_target.asm_info.get(), llvm_target.registers.get(),
                          llvm_target.subtarget.get(), &sources, &llvm_target.options);
  const std::unique_ptr<llvm::MCObjectFileInfo> file_info(
      llvm_target.target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(file_info.get());
  if (!source_file.empty()) {
    context.setGenDwarfForAssembly(true);
    context.setGenDwarfRootFile(llvm::StringRef(source_file.data(), source_file.size()),
                                llvm::StringRef(text.data(), text.size()));
  }

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      llvm_target.target->createMCCodeEmitter(*llvm_target.instructions, context));
  std::unique_ptr<llvm::MCAsmBackend> backend(llvm_target.target->createMCAsmBackend(
      *llvm_target.subtarget, *llvm_target.registers, llvm_target.options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  const std::unique_ptr<llvm::MCStreamer> streamer(llvm_target.target->createMCObjectStreamer(
      llvm_target.triple, context, std::move(backend), std::move(writer), std::move(emitter),
      *llvm_target.subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *llvm_target.asm_info));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(llvm_target.target->createMCAsmParser(
      *llvm_target.subtarget, *parser, *llvm_target.instructions, llvm_target.options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false) || diagnostics.count != 0 || context.hadError()) {
    throw IsaError("assemble: the text is not valid assembly for " + std::string(to_string(arch)) +
                   diagnostics.text);
  }
  return {object.begin(), object.end()};
}

std::vector<std::uint8_t> link_code_object(std::span<const std::uint8_t> object) {
  static std::mutex one_at_a_time; // lld keeps its state in globals
  const std::lock_guard lock(one_at_a_time);
  const ScratchDirectory directory;
  const std::string input = (directory.path / "in.o").string();
  const std::string output = (directory.path / "out.hsaco").string();
  std::ofstream(input, std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  std::string message;
  llvm::raw_string_ostream stream(message);
  const char* arguments[] = {"ld.lld", "-shared", "--no-undefined", "-o", output.c_str(), input.c_str()};
  const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) {
    throw IsaError("link: lld refused the object\n  " + stream.str());
  }
  std::ifstream file(output, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::uint8_t> assemble_code_object(std::string_view text, Arch arch,
                                               std::string_view source_file) {
  return link_code_object(assemble_object(text, arch, source_file));
}

std::vector<std::uint8_t> assemble(std::string_view text, Arch arch) {
  const std::vector<std::uint8_t> bytes = assemble_object(text, arch);
  const auto buffer = llvm::MemoryBufferRef(
      llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "assembled");
  auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!object) {
    throw std::logic_error("assemble: LLVM cannot read its own object: " +
                           llvm::toString(object.takeError()));
  }
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    auto name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
    } else if (*name == ".text") {
      auto contents = section.getContents();
      if (!contents) {
        throw std::logic_error("assemble: " + llvm::toString(contents.takeError()));
      }
      return {contents->bytes_begin(), contents->bytes_end()};
    }
  }
  return {};
}

std::optional<Arch> target_of(std::string_view text) {
  const std::string_view directive = ".amdgcn_target";
  const std::size_t at = text.find(directive);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  return parse_arch(line.substr(directive.size()));
}

} // namespace inlay::runtime::isa
