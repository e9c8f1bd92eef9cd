#include "addresses.h"

#include <inlay/launch/limits.h>
#include <inlay/launch/manifest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace inlay::launch {

namespace {

using Json = nlohmann::ordered_json;

std::string hex(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  for (const std::uint8_t b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

/// Fields of one object, each read once: what is left over is a misspelling.
class Fields {
public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", "is no object");
  }
  [[noreturn]] void fail(const std::string& field, const std::string& why) const {
    throw LaunchError(where_ + (field.empty() ? "" : ", field \"" + field + "\"") + ": " + why,
                      "docs/cli.md, \"Launch manifests\", lists the fields");
  }
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  template <class T>
  T get(const char* name, std::optional<T> fallback = std::nullopt) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    if (at == object_.end()) {
      if (fallback) return *fallback;
      fail(name, "is missing");
    }
    if constexpr (std::is_same_v<T, std::string>) {
      if (!at->is_string()) fail(name, "is no text");
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!at->is_boolean()) fail(name, "is neither true nor false");
    } else if constexpr (std::is_integral_v<T>) {
      if (!at->is_number_integer()) fail(name, "is no integer");
      if (at->is_number_unsigned()
              ? at->template get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max())
              : at->template get<std::int64_t>() < static_cast<std::int64_t>(std::numeric_limits<T>::min()))
        fail(name, "is " + at->dump() + ", out of range");
    }
    return at->template get<T>();
  }
  const Json* list(const char* name, bool required) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    if (at == object_.end()) {
      if (required) fail(name, "is missing");
      return nullptr;
    }
    if (!at->is_array()) fail(name, "is no list");
    return &*at;
  }
  std::map<std::string, std::string> texts(const char* name) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    if (at == object_.end()) fail(name, "is missing");
    if (!at->is_object()) fail(name, "is no object");
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : at->items()) {
      if (!value.is_string()) fail(name, "has '" + key + "', which is no text");
      out[key] = value.template get<std::string>();
    }
    return out;
  }
  /// An object of its own; nothing where there is none.
  std::optional<Fields> fields(const char* name) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    if (at == object_.end()) return std::nullopt;
    return Fields(*at, where_ + ", " + name);
  }
  Formula formula(const char* name) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    if (at == object_.end()) fail(name, "is missing");
    return formula_of(*at, name);
  }
  Formula formula_of(const Json& j, const char* name) const {
    if (j.is_number_integer()) return Formula(j.dump());
    if (!j.is_string()) fail(name, "is no formula");
    return Formula(j.get<std::string>());
  }
  void done() const {
    for (const auto& [key, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end()) fail(key, "is not known");
  }

private:
  const Json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

constexpr const char* kinds[] = {"buffer", "size", "value"};
constexpr const char* befores[] = {"anything", "zeros", "data"};

// The formats of machine/, and words without a sign.
constexpr const char* types[] = {"f64",  "f32",  "xf32", "f16",  "bf16", "e4m3fnuz", "e5m2fnuz", "e4m3fn",
                                 "e5m2", "e2m3", "e3m2", "e2m1", "e8m0", "i64",      "i32",      "i16",
                                 "i8",   "i4",   "i1",   "u64",  "u32",  "u16",      "u8"};

template <class Enum, std::size_t n>
Enum one_of(const Fields& f, const char* field, const std::string& value, const char* const (&names)[n]) {
  std::string known;
  for (std::size_t i = 0; i < n; ++i) {
    if (value == names[i]) return static_cast<Enum>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  f.fail(field, "is '" + value + "', none of " + known);
}

Argument argument_of(const Json& j, const std::string& where) {
  Fields f(j, where);
  Argument a;
  a.name = f.get<std::string>("name", "");
  a.kind = one_of<Argument::Kind>(f, "kind", f.get<std::string>("kind"), kinds);
  a.type = f.get<std::string>("type", "");
  if (!a.type.empty()) static_cast<void>(one_of<std::size_t>(f, "type", a.type, types));
  if (a.kind == Argument::Kind::buffer) {
    a.output = f.get<bool>("output", false);
    a.before = one_of<Argument::Before>(f, "before", f.get<std::string>("before", "anything"), befores);
    a.bytes = f.formula("bytes");
    if (const Json* extents = f.list("shape", false))
      for (const Json& extent : *extents) a.shape.push_back(f.formula_of(extent, "shape"));
    if (f.has("device")) a.device = f.get<std::uint32_t>("device");
    if (f.has("points_to"))
      a.points_to.push_back(argument_of(f.get<Json>("points_to"), where + ", points_to"));
    a.values_of = f.get<std::string>("values_of", "");
    a.file = f.get<std::string>("file", "");
    a.file_offset = f.get<std::uint64_t>("file_offset", 0);
  }
  if (a.kind == Argument::Kind::value) {
    const auto digits = f.get<std::string>("hex");
    if (digits.empty() || digits.size() % 2 != 0 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      f.fail("hex", "is '" + digits + "', no bytes in hexadecimal digits, in the order of memory");
    for (std::size_t i = 0; i < digits.size(); i += 2)
      a.value.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  if (a.kind == Argument::Kind::size && a.type != "i32" && a.type != "i64")
    f.fail("type", "is '" + a.type + "', sizes are i32 or i64");
  f.done();
  return a;
}

Json json_of(const Argument& a) {
  Json out = {{"name", a.name}, {"kind", kinds[static_cast<std::size_t>(a.kind)]}};
  if (!a.type.empty()) out["type"] = a.type;
  if (a.kind == Argument::Kind::buffer) {
    out["output"] = a.output;
    if (a.before != Argument::Before::anything) out["before"] = befores[static_cast<std::size_t>(a.before)];
    out["bytes"] = a.bytes.text();
    for (const Formula& extent : a.shape) out["shape"].push_back(extent.text());
    for (const Argument& to : a.points_to) out["points_to"] = json_of(to);
    if (!a.values_of.empty()) out["values_of"] = a.values_of;
    if (!a.file.empty()) out["file"] = a.file;
    if (a.file_offset != 0) out["file_offset"] = a.file_offset;
    if (a.device) out["device"] = *a.device;
  }
  if (a.kind == Argument::Kind::value) out["hex"] = hex(a.value);
  return out;
}

} // namespace

std::string Argument::of_all() const {
  const std::string end = device ? "_" + std::to_string(*device) : "";
  return !end.empty() && name.size() > end.size() && name.ends_with(end)
             ? name.substr(0, name.size() - end.size())
             : name;
}

bool is_manifest(const std::string& text) {
  const auto at = text.find_first_not_of(" \t\r\n");
  return at != std::string::npos && text[at] == '{' && text.find("\"inlay.launch/") != std::string::npos;
}

Manifest Manifest::parse(const std::string& json, const std::string& whose) {
  Json j;
  try {
    j = Json::parse(json);
  } catch (const nlohmann::json::exception& e) {
    throw LaunchError(whose + ": no JSON: " + e.what(),
                      "inlay build writes a manifest beside the code object");
  }
  Fields f(j, whose);
  if (const auto version = f.get<std::string>("format"); version != format)
    f.fail("format", "is '" + version + "', this version reads '" + format + "'");
  Manifest m;
  m.kernel = f.get<std::string>("kernel");
  m.arch = f.get<std::string>("arch");
  m.code = f.get<std::string>("code", "");
  const auto each = [&](const char* name, bool required, const auto& one) {
    const Json* list = f.list(name, required);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
      one((*list)[i], whose + ", " + name + "[" + std::to_string(i) + "]");
  };
  each("sizes", false, [&](const Json& s, const std::string& where) {
    Fields g(s, where);
    Size size{g.get<std::string>("name"), g.get<std::int64_t>("least", 1),
              g.get<std::int64_t>("most", INT32_MAX), g.get<std::int64_t>("multiple", 1), std::nullopt};
    if (g.has("value")) size.value = g.get<std::int64_t>("value");
    if (size.multiple < 1) g.fail("multiple", "is below 1");
    if (std::any_of(m.sizes.begin(), m.sizes.end(), [&](const Size& z) { return z.name == size.name; }))
      g.fail("name", "is '" + size.name + "', as another size's");
    g.done();
    m.sizes.push_back(std::move(size));
  });
  each("arguments", true,
       [&](const Json& a, const std::string& where) { m.arguments.push_back(argument_of(a, where)); });
  std::size_t n = 0;
  each("grid", true, [&](const Json& g, const std::string&) {
    if (n == 3) f.fail("grid", "has more than three formulas");
    m.grid[n++] = f.formula_of(g, "grid");
  });
  n = 0;
  each("block", true, [&](const Json& b, const std::string&) {
    if (n == 3 || !b.is_number_unsigned() || b.get<std::uint64_t>() < 1 || b.get<std::uint64_t>() > 1024)
      f.fail("block", "is " + b.dump() + " there, not one to three numbers from 1 to 1024");
    m.block[n++] = b.get<std::uint32_t>();
  });
  m.lds = f.get<std::uint32_t>("lds", 0);
  each("limits", false, [&](const Json& l, const std::string& where) {
    Fields g(l, where);
    m.limits.push_back({g.formula("formula"), g.get<std::int64_t>("most"), g.get<std::string>("what", "")});
    g.done();
  });
  m.outputs_apart = f.get<bool>("outputs_apart", false);
  m.devices = f.get<std::uint32_t>("devices", 1);
  m.rank = f.get<std::string>("rank", "");
  if (m.devices < 1 || m.devices > 64) f.fail("devices", "is " + std::to_string(m.devices) + ", not 1 to 64");
  if (m.rank.empty() != (m.devices == 1))
    f.fail("rank", "names the size that is a device's number, where there are several \"devices\"");
  if (auto g = f.fields("made")) {
    m.made = Made{g->get<std::string>("kernel"), g->get<std::string>("scheduler"),
                  g->get<std::string>("loops"), g->texts("options")};
    g->done();
  }
  f.done();
  // Every name in a formula, and every size among the arguments, is a size.
  const auto known = [&](const std::string& name, const std::string& where) {
    if (std::none_of(m.sizes.begin(), m.sizes.end(), [&](const Size& s) { return s.name == name; }))
      throw LaunchError(whose + ": " + where + " names the size '" + name + "', which is not declared",
                        "an entry in \"sizes\"");
  };
  if (m.devices > 1) known(m.rank, "\"rank\"");
  for (const Argument& a : m.arguments) {
    if (a.kind == Argument::Kind::size) known(a.name, "an argument");
    if (a.device && (*a.device >= m.devices || a.of_all() == a.name))
      throw LaunchError(whose + ": \"device\" of " + a.name + " is " + std::to_string(*a.device),
                        "0 to \"devices\" - 1, and a name that ends in _" + std::to_string(*a.device));
    for (const auto& name : a.bytes.names()) known(name, "\"bytes\" of " + a.name);
    for (const Formula& extent : a.shape)
      for (const auto& name : extent.names()) known(name, "\"shape\" of " + a.name);
  }
  for (const Formula& g : m.grid)
    for (const auto& name : g.names()) known(name, "\"grid\"");
  for (const Limit& l : m.limits)
    for (const auto& name : l.formula.names()) known(name, "\"limits\"");
  return m;
}

Manifest Manifest::read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read '" + file + "'");
  return parse(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

std::string Manifest::text() const {
  Json j = {{"format", format}, {"kernel", kernel}, {"arch", arch}, {"code", code}};
  j["sizes"] = Json::array();
  for (const Size& s : sizes) {
    Json one = {{"name", s.name}, {"least", s.least}, {"most", s.most}, {"multiple", s.multiple}};
    if (s.value) one["value"] = *s.value;
    j["sizes"].push_back(std::move(one));
  }
  j["arguments"] = Json::array();
  for (const Argument& a : arguments) j["arguments"].push_back(json_of(a));
  j["grid"] = {grid[0].text(), grid[1].text(), grid[2].text()};
  j["block"] = block;
  j["lds"] = lds;
  j["limits"] = Json::array();
  for (const Limit& l : limits)
    j["limits"].push_back({{"formula", l.formula.text()}, {"most", l.most}, {"what", l.what}});
  j["outputs_apart"] = outputs_apart;
  if (devices > 1) j["devices"] = devices, j["rank"] = rank;
  if (made)
    j["made"] = {{"kernel", made->kernel},
                 {"options", made->options},
                 {"scheduler", made->scheduler},
                 {"loops", made->loops}};
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Sizes Manifest::values(const Sizes& given) const {
  Sizes out;
  for (const auto& [name, v] : given) {
    if (std::any_of(sizes.begin(), sizes.end(), [&, n = name](const Size& s) { return s.name == n; }))
      continue;
    std::string all;
    for (const Size& s : sizes) all += (all.empty() ? "" : ", ") + s.name;
    throw LaunchError(kernel + ": there is no size '" + name + "'",
                      all.empty() ? "the launch has no sizes" : "the sizes are " + all);
  }
  for (const Size& s : sizes) {
    const auto at = given.find(s.name);
    if (at == given.end() && !s.value)
      throw LaunchError(kernel + ": the size " + s.name + " is not given",
                        "--size " + s.name + "=NUMBER, " + std::to_string(s.least) + " to " +
                            std::to_string(s.most));
    out[s.name] = at == given.end() ? *s.value : at->second;
  }
  return out;
}

LaunchPlan Manifest::plan(const Sizes& given) const {
  LaunchPlan p;
  p.sizes = values(given);
  // As in the contract of the kernel's build: a size of 0 that leaves nothing to write is nothing to launch.
  const auto least = std::min_element(p.sizes.begin(), p.sizes.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto is_output = [](const Argument& a) { return a.kind == Argument::Kind::buffer && a.output; };
  const bool nothing = least != p.sizes.end() && least->second == 0 &&
                       std::any_of(arguments.begin(), arguments.end(), is_output) &&
                       std::all_of(arguments.begin(), arguments.end(),
                                   [&](const Argument& a) { return !is_output(a) || a.bytes(p.sizes) <= 0; });
  for (const Size& s : sizes)
    if (const auto no = refused_size(s.name, p.sizes.at(s.name), s.least, s.most, s.multiple, nothing))
      throw LaunchError(kernel + ": " + no->what, no->hint);
  if (nothing) {
    p.grid = {0, 0, 0};
    return p;
  }
  for (const Argument& a : arguments)
    if (a.kind == Argument::Kind::buffer)
      if (const std::int64_t bytes = a.bytes(p.sizes); bytes < 0)
        throw LaunchError(kernel + ": the buffer " + a.name + " has " + std::to_string(bytes) + " bytes",
                          "\"bytes\" is " + a.bytes.text() + ", which no launch may make negative");
  for (const Limit& l : limits)
    if (l.formula(p.sizes) > l.most)
      throw LaunchError(kernel + ": more than " + std::to_string(l.most) + " " + l.what,
                        "larger tiles or a launch for each part");
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t most = most_workgroups(i, block[0]);
    const std::int64_t count = grid[i](p.sizes);
    if (count < 1 || count > most)
      throw LaunchError(kernel + ": " + std::to_string(count) + " workgroups of " + std::to_string(block[i]) +
                            " work-items along axis " + "xyz"[i],
                        "1 to " + std::to_string(most) + "; larger tiles or a launch for each part");
    p.grid[i] = static_cast<std::uint32_t>(count);
  }
  return p;
}

std::vector<std::uint8_t> Manifest::bytes_of(std::size_t i, const Sizes& values) const {
  const Argument& a = arguments.at(i);
  if (a.kind == Argument::Kind::value) return a.value;
  const auto v = static_cast<std::uint64_t>(values.at(a.name));
  std::vector<std::uint8_t> out;
  for (std::size_t b = 0; b < (a.type == "i64" ? 8U : 4U); ++b)
    out.push_back(static_cast<std::uint8_t>(v >> (8 * b)));
  return out;
}

void Manifest::check_addresses(const std::vector<std::uint64_t>& addresses, const Sizes& values) const {
  std::vector<std::int64_t> bytes(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == Argument::Kind::buffer) bytes[i] = arguments[i].bytes(values);
  launch::check_addresses(*this, addresses, bytes);
}

void check_addresses(const Manifest& manifest, const std::vector<std::uint64_t>& addresses,
                     const std::vector<std::int64_t>& bytes) {
  const auto& arguments = manifest.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == Argument::Kind::buffer)
      if (const auto no = refused_address(arguments[i].name, addresses.at(i), bytes.at(i)))
        throw LaunchError(manifest.kernel + ": " + no->what, no->hint);
  if (!manifest.outputs_apart) return;
  const auto end = [&](std::size_t i) { return addresses[i] + static_cast<std::uint64_t>(bytes[i]); };
  for (std::size_t o = 0; o < arguments.size(); ++o)
    for (std::size_t i = 0; arguments[o].output && bytes[o] > 0 && i < arguments.size(); ++i)
      if (i != o && bytes[i] > 0 && addresses[o] < end(i) && addresses[i] < end(o))
        throw LaunchError(manifest.kernel + ": the output " + arguments[o].name + " shares memory with " +
                              arguments[i].name,
                          "a buffer of its own: the kernel may write before it has read");
}

} // namespace inlay::launch
