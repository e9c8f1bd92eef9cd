/// How a certificate is written; inlay/solver/certificate.h says what it is and reads it.
#pragma once

#include "claims.h"

#include <string>
#include <utility>
#include <vector>

namespace inlay::solver {

struct CertificateText {
  std::string property, method;
  std::vector<std::pair<std::string, std::string>> arguments; // text and domain
  std::vector<std::string> terms, settings, facts;
};

/// The claims, negated into one query, and the queries that a solver answered.
[[nodiscard]] std::string render(const CertificateText& head, const Context& context, const Claims& claims,
                                 const std::vector<std::string>& queries);

/// 64-bit FNV-1a of everything above the last line, in hexadecimal.
[[nodiscard]] std::string checksum(const std::string& text);

} // namespace inlay::solver
