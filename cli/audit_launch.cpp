#include "audit_launch.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

namespace inlay::cli {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

namespace {

/// Each `{formula}` as its number.
std::string filled(const std::string& text, const AuditLaunch::Values& values) {
  std::vector<std::string> names;
  std::vector<std::int64_t> numbers;
  for (const auto& [name, value] : values) names.push_back(name), numbers.push_back(value);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at), close = text.find('}', open);
    if (open == std::string::npos) return out + text.substr(at);
    if (close == std::string::npos)
      throw std::invalid_argument(fmt::format("'{}' has a brace that does not close", text));
    const std::string formula = text.substr(open + 1, close - open - 1);
    try {
      out += text.substr(at, open - at) + std::to_string(kernels::SizeFormula(formula, names)(numbers));
    } catch (const std::exception& e) {
      throw std::invalid_argument(fmt::format("'{}': {}", formula, e.what()));
    }
    at = close + 1;
  }
  return out;
}

} // namespace

AuditLaunch::AuditLaunch(const std::string& file) : file_(file) {
  std::ifstream in(file);
  if (!in) throw std::invalid_argument(fmt::format("audit: cannot read '{}'", file));
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const auto wrong = [&](const std::string& what) {
      throw std::invalid_argument(
          fmt::format("audit: {}:{}: {}\n  hint   a line is one of: columns FILE NAME, kernel "
                      "PREFIX*, multiple A B, grid X,Y,Z, block X,Y,Z, arg TEXT",
                      file, number, what));
    };
    const std::size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    line = line.substr(begin, end - begin + 1);
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space);
    std::string rest = space < line.size() ? line.substr(line.find_first_not_of(' ', space)) : "";
    const std::size_t second = rest.rfind(' ');
    if (rest.empty()) wrong(fmt::format("'{}' says nothing", word));
    if (word == "columns") {
      if (second == std::string::npos) wrong("columns FILE NAME");
      std::filesystem::path path = rest.substr(0, second);
      if (path.is_relative()) path = std::filesystem::path(file).parent_path() / path;
      const std::string key = lower(rest.substr(second + 1));
      std::ifstream more(path);
      std::string row;
      if (!more || !std::getline(more, row)) wrong(fmt::format("cannot read '{}'", path.string()));
      std::vector<std::string> header = fields_of(row);
      for (std::string& h : header) h = lower(h);
      const auto name = std::find(header.begin(), header.end(), key);
      if (name == header.end()) wrong(fmt::format("'{}' has no column '{}'", path.string(), key));
      while (std::getline(more, row)) {
        const std::vector<std::string> fields = fields_of(row);
        const auto at = static_cast<std::size_t>(name - header.begin());
        if (fields.size() <= at) continue;
        for (std::size_t i = 0; i < std::min(header.size(), fields.size()); ++i)
          if (const auto value = parse_number<std::int64_t>(fields[i]))
            columns_[fields[at]][header[i]] = *value;
      }
      continue;
    }
    if (word == "kernel") {
      if (rest.back() != '*') wrong(fmt::format("'{}' does not end with *", rest));
      recipes_.push_back({rest.substr(0, rest.size() - 1), "", "", {}, {}});
      continue;
    }
    if (recipes_.empty()) wrong(fmt::format("'{}' before a kernel", word));
    Recipe& r = recipes_.back();
    if (word == "grid")
      r.grid = rest;
    else if (word == "block")
      r.block = rest;
    else if (word == "arg")
      r.arguments.push_back(rest);
    else if (word == "multiple" && second != std::string::npos)
      r.multiples.emplace_back(rest.substr(0, second), rest.substr(second + 1));
    else
      wrong(fmt::format("'{}' is no such word", line));
  }
  for (const Recipe& r : recipes_)
    if (r.grid.empty() || r.block.empty())
      throw std::invalid_argument(
          fmt::format("audit: {}: kernel {}* has no {}", file, r.prefix, r.grid.empty() ? "grid" : "block"));
}

const AuditLaunch::Recipe* AuditLaunch::find(const std::string& name) const {
  const auto found = std::find_if(recipes_.begin(), recipes_.end(),
                                  [&](const Recipe& r) { return name.starts_with(r.prefix); });
  return found == recipes_.end() ? nullptr : &*found;
}

AuditLaunch::Values AuditLaunch::of_kernel(const std::string& name) const {
  const auto found = columns_.find(name);
  return found == columns_.end() ? Values() : found->second;
}

bool AuditLaunch::takes(const std::string& name, const Values& values) const {
  const Recipe& r = *find(name);
  return std::all_of(r.multiples.begin(), r.multiples.end(), [&](const auto& m) {
    const auto of = parse_number<std::int64_t>(filled(m.first, values)),
               by = parse_number<std::int64_t>(filled(m.second, values));
    return of && by && *by > 0 && *of % *by == 0;
  });
}

AuditLaunch::Launch AuditLaunch::of(const std::string& name, const Values& values) const {
  const Recipe& r = *find(name);
  Launch out;
  out.geometry.grid = parse_extent("grid", filled(r.grid, values));
  out.geometry.block = parse_extent("block", filled(r.block, values));
  for (const std::string& text : r.arguments) out.arguments.push_back(parse_argument(filled(text, values)));
  return out;
}

} // namespace inlay::cli
