#include <inlay/kernels/build.h>

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/codegen/cache.h>
#include <inlay/codegen/emit_ir.h>
#include <inlay/codegen/provenance.h>
#include <inlay/codegen/schedule.h>
#include <inlay/kernels/claims.h>
#include <inlay/solver/lds.h>
#include <inlay/solver/prover.h>

#ifdef INLAY_VALIDATE
#include <inlay/runtime/code_object.h>
#include <inlay/validate/code.h>
#endif

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay::kernels {
namespace {

thread_local bool claims_are_decided = true;

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// A swizzle with which none of a tile's accesses has a conflict, or nothing. What lies at a place lies without a swizzle where that
/// moves it back to: exchanged twice, bits are where they were.
std::string working_swizzle(const codegen::Program& program, const codegen::Derivation& derived,
                            const codegen::LdsPattern& refused) {
  const auto tensor = std::find_if(program.tensors().begin(), program.tensors().end(),
                                   [&](const codegen::Tensor& t) { return t.name == refused.tensor; });
  if (tensor == program.tensors().end() || !tensor->place.swizzle()) return "";
  const Swizzle now = *tensor->place.swizzle();
  const int size = codegen::bits(tensor->element), wave = program.target().wave_size;
  const std::int64_t elements = tensor->stage_elements();
  int base = 0;
  for (const codegen::LdsPattern& p : derived.lds)
    if (p.tensor == refused.tensor)
      base = std::max(base, std::countr_zero(static_cast<unsigned>(p.elements)));
  const auto free = [&](const Swizzle& s) {
    return std::all_of(derived.lds.begin(), derived.lds.end(), [&](const codegen::LdsPattern& p) {
      if (p.tensor != refused.tensor) return true;
      const auto by = codegen::Addressing::lds;
      const codegen::Atom& atom = p.read ? codegen::Atom::load(program.target(), by, p.bytes * 8)
                                         : codegen::Atom::store(program.target(), by, p.bytes * 8);
      const solver::LdsAccess& model = solver::lds_access(atom.name, program.target().name);
      for (std::size_t first = 0; first < p.address.size(); first += static_cast<std::size_t>(wave)) {
        unsigned lanes = 0;
        while (lanes < static_cast<unsigned>(wave) && p.address[first + lanes] >= 0) ++lanes;
        const auto at = [&](unsigned lane) {
          return s(now(Int(p.address[first + lane] * 8 / size))).value() * size / 8;
        };
        if (solver::lds_conflicts(model, at, lanes).degree > 1) return false;
      }
      return true;
    });
  };
  for (int bits = 0; bits <= 6; ++bits)
    for (int shift = bits; shift <= 9; ++shift)
      if ((bits > 0 || shift == 0) && (std::int64_t{1} << (bits + base + shift)) <= elements &&
          free(Swizzle(bits, base, shift)))
        return fmt::format("Swizzle({}, {}, {})", bits, base, shift);
  return "";
}

// Each LDS instruction against the measured phase groups, wave by wave.
void prove_banks(ProofReport& report, const codegen::Program& program, const codegen::Derivation& derived) {
  const int wave = program.target().wave_size;
  for (const codegen::LdsPattern& p : derived.lds) {
    const auto by = codegen::Addressing::lds;
    const std::string& instruction = (p.read ? codegen::Atom::load(program.target(), by, p.bytes * 8)
                                             : codegen::Atom::store(program.target(), by, p.bytes * 8))
                                         .name;
    const solver::LdsAccess& model = solver::lds_access(instruction, program.target().name);
    std::string counterexample;
    for (std::size_t first = 0; first < p.address.size() && counterexample.empty();
         first += static_cast<std::size_t>(wave)) {
      unsigned lanes = 0;
      while (lanes < static_cast<unsigned>(wave) && p.address[first + lanes] >= 0) ++lanes;
      const solver::LdsConflicts c = solver::lds_conflicts(
          model, [&](unsigned lane) { return p.address[first + lane]; }, lanes);
      if (c.degree > 1) {
        const std::string works = working_swizzle(program, derived, p);
        counterexample =
            fmt::format("{} of {} have a {}-way bank conflict (wave {}, bank {})\n"
                        "  hint   another place for {}: {}",
                        p.read ? "reads" : "writes", p.tensor, c.degree,
                        first / static_cast<std::size_t>(wave), c.bank, p.tensor,
                        works.empty() ? "no swizzle alone is free of conflicts; other layouts of its "
                                        "reads and writes, or padding in lds(...)"
                                      : works + " as the last argument of lds(...)");
      }
    }
    report.require_enumerated(fmt::format("{} of {} has no bank conflict ({}, {})",
                                          p.read ? "reading" : "writing", p.tensor, instruction,
                                          program.target().name),
                              fmt::format("work-item 0 at byte {}", p.address.at(0)), counterexample.empty(),
                              counterexample, p.op, p.where);
  }
}

#ifdef INLAY_VALIDATE
/// The environment's word for builds that nobody else asks to validate (of tests): INLAY_VALIDATE=all, or `refuted`, with
/// which what is not decided passes.
std::string_view validation_asked() {
  const char* value = std::getenv("INLAY_VALIDATE");
  return value == nullptr ? "" : value;
}

void validate_or_throw(const Artifact& artifact, const codegen::Code& code, bool undecided_passes) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()});
  const validate::CodeReport r = validate::validate_code(object, object.kernel(artifact.kernel), code);
  if (r.verdict == runtime::symbolic::Verdict::validated) return;
  if (undecided_passes && r.verdict == runtime::symbolic::Verdict::undecided) return;
  std::string why;
  for (const auto& f : r.refuted)
    why += fmt::format("\n  {:#x} '{}', wave {} lane {}: {}", f.address, f.text, f.wave, f.lane, f.message);
  for (const auto& u : r.undecided) why += "\n  " + u;
  throw std::runtime_error(
      fmt::format("{}: machine code {}{}", artifact.kernel, runtime::symbolic::to_string(r.verdict), why));
}
#endif

} // namespace

namespace {
/// What is proved of a program is so of each of its problems, if these are so.
void of_problems(ProofReport& report, const codegen::Program& program) {
  for (const codegen::Problems::Own& own : program.problems().sizes) {
    const std::string size = to_string(own.size), of = program.tensor_name(own.table);
    report.at_launch(
        {fmt::format("{}[z] is 0, or as {} has to be and at most what the launch says", of, size),
         "checked by the workgroups of problem z that have a tile", true});
  }
  for (const codegen::Tensor& t : program.tensors())
    if (t.addresses >= 0)
      report.at_launch({fmt::format("{}[z] points to {} of problem z, {}, a multiple of {} bytes{}",
                                    program.tensor_name(t.addresses), t.name, to_string(t.place.inner()),
                                    codegen::pointer_alignment(program, t),
                                    t.output ? ", apart from all other tensors of all problems" : ""),
                        "no launch sees what pointers in memory point to", true});
}
} // namespace

WithoutClaims::WithoutClaims() : before_(std::exchange(claims_are_decided, false)) {}
WithoutClaims::~WithoutClaims() { claims_are_decided = before_; }

ProofReport prove(const codegen::Code& code) {
  const codegen::Program& program = *code.program;
  ProofReport report(program.name(), program.where());
  solver::Options options;
  options.certificates = false; // nobody reads them here
  solver::SolverProver prover({}, options);
  const codegen::Derivation derived = derive(code, prover);
  for (const codegen::DerivedClaim& c : derived.claims) report.derived(c);
  prove_banks(report, program, derived);
  for (const codegen::LaunchCondition& c : derived.contract) report.at_launch(c);
  if (program.problems().there()) of_problems(report, program);
  return report;
}

namespace {

std::vector<std::string> names_of_sizes(const codegen::Program& program) {
  std::vector<std::string> names;
  for (const codegen::Size& s : program.sizes()) names.push_back(to_string(s.symbol));
  return names;
}

// Bits up to the last element; strides in memory are not negative.
SizeFormula extent_of(const codegen::Program& program, const codegen::Tensor& t) {
  std::vector<Sym> last;
  for (const Sym& extent : t.shape) last.push_back(extent - Sym(1));
  return {to_string((t.at(last) + Sym(1)) * Sym(codegen::bits(t.element))), names_of_sizes(program)};
}

} // namespace

LaunchContract contract_of(const codegen::Program& program) {
  LaunchContract contract;
  contract.kernel = program.name();
  contract.threads = program.threads();
  for (const codegen::Size& s : program.sizes())
    contract.sizes.push_back({s.name, s.facts.least, s.facts.most, s.facts.multiple});
  for (const codegen::Tensor& t : program.tensors())
    if (t.space == codegen::Space::global && t.addresses < 0)
      contract.buffers.push_back({t.name, t.output, extent_of(program, t), t.device});
  for (LaunchContract::Buffer& b : contract.buffers) {
    for (const codegen::Tensor& t : program.tensors())
      if (t.addresses >= 0 && program.tensor_name(t.addresses) == b.name) b.points_to = extent_of(program, t);
    for (const codegen::Problems::Own& own : program.problems().sizes)
      for (std::size_t i = 0; i < program.sizes().size() && program.tensor_name(own.table) == b.name; ++i)
        if (program.sizes()[i].symbol == own.size) b.own = static_cast<int>(i);
  }
  if (const codegen::Devices& all = program.together(); all.count > 0) {
    contract.devices = all.count;
    while (!(program.sizes()[contract.rank].symbol == all.rank)) ++contract.rank;
  }
  for (const codegen::KernelArgument& a : codegen::arguments_of(program)) {
    const auto is_named = [&](const auto& x) { return x.name == a.name(); };
    const auto number = [&](const auto& list) {
      return static_cast<std::size_t>(
          std::distance(list.begin(), std::find_if(list.begin(), list.end(), is_named)));
    };
    contract.arguments.push_back(
        {a.tensor != nullptr, a.tensor ? number(contract.buffers) : number(contract.sizes)});
  }
  const auto axis_of = [&](int number, Sym extent, int tile) {
    LaunchContract::Axis axis{number, -1, 1, tile};
    for (std::size_t s = 0; s < program.sizes().size(); ++s)
      if (program.sizes()[s].symbol == extent) axis.size = static_cast<int>(s);
    if (axis.size >= 0) return axis;
    if (const auto constant = extent.constant()) {
      axis.extent = constant->value();
      return axis;
    }
    const auto refuse = [&](const char* why, const char* hint) {
      throw std::invalid_argument(fmt::format("{}: grid axis {} counts tiles of {}, {}\n  hint   {}",
                                              program.name(), number, to_string(extent), why, hint));
    };
    for (const AtomId a : symbols(extent))
      if (std::none_of(program.sizes().begin(), program.sizes().end(),
                       [&](const codegen::Size& z) { return *z.symbol.as_atom() == a; }))
        refuse("which is no formula of the kernel's sizes",
               "a size of its own, k.size(..), or a grid over a size and if_less(..) around what is stored");
    if (const auto least = interval(extent).lower; !least || *least < Int(1))
      refuse("which may be 0 or less", "a size whose least number leaves a workgroup: n / 2 of n from 2 on");
    axis.formula = {to_string(extent), names_of_sizes(program)};
    return axis;
  };
  for (const codegen::GridAxis& g : program.grid())
    contract.grid.push_back(axis_of(g.axis, g.extent, g.tile));
  if (program.problems().there()) contract.grid.push_back(axis_of(2, program.problems().count, 1));
  if (const auto& shares = program.shares()) {
    contract.workers = shares->workers;
    contract.summed = axis_of(2, shares->extent, shares->tile);
  }
  return contract;
}

namespace {

/// Moves between vector registers in the loop with most matrix instructions, in LLVM's text: from a label to a branch back to it.
int moves_in_loops(std::string_view assembly) {
  struct Label {
    std::string_view name;
    int products, moves;
  };
  std::vector<Label> labels;
  int products = 0, moves = 0, most = 0, found = 0;
  while (!assembly.empty()) {
    const std::size_t end = std::min(assembly.find('\n'), assembly.size());
    std::string_view line = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    if (line.starts_with(".L")) {
      if (const std::size_t colon = line.find(':'); colon != line.npos)
        labels.push_back({line.substr(0, colon), products, moves});
      continue;
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    products += line.starts_with("v_mfma_");
    moves += line.starts_with("v_mov_b") || line.starts_with("v_accvgpr_");
    if (!line.starts_with("s_cbranch_") && !line.starts_with("s_branch")) continue;
    for (const Label& l : labels)
      if (line.ends_with(l.name) && products - l.products > most)
        most = products - l.products, found = moves - l.moves;
  }
  return found;
}

/// Every loop in its order as a block; nothing where one cannot be.
std::optional<codegen::IrModule> as_blocks(const codegen::Code& code) {
  try {
    return emit_ir(code, codegen::LoopForm::block);
  } catch (const codegen::CodegenError&) {
    return std::nullopt;
  }
}

#ifdef INLAY_VALIDATE
// Errors: CodegenError where the machine code leaves no room for the waves that the program wants.
void check_occupancy(const codegen::Program& program, const Artifact& artifact) {
  const int wanted = program.waves_per_simd();
  if (wanted == 0) return;
  const codegen::Target& target = program.target();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(artifact.hsaco.data());
  const auto object = runtime::CodeObject::parse({bytes, bytes + artifact.hsaco.size()});
  const runtime::KernelDescriptor& of = object.kernel(artifact.kernel).descriptor;
  const int registers = target.occupancy(static_cast<int>(of.vgprs)), lds = static_cast<int>(of.lds_bytes),
            workgroups = lds == 0 ? INT_MAX / 1024 : target.lds_bytes / lds,
            by_lds = workgroups * (program.threads() / target.wave_size) / target.simds;
  if (registers >= wanted && by_lds >= wanted && of.scratch_bytes == 0) return;
  std::string why = fmt::format("{} registers a work-item leave {}", of.vgprs, registers);
  if (lds > 0) why += fmt::format(", {} bytes of LDS a workgroup leave {}", lds, by_lds);
  if (of.scratch_bytes > 0) why += fmt::format(", and {} bytes of scratch are used", of.scratch_bytes);
  throw codegen::CodegenError(
      fmt::format("waves_per_simd: there is no room for {} waves on a SIMD", wanted),
      fmt::format("takes  {}\n  line   {}:{}", why, program.limited().file_name(), program.limited().line()),
      "smaller tiles, more work-items for a tile, or fewer waves");
}
#endif

Artifact build(const codegen::Program& program, const codegen::Code& code, const BuildOptions& options,
               Clock::time_point begin) {
  Artifact artifact;
  artifact.kernel = program.name();
  artifact.arch = std::string(program.target().name);
  if (claims_are_decided) artifact.proofs = prove(code);
  artifact.contract = contract_of(program);
  for (const codegen::Assertion& a : program.assertions()) {
    const std::string file = a.where.file_name();
    artifact.checks.push_back(
        {a.text, fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), a.where.line())});
  }
  artifact.turns = !program.turns().empty();
  artifact.program = program.text();
  artifact.code = code.text();
  artifact.schedule = show_schedule(code);
  artifact.times.layouts_and_proofs = milliseconds_since(begin);

  const auto ir_begin = Clock::now();
  bool keep_order = false;
  for (const codegen::CodeRegion& r : code.regions) keep_order = keep_order || r.exact;
  const codegen::EmitOptions how{.keep_order = keep_order};
  const std::optional<codegen::Cache> cache = codegen::Cache::from_environment();
  const auto machine_code = [&](const codegen::IrModule& module) {
    return cache ? cache->emit(module, program.target(), how) : emit(module, program.target(), how);
  };
  const codegen::LoopForm form = codegen::parse_loop_form(options.loops);
  const codegen::IrModule module = emit_ir(code, form);
  artifact.times.ir = milliseconds_since(ir_begin);
  codegen::Emitted emitted = machine_code(module);
  // A move that LLVM's allocator put into a loop waits for the load of what it moves (i8 80x128: 2071 clocks for two trips, 1664
  // without): where it did, our registers are better. Where it did not, launches of both forms are within 4 % of one another, either way.
  if (form == codegen::LoopForm::automatic && keep_order && moves_in_loops(emitted.assembly) > 0)
    if (const std::optional<codegen::IrModule> blocks = as_blocks(code)) {
      const codegen::Timings before = emitted.timings;
      emitted = machine_code(*blocks);
      emitted.timings.opt += before.opt, emitted.timings.codegen += before.codegen;
      emitted.timings.link += before.link;
    }
  artifact.ir = std::move(emitted.ir);
  artifact.assembly = std::move(emitted.assembly);
  artifact.hsaco = std::move(emitted.hsaco);
  artifact.times.opt = emitted.timings.opt;
  artifact.times.codegen = emitted.timings.codegen;
  artifact.times.link = emitted.timings.link;
  artifact.from_cache = emitted.from_cache;
#ifdef INLAY_VALIDATE
  check_occupancy(program, artifact);
  if (options.validate || !validation_asked().empty())
    validate_or_throw(artifact, code, !options.validate && validation_asked() == "refuted");
#endif
  return artifact;
}

codegen::Code code_of(const codegen::Program& program, const BuildOptions& options) {
  if (program.body().empty())
    throw codegen::CodegenError(program.name() + ": a program without an operation", "",
                                "k.load, k.map, k.store, ..: what a workgroup does");
  const codegen::Graph graph = expand(program);
  return apply(graph, schedule_with(codegen::parse_scheduler(options.scheduler), graph));
}

} // namespace

Artifact build(const codegen::Program& program, const BuildOptions& options) {
  const auto begin = Clock::now();
  return build(program, code_of(program, options), options, begin);
}

Artifact build(codegen::Program&& program, const BuildOptions& options) {
  const auto begin = Clock::now();
  auto source = std::make_shared<Source>(Source{std::move(program), {}});
  source->code = code_of(source->program, options);
  Artifact artifact = build(source->program, source->code, options, begin);
  artifact.source = std::move(source);
  return artifact;
}

} // namespace inlay::kernels
