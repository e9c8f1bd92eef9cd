#include <inlay/runtime/names.h>

#include <algorithm>
#include <cstdlib>
#include <llvm/Demangle/Demangle.h>

namespace inlay::runtime {

namespace {

/// What LLVM allocated; `otherwise` where it has no text.
std::string taken(char* text, std::string_view otherwise = {}) {
  std::string out(text != nullptr ? std::string_view(text) : otherwise);
  std::free(text);
  return out;
}

std::string without_spaces(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != ' '; });
  return out;
}

} // namespace

std::string demangled(std::string_view symbol) {
  return symbol.starts_with("_Z") ? taken(llvm::itaniumDemangle(symbol), symbol) : std::string(symbol);
}

std::vector<std::string> spellings(std::string_view symbol) {
  std::vector<std::string> out{std::string(symbol)};
  llvm::ItaniumPartialDemangler parts;
  if (!symbol.starts_with("_Z") || parts.partialDemangle(out.front().c_str())) return out;
  out.push_back(demangled(symbol));
  if (!parts.isFunction()) return out;
  const std::string name = taken(parts.getFunctionName(nullptr, nullptr)),
                    base = taken(parts.getFunctionBaseName(nullptr, nullptr)),
                    context = taken(parts.getFunctionDeclContextName(nullptr, nullptr));
  out.push_back(name + taken(parts.getFunctionParameters(nullptr, nullptr)));
  out.push_back(name);
  out.push_back(context.empty() ? base : context + "::" + base);
  out.push_back(base);
  return out;
}

std::string short_name(std::string_view symbol) {
  const auto all = spellings(symbol);
  return all.size() > 3 ? all[3] : demangled(symbol);
}

std::vector<std::size_t> meant(std::string_view name, std::span<const std::string> symbols) {
  const std::string written = without_spaces(name);
  std::vector<std::size_t> out;
  std::size_t said = std::string::npos; // the least place in a list of spellings that has it
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto all = spellings(symbols[i]);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const std::string& s) { return without_spaces(s) == written; });
    const auto place = static_cast<std::size_t>(at - all.begin());
    if (at == all.end() || place > said) continue;
    if (place < said) out.clear();
    said = place;
    out.push_back(i);
  }
  return out;
}

} // namespace inlay::runtime
