/// What a law of the algebra is, and what the laws have in common: values by enumeration.
#pragma once

#include <inlay/algebra/coordinate.h>
#include <inlay/algebra/layout.h>
#include <inlay/algebra/print.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace inlay::laws {

/// What a law is applied to. A law ignores what it does not need.
struct Input {
  Layout a;
  Layout b;
  Int n = 1; // at least 1
};

enum class Verdict { holds, refused, broken };
struct Outcome {
  Verdict verdict = Verdict::holds;
  std::string message;
};

struct Law {
  const char* name;
  const char* statement;
  Outcome (*check)(const Input&);
  bool binary; // uses b
};

namespace detail {

inline Outcome broken(const std::string& what) { return {Verdict::broken, what}; }

/// All values in order of the index. Laws are meant for layouts of moderate size.
inline std::vector<Int> values(const Layout& l) {
  std::vector<Int> v;
  v.reserve(static_cast<std::size_t>(l.size().value()));
  for (Int i = 0; i < l.size(); i += 1) v.push_back(l(i));
  return v;
}

inline std::vector<Int> sorted(std::vector<Int> v) {
  std::sort(v.begin(), v.end());
  return v;
}

inline bool same_function(const Layout& x, const Layout& y) {
  return x.size() == y.size() && values(x) == values(y);
}

inline std::string show(const char* op, const Input& in, const Layout& r) {
  return std::string(op) + " of " + to_string(in.a) + ", " + to_string(in.b) + ", " + to_string(in.n) +
         " is " + to_string(r);
}

/// Runs a check; a LayoutError inside means that the operation refused.
template <class Check>
Outcome guarded(const Check& check) {
  try {
    return check();
  } catch (const LayoutError& e) {
    return {Verdict::refused, e.code()};
  }
}

/// Every coordinate of a congruent tuple, by counting.
inline IntTuple nth_coordinate(const Layout& l, Int i) { return idx2crd(IntTuple(i), l.shape()); }

} // namespace detail

} // namespace inlay::laws
