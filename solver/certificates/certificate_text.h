/// How a certificate is written; inlay/solver/certificate.h says what it is and reads it.
#pragma once

#include "certificates/claims.h"

#include <string>
#include <utility>
#include <vector>

namespace inlay::solver {

struct CertificateText {
  std::string property, method;
  std::vector<std::pair<std::string, std::string>> arguments; // text and domain
  std::vector<std::string> terms, settings, facts, hints;
  std::vector<std::pair<std::string, std::string>> example; // values of the symbols that satisfy the facts
};

/// "symbol M' >= 1" of each inner symbol, then "let M = 128*M'" of each of the user's, with at most one symbol that is new.
[[nodiscard]] std::vector<std::string> substitution(const Context& context);

/// The claim, how it was decided, and the queries that derive.h makes of it.
[[nodiscard]] std::string render(const CertificateText& head, const Context& context, const Claims& claims);

/// 64-bit FNV-1a of everything above the last line, in hexadecimal.
[[nodiscard]] std::string checksum(const std::string& text);

} // namespace inlay::solver
