#include <inlay/kernels/choose.h>

#include <inlay/kernels/claims.h>
#include <inlay/kernels/model_form.h>
#include <inlay/kernels/workers.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include <link.h>
#include <unistd.h>

namespace inlay::kernels {

extern const char* const embedded_forms;

std::string words(const Flags& flags) {
  std::string out;
  for (const auto& [name, value] : flags)
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", name,
                       value.find(' ') == std::string::npos ? value : "'" + value + "'");
  return out;
}

std::string words_that_tell(const Kernel& kernel, const Flags& options) {
  std::string out;
  for (const FlagHelp& f : kernel.flags())
    if (const auto found = options.find(f.name);
        found != options.end() && (found->second != f.unchosen || f.unchosen.empty()))
      out += (out.empty() ? "" : " ") + words({*found});
  return out;
}

Artifact build(const Kernel& kernel, const Flags& asked, const Choice& choice, const BuildOptions& options) {
  return choice.built && !options.validate ? *choice.built : kernel.build(with(asked, choice), options);
}

Flags with(Flags asked, const Choice& choice) {
  for (const auto& [name, value] : choice.options)
    if (const auto found = asked.find(name); found == asked.end() || found->second == "auto")
      asked[name] = value;
  return asked;
}

namespace {

namespace fs = std::filesystem;

/// The linker's digest of the object that this code is part of: any change to the library is another one.
std::string build_of_this() {
  struct Found {
    std::uintptr_t here;
    std::string id;
  } found{reinterpret_cast<std::uintptr_t>(&build_of_this), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& f = *static_cast<Found*>(data);
        bool ours = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& p = info->dlpi_phdr[i];
          ours = ours || (p.p_type == PT_LOAD && f.here >= info->dlpi_addr + p.p_vaddr &&
                          f.here < info->dlpi_addr + p.p_vaddr + p.p_memsz);
        }
        for (int i = 0; ours && i < info->dlpi_phnum; ++i) {
          const auto& p = info->dlpi_phdr[i];
          if (p.p_type != PT_NOTE) continue;
          const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + p.p_vaddr);
          for (const auto* end = at + p.p_memsz; at + 12 <= end;) {
            std::uint32_t head[3];
            std::memcpy(head, at, sizeof head);
            const unsigned char* text = at + 12 + (head[0] + 3) / 4 * 4;
            if (head[2] == 3 && head[0] == 4 && std::memcmp(at + 12, "GNU", 4) == 0)
              for (std::uint32_t b = 0; b < head[1]; ++b) f.id += fmt::format("{:02x}", text[b]);
            at = text + (head[1] + 3) / 4 * 4;
          }
        }
        return 0;
      },
      &found);
  if (found.id.empty()) { // not linked with --build-id
    std::error_code absent;
    const fs::path self = fs::read_symlink("/proc/self/exe", absent);
    found.id = fmt::format("{} {} {}", self.string(), fs::file_size(self, absent),
                           fs::last_write_time(self, absent).time_since_epoch().count());
  }
  return found.id;
}

std::optional<fs::path> directory_of_choices() {
  const auto variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
  if (const auto given = variable("INLAY_CACHE_DIR"))
    return given->empty() ? std::nullopt : std::optional<fs::path>(fs::path(*given) / "choices");
  if (const auto given = variable("XDG_CACHE_HOME"); given && !given->empty())
    return fs::path(*given) / "inlay" / "choices";
  if (const auto home = variable("HOME"); home && !home->empty())
    return fs::path(*home) / ".cache" / "inlay" / "choices";
  return std::nullopt;
}

/// What is asked in a fixed order, `auto` left out, and how it is built.
std::string flags_text(const Kernel& kernel, const Flags& asked, const BuildOptions& build) {
  std::string key = kernel.name();
  for (const auto& [name, value] : asked)
    if (value != "auto") key += " " + name + "=" + value;
  return key + " : " + build.scheduler + " " + build.loops;
}

/// The same, and how many are modelled.
std::string asked_text(const Kernel& kernel, const Flags& asked, const ChooseOptions& o) {
  return flags_text(kernel, asked, o.build) + " " + std::to_string(o.in_full) + "+" +
         std::to_string(o.as_close) + "/" + std::to_string(o.few);
}

struct Memory {
  std::mutex lock;
  std::unordered_map<std::string, Choice> choices;
};
Memory& memory() {
  static Memory m;
  return m;
}

std::string full_key(const std::string& asked) {
  static const std::string build = build_of_this();
  return "inlay " INLAY_VERSION " " + build + "\n" + asked;
}

fs::path file_of(const fs::path& directory, const std::string& key) {
  std::uint64_t a = 14695981039346656037U,
                b = 88172645463325252U; // FNV-1a, twice; the entry holds the key itself
  for (const char c : key) {
    a = (a ^ static_cast<unsigned char>(c)) * 1099511628211U;
    b = (b ^ static_cast<unsigned char>(c)) * 1099511628211U + (b >> 29);
  }
  return directory / fmt::format("{:016x}{:016x}.choice", a, b);
}

/// `name=value` each, separated by tabs.
std::string packed(const Flags& flags) {
  std::string out;
  for (const auto& [name, value] : flags) out += fmt::format("{}{}={}", out.empty() ? "" : "\t", name, value);
  return out;
}
Flags unpacked(const std::string& text) {
  Flags out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, '\t');)
    if (const std::size_t equals = one.find('='); equals != std::string::npos)
      out[one.substr(0, equals)] = one.substr(equals + 1);
  return out;
}

/// The lines that were kept under a key; nothing where there are none, or not all of them.
std::optional<std::vector<std::string>> load_lines(const std::string& key) {
  const auto directory = directory_of_choices();
  if (!directory) return {};
  std::ifstream in(file_of(*directory, key));
  std::string first, second;
  if (!std::getline(in, first) || !std::getline(in, second) || first + "\n" + second != key) return {};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.empty() || lines.back() != "end") return {};
  lines.pop_back();
  return lines;
}

void store_lines(const std::string& key, const std::string& lines) {
  const auto directory = directory_of_choices();
  if (!directory) return;
  std::error_code failed; // costs the entry, not the choice
  fs::create_directories(*directory, failed);
  const fs::path path = file_of(*directory, key),
                 temporary = path.string() + "." + std::to_string(::getpid()) + ".part";
  std::ofstream out(temporary);
  out << key << "\n" << lines << "\nend\n";
  out.close();
  if (out) fs::rename(temporary, path, failed);
  if (!out || failed) fs::remove(temporary, failed);
}

std::optional<Choice> load(const std::string& key) {
  const auto lines = load_lines(key);
  if (!lines || lines->size() != 4) return {};
  Choice c;
  std::istringstream numbers((*lines)[1]);
  if (!(numbers >> c.clocks >> c.considered >> c.modelled)) return {};
  c.options = unpacked((*lines)[0]), c.table = (*lines)[2], c.why = (*lines)[3];
  c.from = Choice::From::disk;
  return c;
}

void store(const std::string& key, const Choice& c) {
  store_lines(key, packed(c.options) + "\n" + fmt::format("{} {} {}", c.clocks, c.considered, c.modelled) +
                       "\n" + c.table + "\n" + c.why);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string text_of(const Modelled& m) {
  return fmt::format("{} {} {} {} {} {} {} {}", m.clocks, m.trip, m.resident, m.vgprs, m.agprs, m.lds_bytes,
                     m.waves_per_simd, m.bound.empty() ? "-" : m.bound);
}
std::optional<Modelled> modelled_of(const std::string& text) {
  std::istringstream in(text);
  Modelled m;
  if (!(in >> m.clocks >> m.trip >> m.resident >> m.vgprs >> m.agprs >> m.lds_bytes >> m.waves_per_simd >>
        m.bound))
    return {};
  if (m.bound == "-") m.bound.clear();
  return m;
}

constexpr std::string_view refusal = "refused ";

/// The model's answer as a line, or that the form is refused and why.
std::string answer_of(const Kernel& kernel, const Flags& flags, const BuildOptions& build, bool cache) {
  const std::string key = cache ? full_key("form " + flags_text(kernel, flags, build)) : "";
  if (cache)
    if (const auto lines = load_lines(key);
        lines && lines->size() == 1 && (lines->front().starts_with(refusal) || modelled_of(lines->front())))
      return lines->front();
  std::string answer;
  try {
    const WithoutClaims none;
    answer = text_of(model(kernel.build(flags, build), kernel.sizes(flags)));
  } catch (const std::exception& e) {
    answer = std::string(refusal) + first_line(e.what());
  }
  if (cache) store_lines(key, answer);
  return answer;
}

void put_answer(Ranked& r, const std::optional<std::string>& answer) {
  if (!answer || answer->starts_with(refusal))
    r.refused = answer ? answer->substr(refusal.size()) : "its build died";
  else
    r.modelled = modelled_of(*answer);
}

void put(const std::string& asked, const Choice& c) {
  const std::scoped_lock guard(memory().lock);
  Choice kept = c;
  kept.ranking.clear(), kept.built.reset();
  kept.from = Choice::From::memory;
  memory().choices.insert_or_assign(asked, std::move(kept));
}

Flags without_auto(Flags flags) {
  std::erase_if(flags, [](const auto& f) { return f.second == "auto"; });
  return flags;
}

std::string fallback_of(const Kernel& kernel, const Flags& asked, const std::string& name) {
  if (const auto found = asked.find(name); found != asked.end()) return found->second;
  for (const FlagHelp& f : kernel.flags())
    if (f.name == name) return f.fallback;
  return "";
}

/// Why there is nothing to choose, or nothing.
std::string nothing_to_choose(const Kernel& kernel, const std::vector<Form>& forms, const Flags& fixed) {
  const std::vector<FlagHelp> flags = kernel.flags();
  if (std::none_of(flags.begin(), flags.end(), [](const FlagHelp& f) { return f.speed; }))
    return "nothing to choose: no option changes only speed";
  if (forms.empty()) return "nothing to choose: what stands without sizes is the one form";
  const bool given = std::all_of(forms[0].options.begin(), forms[0].options.end(),
                                 [&](const auto& f) { return fixed.contains(f.first); });
  return given ? "nothing to choose: what changes only speed is given" : "";
}

} // namespace

const std::vector<TableRow>& shipped_table() {
  static const std::vector<TableRow> rows = [] {
    std::vector<TableRow> out;
    std::istringstream in(embedded_forms);
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream fields(line);
      TableRow row;
      std::string sizes, options;
      fields >> row.kernel >> row.arch >> row.dtype >> sizes >> row.clocks;
      std::istringstream numbers(sizes);
      for (std::string one; std::getline(numbers, one, 'x');) row.sizes.push_back(std::stoll(one));
      for (std::string one; fields >> one;)
        if (const std::size_t equals = one.find('='); equals != std::string::npos)
          row.options[one.substr(0, equals)] = one.substr(equals + 1);
      out.push_back(std::move(row));
    }
    return out;
  }();
  return rows;
}

const TableRow* nearest(const std::string& kernel, const std::string& arch, const std::string& dtype,
                        const std::vector<std::int64_t>& sizes) {
  const TableRow* best = nullptr;
  double least = 0;
  for (const TableRow& row : shipped_table()) {
    if (row.kernel != kernel || row.arch != arch || row.dtype != dtype || row.sizes.size() != sizes.size())
      continue;
    double distance = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      distance += std::abs(std::log(static_cast<double>(row.sizes[i]) / static_cast<double>(sizes[i])));
    if (best == nullptr || distance < least) best = &row, least = distance;
  }
  return best;
}

void model_forms(const Kernel& kernel, const Flags& asked, std::vector<Ranked>& forms,
                 const ChooseOptions& options, const std::function<bool(std::size_t)>& on_each) {
  const Flags fixed = without_auto(asked);
  in_processes(
      forms.size(), options.processes,
      [&](std::size_t i) {
        Flags all = fixed;
        all.insert(forms[i].form.options.begin(), forms[i].form.options.end());
        return answer_of(kernel, all, options.build, options.cache);
      },
      [&](std::size_t i, std::optional<std::string> answer) {
        put_answer(forms[i], answer);
        return !on_each || on_each(i);
      });
}

Modelled model_form(const Kernel& kernel, const Flags& flags, const BuildOptions& options, bool cache) {
  Ranked r;
  put_answer(r, answer_of(kernel, kernel.renamed(flags), options, cache));
  if (!r.modelled) throw std::invalid_argument(r.refused);
  return *r.modelled;
}

void forget() {
  const std::scoped_lock guard(memory().lock);
  memory().choices.clear();
}

void remember(const Kernel& kernel, const Flags& asked, const Choice& choice, const ChooseOptions& options) {
  const std::string text = asked_text(kernel, kernel.renamed(asked), options);
  store(full_key(text), choice);
  put(text, choice);
}

Choice choose(const Kernel& kernel, const Flags& given, const ChooseOptions& options) {
  const Flags asked = kernel.renamed(given);
  const std::string text = asked_text(kernel, asked, options);
  if (options.cache) {
    const std::scoped_lock guard(memory().lock);
    if (const auto found = memory().choices.find(text); found != memory().choices.end()) return found->second;
  }
  const std::string key = full_key(text);
  if (options.cache)
    if (auto found = load(key)) {
      put(text, *found);
      return std::move(*found);
    }
  Choice c;
  const std::vector<Form> forms = kernel.forms(asked);
  const Flags fixed = without_auto(asked);
  c.considered = forms.size();
  if (c.why = nothing_to_choose(kernel, forms, fixed); !c.why.empty()) return c;
  const TableRow* row = nearest(kernel.name(), fallback_of(kernel, asked, "arch"),
                                fallback_of(kernel, asked, "dtype"), kernel.sizes(fixed));
  std::vector<Ranked> first;
  std::size_t next = forms.size() <= options.few ? forms.size() : std::min(options.in_full, forms.size());
  for (std::size_t more = 0;
       more < options.as_close && next < forms.size() && forms[next].clocks <= 1.1 * forms[0].clocks; ++more)
    ++next;
  for (std::size_t i = 0; i < next; ++i) first.push_back({forms[i], {}, {}});
  // The table's form, where it is not among these and what is given does not say otherwise.
  std::size_t of_table = first.size();
  const auto agrees = [&](const Flags& flags) {
    return std::all_of(flags.begin(), flags.end(), [&](const auto& f) {
      const auto found = fixed.find(f.first);
      return found == fixed.end() || found->second == f.second;
    });
  };
  // What is asked of bits the table does not know: its form has to be one of the kernel's own.
  const auto bits = fixed.find("deterministic");
  const bool known = bits == fixed.end() || bits->second == "no" ||
                     std::any_of(forms.begin(), forms.end(),
                                 [&](const Form& f) { return row && f.options == row->options; });
  if (row != nullptr && known && agrees(row->options)) {
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i].form.options == row->options) of_table = i;
    if (of_table == first.size()) first.push_back({{row->options, 0}, {}, {}});
  } else {
    row = nullptr;
  }
  // One form needs no clocks.
  const bool one = first.size() == 1 && next == forms.size();
  if (!one) model_forms(kernel, asked, first, options);
  // The fewest clocks of what holds its claims; the first in the ranking among equals.
  const auto shortest = [&]() -> const Ranked* {
    for (;;) {
      Ranked* best = nullptr;
      for (Ranked& r : first)
        if (one ? r.refused.empty()
                : r.modelled && (best == nullptr || r.modelled->clocks < best->modelled->clocks))
          best = &r;
      if (best == nullptr) return nullptr;
      try {
        Flags all = fixed;
        all.insert(best->form.options.begin(), best->form.options.end());
        c.built = std::make_shared<const Artifact>(kernel.build(all, options.build));
        return best;
      } catch (const std::exception& e) {
        best->modelled.reset(), best->refused = first_line(e.what());
      }
    }
  };
  const Ranked* best = shortest();
  // Where none of the first can be built, one after the other.
  const std::size_t last = next + 8;
  while (best == nullptr && next < std::min<std::size_t>(forms.size(), last)) {
    std::vector<Ranked> more = {{forms[next++], {}, {}}};
    model_forms(kernel, asked, more, options);
    first.push_back(more[0]);
    best = shortest();
  }
  if (best == nullptr) {
    c.why = "what stands without sizes: no form can be built";
    return c;
  }
  c.from = Choice::From::model;
  c.options = best->form.options;
  c.clocks = one ? 0 : best->modelled->clocks;
  c.modelled = static_cast<std::size_t>(
      std::count_if(first.begin(), first.end(), [](const Ranked& r) { return r.modelled.has_value(); }));
  if (row != nullptr && first[of_table].modelled) {
    std::string sizes;
    for (const std::int64_t s : row->sizes) sizes += (sizes.empty() ? "" : "x") + std::to_string(s);
    c.table = fmt::format("{}, {:.1f} % more clocks", sizes,
                          100 * (first[of_table].modelled->clocks / c.clocks - 1));
  }
  Flags chosen = c.options;
  std::erase_if(chosen, [&](const auto& f) { return fixed.contains(f.first); });
  const std::string shown = words_that_tell(kernel, chosen);
  c.why = shown.empty() ? "what stands without sizes" : shown;
  c.why += one ? ": the one form for these sizes"
               : fmt::format(": {:.0f} modelled clocks, the fewest of {} modelled of {} forms{}", c.clocks,
                             c.modelled, std::max(c.considered, c.modelled),
                             c.table.empty() ? "" : "; the table's form of " + c.table);
  c.ranking = first;
  std::stable_sort(c.ranking.begin(), c.ranking.end(), [](const Ranked& a, const Ranked& b) {
    if (!a.modelled || !b.modelled) return a.modelled.has_value() && !b.modelled.has_value();
    return a.modelled->clocks < b.modelled->clocks;
  });
  for (std::size_t i = next; i < std::min(forms.size(), next + 12); ++i)
    c.ranking.push_back({forms[i], {}, {}});
  if (options.cache) {
    store(key, c);
    put(text, c);
  }
  return c;
}

} // namespace inlay::kernels
