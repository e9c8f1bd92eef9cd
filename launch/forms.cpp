#include <inlay/launch/forms.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace inlay::launch {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* how_forms_come = "inlay build KERNEL --for NAME=LEAST..MOST makes such tables";
constexpr std::size_t most_rows = 1000;

std::string text(const Forms::Range& r) {
  return r.least == r.most ? std::to_string(r.least)
                           : std::to_string(r.least) + " to " + std::to_string(r.most);
}

/// What two forms with an argument of this name have to agree on: all but how many bytes it needs, in which extents.
bool same_argument(Argument a, const Argument& b) {
  a.bytes = b.bytes, a.shape = b.shape;
  return a == b;
}

/// Every combination of first and last sizes of a row.
std::vector<Sizes> corners(const Forms::Row& row, const std::vector<Size>& sizes) {
  std::vector<Sizes> out = {{}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Forms::Range& r = row.ranges[i];
    std::vector<Sizes> next;
    for (const Sizes& s : out)
      for (const std::int64_t v : r.least == r.most ? std::vector{r.least} : std::vector{r.least, r.most}) {
        next.push_back(s);
        next.back()[sizes[i].name] = v;
      }
    out = std::move(next);
  }
  return out;
}

/// Whether every multiple of `multiple` from the first one of the range to its last is a size that `s` allows.
bool allows(const Size& s, const Forms::Range& range, std::int64_t multiple) {
  return s.least <= range.least && range.most <= s.most &&
         (range.least == range.most ? range.least : multiple) % s.multiple == 0;
}

/// Whether both ends are sizes, and multiples.
bool is_range(const Forms::Range& r, std::int64_t multiple) {
  return r.least >= 1 && r.least <= r.most && r.most <= INT32_MAX && multiple >= 1 &&
         r.least % multiple == 0 && r.most % multiple == 0;
}

} // namespace

Forms::Forms(Manifest one) {
  forms_.push_back({std::move(one), ""});
  arguments_ = general().arguments;
  places_.emplace_back();
  for (std::size_t i = 0; i < arguments_.size(); ++i) places_[0].push_back(i);
}

Forms::Forms(std::vector<Form> forms, std::vector<Range> ranges, std::vector<Row> rows)
    : forms_(std::move(forms)), ranges_(std::move(ranges)), rows_(std::move(rows)) {
  if (forms_.empty()) throw LaunchError("forms: there are none", how_forms_come);
  join_arguments();
  check_rows();
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].least != ranges_[i].most) open_.push_back(i);
  for (const Row& r : rows_)
    for (const std::size_t i : open_) bounds_.insert(bounds_.end(), {r.ranges[i].least, r.ranges[i].most});
}

void Forms::join_arguments() {
  for (std::size_t f = 0; f < forms_.size(); ++f) {
    const Manifest& m = forms_[f].manifest;
    const auto fail = [&](const std::string& why) {
      throw LaunchError(general().kernel + ": form " + std::to_string(f) + " " + why, how_forms_come);
    };
    if (m.kernel != general().kernel || m.arch != general().arch)
      fail("is " + m.kernel + " for " + m.arch + ", and the general form is for " + general().arch);
    if (m.devices != 1) fail("is launched on several devices");
    if (m.sizes.size() != general().sizes.size()) fail("has other sizes than the general form");
    for (std::size_t i = 0; i < m.sizes.size(); ++i)
      if (m.sizes[i].name != general().sizes[i].name || m.sizes[i].value != general().sizes[i].value)
        fail("has the size " + m.sizes[i].name + " where the general form has " + general().sizes[i].name +
             ", or with another value");
    std::vector<std::size_t> places;
    for (const Argument& a : m.arguments) {
      const auto at = std::find_if(arguments_.begin(), arguments_.end(),
                                   [&](const Argument& other) { return other.name == a.name; });
      const auto place = static_cast<std::size_t>(at - arguments_.begin());
      if (a.name.empty() || std::find(places.begin(), places.end(), place) != places.end())
        fail("has two arguments '" + a.name + "'");
      if (at == arguments_.end())
        arguments_.push_back(a);
      else if (!same_argument(*at, a))
        fail("has an argument " + a.name + " that is another one in the forms before it");
      places.push_back(place);
    }
    places_.push_back(std::move(places));
  }
}

void Forms::check_rows() const {
  const auto& sizes = general().sizes;
  const auto fail = [&](const std::string& why) {
    throw LaunchError(general().kernel + ": " + why, how_forms_come);
  };
  if (ranges_.size() != sizes.size())
    fail("a table for " + std::to_string(ranges_.size()) + " sizes, and the launch has " +
         std::to_string(sizes.size()));
  if (rows_.size() > most_rows) fail("a table of more than " + std::to_string(most_rows) + " rows");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Range& r = ranges_[i];
    if (!is_range(r, r.multiple))
      fail("the table is for " + sizes[i].name + " " + text(r) + " in multiples of " +
           std::to_string(r.multiple) + ", which are no sizes");
    if (!allows(sizes[i], r, r.multiple))
      fail("the table is for " + sizes[i].name + " " + text(r) + " in multiples of " +
           std::to_string(r.multiple) + ", and the general form takes " + std::to_string(sizes[i].least) +
           " to " + std::to_string(sizes[i].most) + " in multiples of " + std::to_string(sizes[i].multiple));
  }
  std::vector<bool> reached(forms_.size());
  reached.back() = true; // by the last row
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const Row& row = rows_[n];
    if (row.form >= forms_.size())
      fail("row " + std::to_string(n) + " has form " + std::to_string(row.form) + ", and there are " +
           std::to_string(forms_.size()));
    reached[row.form] = true;
    if (row.ranges.size() != sizes.size())
      fail("row " + std::to_string(n) + " has " + std::to_string(row.ranges.size()) +
           " ranges, and there are " + std::to_string(sizes.size()) + " sizes");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Range& r = row.ranges[i];
      if (r.multiple != 1 || !is_range(r, ranges_[i].multiple) || r.least < ranges_[i].least ||
          r.most > ranges_[i].most)
        fail("row " + std::to_string(n) + ": " + sizes[i].name + " " + text(r) + " is not within " +
             text(ranges_[i]) + " in multiples of " + std::to_string(ranges_[i].multiple));
    }
    const Manifest& form = forms_[row.form].manifest;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (!allows(form.sizes[i], row.ranges[i], ranges_[i].multiple))
        fail(row_text(n) + ", does not take these sizes: " + sizes[i].name + " is " +
             std::to_string(form.sizes[i].least) + " to " + std::to_string(form.sizes[i].most) +
             " in multiples of " + std::to_string(form.sizes[i].multiple));
    for (const Sizes& corner : corners(row, sizes)) try {
        (void)form.plan(corner);
      } catch (const LaunchError& e) {
        e.within(general().kernel + ": " + row_text(n) + ", does not take these sizes");
      }
  }
  for (std::size_t f = 0; f < forms_.size(); ++f)
    if (!reached[f]) fail("form " + std::to_string(f) + " has no row");
  // Between two places where a row begins or has ended, along one size after the other, sizes are in the same rows: one of each is looked at.
  std::vector<std::int64_t> at(sizes.size());
  const auto look = [&](const auto& self, std::size_t i, const std::vector<std::size_t>& inside) -> void {
    if (i == sizes.size()) {
      if (inside.size() == 1) return;
      std::string where;
      for (std::size_t s = 0; s < sizes.size(); ++s)
        where += (s == 0 ? "" : ", ") + sizes[s].name + " = " + std::to_string(at[s]);
      fail(inside.empty() ? "no row has " + where
                          : "rows " + std::to_string(inside[0]) + " and " + std::to_string(inside[1]) +
                                " both have " + where);
    }
    const Range& all = ranges_[i];
    std::vector<std::int64_t> begins = {all.least};
    for (const std::size_t n : inside)
      for (const std::int64_t edge : {rows_[n].ranges[i].least, rows_[n].ranges[i].most + all.multiple})
        if (edge <= all.most) begins.push_back(edge);
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    for (const std::int64_t v : begins) {
      at[i] = v;
      std::vector<std::size_t> there;
      for (const std::size_t n : inside)
        if (rows_[n].ranges[i].least <= v && v <= rows_[n].ranges[i].most) there.push_back(n);
      self(self, i + 1, there);
    }
  };
  std::vector<std::size_t> every(rows_.size());
  for (std::size_t n = 0; n < every.size(); ++n) every[n] = n;
  look(look, 0, every);
}

std::string Forms::row_text(std::size_t row) const {
  std::string out = "row " + std::to_string(row) + " of " + std::to_string(rows_.size() + 1) + ", ";
  if (row >= rows_.size()) {
    out += "all other sizes";
  } else {
    std::string open;
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (ranges_[i].least != ranges_[i].most)
        open += (open.empty() ? "" : ", ") + sizes()[i].name + " " + text(rows_[row].ranges[i]);
    out += open.empty() ? "the sizes of the table" : open;
  }
  const std::size_t form = form_of_row(row);
  out += ": form " + std::to_string(form);
  if (!forms_[form].options.empty()) out += ", " + forms_[form].options;
  return out;
}

std::string Forms::why(std::size_t row) const {
  return row_text(row) + (row < rows_.size() && !rows_[row].why.empty() ? "; " + rows_[row].why : "");
}

Forms::Plan Forms::plan(const Sizes& given) const {
  if (forms_.size() == 1 && rows_.empty()) return {general().plan(given), 0, 0};
  const Sizes all = general().values(given);
  std::vector<std::int64_t> values;
  for (const Size& s : sizes()) values.push_back(all.at(s.name));
  Plan out;
  out.row = row(values.data());
  out.form = form_of_row(out.row);
  try {
    out.launch = forms_[out.form].manifest.plan(all);
  } catch (const LaunchError& e) {
    e.within(row_text(out.row));
  }
  return out;
}

std::string Forms::table_text() const {
  Json arguments = Json::array();
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    // As the manifest of the first form that has it, and which forms do.
    std::vector<std::size_t> having;
    Json one;
    for (std::size_t f = 0; f < forms_.size(); ++f)
      for (std::size_t own = 0; own < places_[f].size(); ++own)
        if (places_[f][own] == i) {
          if (having.empty()) one = Json::parse(forms_[f].manifest.text()).at("arguments").at(own);
          having.push_back(f);
        }
    one.erase("bytes"), one.erase("shape"); // the form says
    if (having.size() < forms_.size()) one["forms"] = having;
    arguments.push_back(std::move(one));
  }
  Json out;
  const Json general_text = Json::parse(general().text());
  out["contract"] = {{"kernel", general().kernel},
                     {"arch", general().arch},
                     {"sizes", general_text.at("sizes")},
                     {"arguments", std::move(arguments)}};
  out["ranges"] = Json::array();
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    out["ranges"].push_back({{"size", sizes()[i].name},
                             {"least", ranges_[i].least},
                             {"most", ranges_[i].most},
                             {"multiple", ranges_[i].multiple}});
  out["rows"] = Json::array();
  for (const Row& r : rows_) {
    Json least = Json::array(), most = Json::array();
    for (const Range& range : r.ranges) least.push_back(range.least), most.push_back(range.most);
    out["rows"].push_back({{"least", least}, {"most", most}, {"form", r.form}, {"why", r.why}});
  }
  out["rows"].push_back({{"form", forms_.size() - 1}}); // all other sizes
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Forms Forms::parse(std::vector<Form> forms, const std::string& table, const std::string& whose) {
  const auto fail = [&](const std::string& why) { throw LaunchError(whose + ": " + why, how_forms_come); };
  try {
    const Json j = Json::parse(table);
    std::vector<Range> ranges;
    for (const Json& r : j.at("ranges"))
      ranges.push_back({r.at("least").get<std::int64_t>(), r.at("most").get<std::int64_t>(),
                        r.at("multiple").get<std::int64_t>()});
    std::vector<Row> rows;
    const Json& all = j.at("rows");
    if (all.empty() || all.back().size() != 1 || all.back().at("form") != forms.size() - 1)
      fail("the last row of the table is not that of the last form, for all other sizes");
    for (std::size_t n = 0; n + 1 < all.size(); ++n) {
      const auto least = all[n].at("least").get<std::vector<std::int64_t>>(),
                 most = all[n].at("most").get<std::vector<std::int64_t>>();
      if (least.size() != most.size()) fail("row " + std::to_string(n) + " has other ends than beginnings");
      Row row{{}, all[n].at("form").get<std::size_t>(), all[n].at("why").get<std::string>()};
      for (std::size_t i = 0; i < least.size(); ++i) row.ranges.push_back({least[i], most[i], 1});
      rows.push_back(std::move(row));
    }
    Forms out(std::move(forms), std::move(ranges), std::move(rows));
    // What it says of itself is what follows from its forms: the contract, the order of the ranges, and no word more.
    if (Json::parse(out.table_text()) != j) fail("its contract or its ranges are not those of its forms");
    return out;
  } catch (const nlohmann::json::exception& e) {
    throw LaunchError(whose + ": its table is damaged: " + e.what(), how_forms_come);
  }
}

} // namespace inlay::launch
