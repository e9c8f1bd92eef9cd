// Machine code against the Code that it was made from: what is asked, in which order.
#include "code_sides.h"

#include <fstream>

#include <inlay/codegen/nest.h>

namespace inlay::kernels::validate::sides {

void Sides::symbolic() {
  client_.reset(); // of another device
  samples_.clear();
  part_ = {};
  differences_.clear();
  shape_ = std::make_unique<Shape>(code_);
  flow_ = std::make_unique<Flow>(object_, kernel_, flow_options());
  formulas_ = std::make_unique<Formulas>(p_, flow_->terms());
  formulas_->steps = &steps_;
  formulas_->divide_by({flow_->terms(), flow_->program(), flow_->rounds_to_nearest()});
  values_ = std::make_unique<ValuesOfWords>(*flow_, *formulas_);
  code_run_ = std::make_unique<CodeRun>(code_, std::vector<std::pair<AtomId, Sym>>());
  code_run_->arithmetic = &values_->arithmetic();
  code_run_->formulas = formulas_.get();
  code_run_->integers = &values_->integers();
  code_run_->steps = &steps_;
  if (rank_) code_run_->given = {{*p_.together().rank.as_atom(), Sym(std::int64_t{*rank_})}};
  for (const codegen::Tensor& t : p_.tensors())
    if (t.space == codegen::Space::window || (t.space == codegen::Space::global && bits(t.element) < 8))
      code_run_->names.by_multiples(*formulas_);
    else if (t.element == Element::e8m0)
      code_run_->names.by_factors();
  code_run_->begin(); // what it says of numbers from tables, before anybody asks
  std::vector<AtomId> of_trips;
  for (const CodeRegion& r : code_.regions)
    if (r.is_loop)
      for (const Sym& trips : formulas_->forms_of(code_run_->fixed(r.trips)))
        for (const AtomId a : symbols(trips)) of_trips.push_back(a);
  code_run_->names.watch(of_trips);
  formulas_->value_of_datum = [this](Word w) -> std::optional<std::uint64_t> {
    if (formulas_->is_long_sum(w)) return values_->read(w, Element::i32, 0);
    if (flow_->terms().kind(w) != TermKind::datum) return values_->truncated(w);
    const auto d = values_->datum(w);
    if (!d || d->format != Element::i32 || d->numbers.size() != 1) return std::nullopt;
    return d->numbers[0];
  };
  client_ = std::make_unique<Client>(code_, *code_run_, *flow_, *formulas_, *values_);
  client_->zeros = zeros_of(object_);
  client_->words_of_order = words_of_order(p_);
  values_->is_of_code = [this](Number n) { return code_run_->conditions.contains(n); };
  Draw draw(code_);
  for (int k = 0; k < 120; ++k) {
    samples_.push_back(draw(k % 2 == 0 ? 4 : 14));
    number_words(samples_.back());
    formulas_->launch(samples_.back().symbols);
  }
  for (int k = 0; k < 60; ++k) formulas_->launch(draw.at_edges(14).symbols);
  if (follows_ticket()) {
    const codegen::Ticket& ticket = p_.tickets()[0];
    for (const CodeRegion& r : code_.regions)
      for (const Inst& i : r.body)
        if (i.kind == InstKind::ticket) {
          const codegen::Tensor& counters = p_.tensor(i.access.tensor);
          const Word number = flow_->terms().symbol("ticket", 0x7fffffffU);
          formulas_->name(number, ticket.symbol);
          for (std::size_t k = 0; k < samples_.size(); ++k) {
            const std::int64_t drawn = number_at(samples_[k], static_cast<unsigned>(k));
            samples_[k].words[number] = static_cast<std::uint64_t>(drawn);
            samples_[k].symbols.set(ticket.symbol, Int(drawn));
          }
          client_->ticket = {counters.id, code_run_->fixed(Sym(4) * counters.at(i.access.origin)),
                             code_run_->fixed(p_.count(ticket.axis) - Sym(1)), number};
        }
  }
  // What is stored in front of a loop is not told from what was there.
  const auto loop_follows = [&](const CodeRegion* r) {
    const auto* const end = code_.regions.data() + code_.regions.size();
    return std::any_of(r + 1, end, [](const CodeRegion& other) { return other.is_loop; });
  };
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body})
      for (const Inst& i : *list) {
        if (i.kind != InstKind::store) continue;
        const int to = p_.tensor(i.access.tensor).memory();
        stores_in_loop_ = stores_in_loop_ || r.is_loop;
        const bool is_read = code_run_->in_place.contains(to) && !client_->given(to);
        if (r.is_loop && (is_read || waits_for_others()))
          throw NotFollowed{"a loop that stores what the code loads, or what others wait for"};
        if (is_read && loop_follows(&r)) throw NotFollowed{"a loop after a store to what the code loads"};
      }
  // A branch in front of a loop: first where it is taken, then where it is not.
  const std::vector<codegen::Condition> open = open_conditions(code_);
  if (open.size() > 3) throw NotFollowed{"more than three branches in front of the code's loops"};
  for (unsigned ways = 0; ways < 1U << open.size(); ++ways) {
    part_ = Part();
    part_.facts = formulas_->contract();
    Path path(*flow_);
    path.trace.scopes = p_.target().scopes;
    for (std::size_t k = 0; k < samples_.size(); ++k) path.samples.push_back(k);
    assumed_.clear();
    for (std::size_t k = 0; k < open.size(); ++k) {
      const bool below = ((ways >> k) & 1U) == 0;
      assumed_.push_back({open[k], below});
      const codegen::Condition c = code_run_->fixed(open[k]);
      part_.facts.push_back(formulas_->fact(below ? c.b - c.a - Sym(1) : c.a - c.b));
      std::erase_if(path.samples, [&](std::size_t s) {
        const auto room = value_at(samples_[s], c.b - c.a);
        return room && (*room > Int(0)) != below;
      });
    }
    begin_part();
    explore(std::move(path), nullptr);
  }
  report_.paths = paths_;
  report_.loads = client_->load_sites.size();
  report_.stores = client_->store_sites.size();
  report_.products = client_->product_sites.size();
}

/// What formulas and machine code have in common with the code's own guards, against the masks by enumeration.
void Sides::guards() {
  Guards guards(code_);
  Draw draw(code_, 3);
  for (unsigned k = 0; k < options_.guard_sizes; ++k) {
    const Sample s = draw.with_trips(static_cast<int>(k % 6) + 1, k % 4 == 3);
    steps_.take(Steps::question);
    const auto bad = guards.at(s.symbols, k);
    if (!bad) continue;
    for (unsigned garbage = 0; garbage < 2 && report_.refuted.empty(); ++garbage)
      try { // the machine instruction that shows it
        concrete_at(s, garbage);
      } catch (const std::exception&) {
      } catch (const NotFollowed&) {
      }
    if (!report_.refuted.empty()) return;
    const std::string file = bad->inst->where.file_name();
    report_.refuted.push_back(
        {0, "the code itself",
         file.substr(file.rfind('/') + 1) + ":" + std::to_string(bad->inst->where.line()),
         static_cast<unsigned>(bad->thread) / 64, static_cast<unsigned>(bad->thread) % 64, bad->message,
         s.numbers});
    return;
  }
}

/// The number that a workgroup may draw at these sizes: half of them the last, others the first.
std::int64_t Sides::number_at(const Sample& s, unsigned k) const {
  const auto count = value_at(s, p_.count(p_.tickets()[0].axis));
  return k % 2 == 0 && count ? count->value() - 1 : 0;
}

/// Whether all that workgroups have to do with one another is a number that each of them draws: outside of loops and branches, with what is
/// loaded behind it in memory that they share.
bool Sides::follows_ticket() const {
  if (p_.tickets().size() != 1 || !p_.turns().empty()) return false;
  std::size_t tickets = 0;
  for (const CodeRegion& r : code_.regions)
    for (const auto* list : {&r.prologue, &r.body, &r.epilogue})
      for (const Inst& i : *list) {
        if (i.kind == InstKind::await || i.kind == InstKind::signal || i.kind == InstKind::meet || i.system)
          return false;
        if (i.kind == InstKind::store && r.is_loop)
          return false; // of how many is released, another trip would say
        if (i.kind == InstKind::ticket) ++tickets;
        if (i.kind == InstKind::ticket && (r.is_loop || !r.guards.empty())) return false;
      }
  return tickets == 1;
}

/// The launch passes arguments by place.
bool Sides::same_arguments() {
  const std::vector<codegen::KernelArgument> expected = codegen::arguments_of(p_);
  std::size_t k = 0;
  std::uint32_t offset = 0;
  for (const runtime::KernelArgument& a : kernel_.arguments) {
    if (a.kind.starts_with("hidden_")) continue;
    const std::uint32_t size = k < expected.size() ? static_cast<std::uint32_t>(expected[k].bytes()) : 0;
    if (size != 0) offset = (offset + size - 1) / size * size; // each lies at a multiple of its size
    if (k >= expected.size() || a.name != expected[k].name() || a.size != size || a.offset != offset) {
      missing(
          "argument " + std::to_string(k) + " of the code object is '" + a.name + "' at byte " +
          std::to_string(a.offset) + ", the kernel's is " +
          (k < expected.size() ? "'" + expected[k].name() + "' at byte " + std::to_string(offset) : "none"));
      return false;
    }
    offset += a.size;
    ++k;
  }
  if (k != expected.size()) missing("the code object has fewer arguments than the kernel");
  const auto& required = kernel_.required_workgroup;
  const bool fits =
      required.size() == 3
          ? required[0] * required[1] * required[2] == static_cast<std::uint32_t>(p_.threads()) &&
                required[0] == static_cast<std::uint32_t>(p_.threads())
          : kernel_.max_flat_workgroup_size >= static_cast<std::uint32_t>(p_.threads());
  if (!fits)
    missing("the code object is not for workgroups of " + std::to_string(p_.threads()) + " work-items");
  return k == expected.size() && fits;
}

void Sides::order() {
  runtime::symbolic::OrderOptions o;
  o.max_bytes = options_.max_bytes;
  o.budget = options_.budget == 0 ? 0 : options_.budget - steps_.used();
  o.progress = [this](std::uint64_t n) { steps_.take(n); };
  o.max_instructions = 2'000'000; // the largest kernel that was tried, of several loops, takes 172,000
  o.block = {static_cast<std::uint32_t>(p_.threads()), 1, 1};
  for (const codegen::Tensor& t : p_.tensors())
    if (t.space == codegen::Space::global && !t.output) o.read_only.push_back(t.name);
  const auto r = runtime::symbolic::check_order(object_, kernel_, o);
  report_.order = r.verdict;
  for (const auto& f : r.findings) {
    CodeFinding c{f.address, f.text, "", f.wave, f.lane, f.message, {}};
    for (const auto& [symbol, value] : f.witness)
      c.sizes.emplace_back(r.terms->text(symbol), static_cast<std::int64_t>(value));
    if (f.conditional)
      missing("order: " + f.message);
    else
      report_.refuted.push_back(std::move(c));
  }
  for (const auto& u : r.undecided) missing("order: " + u);
  // Shipped kernels of others read earlier than the tables ask; what the generator emits keeps to them. Hardware may interlock, so
  // that a missing one is no counterexample.
  for (std::size_t k = 0; k < std::min<std::size_t>(r.notes.size(), 4); ++k)
    missing("wait states: '" + r.notes[k].text + "', wave " + std::to_string(r.notes[k].wave) + ": " +
            r.notes[k].message + ", which software owes by the manual");
}

/// Does a part of the work; why it could not is what is missing.
template <class F>
void Sides::try_to(F f) {
  try {
    f();
  } catch (const NotFollowed& n) {
    missing(n.why);
  } catch (const std::exception& e) {
    missing(e.what());
  }
}

CodeReport Sides::run() {
  judge();
  if (values_)
    for (const auto& [domain, x] : values_->arithmetic().unsaid())
      missing("values: " + unsaid_text(domain, "its instructions do"));
  if (values_)
    for (const Element e : values_->narrowed())
      if (!has_elements(e))
        missing("its instructions convert to " + to_string(e) + ", of which the code has nothing");
  report_.steps = steps_.used();
  for (const std::string& reason : reasons_)
    report_.undecided.push_back(code_run_ ? code_run_->with_entries(reason) : reason);
  report_.verdict = !report_.refuted.empty()    ? MachineVerdict::refuted
                    : report_.undecided.empty() ? MachineVerdict::validated
                                                : MachineVerdict::undecided;
  return std::move(report_);
}

void Sides::judge() {
  if (!same_arguments()) return;
  if (kernel_.descriptor.mode != runtime::FloatMode{.denorm_32 = 3})
    return missing("its waves begin in another MODE than to round to nearest, keep subnormals "
                   "and overflow to infinity "
                   "(.amdhsa_float_*, .amdhsa_fp16_overflow, .amdhsa_dx10_clamp, .amdhsa_ieee_mode)");
  // ENABLE_EXCEPTION_* are bits 30:24 of compute_pgm_rsrc2 (LLVM's AMDGPUUsage, "Kernel Descriptor").
  if ((kernel_.descriptor.rsrc2 & 0x7f000000U) != 0)
    return missing("its waves may stop at an exception (.amdhsa_exception_*)");
  if (kernel_.descriptor.tg_split)
    return missing(
        "waves of a workgroup may be on several compute units (.amdhsa_tg_split), where LDS is not");
  if (p_.shares()) {
    missing("a workgroup goes on from tile to tile (" +
            std::string(p_.shares()->whole_tiles() ? "persistent" : "stream-K") +
            "), and is followed through one");
    return;
  }
  if (!codegen::nests_of(p_).empty()) {
    missing(
        "a loop holds loops or branches, and the machine code is followed through one loop after the other");
    return;
  }
  const bool waits = waits_for_others();
  const auto of_arguments = reasons_;
  try_to([&] { guards(); });
  if (waits) reasons_ = of_arguments; // what a ticket draws has no value there
  if (options_.order && report_.refuted.empty()) try_to([&] { order(); });
  if (!report_.refuted.empty() || steps_.spent()) return;
  for (const codegen::Tensor& t : p_.tensors())
    if (t.space == codegen::Space::global && bits(t.element) == 64 && t.element != Element::f64 &&
        std::none_of(p_.tensors().begin(), p_.tensors().end(),
                     [&](const codegen::Tensor& x) { return x.addresses == t.id; }))
      return missing(t.name + " is of " + to_string(t.element) + ", and numbers of 64 bits are not followed");
  if (const std::string why = waits && !follows_ticket() ? unfollowed() : ""; !why.empty())
    return missing(why);
  if (kernel_.descriptor.private_segment_buffer && kernel_.descriptor.scratch_bytes != 0) {
    missing(std::to_string(kernel_.descriptor.scratch_bytes) +
            " bytes a work-item are spilled to scratch by a buffer, which is not followed");
    return;
  }
  if (waits) { // numbers alone do not say what others have stored
    if (!options_.symbols) return missing("symbols were not asked");
    const int devices = std::max(1, p_.together().count);
    for (int rank = 0; rank < devices && reasons_.empty() && report_.refuted.empty() && !steps_.spent();
         ++rank) {
      if (p_.together().count != 0) rank_ = static_cast<std::uint32_t>(rank);
      try_to([&] { symbolic(); });
    }
    return;
  }
  const auto of_order = reasons_;
  const unsigned first = std::min(options_.first_runs, options_.refuter_runs);
  try_to([&] { concrete(0, first); });
  if (!report_.refuted.empty() || steps_.spent()) return;
  // What numbers could not follow is said where symbols do not show it, or would have to share all of what they show it with.
  const auto of_numbers = std::exchange(reasons_, of_order);
  if (!options_.symbols) {
    missing("symbols were not asked");
  } else {
    try_to([&] { symbolic(); });
  }
  if (reasons_ == of_order || steps_.spent()) return;
  reasons_.insert(of_numbers.begin(), of_numbers.end());
  if (options_.symbols && options_.refuter_runs != 0) {
    try {
      directed();
    } catch (const NotFollowed&) { // the reasons are there already
    } catch (const std::exception&) {
    }
  }
  if (report_.refuted.empty() && options_.symbols) try_to([&] { concrete(first, options_.refuter_runs); });
  if (report_.refuted.empty() && options_.symbols && options_.refuter_runs != 0) try_to([&] { at_roots(); });
}

} // namespace inlay::kernels::validate::sides

namespace inlay::kernels::validate {

namespace {
/// Bytes of this process that lie in memory; 0 where the system does not say.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, in_memory = 0;
  file >> all >> in_memory;
  return file ? in_memory * 4096 : 0;
}
} // namespace

CodeReport validate_code(const runtime::CodeObject& object, const runtime::Kernel& kernel,
                         const codegen::Code& code, const CodeOptions& options) {
  // What is counted are formulas and states; whatever else is kept is seen here, every 50,000 steps.
  CodeOptions measured = options;
  const std::size_t before = resident(), most = 2 * options.max_bytes + (std::size_t{128} << 20);
  measured.progress = [&options, before, most](std::uint64_t steps) {
    if (options.progress) options.progress(steps);
    if (const std::size_t now = resident(); now > before + most)
      throw NotFollowed{"more than " + std::to_string(most >> 20) + " MB of memory in all"};
  };
  return sides::Sides(object, kernel, code, measured).run();
}

} // namespace inlay::kernels::validate
