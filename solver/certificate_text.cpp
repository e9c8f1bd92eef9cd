#include "certificate_text.h"

#include "smt.h"

namespace inlay::solver {

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
std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n' || c == '\r' || static_cast<unsigned char>(c) < 32) c = ' ';
  return s;
}
} // namespace

std::string render(const CertificateText& head, const Context& context, const Claims& claims,
                   const std::vector<std::string>& queries) {
  std::string out = "; inlay certificate 1\n; property " + head.property + "\n; method " + head.method + "\n";
  for (const auto& [text, domain] : head.arguments) {
    out += "; argument " + one_line(text) + "\n";
    if (!domain.empty()) out += "; domain " + one_line(domain) + "\n";
  }
  for (const std::string& t : head.terms) out += "; term " + one_line(t) + "\n";
  for (const std::string& t : head.settings) out += "; " + one_line(t) + "\n";
  for (const std::string& f : head.facts) out += "; where " + one_line(f) + "\n";
  for (const auto& [name, p] : context.substitution())
    if (context.str(p) != name) out += "; let " + name + " = " + context.str(p) + "\n";
  for (const std::string& n : claims.notes()) out += "; note " + one_line(n) + "\n";
  smt::Query q(context);
  std::string conjunction;
  for (const Claim& c : claims.list()) {
    std::string t = std::string(c.relation == Claim::Relation::equal ? "(= " : "(>= ") + q.term(c.left) +
                    " " + q.term(c.right) + ")";
    out += "; claim " + t + " because " + c.why + "\n";
    conjunction += " " + t;
  }
  if (!conjunction.empty()) {
    q.goal("(not (and true" + conjunction + "))");
    out += "; query\n" + q.text(false);
  }
  for (const std::string& text : queries) out += "; query\n" + text;
  return out + "; checksum " + checksum(out) + "\n";
}

} // namespace inlay::solver
