/// What tests/mutate/sources.py puts into a copy of the algebra: operators with a switch.
///
/// The copy holds all mutants at once. `a + b` has become `a + mutation::plus(17) + b`, which has the same precedence and
/// computes a + b unless the environment variable INLAY_MUTANT is 17; then it computes a - b. In a constant expression no
/// mutant is active.
#pragma once

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace mutation {

inline const int active = std::getenv("INLAY_MUTANT") ? std::atoi(std::getenv("INLAY_MUTANT")) : 0;
constexpr int not_applicable = 77; // exit status: the mutated expression does not exist for these types

// INLAY_MUTANTS_REACHED=FILE: which mutants' places are run at all, one number a line. A test that does not reach a mutant
// cannot notice it and need not be run for it.
struct Reached {
  static constexpr int most = 10000;
  const char* file = std::getenv("INLAY_MUTANTS_REACHED");
  bool at[most] = {};
  ~Reached() {
    std::FILE* out = file ? std::fopen(file, "w") : nullptr;
    for (int id = 0; out && id < most; ++id)
      if (at[id]) std::fprintf(out, "%d\n", id);
    if (out) std::fclose(out);
  }
};
inline Reached reached;

constexpr bool on(int id) {
  if (std::is_constant_evaluated()) return false;
  if (reached.file && id < Reached::most) reached.at[id] = true;
  return active == id;
}

template <class T, class Tag>
struct Left {
  const T& value;
  Tag tag;
};

// One tag per operator: `SYMBOL` as written, `OTHER` when the mutant is active.
#define INLAY_MUTATION(name, SYMBOL, OTHER)                                                                  \
  struct name {                                                                                              \
    int id;                                                                                                  \
    constexpr explicit name(int n) : id(n) {}                                                                \
  };                                                                                                         \
  template <class T>                                                                                         \
  constexpr Left<T, name> operator SYMBOL(const T& value, name tag) {                                        \
    return {value, tag};                                                                                     \
  }                                                                                                          \
  template <class T, class U>                                                                                \
  constexpr auto operator SYMBOL(const Left<T, name>& a, const U& b) {                                       \
    if (on(a.tag.id)) {                                                                                      \
      if constexpr (requires {                                                                               \
                      { a.value OTHER b } -> std::same_as<decltype(a.value SYMBOL b)>;                       \
                    })                                                                                       \
        return a.value OTHER b;                                                                              \
      else                                                                                                   \
        std::_Exit(not_applicable);                                                                          \
    }                                                                                                        \
    return a.value SYMBOL b;                                                                                 \
  }
INLAY_MUTATION(plus, +, -)
INLAY_MUTATION(minus, -, +)
INLAY_MUTATION(times, *, +)
INLAY_MUTATION(less, <, <=)
INLAY_MUTATION(less_equal, <=, <)
INLAY_MUTATION(greater, >, >=)
INLAY_MUTATION(greater_equal, >=, >)
INLAY_MUTATION(equal, ==, !=)
INLAY_MUTATION(not_equal, !=, ==)
#undef INLAY_MUTATION

// Calls: `mutation::floor_div<17>(a, b)`.
#define INLAY_MUTATION(name, OTHER)                                                                          \
  template <int id, class A, class B>                                                                        \
  constexpr auto name(const A& a, const B& b) {                                                              \
    if (on(id)) return OTHER(a, b);                                                                          \
    return name(a, b);                                                                                       \
  }
INLAY_MUTATION(floor_div, ceil_div)
INLAY_MUTATION(ceil_div, floor_div)
INLAY_MUTATION(min, max)
INLAY_MUTATION(max, min)
INLAY_MUTATION(floor_mod, floor_div)
INLAY_MUTATION(exact_div, floor_mod)
#undef INLAY_MUTATION

} // namespace mutation
