// What reads the options of a kernel, and the order of its forms.
#include "options.h"
#include "refusal.h"

#include <charconv>

namespace inlay::kernels {

std::optional<bool> yes_or_no(std::string_view text) {
  std::string small;
  for (const char c : text) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto* word : {"yes", "true", "on", "1"})
    if (small == word) return true;
  for (const auto* word : {"no", "false", "off", "0"})
    if (small == word) return false;
  return {};
}

void Refusal::operator()(const std::string& what, const std::string& hint) const {
  throw std::invalid_argument(fmt::format("{}: {}\n  hint   {}", kernel, what, hint));
}
void Refusal::operator()(const std::string& field, const std::string& value, const std::string& hint) const {
  (*this)(fmt::format("{} = {} is not supported", field, value), hint);
}

std::optional<std::int64_t> number_in(const std::string& text, std::int64_t lower, std::int64_t upper) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lower || value > upper) return {};
  return value;
}

std::optional<std::vector<int>> product_of(const std::string& text, std::size_t count) {
  std::vector<int> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto value = number_in(text.substr(begin, end - begin), 0, 9999);
    if (!value || text[begin] == '-') return {};
    values.push_back(static_cast<int>(*value));
    begin = end + 1;
  }
  if (values.size() != count) return {};
  return values;
}

std::string number_range(std::int64_t lower, std::int64_t upper) {
  return fmt::format("{} to {}", lower, upper);
}

std::string read_number(const std::string& text, std::int64_t lower, std::int64_t upper,
                        std::int64_t& value) {
  const auto number = number_in(text, lower, upper);
  if (!number) return "is not a number from " + number_range(lower, upper);
  value = *number;
  return {};
}

std::string read_real(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc() || end != text.data() + text.size() ? "is not a number" : "";
}

std::string read_yes(const std::string& text, bool& value) {
  const std::optional<bool> on = yes_or_no(text);
  if (!on) return "is not yes or no";
  value = *on;
  return {};
}

std::string read_product(const std::string& text, const std::string& form, std::span<int* const> values) {
  const auto numbers = product_of(text, values.size());
  if (!numbers) return "is not of the form " + form;
  if (std::any_of(numbers->begin(), numbers->end(), [](auto v) { return v < 1; }))
    return "has to be of numbers from 1 on";
  for (std::size_t i = 0; i < values.size(); ++i) *values[i] = (*numbers)[i];
  return {};
}

std::string read_arch(const std::string& text, std::string& value) {
  value = codegen::Target::named(text).name;
  return {};
}

OptionTable::Row row_of(std::string name, std::string range,
                        std::function<std::string(void*, const std::string&)> put, std::string fallback,
                        std::string help, std::string unchosen, std::string more, Former former) {
  const bool speed = fallback == "auto";
  FlagHelp row{std::move(name), std::move(fallback), std::move(help), std::move(range), std::move(more),
               speed,           std::move(unchosen), former.name};
  return {std::move(row), std::move(put), std::move(former)};
}

std::vector<FlagHelp> OptionTable::help() const {
  std::vector<FlagHelp> out;
  for (const Row& row : rows_) out.push_back(row.help);
  return out;
}

Flags OptionTable::renamed(const Flags& given) const {
  Flags out = given;
  for (const Row& row : rows_) {
    const auto old = row.former.name.empty() ? out.end() : out.find(row.former.name);
    if (old == out.end()) continue;
    const auto known = row.former.values.find(old->second);
    const std::string value = known != row.former.values.end() ? known->second : old->second;
    out.erase(old);
    std::string& now = out.emplace(row.help.name, value).first->second;
    if (now == "auto") now = value;
    if (value != "auto" && value != now)
      throw std::invalid_argument(
          fmt::format("{}: option '--{}' is given twice, as '--{}' too\n  hint   '--{}' "
                      "is the former name",
                      kernel_, row.help.name, row.former.name, row.former.name));
  }
  return out;
}

void OptionTable::read(const Flags& asked_for, void* asked) const {
  const Flags given = renamed(asked_for);
  for (const auto& [name, value] : given)
    if (std::none_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.help.name == name; })) {
      std::vector<std::string> known;
      for (const Row& row : rows_) known.push_back(row.help.name);
      throw std::invalid_argument(fmt::format("{}: unknown option '--{}'\n  hint   {}--{}", kernel_, name,
                                              did_you_mean(name, known, "--"), fmt::join(known, ", --")));
    }
  for (const Row& row : rows_) {
    const auto found = given.find(row.help.name);
    const bool chosen = found != given.end() && found->second != "auto";
    const std::string& text = chosen ? found->second : row.help.speed ? row.help.unchosen : row.help.fallback;
    if (const std::string wrong = row.put(asked, text); !wrong.empty())
      throw std::invalid_argument(fmt::format("{}: --{} '{}' {}", kernel_, row.help.name, text, wrong));
  }
}

void add_candidate(std::vector<Flags>& all, Flags one, const Flags& fixed) {
  for (auto& [option, value] : one)
    if (fixed.contains(option)) value = fixed.at(option);
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

std::vector<Flags> only_candidate(Flags one, const Flags& fixed) {
  std::vector<Flags> all;
  add_candidate(all, std::move(one), fixed);
  return all;
}
int widest_vector(codegen::Element type, std::initializer_list<std::int64_t> all) {
  int v = 128 / codegen::bits(type);
  while (std::any_of(all.begin(), all.end(), [&](std::int64_t n) { return n % v != 0; })) v /= 2;
  return v;
}
std::vector<Flags> candidates_by_threads(codegen::Element type, std::int64_t n,
                                         std::initializer_list<int> threads, const Flags& fixed) {
  std::vector<Flags> all;
  for (const int count : threads)
    add_candidate(all,
                  {{"threads", std::to_string(count)}, {"vector", std::to_string(widest_vector(type, {n}))}},
                  fixed);
  return all;
}
double rounds(const std::string& arch, std::int64_t workgroups, int resident) {
  const int units = codegen::Target::named(arch).compute_units;
  return static_cast<double>(up(workgroups, units)) <= resident
             ? 1
             : static_cast<double>(up(workgroups, units)) / resident;
}

std::vector<Form> FacedKernel::forms(const Flags& flags) const {
  if (!has_candidates()) return {};
  Flags fixed = renamed(flags);
  std::erase_if(fixed, [](const auto& f) { return f.second == "auto"; });
  std::vector<Form> out;
  const auto bounded = [&](const Flags& form) -> std::optional<double> {
    Flags all = fixed;
    all.insert(form.begin(), form.end());
    try {
      return bound(all);
    } catch (const std::invalid_argument&) {
      return {}; // not every combination can be built
    }
  };
  for (Flags& form : candidates(fixed))
    if (const auto clocks = bounded(form)) out.push_back({std::move(form), *clocks});
  const auto sort = [&](std::size_t first) {
    std::stable_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first),
                     [](const Form& a, const Form& b) { return a.clocks < b.clocks; });
  };
  sort(out.size());
  if (!has_finish()) return out;
  const std::size_t few = std::min<std::size_t>(out.size(), 48);
  for (std::size_t i = 0; i < few; ++i) {
    Flags form = out[i].options, all = fixed;
    all.insert(form.begin(), form.end());
    finish(all, form);
    for (const auto& [name, value] : fixed)
      if (form.contains(name)) form[name] = value;
    if (const auto clocks = bounded(form); clocks && *clocks < out[i].clocks)
      out[i] = {std::move(form), *clocks};
  }
  sort(few);
  return out;
}

} // namespace inlay::kernels
