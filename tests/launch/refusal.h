/// What a refusal says, for the tests of launch.
#pragma once

#include <functional>
#include <inlay/launch/manifest.h>
#include <string>

/// The message, empty where nothing is refused.
inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const inlay::launch::LaunchError& e) {
    return e.what();
  }
  return "";
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
