// `inlay audit TABLE --code DIR`: whether a tuning table of another library can be true: each row's kernel is in the code objects of
// a directory, no row claims more than the chip's peak, its TFLOPS are those of its own time, and with --launch no other row's
// kernel would be shorter by the cycle model.
#include "audit_launch.h"
#include "code_object_input.h"
#include "command.h"
#include "progress.h"
#include "time_kernel.h"

#include <inlay/codegen/atoms.h>
#include <inlay/machine/target.h>
#include <inlay/runtime/timing/parameters.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

struct AuditOptions {
  std::string table, code, arch, dtype, journal, launch;
  double tolerance = 0.02, shorter = 0.15;
  unsigned top = 20, others = 6;
  bool json = false;
};

/// Columns of the table by what they mean: each has one of several names.
struct Columns {
  std::map<std::string, std::size_t> at;
  std::vector<std::string> by_name; ///< all, as small letters
  explicit Columns(const Fields& header) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> names = {
        {"m", {"m"}},
        {"n", {"n"}},
        {"k", {"k"}},
        {"batch", {"b", "batch"}},
        {"units", {"cu_num", "cus", "num_cus"}},
        {"us", {"us", "time_us", "us1"}},
        {"tflops", {"tflops"}},
        {"kernel", {"kernelname", "kernel_name", "kernel"}},
        {"gfx", {"gfx", "arch"}},
        {"dtype", {"q_dtype_w", "dtype", "q_dtype_a"}}};
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string name = lower(header[i]);
      by_name.push_back(name);
      for (const auto& [what, known] : names)
        if (std::find(known.begin(), known.end(), name) != known.end()) at.try_emplace(what, i);
    }
    for (const char* needed : {"m", "n", "k", "us"})
      if (!at.contains(needed))
        throw std::invalid_argument(
            fmt::format("audit: the table has no column '{}'\n  hint   the first line names the "
                        "columns: M,N,K,us,tflops,kernelName,cu_num,dtype",
                        needed));
  }
  [[nodiscard]] std::string text(const Fields& row, const std::string& what) const {
    const auto found = at.find(what);
    return found != at.end() && found->second < row.size() ? row[found->second] : "";
  }
  [[nodiscard]] std::optional<double> number(const Fields& row, const std::string& what) const {
    const std::string word = text(row, what);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
      return {};
    return value;
  }
};

/// TFLOPS of a chip with so many units, all matrix pipes busy with the fastest product of a type at the peak clock; of the fastest of all types where
/// a name is none that we know: a row is not to be called impossible for what the table leaves open.
double peak(const std::string& arch, const std::string& type, double units) {
  using codegen::Element;
  const codegen::Target& target = codegen::Target::named(arch);
  const auto named = [&](std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const char* p) { return type.find(p) != type.npos; });
  };
  std::vector<Element> types = {Element::bf16, Element::i8, codegen::parse_element("fp8", target)};
  if (target.ocp_fp8) types.push_back(Element::e2m1);
  if (named({"float4", "fp4", "e2m1"}))
    types = {Element::e2m1};
  else if (named({"float8", "fp8", "e4m3", "e5m2"}) || type == "i4")
    types = {codegen::parse_element("fp8", target)};
  else if (named({"bfloat16", "bf16", "float16", "fp16", "f16", "half"}))
    types = {Element::bf16};
  else if (named({"int8"}) || type == "i8")
    types = {Element::i8};
  else if (named({"float32", "fp32", "f32"}))
    types = {Element::f32};
  double fastest = 0;
  for (const Element e : types)
    for (const int rows : {16, 32}) {
      const bool scaled = e == Element::e2m1 || (target.ocp_fp8 && codegen::bits(e) == 8 && e != Element::i8);
      const codegen::Atom& a =
          scaled
              ? codegen::Atom::mma_scaled(target, e, e, rows)
              : codegen::Atom::mma_best(target, e, e, e == Element::i8 ? Element::i32 : Element::f32, rows);
      fastest = std::max(fastest, static_cast<double>(a.mma->multiply_adds()) / a.mma->clocks());
    }
  const double mhz = runtime::timing::Parameters::of(runtime::isa::parse_arch(arch))["clock_mhz"];
  return 2 * fastest * target.simds * units * mhz / 1e6;
}

/// Names of the kernels of all code objects under a directory, and their files; files that are none are counted.
std::map<std::string, fs::path> kernels_under(Session& session, const std::string& directory,
                                              const std::string& arch, std::size_t& files,
                                              std::size_t& unread) {
  if (!fs::is_directory(directory))
    throw std::invalid_argument(fmt::format("audit: --code '{}' is no directory", directory));
  std::map<std::string, fs::path> names;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(directory)) {
    const std::string extension = e.path().extension();
    if (!e.is_regular_file() || (extension != ".co" && extension != ".hsaco" && extension != ".s")) continue;
    ++files;
    try {
      const runtime::CodeObject object = read_code_object(session, e.path(), extension == ".s" ? arch : "");
      for (const runtime::Kernel& k : object.kernels()) names.emplace(k.name, e.path());
    } catch (const std::exception&) {
      ++unread;
    }
  }
  return names;
}

struct Row {
  std::size_t line = 0;
  std::string kind, message;
};

/// Which processor a row is of, by its name, else by how many units it has.
std::string processor_of(const std::string& name, double units, const std::string& usual) {
  for (const machine::Target& t : machine::targets)
    if (name.starts_with(t.name)) return std::string(t.name);
  for (const machine::Target& t : machine::targets)
    if (units == t.compute_units) return std::string(t.name);
  return usual;
}

bool is_size(double x) { return x >= 1 && x < 0x1p31 && x == std::floor(x); }

/// Clocks of a table's kernels by the cycle model, for the sizes of any row.
class Models {
public:
  Models(Session& session, const AuditOptions& o, const std::map<std::string, fs::path>& files,
         std::string usual)
      : session_(session), shorter_(o.shorter), others_(o.others), files_(files), usual_(std::move(usual)),
        launch_(o.launch) {}

  /// Rows whose kernels there are and whose sizes can be read.
  void read(const Columns& columns, std::ifstream in) {
    std::string line;
    std::getline(in, line);
    for (std::size_t number = 2; std::getline(in, line); ++number) {
      if (line.empty()) continue;
      const Fields fields = fields_of(line);
      Known row{
          number,
          columns.text(fields, "kernel"),
          processor_of(columns.text(fields, "gfx"), columns.number(fields, "units").value_or(0), usual_),
          columns.text(fields, "dtype"),
          {}};
      bool sizes = launch_.knows(row.kernel) && files_.contains(row.kernel);
      for (std::size_t i = 0; i < std::min(fields.size(), columns.by_name.size()); ++i)
        if (const auto value = parse_number<std::int64_t>(fields[i])) row.values[columns.by_name[i]] = *value;
      for (const char* of : {"m", "n", "k"}) {
        const auto x = columns.number(fields, of);
        sizes = sizes && x && is_size(*x);
        if (x) row.values[of] = static_cast<std::int64_t>(*x);
      }
      if (sizes) rows_.push_back(std::move(row));
    }
  }

  /// What the row's kernel is shorter than; nothing where it is the shortest of those modelled, or cannot be modelled.
  std::string verdict(std::size_t number) {
    const auto row =
        std::find_if(rows_.begin(), rows_.end(), [&](const Known& r) { return r.line == number; });
    if (row == rows_.end()) return "";
    // The nearest row of each other kernel of the same processor and type.
    std::map<std::string, std::pair<double, const Known*>> nearest;
    for (const Known& r : rows_) {
      if (r.kernel == row->kernel || r.arch != row->arch || r.dtype != row->dtype) continue;
      double distance = 0;
      for (const char* of : {"m", "n", "k"})
        distance += std::abs(
            std::log(static_cast<double>(r.values.at(of)) / static_cast<double>(row->values.at(of))));
      const auto [at, first] = nearest.try_emplace(r.kernel, distance, &r);
      if (!first && distance < at->second.first) at->second = {distance, &r};
    }
    std::vector<std::pair<double, const Known*>> others;
    for (const auto& [name, of] : nearest) others.push_back(of);
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (others.size() > others_) others.resize(others_);
    if (others.empty()) return "";
    const auto own = clocks(*row, *row);
    if (!own) return "";
    const Known* best = nullptr;
    double least = *own;
    for (const auto& [distance, other] : others)
      if (const auto of = clocks(*other, *row); of && *of < least) least = *of, best = other;
    if (best == nullptr || *own <= (1 + shorter_) * least) return "";
    return fmt::format("{} takes {:.0f} clocks by the model, {} of line {} {:.0f}", row->kernel, *own,
                       best->kernel, best->line, least);
  }
  /// Launches, each once.
  [[nodiscard]] auto modelled() const {
    return std::count_if(clocks_.begin(), clocks_.end(),
                         [](const auto& of) { return of.second.has_value(); });
  }
  [[nodiscard]] const std::string& refused() const { return refused_; }

private:
  struct Known {
    std::size_t line = 0;
    std::string kernel, arch, dtype;
    AuditLaunch::Values values;
  };

  /// Of the kernel of one row, as that row launches it, for the sizes of another.
  std::optional<double> clocks(const Known& of, const Known& sizes) {
    AuditLaunch::Values values = of.values;
    for (const auto& [name, value] : launch_.of_kernel(of.kernel))
      values.try_emplace(name, value); // what a row says is of that launch
    for (const char* name : {"m", "n", "k"}) values[name] = sizes.values.at(name);
    const auto key = std::pair(of.kernel, values);
    if (const auto found = clocks_.find(key); found != clocks_.end()) return found->second;
    std::optional<double> out;
    try {
      if (launch_.takes(of.kernel, values)) {
        auto object = objects_.find(of.kernel);
        if (object == objects_.end())
          object =
              objects_.emplace(of.kernel, read_code_object(session_, files_.at(of.kernel).string(), of.arch))
                  .first;
        const runtime::CodeObject& code = object->second;
        AuditLaunch::Launch launch = launch_.of(of.kernel, values);
        TimeOptions quick;
        quick.quick = true;
        out = time_code_object(quick, code, runtime::isa::parse_arch(code.arch()), code.kernel(of.kernel),
                               launch.geometry, launch.arguments)
                  .chip.clocks;
      }
    } catch (const std::exception& e) {
      if (refused_.empty()) refused_ = of.kernel + ": " + std::string(e.what()).substr(0, 200);
    }
    clocks_.emplace(key, out);
    return out;
  }

  Session& session_;
  double shorter_;
  std::size_t others_;
  const std::map<std::string, fs::path>& files_;
  std::string usual_;
  AuditLaunch launch_;
  std::vector<Known> rows_;
  std::map<std::string, runtime::CodeObject> objects_;
  std::map<std::pair<std::string, AuditLaunch::Values>, std::optional<double>> clocks_;
  std::string refused_;
};

int audit(Session& session, const AuditOptions& o) {
  if (!o.launch.empty() && o.code.empty())
    refuse("audit: --launch models kernels, and --code says where they are", "--code DIR");
  std::ifstream in(o.table);
  std::string line;
  if (!in || !std::getline(in, line))
    throw std::runtime_error("cannot read '" + o.table + "', or it is empty");
  if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3); // spreadsheets write a byte order mark
  const Columns columns(fields_of(line));
  std::size_t files = 0, unread = 0, rows = 0, timed = 0;
  const std::string usual(o.arch.empty() ? machine::usual_target : machine::Target::named(o.arch).name);
  const std::map<std::string, fs::path> names = o.code.empty()
                                                    ? std::map<std::string, fs::path>()
                                                    : kernels_under(session, o.code, usual, files, unread);
  std::optional<Models> models;
  if (!o.launch.empty()) models.emplace(session, o, names, usual).read(columns, std::ifstream(o.table));
  // Rows that an earlier run has judged: their verdicts are taken from the journal.
  std::map<std::size_t, std::string> judged;
  if (!o.journal.empty()) {
    std::ifstream before(o.journal);
    for (std::string entry; std::getline(before, entry);)
      if (const std::size_t tab = entry.find('\t'); tab != std::string::npos && entry.back() == '.')
        judged[std::stoull(entry)] = entry.substr(tab + 1, entry.size() - tab - 2);
  }
  std::ofstream journal;
  if (!o.journal.empty()) journal.open(o.journal, std::ios::app);
  std::map<std::string, std::size_t> counts;
  std::vector<Row> found;
  const auto size = static_cast<double>(fs::file_size(o.table));
  ProgressBar bar(session, "audit");
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    ++rows;
    bar.show(static_cast<double>(in.tellg()) / size, fmt::format("row {}", rows));
    std::string verdict;
    const auto add = [&](const std::string& kind, const std::string& message) {
      verdict += (verdict.empty() ? "" : "\t") + kind + ": " + message;
    };
    if (const auto found_before = judged.find(number); found_before != judged.end()) {
      verdict = found_before->second;
      if (columns.number(fields_of(line), "us").value_or(0) > 0) ++timed;
    } else {
      const Fields row = fields_of(line);
      const auto m = columns.number(row, "m"), n = columns.number(row, "n"), k = columns.number(row, "k"),
                 us = columns.number(row, "us"), told = columns.number(row, "tflops");
      const bool sizes = m && n && k && is_size(*m) && is_size(*n) && is_size(*k);
      if (!m || !n || !k || !us)
        add("unreadable", fmt::format("M, N, K or us is no number"));
      else if (!sizes)
        add("unreadable",
            fmt::format("M = {}, N = {}, K = {}: a size is a whole number from 1 to 2147483647", *m, *n, *k));
      if (sizes && us && *us > 0) {
        ++timed;
        const double products = std::max(1.0, columns.number(row, "batch").value_or(1));
        const double flops = 2 * products * *m * *n * *k / *us / 1e6;
        const double units = columns.number(row, "units").value_or(0);
        const std::string gfx = columns.text(row, "gfx");
        const std::string arch = processor_of(gfx, units, usual);
        const std::string said = columns.text(row, "dtype"), type = said.empty() ? o.dtype : said;
        const double all = units > 0 ? units : codegen::Target::named(arch).compute_units;
        const double most = peak(arch, type, all);
        if (std::max(flops, told.value_or(0)) > most)
          add("above the peak", fmt::format("{:.0f} TFLOPS, and {} of {:.0f} units has {:.0f} for {}",
                                            std::max(flops, told.value_or(0)), arch, all, most,
                                            type.empty() ? "any type" : type));
        if (told && *told > 0 && std::abs(*told - flops) > o.tolerance * std::max(flops, *told) + 0.011)
          add("disagrees with its time",
              fmt::format("{:.2f} TFLOPS are told, {}{:.0f}x{:.0f}x{:.0f} in {:.4g} us are {:.2f}", *told,
                          products > 1 ? fmt::format("{:.0f} x ", products) : "", *m, *n, *k, *us, flops));
      } else if (us && *us <= 0) {
        add("has no time", fmt::format("us is {}", columns.text(row, "us")));
      }
      if (!o.code.empty())
        if (const std::string name = columns.text(row, "kernel"); !name.empty() && !names.contains(name))
          add("kernel is not there", name);
      if (models)
        if (const std::string other = models->verdict(number); !other.empty())
          add("another kernel is shorter", other);
      if (journal.is_open()) journal << number << '\t' << verdict << ".\n" << std::flush;
    }
    for (std::size_t begin = 0; begin < verdict.size();) {
      const std::size_t end = std::min(verdict.find('\t', begin), verdict.size());
      const std::string one = verdict.substr(begin, end - begin);
      const std::size_t colon = one.find(": ");
      ++counts[one.substr(0, colon)];
      found.push_back({number, one.substr(0, colon), one.substr(std::min(one.size(), colon + 2))});
      begin = end + 1;
    }
  }
  bar.erase();
  if (o.json) {
    nlohmann::ordered_json out = {{"table", o.table},      {"rows", rows},       {"timed", timed},
                                  {"code_objects", files}, {"not_read", unread}, {"kernels", names.size()},
                                  {"counts", counts}};
    if (models) out["modelled"] = models->modelled();
    if (models && !models->refused().empty()) out["not_modelled"] = models->refused();
    out["findings"] = nlohmann::ordered_json::array();
    for (const Row& r : found)
      out["findings"].push_back({{"line", r.line}, {"kind", r.kind}, {"message", r.message}});
    session.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    session.out << fmt::format("{}: {} rows, {} with a time", o.table, rows, timed);
    if (!o.code.empty())
      session.out << fmt::format("; {} kernels in {} code objects{}", names.size(), files,
                                 unread == 0 ? "" : fmt::format(", {} of which cannot be read", unread));
    if (models) session.out << fmt::format("; {} launches modelled", models->modelled());
    session.out << "\n";
    if (models && !models->refused().empty())
      session.out << fmt::format("  not modelled, the first: {}\n", models->refused());
    for (const auto& [kind, count] : counts) session.out << fmt::format("  {:>6}  {}\n", count, kind);
    if (counts.empty()) session.out << "  nothing was found\n";
    for (std::size_t i = 0; i < found.size() && i < o.top; ++i)
      session.out << fmt::format("  line {}: {}: {}\n", found[i].line, found[i].kind, found[i].message);
    if (found.size() > o.top) session.out << fmt::format("  and {} more (--top)\n", found.size() - o.top);
  }
  return found.empty() ? Exit::yes : Exit::no;
}

} // namespace

void add_audit(CLI::App& app, Session& session) {
  auto* c = app.add_subcommand("audit", "Check a tuning table of another library: rows that cannot be true");
  auto o = std::make_shared<AuditOptions>();
  c->add_option(
       "TABLE", o->table,
       "CSV with columns M, N, K, us and, where there are, B, tflops, kernelName, cu_num, dtype, gfx")
      ->required();
  c->add_option("--code", o->code, "Directory of the code objects that its kernels should be in");
  c->add_option("--arch", o->arch, machine::names(" or ") + ", where the table does not say")
      ->check([](const std::string& name) {
        return machine::find_chip(name) ? std::string() : "is none of " + machine::names(", ");
      });
  c->add_option("--dtype", o->dtype,
                "Type of the products, where the table does not say: bf16, fp8, i8, fp4");
  c->add_option("--tolerance", o->tolerance, "Between TFLOPS and time, as a fraction (0.02)")
      ->check(CLI::Range(0.0, 1.0));
  c->add_option(
      "--launch", o->launch,
      "What the kernels take: then each row's kernel is modelled beside those of the nearest other rows");
  c->add_option("--others", o->others,
                "Other kernels that are modelled for a row, those of the nearest sizes (6)")
      ->check(CLI::Range(1U, 1000U));
  c->add_option("--shorter", o->shorter,
                "What another kernel must take less to be a finding, as a fraction (0.15)")
      ->check(CLI::Range(0.0, 10.0));
  c->add_option("--journal", o->journal,
                "Verdicts go to this file, and rows that it has are not judged again");
  c->add_option("--top", o->top, "Findings that are shown");
  c->add_flag("--json", o->json, "As JSON, with all findings");
  c->callback([=, &session] { session.exit = audit(session, *o); });
}

} // namespace inlay::cli
