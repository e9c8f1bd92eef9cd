/// Text of pictures and pages.
#pragma once

#include <string>
#include <string_view>

namespace inlay {

/// Text inside XML or HTML, attributes included: `escape_xml("a<b")` is "a&lt;b".
[[nodiscard]] inline std::string escape_xml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
    case '<': safe += "&lt;"; break;
    case '>': safe += "&gt;"; break;
    case '&': safe += "&amp;"; break;
    case '"': safe += "&quot;"; break;
    default: safe += c;
    }
  }
  return safe;
}

} // namespace inlay
