#include "claims_text.h"

#include <inlay/runtime/kernarg.h>

#include <inlay/solver/prove.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace inlay::kernels::validate {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\r')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::string_view word(std::string_view& s) {
  s = trim(s);
  const auto end = s.find_first_of(" \t");
  const std::string_view w = s.substr(0, end);
  s = end == std::string_view::npos ? std::string_view() : trim(s.substr(end));
  return w;
}

} // namespace

std::set<std::string> names(std::string_view text) {
  static const std::set<std::string> operations = {"min", "max", "select"};
  std::set<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto letter = [](char x) { return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_'; };
    if (!letter(c)) {
      const bool digit = c >= '0' && c <= '9';
      ++i;
      while (digit && i < text.size() && (letter(text[i]) || (text[i] >= '0' && text[i] <= '9'))) ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && (letter(text[end]) || (text[end] >= '0' && text[end] <= '9'))) ++end;
    const std::string name(text.substr(i, end - i));
    if (!operations.contains(name)) out.insert(name);
    i = end;
  }
  return out;
}

solver::Options small_questions() {
  solver::Options options; // many of them: what is not found soon is left open
  options.solver_steps = 400'000;
  options.enumeration_limit = 1 << 12;
  options.refuter_assignments = 200;
  options.certificates = false; // nobody reads them, and those of long conditions take longer than the proof
  return options;
}

std::vector<std::string> grid_facts(const Claims& claims) {
  std::vector<std::string> facts;
  for (unsigned d = 0; d < 3; ++d) {
    if (claims.grid[d].empty()) continue;
    const std::string name = std::string("workgroup_") + "xyz"[d];
    const std::string_view grid = trim(claims.grid[d]);
    // i <= E / c - 1 is c (i + 1) <= E: without the division it is easier to use.
    const auto cut = grid.rfind('/');
    std::string_view divisor =
        cut == std::string_view::npos ? std::string_view() : trim(grid.substr(cut + 1));
    const bool number = !divisor.empty() && std::all_of(divisor.begin(), divisor.end(),
                                                        [](char c) { return c >= '0' && c <= '9'; });
    const std::string_view left = number ? trim(grid.substr(0, cut)) : std::string_view();
    const bool whole = number && (left.find_first_of("+-*/%^&|<> ") == std::string_view::npos ||
                                  (left.starts_with("(") && left.find(')') == left.size() - 1));
    if (whole && divisor.front() != '0') {
      facts.push_back(std::string(divisor) + "*" + name + " <= (" + std::string(left) + ") - " +
                      std::string(divisor));
    } else {
      facts.push_back(name + " <= (" + std::string(grid) + ") - 1");
    }
  }
  return facts;
}

namespace {
bool is_name(std::string_view text) { return names(text) == std::set<std::string>{std::string(text)}; }
} // namespace

Claims Claims::parse(std::string_view text) {
  Claims c;
  unsigned number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto fail = [&](const std::string& why) {
      throw std::invalid_argument(
          "claims, line " + std::to_string(number) + ": " + why + "\n  line   " + std::string(line) +
          "\n  hint   where CONDITION | grid X, Y, Z | trips N | unchanged NAME... | buffer NAME BYTES | "
          "access ADDRESS NAME OFFSET | tensor NAME ELEMENT LAYOUT [below N] | value NAME(i, ...) = "
          "EXPRESSION | "
          "within X | sizes NAME = NUMBER, ...");
    };
    std::string_view rest = line;
    const std::string_view kind = word(rest);
    if (kind == "where" && !rest.empty()) {
      c.where.emplace_back(rest);
    } else if (kind == "grid" && !rest.empty()) {
      int depth = 0;
      unsigned d = 0;
      for (const char x : rest) {
        depth += x == '(' ? 1 : x == ')' ? -1 : 0;
        if (x == ',' && depth == 0) {
          if (++d > 2) fail("a grid has at most three sizes");
        } else {
          c.grid[d] += x;
        }
      }
      for (unsigned k = 0; k <= d; ++k)
        if (trim(c.grid[k]).empty()) fail("a size of the grid is missing");
    } else if (kind == "buffer") {
      const std::string_view name = word(rest);
      if (name.empty() || rest.empty()) fail("a buffer has a name and a number of bytes");
      c.buffers.push_back({std::string(name), std::string(rest)});
    } else if (kind == "unchanged" && !rest.empty()) {
      while (!rest.empty()) c.unchanged.emplace_back(word(rest));
    } else if (kind == "trips") {
      std::uint32_t n = 0;
      const auto [p, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
      if (error != std::errc() || p != rest.data() + rest.size() || rest.empty()) fail("trips is a number");
      c.trips = n;
    } else if (kind == "access") {
      std::string_view address = word(rest);
      const std::string_view name = word(rest);
      AccessClaim a;
      if (address.starts_with("0x")) address.remove_prefix(2);
      const auto [p, error] = std::from_chars(address.data(), address.data() + address.size(), a.address, 16);
      if (error != std::errc() || p != address.data() + address.size() || address.empty())
        fail("the address is not hexadecimal");
      if (name.empty() || rest.empty()) fail("an access has an address, a buffer and an offset");
      a.argument = name;
      a.offset = rest;
      c.accesses.push_back(std::move(a));
    } else if (kind == "tensor") {
      TensorClaim t;
      t.argument = word(rest);
      t.element = word(rest);
      if (const auto below = rest.find(" below "); below != std::string_view::npos) {
        t.below = trim(rest.substr(below + 7));
        if (t.below.empty()) fail("a bound is missing after 'below'");
        rest = trim(rest.substr(0, below));
      }
      t.place = rest;
      if (t.place.empty()) fail("a tensor has a name, an element and a layout");
      for (const TensorClaim& other : c.tensors)
        if (other.argument == t.argument) fail("'" + t.argument + "' has been said before");
      c.tensors.push_back(std::move(t));
    } else if (kind == "value") {
      const auto open = rest.find('('), close = rest.find(')'), equals = rest.find('=');
      if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
          equals == std::string_view::npos || equals < close ||
          !trim(rest.substr(close + 1, equals - close - 1)).empty() || trim(rest.substr(equals + 1)).empty())
        fail("a value is NAME(i, j) = EXPRESSION");
      ValueClaim v;
      v.argument = trim(rest.substr(0, open));
      v.value = trim(rest.substr(equals + 1));
      for (std::string_view all = rest.substr(open + 1, close - open - 1);;) {
        const auto comma = all.find(',');
        v.coordinate.emplace_back(trim(all.substr(0, comma)));
        if (comma == std::string_view::npos) break;
        all = all.substr(comma + 1);
      }
      for (std::size_t k = 0; k < v.coordinate.size(); ++k)
        if (!is_name(v.coordinate[k]) ||
            std::find(v.coordinate.begin(), v.coordinate.begin() + static_cast<std::ptrdiff_t>(k),
                      v.coordinate[k]) != v.coordinate.begin() + static_cast<std::ptrdiff_t>(k))
          fail("'" + v.coordinate[k] + "' is no new name of an index");
      for (const ValueClaim& other : c.values)
        if (other.argument == v.argument) fail("the value of '" + v.argument + "' has been said before");
      c.values.push_back(std::move(v));
    } else if (kind == "within") {
      double w = 0;
      const auto [p, error] = std::from_chars(rest.data(), rest.data() + rest.size(), w);
      if (error != std::errc() || p != rest.data() + rest.size() || !(w >= 0) || !(w < 1))
        fail("within takes a number from 0 to 1");
      c.within = w;
    } else if (kind == "sizes" && !rest.empty()) {
      SizesClaim all;
      for (;;) {
        const auto comma = rest.find(',');
        const std::string_view one = trim(rest.substr(0, comma));
        const auto equals = one.find('=');
        double ignored = 0;
        const std::string_view name = trim(one.substr(0, equals)),
                               value = equals == std::string_view::npos ? "" : trim(one.substr(equals + 1));
        const auto [p, error] = std::from_chars(value.data(), value.data() + value.size(), ignored);
        if (!is_name(name) || value.empty() || error != std::errc() || p != value.data() + value.size())
          fail("'" + std::string(one) + "' is not NAME = NUMBER");
        for (const auto& [other, number_of_it] : all)
          if (other == name) fail("'" + other + "' twice");
        all.emplace_back(name, value);
        if (comma == std::string_view::npos) break;
        rest = rest.substr(comma + 1);
      }
      c.sizes.push_back(std::move(all));
    } else {
      fail("unknown claim");
    }
  }
  const auto whole = [](const std::string& why) {
    throw std::invalid_argument(
        "claims: " + why +
        "\n  hint   tensor a f16 (m,k):(k,1) | value c(i,j) = sum(q < k, a(i,q) * b(j,q)) | "
        "sizes m = 256, n = 128, k = 96");
  };
  for (const ValueClaim& v : c.values)
    if (std::none_of(c.tensors.begin(), c.tensors.end(),
                     [&](const TensorClaim& t) { return t.argument == v.argument; }))
      whole("'value " + v.argument + "(...)', but no line says 'tensor " + v.argument + " ...'");
  if (!c.values.empty() && c.sizes.empty()) whole("values are looked at for sizes, and no line gives them");
  if (!c.values.empty() && c.grid[0].empty()) whole("values need the grid: which workgroups there are");
  if (c.values.empty() && !c.sizes.empty()) whole("'sizes' without a 'value' says nothing");
  return c;
}

namespace {
/// Of what no launch satisfies everything would be so, and its opposite. `kind`: of the lines that are added by these facts.
void possible(const std::vector<std::string>& facts, const std::string& kind) {
  std::string all = "0";
  std::vector<std::string> given = facts;
  std::set<std::string> known;
  for (const std::string& f : facts) known.merge(names(f));
  for (const std::string& name : known) {
    all += " + 0*" + name; // a fact must be about something in the question
    given.push_back(name + " >= 0");
    given.push_back(name + " <= 4294967295");
  }
  try {
    static_cast<void>(solver::prove_within(solver::Subject(all, "1"), "1", given, small_questions()));
  } catch (const solver::QuestionError& e) {
    throw std::invalid_argument(
        "claims: " +
        (kind == "grid" ? std::string("a size of the grid is below 1 for all numbers that 'where' allows")
                        : std::string("no numbers satisfy the lines 'where'")) +
        "\n  " + e.what());
  }
}
} // namespace

void check_names(const runtime::Kernel& kernel, const Claims& claims) {
  std::set<std::string> pointers, words = {"workgroup_x", "workgroup_y", "workgroup_z"};
  std::string list;
  const auto visible = visible_arguments(kernel); // not the padding
  for (const runtime::KernelArgument& a : kernel.arguments) {
    const std::string name = a.label();
    if (a.size == 4) words.insert(name);
    if (a.size == 8) {
      pointers.insert(name);
      words.insert({name + "_lo", name + "_hi"});
    }
    for (std::uint32_t k = 0; a.size > 8 && k < a.size; k += 4) words.insert(name + "_" + std::to_string(k));
    const bool given =
        std::any_of(visible.begin(), visible.end(), [&](const auto& v) { return v.offset == a.offset; });
    if (!given) continue;
    list += "\n  " + name + std::string(name.size() < 12 ? 12 - name.size() : 0, ' ') + " byte " +
            std::to_string(a.offset) + ", " + std::to_string(a.size) + " bytes, " + a.kind;
  }
  if (!kernel.has_metadata)
    for (std::uint32_t k = 0; k < kernel.kernarg_bytes; k += 4) words.insert("arg_" + std::to_string(k));
  const auto fail = [&](const std::string& what) {
    throw std::invalid_argument(
        "claims: " + what + "\n  the arguments of " + kernel.name + ":" +
        (list.empty() ? kernel.has_metadata ? " none" : " not known, the object has no metadata" : list) +
        "\n  hint   a formula may name arguments of 4 bytes, NAME_lo and NAME_hi of 8, NAME_0, NAME_4, ... "
        "of more, "
        "workgroup_x, _y, _z, and in `access` also wave, lane, visit");
  };
  const auto pointer = [&](const std::string& name, const std::string& line) {
    if (!pointers.contains(name)) fail("'" + name + "' in '" + line + "' is no argument of 8 bytes");
  };
  const auto formula = [&](std::string_view text, const std::string& line, bool access) {
    for (const std::string& n : names(text))
      if (!words.contains(n) && !(access && (n == "lane" || n == "wave" || n == "visit")))
        fail("'" + n + "' in '" + line + "' is no argument" + (pointers.contains(n) ? " of 4 bytes" : ""));
  };
  for (const std::string& w : claims.where) formula(w, "where " + w, false);
  for (const std::string& g : claims.grid) formula(g, "grid " + std::string(trim(g)), false);
  for (const std::string& u : claims.unchanged) pointer(u, "unchanged " + u);
  for (const TensorClaim& t : claims.tensors) pointer(t.argument, "tensor " + t.argument);
  for (const BufferClaim& b : claims.buffers) {
    const std::string line = "buffer " + b.argument + " " + b.bytes;
    pointer(b.argument, line);
    formula(b.bytes, line, false);
  }
  for (const AccessClaim& a : claims.accesses) {
    char address[24];
    std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(a.address));
    const std::string line = std::string("access ") + address + " " + a.argument + " " + a.offset;
    pointer(a.argument, line);
    formula(a.offset, line, true);
  }
  const std::vector<std::string> grid = grid_facts(claims);
  possible(claims.where, "where");
  if (grid.empty()) return;
  std::vector<std::string> all = claims.where;
  all.insert(all.end(), grid.begin(), grid.end());
  possible(all, "grid");
}

} // namespace inlay::kernels::validate
