#include "generate.h"

#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>

#include <lld/Common/Driver.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

LLD_HAS_DRIVER(elf)

namespace inlay::codegen {
namespace {

namespace fs = std::filesystem;

class Clock {
public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

const llvm::Triple& triple() {
  static const llvm::Triple t("amdgcn-amd-amdhsa");
  return t;
}

const llvm::Target& backend() {
  static const llvm::Target* target = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple(), error);
    INLAY_CHECK(found, "this LLVM has no AMDGPU backend: " + error);
    return found;
  }();
  return *target;
}

std::unique_ptr<llvm::TargetMachine> machine(const Target& target, int level) {
  std::unique_ptr<llvm::TargetMachine> m(
      backend().createTargetMachine(triple(), std::string(target.name), "", llvm::TargetOptions(),
                                    llvm::Reloc::PIC_, std::nullopt, *llvm::CodeGenOpt::getLevel(level)));
  INLAY_CHECK(m, "LLVM does not know " + std::string(target.name));
  return m;
}

// What LLVM reports while it works: errors are collected, remarks and warnings are not ours to print.
struct Diagnostics : llvm::DiagnosticHandler {
  explicit Diagnostics(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "\n";
    }
    return true;
  }
  std::string& errors_;
};

void verify(const llvm::Module& module, const char* stage) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(module, &stream))
    throw CodegenError(std::string("the IR does not verify (") + stage + ")", stream.str());
}

// The text as an object. So there is one code generation for what is read and what runs.
llvm::SmallString<0> assemble(const std::string& text, const llvm::TargetMachine& m) {
  const llvm::Target& target = m.getTarget();
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  std::string words;
  source.setDiagHandler(
      [](const llvm::SMDiagnostic& d, void* out) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(out));
        d.print("", stream, false);
      },
      &words);
  const llvm::MCTargetOptions options;
  llvm::MCContext context(triple(), m.getMCAsmInfo(), m.getMCRegisterInfo(), m.getMCSubtargetInfo(), &source,
                          &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(target.createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(sections.get());
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.createMCAsmBackend(*m.getMCSubtargetInfo(), *m.getMCRegisterInfo(), options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> encoder(target.createMCCodeEmitter(*m.getMCInstrInfo(), context));
  const std::unique_ptr<llvm::MCStreamer> object(target.createMCObjectStreamer(
      triple(), context, std::move(backend), std::move(writer), std::move(encoder), *m.getMCSubtargetInfo()));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(source, context, *object, *m.getMCAsmInfo()));
  const std::unique_ptr<llvm::MCTargetAsmParser> instructions(
      target.createMCAsmParser(*m.getMCSubtargetInfo(), *parser, *m.getMCInstrInfo(), options));
  parser->setTargetParser(*instructions);
  if (parser->Run(false)) throw CodegenError("LLVM does not assemble what it wrote", words);
  return bytes;
}

// A directory of our own under the system's temporary one, gone with the object.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "inlay-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("cannot create a temporary directory in " +
                               fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] fs::path file(const char* name) const { return path_ / name; }

private:
  fs::path path_;
};

void write_file(const fs::path& path, const void* data, std::size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::optional<std::vector<std::byte>> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) return std::nullopt;
  return bytes;
}

// lld reads and writes files and keeps its state in globals, hence the directory and the lock.
std::vector<std::byte> link(const llvm::SmallString<0>& object) {
  static std::mutex one_at_a_time;
  static bool usable = true;
  const std::lock_guard lock(one_at_a_time);
  if (!usable) throw InternalError("lld crashed before and cannot run again in this process");
  const TemporaryDirectory directory;
  const std::string in = directory.file("kernel.o").string();
  const std::string out = directory.file("kernel.hsaco").string();
  write_file(in, object.data(), object.size());
  std::string words;
  llvm::raw_string_ostream stream(words);
  const char* arguments[] = {"ld.lld", "-shared", "--threads=1", in.c_str(), "-o", out.c_str()};
  const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0) throw CodegenError("lld refuses the object", words);
  auto bytes = read_file(out);
  INLAY_CHECK(bytes && !bytes->empty(), "lld left no output");
  return std::move(*bytes);
}

} // namespace

IrModule::IrModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IrModule::IrModule(IrModule&&) noexcept = default;
IrModule& IrModule::operator=(IrModule&&) noexcept = default;
IrModule::~IrModule() = default;

IrModule IrModule::parse(const std::string& text) {
  auto impl = std::make_unique<Impl>();
  impl->context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic problem;
  impl->module = llvm::parseAssemblyString(text, problem, *impl->context);
  if (!impl->module) {
    std::string words;
    llvm::raw_string_ostream stream(words);
    problem.print("", stream, false);
    throw CodegenError("malformed LLVM IR", stream.str());
  }
  return IrModule(std::move(impl));
}

std::string IrModule::text() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  impl_->module->print(stream, nullptr);
  return stream.str();
}

double IrModule::build_milliseconds() const { return impl_->build_ms; }

std::string llvm_version() { return LLVM_VERSION_STRING; }

Emitted emit(const IrModule& ir, const Target& target, const EmitOptions& options) {
  if (options.level < 0 || options.level > 3)
    throw CodegenError("optimisation level out of range", "level  " + std::to_string(options.level), "0..3");
  Emitted result;
  result.ir = ir.text();
  result.timings.ir = ir.build_milliseconds();

  std::string errors;
  ir.impl().context->setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  const auto refuse_on_error = [&](const char* stage) {
    if (!errors.empty()) throw CodegenError(std::string("LLVM refuses the kernel (") + stage + ")", errors);
  };
  Clock clock;
  const std::unique_ptr<llvm::TargetMachine> m = machine(target, options.level);
  const std::unique_ptr<llvm::Module> module = llvm::CloneModule(*ir.impl().module);
  module->setTargetTriple(triple());
  module->setDataLayout(m->createDataLayout());
  for (llvm::Function& f : *module)
    if (!f.isDeclaration()) f.addFnAttr("target-cpu", target.name);
  verify(*module, "as built");
  optimise(*module, *m, options.level);
  verify(*module, "after optimisation");
  refuse_on_error("optimisation");
  result.timings.opt = clock.lap();

  result.assembly = generate(*module, *m, options.keep_order);
  refuse_on_error("code generation");
  const llvm::SmallString<0> object = assemble(result.assembly, *m);
  result.timings.codegen = clock.lap();
  result.hsaco = link(object);
  result.timings.link = clock.lap();
  return result;
}

} // namespace inlay::codegen
