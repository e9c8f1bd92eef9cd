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
#include <charconv>
#include <concepts>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <optional>

namespace inlay::kernels {

/// The number that all of the text is, in [lower, upper].
[[nodiscard]] std::optional<std::int64_t> number_in(const std::string& text, std::int64_t lower,
                                                    std::int64_t upper);
/// `128x128x64` as so many numbers of at most four digits.
[[nodiscard]] std::optional<std::vector<int>> product_of(const std::string& text, std::size_t count);

/// What an option does with its text. `put` says what is wrong with it, or nothing.
template <class Asked>
struct Reads {
  std::string range;
  std::function<std::string(Asked&, const std::string&)> put;

  template <std::integral T, class Of>
  requires std::derived_from<Asked, Of>
  static Reads number(T Of::*member, std::int64_t lower, std::int64_t upper) {
    const std::string range = fmt::format("{} to {}", lower, upper);
    return {range, [=](Asked& asked, const std::string& text) -> std::string {
              const auto value = number_in(text, lower, upper);
              if (!value) return fmt::format("is not a number from {}", range);
              asked.*member = static_cast<T>(*value);
              return {};
            }};
  }
  template <class Of>
  requires std::derived_from<Asked, Of>
  static Reads real(double Of::*member) {
    return {"a number", [=](Asked& asked, const std::string& text) -> std::string {
              const auto [end, error] =
                  std::from_chars(text.data(), text.data() + text.size(), asked.*member);
              return error != std::errc() || end != text.data() + text.size() ? "is not a number" : "";
            }};
  }
  template <class Of>
  requires std::derived_from<Asked, Of>
  static Reads yes(bool Of::*member) {
    return {"yes, no", [=](Asked& asked, const std::string& text) -> std::string {
              const std::optional<bool> on = yes_or_no(text);
              if (!on) return "is not yes or no";
              asked.*member = *on;
              return {};
            }};
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
    return {form, [=](Asked& asked, const std::string& text) -> std::string {
              const auto values = product_of(text, sizeof...(members));
              if (!values) return "is not of the form " + form;
              if (std::any_of(values->begin(), values->end(), [](auto v) { return v < 1; }))
                return "has to be of numbers from 1 on";
              std::size_t n = 0;
              ((asked.*members = (*values)[n++]), ...);
              return {};
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
    static const std::string range = machine::names(", ");
    return {range, [](Asked& asked, const std::string& text) -> std::string {
              asked.arch = codegen::Target::named(text).name;
              return {};
            }};
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

template <class Asked>
class Options {
public:
  Options(std::string kernel, std::vector<Option<Asked>> rows)
      : kernel_(std::move(kernel)), rows_(std::move(rows)) {}

  [[nodiscard]] const std::string& kernel() const { return kernel_; }

  [[nodiscard]] std::vector<FlagHelp> help() const {
    std::vector<FlagHelp> out;
    for (const Option<Asked>& row : rows_)
      out.push_back({row.name, row.fallback, row.help, row.member.range, row.more, row.fallback == "auto",
                     row.unchosen, row.former.name});
    return out;
  }

  /// `{{"transfer", "yes"}}` is `{{"direct-to-lds", "yes"}}`. Kernel::renamed.
  [[nodiscard]] Flags renamed(const Flags& given) const {
    Flags out = given;
    for (const Option<Asked>& row : rows_) {
      const auto old = row.former.name.empty() ? out.end() : out.find(row.former.name);
      if (old == out.end()) continue;
      const auto known = row.former.values.find(old->second);
      const std::string value = known != row.former.values.end() ? known->second : old->second;
      out.erase(old);
      std::string& now = out.emplace(row.name, value).first->second;
      if (now == "auto") now = value;
      if (value != "auto" && value != now)
        throw std::invalid_argument(
            fmt::format("{}: option '--{}' is given twice, as '--{}' too\n  hint   '--{}' "
                        "is the former name",
                        kernel_, row.name, row.former.name, row.former.name));
    }
    return out;
  }

  /// Errors: std::invalid_argument for a name that no row has, naming those there are, and for a text that its row refuses.
  [[nodiscard]] Asked read(const Flags& asked_for) const {
    const Flags given = renamed(asked_for);
    for (const auto& [name, value] : given)
      if (std::none_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row.name == name; })) {
        std::vector<std::string> known;
        for (const Option<Asked>& row : rows_) known.push_back(row.name);
        throw std::invalid_argument(fmt::format("{}: unknown option '--{}'\n  hint   {}--{}", kernel_, name,
                                                did_you_mean(name, known, "--"), fmt::join(known, ", --")));
      }
    Asked asked;
    for (const Option<Asked>& row : rows_) {
      const auto found = given.find(row.name);
      const bool chosen = found != given.end() && found->second != "auto";
      const std::string& text = chosen ? found->second : row.fallback == "auto" ? row.unchosen : row.fallback;
      if (const std::string wrong = row.member.put(asked, text); !wrong.empty())
        throw std::invalid_argument(fmt::format("{}: --{} '{}' {}", kernel_, row.name, text, wrong));
    }
    return asked;
  }

private:
  std::string kernel_;
  std::vector<Option<Asked>> rows_;
};

/// One more candidate, unless it is there: what is `fixed` stands in the place of what it says.
inline void add_candidate(std::vector<Flags>& all, Flags one, const Flags& fixed) {
  for (auto& [option, value] : one)
    if (fixed.contains(option)) value = fixed.at(option);
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

/// The one candidate that there is.
[[nodiscard]] inline std::vector<Flags> only_candidate(Flags one, const Flags& fixed) {
  std::vector<Flags> all;
  add_candidate(all, std::move(one), fixed);
  return all;
}
/// Elements of the widest vectors, of 16 bytes at most, that divide all of these.
[[nodiscard]] inline int widest_vector(codegen::Element type, std::initializer_list<std::int64_t> all) {
  int v = 128 / codegen::bits(type);
  while (std::any_of(all.begin(), all.end(), [&](std::int64_t n) { return n % v != 0; })) v /= 2;
  return v;
}
/// Workgroups of so many work-items, each with the widest vectors of rows of n.
[[nodiscard]] inline std::vector<Flags> candidates_by_threads(codegen::Element type, std::int64_t n,
                                                              std::initializer_list<int> threads,
                                                              const Flags& fixed) {
  std::vector<Flags> all;
  for (const int count : threads)
    add_candidate(all,
                  {{"threads", std::to_string(count)}, {"vector", std::to_string(widest_vector(type, {n}))}},
                  fixed);
  return all;
}
/// Workgroups of so many work-items that a unit has at a time, as its slots of waves say.
[[nodiscard]] inline int resident_by_waves(int threads) { return std::clamp(32 / (threads / 64), 1, 16); }

/// Tiles of so many, the last one part.
[[nodiscard]] inline std::int64_t up(std::int64_t n, std::int64_t tile) { return (n + tile - 1) / tile; }
/// Rounds of workgroups over the units of a processor, so many at a time on each; a last one that is partly filled counts by what a
/// unit then has.
[[nodiscard]] inline double rounds(const std::string& arch, std::int64_t workgroups, int resident) {
  const int units = codegen::Target::named(arch).compute_units;
  return static_cast<double>(up(workgroups, units)) <= resident
             ? 1
             : static_cast<double>(up(workgroups, units)) / resident;
}

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
  std::vector<std::string> size_names = {}; ///< options that say the sizes of the launch contract
  std::function<std::vector<std::int64_t>(const Asked&)> sizes = {};
  /// Candidates for what is asked, of which `fixed` is given; and clocks of one.
  std::function<std::vector<Flags>(const Asked&, const Flags& fixed)> candidates = {};
  std::function<double(const Asked&)> bound = {};
  /// Another value for what a candidate leaves to later.
  std::function<void(const Asked&, Flags&)> finish = {};
};

template <class Asked>
class FacedKernel : public Kernel {
public:
  explicit FacedKernel(Face<Asked> face) : face_(std::move(face)) {}
  [[nodiscard]] std::string name() const override { return face_.options.kernel(); }
  [[nodiscard]] std::string summary() const override { return face_.summary; }
  [[nodiscard]] std::vector<FlagHelp> flags() const override { return face_.options.help(); }
  [[nodiscard]] Flags renamed(const Flags& flags) const override { return face_.options.renamed(flags); }
  [[nodiscard]] Artifact build(const Flags& flags, const BuildOptions& options) const override {
    return face_.build(face_.options.read(flags), options);
  }
  [[nodiscard]] Problem problem(const Flags& flags, std::uint64_t seed) const override {
    return face_.problem(face_.options.read(flags), seed);
  }
  [[nodiscard]] std::vector<std::int64_t> sizes(const Flags& flags) const override {
    return face_.sizes ? face_.sizes(face_.options.read(flags)) : std::vector<std::int64_t>();
  }
  [[nodiscard]] std::vector<std::string> size_names() const override { return face_.size_names; }
  [[nodiscard]] std::vector<Form> forms(const Flags& flags) const override {
    if (!face_.candidates) return {};
    Flags fixed = face_.options.renamed(flags);
    std::erase_if(fixed, [](const auto& f) { return f.second == "auto"; });
    std::vector<Form> out;
    const auto bounded = [&](Flags& form) -> std::optional<double> {
      Flags all = fixed;
      all.insert(form.begin(), form.end());
      try {
        return face_.bound(face_.options.read(all));
      } catch (const std::invalid_argument&) {
        return {}; // not every combination can be built
      }
    };
    for (Flags& form : face_.candidates(face_.options.read(fixed), fixed))
      if (const auto clocks = bounded(form)) out.push_back({std::move(form), *clocks});
    const auto sort = [&](std::size_t first) {
      std::stable_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first),
                       [](const Form& a, const Form& b) { return a.clocks < b.clocks; });
    };
    sort(out.size());
    if (!face_.finish) return out;
    const std::size_t few = std::min<std::size_t>(out.size(), 48);
    for (std::size_t i = 0; i < few; ++i) {
      Flags form = out[i].options, all = fixed;
      all.insert(form.begin(), form.end());
      face_.finish(face_.options.read(all), form);
      for (const auto& [name, value] : fixed)
        if (form.contains(name)) form[name] = value;
      if (const auto clocks = bounded(form); clocks && *clocks < out[i].clocks)
        out[i] = {std::move(form), *clocks};
    }
    sort(few);
    return out;
  }

private:
  Face<Asked> face_;
};

template <class Asked>
[[nodiscard]] std::unique_ptr<Kernel> kernel_of(Face<Asked> face) {
  return std::make_unique<FacedKernel<Asked>>(std::move(face));
}

} // namespace inlay::kernels
