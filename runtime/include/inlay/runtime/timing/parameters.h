/// The numbers of the cycle model: data with a source each, never code.
///
/// A parameter has a name, a value, a unit, a *status* (measured on hardware, documented by the vendor, or assumed because
/// nobody has published it) and the source. They are in runtime/data/timing_*.json, one a target, built into
/// the library, so that it works from any directory; a file of the same form replaces them (`inlay time --parameters`).
///
///     Parameters p = Parameters::of(arch);
///     p["lds_fifo_entries"]                            // 8
///     p.with("lds_fifo_entries", 16)                   // another set of numbers, otherwise equal
///     p.issue_clocks("ds_write_b128")                  // 20
///
/// The clocks of matrix instructions are not here but with the other facts about instructions (isa/mfma_clocks.inc), and the
/// lanes that share a phase of an LDS access in the emulator's bank model: one place for each fact.
#pragma once

#include <inlay/runtime/isa/program.h>

#include <map>

namespace inlay::runtime::timing {

enum class Status : std::uint8_t { measured, documented, assumed };
/// `measured`, `documented`, `assumed`.
[[nodiscard]] std::string_view to_string(Status status);

struct Parameter {
  double value = 0;
  std::string unit;
  Status status = Status::assumed;
  std::string source;
};

/// Issue clocks of the mnemonics that begin with `prefix`; the longest prefix that fits decides.
struct IssueRule {
  std::string prefix;
  Parameter clocks;
};

class Parameters {
public:
  /// The set that the library was built with.
  [[nodiscard]] static Parameters of(isa::Arch arch);
  /// Reads JSON text of the form of runtime/data/timing_*.json. Every parameter must be present, none unknown, numbers
  /// finite and not negative. Errors: std::invalid_argument naming `name` (a file) and what is wrong.
  [[nodiscard]] static Parameters parse(std::string_view json, const std::string& name);

  [[nodiscard]] isa::Arch arch() const { return arch_; }
  /// The value. Errors: std::invalid_argument with the nearest names when there is no such parameter.
  [[nodiscard]] double operator[](std::string_view name) const { return at(name).value; }
  [[nodiscard]] const Parameter& at(std::string_view name) const;
  /// The same with one value replaced; its status becomes assumed and its source `why`. Also takes `issue:PREFIX` for a rule
  /// of exactly that prefix. Ensures: `p.with(n, v)[n] == v`, everything else equal.
  [[nodiscard]] Parameters with(std::string_view name, double value, std::string why = "given") const;

  /// Clocks in which the wave that issues `mnemonic` issues nothing else, 4 unless a rule says otherwise.
  [[nodiscard]] unsigned issue_clocks(std::string_view mnemonic) const;

  [[nodiscard]] const std::map<std::string, Parameter, std::less<>>& all() const { return values_; }
  [[nodiscard]] const std::vector<IssueRule>& issue_rules() const { return issue_; }
  /// As JSON; `parse(to_json())` gives the same.
  [[nodiscard]] std::string to_json() const;

private:
  isa::Arch arch_{};
  std::map<std::string, Parameter, std::less<>> values_;
  std::vector<IssueRule> issue_;
};

} // namespace inlay::runtime::timing
