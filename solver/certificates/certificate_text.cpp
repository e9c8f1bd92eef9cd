#include "certificates/certificate_text.h"

#include "certificates/derive.h"

#include <algorithm>
#include <set>

namespace inlay::solver {

// FNV-1a: against accidents. Whoever means to deceive seals his file again, and is met by the derivation.
std::string checksum(const std::string& text) {
  std::uint64_t h = 14695981039346656037ULL;
  for (char c : text) {
    h ^= static_cast<unsigned char>(c);
    h *= 1099511628211ULL;
  }
  static const char* digits = "0123456789abcdef";
  std::string out;
  for (int k = 60; k >= 0; k -= 4) out += digits[(h >> k) & 15];
  return out;
}

namespace {
// A certificate is read line by line: what stands in one line cannot begin another.
std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n' || c == '\r' || static_cast<unsigned char>(c) < 32) c = ' ';
  return s;
}

} // namespace

// In an order in which each let has at most one symbol that those before it did not have, where there is one: the checker solves each
// for that symbol (Derivation::symbols). So what brings the fewest new symbols comes first.
std::vector<std::string> substitution(const Context& context) {
  std::vector<std::string> symbols, lets;
  std::set<Symbol> known;
  std::vector<std::pair<std::string, Poly>> left(context.substitution().begin(),
                                                 context.substitution().end());
  while (!left.empty()) {
    auto news = [&](const Poly& p) {
      auto all = p.symbols();
      return std::count_if(all.begin(), all.end(), [&](Symbol s) { return known.count(s) == 0; });
    };
    auto next = std::min_element(left.begin(), left.end(), [&](const auto& a, const auto& b) {
      // Of equally many new symbols the lower degree first: n = m n' is solved for n' once m is settled, and
      // not the other way round.
      return std::pair(news(a.second), a.second.degree()) < std::pair(news(b.second), b.second.degree());
    });
    for (Symbol s : next->second.symbols())
      // Bounds of the symbols that the lets use, and of no others: one that stands for nothing is refused
      // (Derivation::symbols).
      if (known.insert(s).second) {
        const Bounds& b = context.bounds()[s];
        symbols.push_back("symbol " + context.names()[s] + " >= " + to_string(b.lower) +
                          (b.upper ? " <= " + to_string(*b.upper) : ""));
      }
    lets.push_back("let " + next->first + " = " + context.str(next->second));
    left.erase(next);
  }
  // All symbols before all lets, as lets are read with the symbols known.
  symbols.insert(symbols.end(), lets.begin(), lets.end());
  return symbols;
}

std::string render(const CertificateText& head, const Context& context, const Claims& claims) {
  std::string out = "; inlay certificate 1\n; property " + head.property + "\n; method " + head.method + "\n";
  for (const auto& [text, domain] : head.arguments) {
    out += "; argument " + one_line(text) + "\n";
    if (!domain.empty()) out += "; domain " + one_line(domain) + "\n";
  }
  for (const std::string& t : head.terms) out += "; term " + one_line(t) + "\n";
  for (const std::string& t : head.settings) out += "; " + one_line(t) + "\n";
  for (const std::string& f : head.facts) out += "; where " + one_line(f) + "\n";
  // Values and no proof of them: the checker plugs them into the conditions.
  for (const auto& [name, value] : head.example) out += "; example " + name + " = " + value + "\n";
  for (const std::string& t : substitution(context)) out += "; " + t + "\n";
  for (const std::string& t : head.hints) out += "; " + one_line(t) + "\n";
  for (const std::string& n : claims.notes()) out += "; note " + one_line(n) + "\n";
  // For people. The checker passes over notes and claims, and what it derives has to stand without them.
  for (const Claim& c : claims.list())
    out += "; claim " + context.str(c.left) + (c.relation == Claim::Relation::equal ? " = " : " >= ") +
           context.str(c.right) + " because " + c.why + "\n";
  // The queries come from the checker's own derivation of this head: whatever the prover believed, the file holds what its text leads to.
  try {
    for (const std::string& q : independent::derive(independent::read_statement(out), false).queries())
      out += "; query\n" + q;
  } catch (const independent::Stuck& stuck) {
    // A proof that its own checker cannot follow is written down as such; recheck() rejects it, with this for
    // a reason.
    out += "; note no query: " + one_line(stuck.what()) + "\n";
  }
  return out + "; checksum " + checksum(out) + "\n";
}

} // namespace inlay::solver
