// Every form that `auto` can choose: built, its claims proved, its machine code validated; what cannot be decided is run.
//
// Forms that differ in the length of a part of K alone are a group. The first of each group come first, in an order of no kernel: what is done when
// time is up, and every 100th of them, is a sample of all groups.
//
//   INLAY_FORMS=100/7             every 100th of them from the 7th on
//   INLAY_FORMS_ONLY='--dtype i8' those whose text has it
//   INLAY_FORMS_JOURNAL=FILE      verdicts by machine code, one a line: what an earlier run of this binary has judged is not judged again
//   INLAY_FORMS_PROCESSES=2       side by side; otherwise as many as there are processors
//   INLAY_FORMS_SECONDS=3600      after which no other one is begun
//   INLAY_FORMS_STEPS=8000000     of a validation: undecided beyond them; with more steps than before, what was undecided for their number is
//                                 judged again, and not run again. A pass over all forms with few steps comes first: 300000 take a third of a second.
#include <inlay/kernels/build.h>
#include <inlay/kernels/choose.h>
#include <inlay/kernels/claims.h>
#include <inlay/kernels/launch.h>
#include <inlay/kernels/workers.h>
#include <inlay/validate/code.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace all_forms_test {

using namespace inlay::kernels;
using inlay::runtime::symbolic::Verdict;

namespace {

/// A form without its sizes, and the first ones that it was listed for.
struct Listed {
  std::string kernel;
  Flags form, sizes;
  [[nodiscard]] std::string text() const { return kernel + " " + words(form); }
  /// With any number of parts in the place of that number.
  [[nodiscard]] std::string group() const {
    Flags flags = form;
    if (const auto split = flags.find("split"); split != flags.end() && split->second != "0")
      split->second = "N";
    return kernel + " " + words(flags);
  }
};

std::uint64_t digest(const void* data, std::size_t size) {
  std::uint64_t h = 14695981039346656037U;
  for (std::size_t i = 0; i < size; ++i)
    h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211U;
  return h;
}

struct Choosable {
  std::vector<Listed> forms;
  std::size_t groups = 0; ///< as many of them, at the front, are the first of their groups
};

/// What `auto` may take: the first forms by bounds of many shapes, and those of the shipped table; each once, in an order of no kernel.
Choosable choosable() {
  std::map<std::pair<std::string, Flags>, Flags> all;
  for (const TableRow& row : shipped_table()) {
    Flags flags = row.options;
    flags["arch"] = row.arch, flags["dtype"] = row.dtype;
    const std::vector<std::string> names = find_kernel(row.kernel)->size_names();
    Flags sizes;
    for (std::size_t i = 0; names.size() == row.sizes.size() && i < names.size(); ++i)
      sizes[names[i]] = std::to_string(row.sizes[i]);
    all.try_emplace({row.kernel, flags}, sizes);
  }
  const std::vector<std::string> rows = {"1", "16", "64", "256", "1024", "4096", "16384"},
                                 columns = {"1280", "4096", "8192", "28672"}, sums = {"1024", "4096", "8192"};
  std::set<std::pair<std::string, Flags>> before; // kernels have not all of the sizes
  const auto list = [&](const Kernel& kernel, const Flags& what, const Flags& sizes) {
    Flags asked = what;
    asked.insert(sizes.begin(), sizes.end());
    if (!before.emplace(kernel.name(), asked).second) return;
    try {
      const std::vector<Form> forms = kernel.forms(asked);
      const ChooseOptions usual;
      const std::size_t modelled = forms.size() <= usual.few ? usual.few : usual.in_full + usual.as_close;
      for (std::size_t i = 0; i < std::min(forms.size(), modelled); ++i) {
        Flags flags = forms[i].options;
        flags.insert(what.begin(), what.end());
        all.try_emplace({kernel.name(), flags}, sizes);
      }
    } catch (const std::invalid_argument&) { // a type that the processor has not, sizes that no form takes
    }
  };
  for (const auto& kernel : registry()) {
    const std::vector<std::string> names = kernel->size_names();
    const std::vector<FlagHelp> options = kernel->flags();
    const bool adds = std::any_of(options.begin(), options.end(),
                                  [](const FlagHelp& f) { return f.name == "split-k-fixup"; });
    std::vector<std::string> types = {""};
    for (const FlagHelp& f : options) {
      if (f.name != "dtype") continue;
      std::istringstream in(f.range);
      types.clear();
      for (std::string type; in >> type;) types.push_back(type.substr(0, type.find(',')));
    }
    for (const char* arch : {"gfx942", "gfx950"})
      for (const std::string& type : types)
        for (const std::string& m : rows)
          for (const std::string& n : columns)
            for (const std::string& k : sums) {
              Flags what = {{"arch", arch}}, sizes;
              if (!type.empty()) what["dtype"] = type;
              for (const std::string& name : names) {
                if (name == "m" || name == "queries") sizes[name] = m;
                if (name == "n" || name == "keys") sizes[name] = n;
                if (name == "k") sizes[name] = k;
              }
              list(*kernel, what, sizes);
              // Parts of K that are added by atomics, for who asks for that: to f32, to 16 bits, to those of i8 with scales.
              if (adds && n == "1280" && k == "8192" && (type == "bf16" || type == "f16" || type == "i8")) {
                what["split-k-fixup"] = "no";
                if (type == "i8") what["scales"] = "yes", what["out"] = "bf16";
                list(*kernel, what, sizes);
                if (type == "i8") continue;
                what["out"] = "f32";
                list(*kernel, what, sizes);
              }
            }
  }
  std::map<std::pair<std::uint64_t, std::string>, Listed> mixed;
  for (const auto& [what, sizes] : all) {
    const Listed one{what.first, what.second, sizes};
    const std::string text = one.text();
    mixed.emplace(std::pair(digest(text.data(), text.size()), text), one);
  }
  std::map<std::string, std::size_t> groups;
  std::vector<std::pair<std::size_t, Listed>> ordered; // which of its group it is
  for (const auto& [order, one] : mixed) ordered.emplace_back(groups[one.group()]++, one);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Choosable out;
  out.groups = groups.size();
  for (auto& [place, one] : ordered) out.forms.push_back(std::move(one));
  return out;
}

/// Sizes at which a form runs through all that it has in a second or so: two tiles each way, three parts of K of which one is short, as many
/// tiles of keys, and rows as long as they were.
Flags small(const Listed& one) {
  const auto at = [&](const char* name) {
    const auto found = one.form.find(name);
    return found == one.form.end() ? 0LL : std::atoll(found->second.c_str());
  };
  Flags sizes = one.sizes;
  int rows = 0, columns = 0, of_k = 0;
  if (const auto tile = one.form.find("tile"); tile != one.form.end())
    std::sscanf(tile->second.c_str(), "%dx%dx%d", &rows, &columns, &of_k);
  if (of_k > 0 && sizes.contains("k")) {
    const long long split = at("split");
    sizes["m"] = std::to_string(rows + 3), sizes["n"] = std::to_string((columns + 47) / 16 * 16);
    sizes["k"] = std::to_string(split > 0 ? (2 * split + 511) / 256 * 256 : 3 * of_k + 256);
  } else if (sizes.contains("m")) {
    sizes["m"] = "3";
  }
  // What a plain loop over them takes goes by their product.
  const auto at_most = [&](const char* name, long long most) {
    if (const auto found = sizes.find(name); found != sizes.end() && std::atoll(found->second.c_str()) > most)
      found->second = std::to_string(most);
  };
  at_most("queries", std::max(64LL, at("tile-q")) + 3);
  // Of images n is their number, and k that of filters.
  const std::vector<std::string> names = find_kernel(one.kernel)->size_names();
  if (std::find(names.begin(), names.end(), "h") != names.end()) at_most("n", 2), at_most("k", 132);
  // Keys in pages are whole tiles of them.
  const long long keys = std::max(64LL, at("tile-k"));
  const bool in_parts = one.kernel == "paged_decode" || one.kernel == "mla_decode"; // of 256 keys
  at_most("keys", in_parts ? 512 : one.kernel == "varlen_attention" ? 2 * keys : 2 * keys + 16);
  return sizes;
}

/// Runs an undecided form on the emulator with all checks, and under other orders of its waves: "" where it is right.
std::string run_small(const Listed& one, const Artifact& artifact) {
  Flags flags = one.form;
  for (const auto& [name, value] : small(one)) flags[name] = value;
  try {
    const Problem problem = find_kernel(one.kernel)->problem(flags, 1);
    for (const bool stress : {false, true}) {
      inlay::runtime::EmulatorOptions options;
      if (stress)
        options.stress = true;
      else
        options.checks = inlay::runtime::Checks::all();
      const auto device = open_device("emulator", artifact.arch, options);
      const Check check = problem.check(run(*device, artifact, problem));
      if (!check.ok) return "WRONG: " + check.message;
    }
  } catch (const std::exception& e) {
    const std::string what = e.what();
    return "not run: " + what.substr(0, what.find('\n'));
  }
  return "";
}

/// A line as a field of a journal.
std::string field(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n') c = ' ';
  return text.substr(0, 300);
}

/// The same with numbers left out, so that reasons can be counted.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool number = std::isxdigit(static_cast<unsigned char>(text[i])) != 0 &&
                        (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0) &&
                        std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!number) {
      out += text[i];
      continue;
    }
    while (i + 1 < text.size() && std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0) ++i;
    out += 'N';
  }
  return out.substr(0, 120);
}

struct Judged {
  std::string code, verdict, seconds, steps, reason; ///< of the machine code with that digest
};
std::string packed(const Judged& j) {
  return j.code + "\t" + j.verdict + "\t" + j.seconds + "\t" + j.steps + "\t" + field(j.reason);
}
Judged unpacked(const std::string& line) {
  Judged j;
  std::istringstream in(line);
  for (std::string* part : {&j.code, &j.verdict, &j.seconds, &j.steps, &j.reason})
    std::getline(in, *part, '\t');
  return j;
}

/// Which binary judges: verdicts of another one are none.
std::string this_binary() {
  std::error_code none;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto written = std::filesystem::last_write_time(path, none).time_since_epoch().count();
  return std::to_string(std::filesystem::file_size(path, none)) + " " + std::to_string(written);
}

std::map<std::string, Judged> read(const std::string& journal) {
  std::map<std::string, Judged> out;
  std::ifstream in(journal);
  std::string line;
  if (!std::getline(in, line) || line != this_binary()) return out;
  while (std::getline(in, line))
    if (Judged j = unpacked(line); !j.verdict.empty()) out[j.code] = std::move(j);
  return out;
}

double number_of(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}

/// Whether more steps than it was given may decide it.
bool wants_steps(const Judged& j, double steps) {
  return j.verdict == "undecided, runs" && j.reason.find("(--budget)") != std::string::npos &&
         std::atof(j.steps.c_str()) * 1.1 < steps;
}

Judged judge(const Listed& one, bool validated, const std::map<std::string, Judged>& known) {
  Judged j;
  const double steps = number_of("INLAY_FORMS_STEPS", 8'000'000);
  const auto begin = std::chrono::steady_clock::now();
  try {
    // Claims have a test of their own, and change no machine code.
    std::optional<WithoutClaims> none;
    if (validated) none.emplace();
    const Artifact a = find_kernel(one.kernel)->build(one.form, {});
    none.reset();
    j.code = std::to_string(digest(a.hsaco.data(), a.hsaco.size()));
    if (!validated) {
      if (a.proofs.proved() == 0) throw std::runtime_error("nothing was proved");
      j.verdict = "proved";
    } else if (const auto found = known.find(j.code);
               found != known.end() && !wants_steps(found->second, steps)) {
      return found->second;
    } else {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(a.hsaco.data());
      const auto object = inlay::runtime::CodeObject::parse({bytes, bytes + a.hsaco.size()});
      validate::CodeOptions options;
      options.budget = static_cast<std::uint64_t>(steps);
      const auto r = validate::validate_code(object, object.kernel(a.kernel), a.source->code, options);
      j.verdict = to_string(r.verdict), j.steps = std::to_string(r.steps);
      if (r.verdict == Verdict::refuted) j.reason = r.refuted[0].text + ": " + r.refuted[0].message;
      if (r.verdict == Verdict::undecided) {
        j.reason = r.undecided[0];
        if (found != known.end()) {
          j.verdict = found->second.verdict; // this machine code runs right
        } else if (const std::string bad = run_small(one, a); !bad.empty()) {
          if (bad.starts_with("WRONG")) j.verdict = "wrong";
          j.reason += "; " + bad;
        } else {
          j.verdict = "undecided, runs";
        }
      }
    }
  } catch (const std::exception& e) {
    j.verdict = "refused", j.reason = e.what();
  }
  j.seconds = std::to_string(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return j;
}

/// Judges every `step`th form from `from` on. None may be refuted, wrong or refused; each undecided one has to run right.
void judge_all(bool validated, std::size_t step, std::size_t from, unsigned processes) {
  const Choosable found = choosable();
  const std::vector<Listed>& all = found.forms;
  CHECK(all.size() > 200);
  std::vector<std::size_t> part;
  const char* only = std::getenv("INLAY_FORMS_ONLY");
  for (std::size_t i = from; i < all.size(); i += step)
    if (only == nullptr || all[i].text().find(only) != std::string::npos) part.push_back(i);
  const char* journal = validated ? std::getenv("INLAY_FORMS_JOURNAL") : nullptr;
  std::map<std::string, Judged> known;
  if (journal != nullptr) known = read(journal);
  if (journal != nullptr && known.empty()) std::ofstream(journal) << this_binary() << "\n";
  std::map<std::string, std::size_t> verdicts, reasons;
  const auto begin = std::chrono::steady_clock::now();
  const double most = number_of("INLAY_FORMS_SECONDS", 18'000);
  in_processes(
      part.size(), processes, [&](std::size_t i) { return packed(judge(all[part[i]], validated, known)); },
      [&](std::size_t i, const std::optional<std::string>& answer) {
        const Listed& one = all[part[i]];
        const Judged j = unpacked(answer.value_or("\tdied\t\t\t"));
        ++verdicts[j.verdict];
        if (j.verdict.starts_with("undecided")) ++reasons[one.kernel + ": " + without_numbers(j.reason)];
        const bool good = j.verdict == "proved" || j.verdict == "validated" || j.verdict == "undecided, runs";
        if (!good) FAIL_CHECK(one.text() << "\n" << j.verdict << ": " << j.reason);
        const auto before = known.find(j.code);
        if (journal != nullptr && (before == known.end() || packed(before->second) != packed(j)))
          std::ofstream(journal, std::ios::app) << packed(j) << "\t" << one.text() << "\n";
        known[j.code] = j; // what is judged again comes later in the journal, and counts
        return true;
      },
      [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < most; });
  std::string told = std::to_string(all.size()) + " forms in " + std::to_string(found.groups) + " groups, " +
                     std::to_string(part.size()) + " asked for";
  for (const auto& [verdict, count] : verdicts) told += "\n" + std::to_string(count) + " " + verdict;
  for (const auto& [reason, count] : reasons) told += "\n  " + std::to_string(count) + " " + reason;
  WARN(told);
}

void judge_part(bool validated) {
  std::size_t step = 1, from = 0;
  if (const char* part = std::getenv("INLAY_FORMS")) REQUIRE(std::sscanf(part, "%zu/%zu", &step, &from) == 2);
  judge_all(validated, step, from, static_cast<unsigned>(number_of("INLAY_FORMS_PROCESSES", processors())));
}

} // namespace

TEST_CASE("auto: a few forms of all that can be chosen are validated or undecided and run") {
  judge_all(true, 5000, 17, 1);
}

/// All of them: a quarter of an hour of one processor.
TEST_CASE("auto: every form that can be chosen is built and its claims hold", "[.][nightly]") {
  judge_part(false);
}

/// All of them: hours.
TEST_CASE("auto: every form that can be chosen is validated or undecided and run", "[.][nightly]") {
  judge_part(true);
}

} // namespace all_forms_test
