#include "build_forms.h"

#include "build_manifest.h"
#include "exec_arguments.h"
#include "kernel_options.h"
#include "progress.h"
#include "write_all.h"

#include <algorithm>
#include <fmt/format.h>
#include <inlay/kernels/choose_table.h>
#include <inlay/launch/bundle.h>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <sstream>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using kernels::Flags;

/// `m=1..4096`, `n=1024..8192/64`, `k=4096`.
kernels::SizeRange parse_range(const std::string& text) {
  const auto bad = [&] {
    refuse("--for " + text + ": not NAME=LEAST..MOST",
           "--for m=1..4096, or in multiples: --for n=1024..8192/64");
  };
  const auto equals = text.find('='), dots = text.find(".."), slash = text.find('/');
  if (equals == std::string::npos || equals == 0) bad();
  const auto number = [&](std::size_t begin, std::size_t end) {
    const auto v = parse_number<std::int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!v || *v < 1 || *v > INT32_MAX) bad();
    return *v;
  };
  const std::size_t end = std::min(slash, text.size());
  kernels::SizeRange out;
  out.name = text.substr(0, equals);
  out.least = number(equals + 1, std::min(dots, end));
  out.most = dots == std::string::npos ? out.least : number(dots + 2, end);
  if (slash != std::string::npos) out.multiple = number(slash + 1, text.size());
  if (out.most < out.least) bad();
  return out;
}

/// A form a line, written as options: `--tile 128x128x64 --waves 2x2`; what follows # is left out.
std::vector<Flags> read_forms(Session& session, const kernels::Kernel& kernel, const std::string& file) {
  std::vector<Flags> out;
  std::istringstream in(read_text(session, file));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (!all.empty()) out.push_back(kernel.renamed(read_flags(all)));
  }
  if (out.empty())
    refuse("--forms " + file + ": names no form", "a line for each: --tile 128x128x64 --waves 2x2");
  return out;
}

/// A form that was built: its code object, and the manifest by which it is launched.
struct Made {
  kernels::Artifact artifact;
  launch::Manifest manifest;
};

/// The launch's sizes as the options say them.
struct Contract {
  std::vector<launch::Forms::Range> ranges; ///< of the launch, in its order
  std::vector<std::size_t> of;              ///< the range of `--for` that a size is; or `fixed`
  static constexpr std::size_t fixed = SIZE_MAX;

  /// Ranges of the launch, with those of `--for` being these.
  [[nodiscard]] std::vector<launch::Forms::Range> with(const std::vector<std::int64_t>& least,
                                                       const std::vector<std::int64_t>& most) const {
    std::vector<launch::Forms::Range> out = ranges;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (of[i] != fixed) out[i].least = least[of[i]], out[i].most = most[of[i]];
    return out;
  }
};

/// Requires: `asked` names the other sizes. Errors: ArgumentError for a range that is no size of the launch, or on which another one depends.
Contract contract_of(const kernels::Kernel& kernel, const Flags& asked, const launch::Manifest& general,
                     std::vector<kernels::SizeRange>& ranges) {
  for (auto& r : ranges) {
    for (const launch::Size& s : general.sizes)
      if (s.name == r.name) r.multiple = std::lcm(r.multiple, s.multiple);
    const std::int64_t first = (r.least + r.multiple - 1) / r.multiple * r.multiple,
                       last = r.most / r.multiple * r.multiple;
    if (first > last)
      refuse(
          fmt::format("--for: {} from {} to {} has no multiple of {}", r.name, r.least, r.most, r.multiple),
          "a range that has one");
    r.least = first, r.most = last;
  }
  const auto sizes_at = [&](bool last) {
    Flags all = asked;
    for (const auto& r : ranges) all[r.name] = std::to_string(last ? r.most : r.least);
    return kernel.sizes(all);
  };
  const auto first = sizes_at(false), last = sizes_at(true);
  Contract out;
  std::vector<bool> found(ranges.size());
  for (std::size_t i = 0; i < general.sizes.size(); ++i) {
    const std::string& name = general.sizes[i].name;
    const auto at = std::find_if(ranges.begin(), ranges.end(), [&](const auto& r) { return r.name == name; });
    if (at != ranges.end()) {
      out.of.push_back(static_cast<std::size_t>(at - ranges.begin()));
      out.ranges.push_back({at->least, at->most, at->multiple});
      found[out.of.back()] = true;
      continue;
    }
    if (first.at(i) != last.at(i))
      refuse(
          fmt::format("--for: {} of the launch is {} to {}, by the sizes of --for", name, first[i], last[i]),
          "ranges of sizes that the launch has itself: " + kernel.name() + ".json lists them");
    out.of.push_back(Contract::fixed);
    out.ranges.push_back({first[i], first[i], 1});
  }
  for (std::size_t r = 0; r < ranges.size(); ++r)
    if (!found[r])
      refuse("--for " + ranges[r].name + ": the launch has no size of that name",
             "a kernel is built for it: --" + ranges[r].name + " NUMBER");
  return out;
}

std::string clocks_text(double clocks, double best, const std::string& where) {
  return fmt::format("{:.0f} modelled clocks for {}{}", clocks, where,
                     clocks > best * 1.0005
                         ? fmt::format(", {:.1f} % more than a form of its own", 100 * (clocks / best - 1))
                         : "");
}

struct Loss {
  double median = 0, worst = 0;
  std::string at; ///< the sizes of the worst one
};

std::string sizes_text(const std::vector<kernels::SizeRange>& ranges,
                       const std::vector<std::int64_t>& values) {
  std::string out;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ", ranges[i].name, values[i]);
  return out;
}

Loss loss_of(const kernels::FormTable& table, const std::vector<kernels::SizeRange>& ranges) {
  Loss out;
  std::vector<double> all;
  for (const auto& p : table.points) {
    all.push_back(p.clocks / p.best - 1);
    if (all.back() > out.worst) out.worst = all.back(), out.at = sizes_text(ranges, p.sizes);
  }
  std::sort(all.begin(), all.end());
  out.median = all[all.size() / 2];
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

} // namespace

void add_forms_options(CLI::App& command, FormsOptions& options) {
  command
      .add_option(
          "--for", options.ranges,
          "NAME=LEAST..MOST or NAME=LEAST..MOST/MULTIPLE, any number of times: sizes that are not known yet. "
          "Several forms go into one file, and a launch takes the one for its sizes")
      ->allow_extra_args(false);
  command.add_option(
      "--forms", options.from,
      "With --for: auto (default), or a file with a form a line: --tile 128x128x64 --waves 2x2");
  command.add_option("--most", options.most, "With --for: forms that are kept, besides the general one (32)")
      ->check(CLI::Range(1, 100));
  command
      .add_option("--points", options.points, "With --for: sizes for which forms are modelled, at most (32)")
      ->check(CLI::Range(1, 10'000));
}

int build_forms(Session& session, const kernels::Kernel& kernel, const Flags& flags, const FormsOptions& o,
                const std::string& output, const kernels::BuildOptions& options,
                const ValidateOptions& validate, bool json) {
  Flags asked = kernel.renamed(flags);
  std::erase_if(asked, [](const auto& f) { return f.second == "auto"; });
  std::vector<kernels::SizeRange> ranges;
  for (const std::string& text : o.ranges) {
    ranges.push_back(parse_range(text));
    const std::string& name = ranges.back().name;
    const auto names = kernel.size_names();
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse("--for " + text + ": " + kernel.name() + " has no size '" + name + "'",
             names.empty() ? "a kernel that auto chooses forms of: gemm"
                           : fmt::format("its sizes are {}", fmt::join(names, ", ")));
    if (asked.contains(name)) refuse("--for " + text + ": --" + name + " is given, too", "one of them");
    for (std::size_t i = 0; i + 1 < ranges.size(); ++i)
      if (ranges[i].name == name) refuse("--for " + text + ": " + name + " is given twice", "each size once");
  }
  for (const std::string& name : kernel.size_names())
    if (!asked.contains(name) &&
        std::none_of(ranges.begin(), ranges.end(), [&](const auto& r) { return r.name == name; }))
      refuse("--for: " + name + " is not given", "--" + name + " 4096, or --for " + name + "=1..4096");

  const auto make = [&](Flags all) {
    all.insert(asked.begin(), asked.end());
    auto artifact = std::make_unique<Made>(Made{kernel.build(all, options), {}});
    artifact->manifest = manifest_of(artifact->artifact, "", asked);
    artifact->manifest.made = made_from(kernel, all, options);
    return artifact;
  };
  const std::unique_ptr<Made> general = make({});
  if (general->manifest.devices > 1)
    refuse(kernel.name() + ": is launched on several devices, and --for is for one", "a build for each size");
  const Contract contract = contract_of(kernel, asked, general->manifest, ranges);

  // A form that is no form of the table by its own manifest, or cannot be proved, is left out.
  std::map<Flags, std::unique_ptr<Made>> made;
  const auto takes = [&](const Flags& form, const std::vector<std::int64_t>& least,
                         const std::vector<std::int64_t>& most) -> std::string {
    try {
      auto& one = made[form];
      if (one == nullptr) one = make(form);
      const auto box = contract.with(least, most);
      launch::Forms::Row row{box, 0, ""};
      for (auto& r : row.ranges) r.multiple = 1;
      (void)launch::Forms({{one->manifest, ""}, {general->manifest, ""}}, box, {std::move(row)});
      return "";
    } catch (const std::invalid_argument& e) {
      return first_line(e.what());
    } catch (const std::runtime_error& e) { // a claim that does not hold
      return first_line(e.what());
    }
  };
  kernels::TableOptions how;
  how.choose = choose_options(options);
  how.most = o.most.value_or(how.most);
  how.points = o.points.value_or(how.points);
  if (!o.from.empty() && o.from != "auto") how.forms = read_forms(session, kernel, o.from);
  ProgressBar bar(session, kernel.name());
  how.progress = [&](std::size_t done, std::size_t of, const std::string& what) {
    bar.show(static_cast<double>(done) / static_cast<double>(of), what);
  };
  const kernels::FormTable table = kernels::choose_table(kernel, asked, ranges, how, takes);
  bar.erase();

  // One that is the general form is not there twice.
  std::vector<std::size_t> number;
  std::vector<const Made*> forms;
  std::vector<std::string> texts;
  for (const Flags& f : table.forms) {
    const Made& m = *made.at(f);
    launch::Manifest launched = m.manifest;
    launched.made = general->manifest.made;
    const bool is_general = m.artifact.hsaco == general->artifact.hsaco && launched == general->manifest;
    number.push_back(is_general ? SIZE_MAX : forms.size());
    if (is_general) continue;
    forms.push_back(&m);
    const std::string text = kernels::words_that_tell(kernel, f);
    texts.push_back(text.empty() ? "what stands without sizes" : text);
  }
  forms.push_back(general.get()), texts.emplace_back("what stands without sizes");
  for (std::size_t& n : number) n = std::min(n, forms.size() - 1);

  std::vector<Validated> validated;
  std::vector<launch::Forms::Form> of_file;
  std::vector<launch::Bundle::Entry::Code> code;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    validated.push_back(validate_built(session, forms[f]->artifact, validate));
    of_file.push_back({forms[f]->manifest, texts[f]});
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(forms[f]->artifact.hsaco.data());
    code.emplace_back(bytes, bytes + forms[f]->artifact.hsaco.size());
  }
  std::vector<launch::Forms::Row> rows;
  for (const auto& r : table.rows) {
    rows.push_back({contract.with(r.least, r.most), number[r.form],
                    clocks_text(r.clocks, r.best, sizes_text(ranges, r.most))});
    for (auto& range : rows.back().ranges) range.multiple = 1;
  }
  const launch::Bundle bundle({launch::Bundle::Entry(
      launch::Forms(std::move(of_file), contract.ranges, std::move(rows)), std::move(code))});
  const launch::Forms& written = bundle.entries()[0].forms;
  const auto bytes = bundle.bytes();
  fs::path file(output);
  if (fs::is_directory(file) || output.ends_with('/')) file /= kernel.name() + ".inlay";
  write_all(file.has_parent_path() ? file.parent_path() : fs::path("."),
            {{file.filename().string(), std::string(bytes.begin(), bytes.end())}});

  const Loss loss = loss_of(table, ranges);
  if (json) {
    Json out = {{"kernel", kernel.name()},
                {"arch", general->artifact.arch},
                {"file", file.string()},
                {"bytes", bytes.size()},
                {"forms", Json::array()},
                {"rows", Json::array()},
                {"points", Json::array()},
                {"chosen", table.chosen},
                {"loss", {{"median", loss.median}, {"worst", loss.worst}, {"at", loss.at}}},
                {"left_out", table.left_out}};
    for (std::size_t f = 0; f < forms.size(); ++f)
      out["forms"].push_back({{"options", texts[f]},
                              {"bytes", forms[f]->artifact.hsaco.size()},
                              {"proofs",
                               {{"proved", forms[f]->artifact.proofs.proved()},
                                {"runtime_checked", forms[f]->artifact.proofs.at_launch_count()}}},
                              {"validation", to_json(validated[f])}});
    for (const auto& r : table.rows)
      out["rows"].push_back({{"least", r.least},
                             {"most", r.most},
                             {"form", number[r.form]},
                             {"clocks", r.clocks},
                             {"best", r.best}});
    for (const auto& p : table.points)
      out["points"].push_back(
          {{"sizes", p.sizes}, {"form", number[p.form]}, {"clocks", p.clocks}, {"best", p.best}});
    session.out << out.dump(2) << "\n";
    return Exit::yes;
  }
  session.out << fmt::format("{}  {} bytes, {}: {} forms, {} rows\n", file.string(), bytes.size(),
                             general->artifact.arch, forms.size(), written.rows().size() + 1);
  for (std::size_t r = 0; r <= written.rows().size(); ++r) session.out << "  " << written.why(r) << "\n";
  for (std::size_t f = 0; f < forms.size(); ++f)
    session.out << fmt::format("  form {}: {} claims proved, {} checked at launch; {}\n", f,
                               forms[f]->artifact.proofs.proved(),
                               forms[f]->artifact.proofs.at_launch_count(), to_text(validated[f]));
  session.out << fmt::format("  {} sizes modelled, {} forms chosen, {} kept: {:.1f} % more clocks in the "
                             "median, {:.1f} % at most{}\n",
                             table.points.size(), table.chosen, table.forms.size(), 100 * loss.median,
                             100 * loss.worst, loss.at.empty() ? "" : ", for " + loss.at);
  for (const std::string& why : table.left_out) session.out << "  left out: " << why << "\n";
  return Exit::yes;
}

} // namespace inlay::cli
