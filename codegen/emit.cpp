#include "llvm_module.h"

#include <inlay/algebra/error.h>
#include <inlay/codegen/error.h>

#include <lld/Common/Driver.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <random>

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

void optimise(llvm::Module& module, llvm::TargetMachine& m, int level) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&m); // registers the target's own passes at the extension points
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  const llvm::OptimizationLevel chosen = levels[level];
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, mam);
}

// LLVM's machine schedulers, before and behind register allocation, do nothing while this lives. They are switched by
// options of the process: the pass itself has to stay, because the target hangs other passes to it.
class SchedulersOff {
public:
  explicit SchedulersOff(bool off) {
    if (!off) return;
    for (const char* name : {"enable-misched", "enable-post-misched"}) {
      const auto found = llvm::cl::getRegisteredOptions().find(name);
      INLAY_CHECK(found != llvm::cl::getRegisteredOptions().end(), std::string("LLVM's option ") + name);
      found->second->reset();
      INLAY_CHECK(!found->second->addOccurrence(0, name, "false"), std::string("LLVM's option ") + name);
      switched_.push_back(found->second);
    }
  }
  ~SchedulersOff() {
    for (llvm::cl::Option* o : switched_) o->reset();
  }
  SchedulersOff(const SchedulersOff&) = delete;
  SchedulersOff& operator=(const SchedulersOff&) = delete;

private:
  std::vector<llvm::cl::Option*> switched_;
};

llvm::SmallString<0> generate(llvm::Module& module, llvm::TargetMachine& m, llvm::CodeGenFileType type,
                              bool keep_order) {
  static std::mutex one_at_a_time; // the options above are the process's
  const std::lock_guard lock(one_at_a_time);
  const SchedulersOff off(keep_order);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (m.addPassesToEmitFile(passes, stream, nullptr, type))
    throw InternalError("LLVM cannot write this kind of file");
  passes.run(module);
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

std::string llvm_version() { return LLVM_VERSION_STRING; }

Emitted emit(const IrModule& ir, const Target& target, const EmitOptions& options) {
  if (options.level < 0 || options.level > 3)
    throw CodegenError("optimisation level out of range", "level  " + std::to_string(options.level), "0..3");
  Emitted result;
  result.ir = ir.text();
  result.timings.ir = ir.impl().build_ms;

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

  {
    llvm::raw_string_ostream stream(result.optimised);
    module->print(stream, nullptr);
  }
  if (options.assembly) {
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    result.assembly =
        std::string(generate(*copy, *m, llvm::CodeGenFileType::AssemblyFile, options.keep_order).str());
  }
  clock.lap();
  const llvm::SmallString<0> object =
      generate(*module, *m, llvm::CodeGenFileType::ObjectFile, options.keep_order);
  refuse_on_error("code generation");
  result.timings.codegen = clock.lap();
  result.hsaco = link(object);
  result.timings.link = clock.lap();
  return result;
}

// ---------------------------------------------------------------------------------------------------- cache

struct EmitCache::Impl {
  fs::path directory;
  std::map<std::string, Emitted> memory;

  // One file: a digest of the rest, then the four parts, each with its length in front.
  [[nodiscard]] std::optional<Emitted> load(const std::string& key) const {
    const auto bytes = read_file(directory / key);
    if (!bytes || bytes->size() < 32) return std::nullopt;
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes->data());
    const llvm::ArrayRef<std::uint8_t> body(data + 32, bytes->size() - 32);
    const auto digest = llvm::SHA256::hash(body);
    if (!std::equal(digest.begin(), digest.end(), data)) return std::nullopt;
    std::size_t at = 0;
    const auto part = [&](auto& out) {
      std::uint64_t size = 0;
      if (body.size() - at < sizeof size) return false;
      std::memcpy(&size, body.data() + at, sizeof size);
      at += sizeof size;
      if (body.size() - at < size) return false;
      out.resize(size);
      std::memcpy(out.data(), body.data() + at, size);
      at += size;
      return true;
    };
    Emitted e;
    if (!part(e.ir) || !part(e.optimised) || !part(e.assembly) || !part(e.hsaco)) return std::nullopt;
    return e;
  }

  void store(const std::string& key, const Emitted& e) const {
    std::string body;
    const auto part = [&](const auto& from) {
      const std::uint64_t size = from.size();
      body.append(reinterpret_cast<const char*>(&size), sizeof size);
      body.append(reinterpret_cast<const char*>(from.data()), from.size());
    };
    part(e.ir), part(e.optimised), part(e.assembly), part(e.hsaco);
    const auto digest =
        llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(body.data()), body.size()));
    body.insert(0, reinterpret_cast<const char*>(digest.data()), digest.size());
    fs::create_directories(directory);
    const fs::path temporary = directory / (key + "." + std::to_string(std::random_device{}()) + ".part");
    write_file(temporary, body.data(), body.size());
    fs::rename(temporary, directory / key);
  }
};

EmitCache::EmitCache(fs::path directory) : impl_(std::make_unique<Impl>()) {
  impl_->directory = std::move(directory);
}
EmitCache::~EmitCache() = default;

std::string EmitCache::key(const IrModule& module, const Target& target, const EmitOptions& options) {
  std::string all = llvm_version() + "\n" + std::string(target.name) + "\n" + std::to_string(options.level) +
                    (options.assembly ? "s" : "") + (options.keep_order ? "o\n" : "\n") + module.text();
  const auto digest =
      llvm::SHA256::hash(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()));
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Emitted EmitCache::emit(const IrModule& module, const Target& target, const EmitOptions& options) {
  const std::string k = key(module, target, options);
  auto found = impl_->memory.find(k);
  if (found == impl_->memory.end() && !impl_->directory.empty())
    if (auto loaded = impl_->load(k)) found = impl_->memory.emplace(k, std::move(*loaded)).first;
  if (found != impl_->memory.end()) {
    Emitted e = found->second;
    e.timings = {.ir = module.impl().build_ms};
    e.from_cache = true;
    return e;
  }
  Emitted e = codegen::emit(module, target, options);
  impl_->memory.emplace(k, e);
  if (!impl_->directory.empty()) impl_->store(k, e);
  return e;
}

} // namespace inlay::codegen
