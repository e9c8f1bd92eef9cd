// What somebody writes who knows the format of certificates and has a claim to sell.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "certificates/derive.h"
#include "inlay/solver/certificate.h"

namespace inlay::solver {

inline std::string sealed(const std::string& text) {
  std::uint64_t h = 14695981039346656037ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(h));
  return text + "; checksum " + digits + "\n";
}

// These lines, with the queries they lead to.
inline std::string forged(const std::string& head) {
  std::string text = head;
  try {
    for (const std::string& q : independent::derive(independent::read_statement(head), false).queries())
      text += "; query\n" + q;
  } catch (const independent::Stuck&) {
    text += "; query\n(set-logic ALL)\n(assert (or false))\n(check-sat)\n";
  }
  return sealed(text);
}

inline std::string head_of(const std::string& certificate) {
  std::string text = certificate.substr(0, certificate.rfind("; checksum "));
  return text.substr(0, text.find("; query\n"));
}

/// Accepted along the certificate's own hints, which is what a test of them is about.
inline bool followed(const std::string& certificate) {
  const Recheck r = recheck(certificate);
  return r.accepted && !r.as_it_stands;
}

} // namespace inlay::solver
