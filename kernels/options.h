/// An option of a kernel is one row, and everything that is said about it follows from the row: reading, messages, help, JSON.
///
///     struct Asked : GemmSpec { std::int64_t m = 0; };            // what the command line asks for
///     using Read = Reads<Asked>;
///     const Options<Asked> options{"gemm", {
///         {"m", Read::number(&Asked::m, 1, 1 << 24), "256", "rows of A and C"},
///         {"waves", Read::product("2x2", &Asked::waves_m, &Asked::waves_n), "auto", "waves along M and N", "2x2"}}};
///     options.read({{"m", "64"}}).m                               // 64
///     options.help()[0].range                                     // 1 to 16777216
///
/// Rows are read in order, so that a later one sees what an earlier one said (the target, whose types are meant).
///
/// An option that changes only speed has the default `auto`, and a last text: the value that stands for it where nobody has
/// chosen (kernels/choose.h chooses for sizes).
#pragma once

#include <inlay/algebra/nearest.h>
#include <inlay/codegen/element.h>
#include <inlay/codegen/target.h>
#include <inlay/kernels/artifact.h>
#include <inlay/kernels/switches.h>
#include <inlay/machine/matrix.h>

#include <algorithm>
#include <concepts>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace inlay::kernels {

/// The number that all of the text is, in [lower, upper].
[[nodiscard]] std::optional<std::int64_t> number_in(const std::string& text, std::int64_t lower,
                                                    std::int64_t upper);
/// `128x128x64` as so many numbers of at most four digits.
[[nodiscard]] std::optional<std::vector<int>> product_of(const std::string& text, std::size_t count);

/// What is wrong with the text of a number, a switch, ..., whose value goes into the last argument; nothing: `{}`.
[[nodiscard]] std::string read_number(const std::string& text, std::int64_t lower, std::int64_t upper,
                                      std::int64_t& value);
[[nodiscard]] std::string read_real(const std::string& text, double& value);
[[nodiscard]] std::string read_yes(const std::string& text, bool& value);
[[nodiscard]] std::string read_product(const std::string& text, const std::string& form,
                                       std::span<int* const> values);
[[nodiscard]] std::string read_arch(const std::string& text, std::string& value);
[[nodiscard]] std::string number_range(std::int64_t lower, std::int64_t upper);

/// What an option does with its text. `put` says what is wrong with it, or nothing.
template <class Asked>
struct Reads {
  std::string range;
  std::function<std::string(void* asked, const std::string&)> put_in; ///< which is an Asked

  template <class Function>
  requires std::is_invocable_r_v<std::string, Function, Asked&, const std::string&> Reads(std::string words,
                                                                                          Function function)
      : range(std::move(words)),
        put_in([function = std::move(function)](void* asked, const std::string& text) -> std::string {
          return function(*static_cast<Asked*>(asked), text);
        }) {}
  std::string put(Asked& asked, const std::string& text) const { return put_in(&asked, text); }

  template <std::integral T, class Of>
  requires std::derived_from<Asked, Of>
  static Reads number(T Of::*member, std::int64_t lower, std::int64_t upper) {
    return {number_range(lower, upper), [=](Asked& asked, const std::string& text) {
              std::int64_t value = 0;
              std::string wrong = read_number(text, lower, upper, value);
              if (wrong.empty()) asked.*member = static_cast<T>(value);
              return wrong;
            }};
  }
  template <class Of>
  requires std::derived_from<Asked, Of>
  static Reads real(double Of::*member) {
    return {"a number",
            [=](Asked& asked, const std::string& text) { return read_real(text, asked.*member); }};
  }
  template <class Of>
  requires std::derived_from<Asked, Of>
  static Reads yes(bool Of::*member) {
    return {"yes, no", [=](Asked& asked, const std::string& text) { return read_yes(text, asked.*member); }};
  }
  /// One of some words, each with what it means; of those that are yes and no in any spelling.
  template <class T, class Of>
  requires std::derived_from<Asked, Of>
  static Reads one_of(T Of::*member, std::vector<std::pair<std::string, T>> words) {
    std::string range;
    for (const auto& [word, value] : words) range += (range.empty() ? "" : ", ") + word;
    return {range, [=](Asked& asked, const std::string& text) -> std::string {
              const std::optional<bool> on = yes_or_no(text);
              for (const auto& [word, value] : words)
                if (text == word || (on && word == (*on ? "yes" : "no"))) {
                  asked.*member = value;
                  return {};
                }
              return "is none of " + range;
            }};
  }
  /// `128x128x64`; `form` is the example that messages give.
  template <class... Of>
  static Reads product(const std::string& form, int Of::*... members) {
    return {form, [=](Asked& asked, const std::string& text) {
              int* const values[] = {&(asked.*members)...};
              return read_product(text, form, values);
            }};
  }
  /// An element type; `fp8` and `bf8` are those of the target.
  template <class T, class Of>
  requires std::derived_from<Asked, Of>
  static Reads element(T Of::*member, std::string range) {
    return parsed(member, std::move(range), [](const Asked& asked, const std::string& text) {
      return codegen::parse_element(text, codegen::Target::named(asked.arch));
    });
  }
  /// What a function of what is asked so far and of the text gives, whose errors are its own.
  template <class T, class Of, class Function>
  requires std::derived_from<Asked, Of>
  static Reads parsed(T Of::*member, std::string range, Function function) {
    return {std::move(range), [=](Asked& asked, const std::string& text) -> std::string {
              asked.*member = function(asked, text);
              return {};
            }};
  }
  /// The architecture, which every kernel has.
  static Reads arch() {
    return {machine::names(", "),
            [](Asked& asked, const std::string& text) { return read_arch(text, asked.arch); }};
  }
};

/// The name that an option had before, to which it still answers, and what its values were called.
struct Former {
  std::string name = {};
  std::map<std::string, std::string> values = {};
};

template <class Asked>
struct Option {
  std::string name;
  Reads<Asked> member;
  std::string fallback;      ///< `auto`: the option changes only speed
  std::string help;          ///< a line
  std::string unchosen = {}; ///< of `auto`, where nobody chooses
  std::string more = {}; ///< what the line leaves out, for the kernel's own page; may have lines of its own
  Former former = {};
};

/// `--arch`, the first option of every kernel.
template <class Asked>
[[nodiscard]] Option<Asked> arch_option() {
  return {"arch", Reads<Asked>::arch(), std::string(codegen::usual_target), "the processor"};
}

/// `--direct-to-lds`, where tiles may go from memory to LDS past the registers.
template <class Asked, class Of>
[[nodiscard]] Option<Asked> direct_to_lds_option(bool Of::*member) {
  return {"direct-to-lds",
          Reads<Asked>::yes(member),
          "auto",
          "direct global-to-LDS loads, without registers",
          "no",
          "",
          {"transfer"}};
}

/// The rows of a kernel, whatever it is that they read into.
class OptionTable {
public:
  struct Row {
    FlagHelp help;
    std::function<std::string(void* asked, const std::string&)> put;
    Former former;
  };

  OptionTable(std::string kernel, std::vector<Row> rows)
      : kernel_(std::move(kernel)), rows_(std::move(rows)) {}

  [[nodiscard]] const std::string& kernel() const { return kernel_; }
  [[nodiscard]] std::vector<FlagHelp> help() const;
  /// `{{"transfer", "yes"}}` is `{{"direct-to-lds", "yes"}}`. Kernel::renamed.
  [[nodiscard]] Flags renamed(const Flags& given) const;
  /// Puts what is given and the defaults of the others into what `asked` points to, row by row.
  /// Errors: std::invalid_argument for a name that no row has, naming those there are, and for a text that its row refuses.
  void read(const Flags& asked_for, void* asked) const;

private:
  std::string kernel_;
  std::vector<Row> rows_;
};

[[nodiscard]] OptionTable::Row row_of(std::string name, std::string range,
                                      std::function<std::string(void*, const std::string&)> put,
                                      std::string fallback, std::string help, std::string unchosen,
                                      std::string more, Former former);

template <class Asked>
class Options : public OptionTable {
public:
  Options(std::string kernel, std::vector<Option<Asked>> rows)
      : OptionTable(std::move(kernel), table(std::move(rows))) {}

  [[nodiscard]] Asked read(const Flags& asked_for) const {
    Asked asked;
    OptionTable::read(asked_for, &asked);
    return asked;
  }

private:
  static std::vector<Row> table(std::vector<Option<Asked>> options) {
    std::vector<Row> rows;
    for (Option<Asked>& o : options)
      rows.push_back(
          row_of(o.name, o.member.range, o.member.put_in, o.fallback, o.help, o.unchosen, o.more, o.former));
    return rows;
  }
};

/// One more candidate, unless it is there: what is `fixed` stands in the place of what it says.
void add_candidate(std::vector<Flags>& all, Flags one, const Flags& fixed);
/// The one candidate that there is.
[[nodiscard]] std::vector<Flags> only_candidate(Flags one, const Flags& fixed);
/// Elements of the widest vectors, of 16 bytes at most, that divide all of these.
[[nodiscard]] int widest_vector(codegen::Element type, std::initializer_list<std::int64_t> all);
/// Workgroups of so many work-items, each with the widest vectors of rows of n.
[[nodiscard]] std::vector<Flags> candidates_by_threads(codegen::Element type, std::int64_t n,
                                                       std::initializer_list<int> threads,
                                                       const Flags& fixed);
/// Workgroups of so many work-items that a unit has at a time, as its slots of waves say.
[[nodiscard]] inline int resident_by_waves(int threads) { return std::clamp(32 / (threads / 64), 1, 16); }

/// Tiles of so many, the last one part.
[[nodiscard]] inline std::int64_t up(std::int64_t n, std::int64_t tile) { return (n + tile - 1) / tile; }
/// Rounds of workgroups over the units of a processor, so many at a time on each; a last one that is partly filled counts by what a
/// unit then has.
[[nodiscard]] double rounds(const std::string& arch, std::int64_t workgroups, int resident);

/// Multiply-adds of a unit a clock.
[[nodiscard]] inline double products_per_clock(const std::string& arch, machine::Operand operand) {
  return machine::multiply_adds_per_clock(codegen::Target::named(arch).arch, operand);
}

/// A kernel on the command line: its rows, and what to do with what they read.
template <class Asked>
struct Face {
  std::string summary;
  Options<Asked> options;
  std::function<Artifact(const Asked&, const BuildOptions&)> build;
  std::function<Problem(const Asked&, std::uint64_t seed)> problem;
  std::vector<std::string> size_names = {}; ///< Kernel::size_names
  std::function<std::vector<std::int64_t>(const Asked&)> sizes = {};
  /// Candidates for what is asked, of which `fixed` is given; and clocks of one.
  std::function<std::vector<Flags>(const Asked&, const Flags& fixed)> candidates = {};
  std::function<double(const Asked&)> bound = {};
  /// Another value for what a candidate leaves to later.
  std::function<void(const Asked&, Flags&)> finish = {};
};

/// What of a face does not depend on what is asked for.
class FacedKernel : public Kernel {
public:
  [[nodiscard]] std::string name() const override { return options().kernel(); }
  [[nodiscard]] std::vector<FlagHelp> flags() const override { return options().help(); }
  [[nodiscard]] Flags renamed(const Flags& flags) const override { return options().renamed(flags); }
  [[nodiscard]] std::vector<Form> forms(const Flags& flags) const override;

private:
  [[nodiscard]] virtual const OptionTable& options() const = 0;
  [[nodiscard]] virtual bool has_candidates() const = 0;
  [[nodiscard]] virtual bool has_finish() const = 0;
  [[nodiscard]] virtual std::vector<Flags> candidates(const Flags& fixed) const = 0;
  [[nodiscard]] virtual double bound(const Flags& form) const = 0;
  virtual void finish(const Flags& all, Flags& form) const = 0;
};

template <class Asked>
class KernelOf final : public FacedKernel {
public:
  explicit KernelOf(Face<Asked> face) : face_(std::move(face)) {}
  [[nodiscard]] std::string summary() const override { return face_.summary; }
  [[nodiscard]] Artifact build(const Flags& flags, const BuildOptions& how) const override {
    return face_.build(face_.options.read(flags), how);
  }
  [[nodiscard]] Problem problem(const Flags& flags, std::uint64_t seed) const override {
    return face_.problem(face_.options.read(flags), seed);
  }
  [[nodiscard]] std::vector<std::int64_t> sizes(const Flags& flags) const override {
    return face_.sizes ? face_.sizes(face_.options.read(flags)) : std::vector<std::int64_t>();
  }
  [[nodiscard]] std::vector<std::string> size_names() const override { return face_.size_names; }

private:
  [[nodiscard]] const OptionTable& options() const override { return face_.options; }
  [[nodiscard]] bool has_candidates() const override { return bool(face_.candidates); }
  [[nodiscard]] bool has_finish() const override { return bool(face_.finish); }
  [[nodiscard]] std::vector<Flags> candidates(const Flags& fixed) const override {
    return face_.candidates(face_.options.read(fixed), fixed);
  }
  [[nodiscard]] double bound(const Flags& form) const override {
    return face_.bound(face_.options.read(form));
  }
  void finish(const Flags& all, Flags& form) const override { face_.finish(face_.options.read(all), form); }

  Face<Asked> face_;
};

template <class Asked>
[[nodiscard]] std::unique_ptr<Kernel> kernel_of(Face<Asked> face) {
  return std::make_unique<KernelOf<Asked>>(std::move(face));
}

} // namespace inlay::kernels
