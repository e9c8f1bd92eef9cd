/// Single-instruction tests: the whole visible state of a wave before and after an instruction, compared with a formula.
///
/// A `Case` is assembly text, a starting state and a function that turns that state into the expected one. `run` executes
/// cases on the emulator, each between a prologue that loads the state and an epilogue that stores it, and compares
/// everything: vector registers of all lanes, scalar registers, VCC, EXEC, M0, SCC, LDS and memory. An instruction counts
/// as covered only when the trace of that launch shows it and its case agreed.
///
///     cases.push_back({"s_add_u32 s40, s32, s33", random_state(random), [](State& s) {
///       const u64 r = u64{s.s[0]} + s.s[1];                     // s.s[n] is s(32+n)
///       s.s[8] = static_cast<u32>(r);
///       s.scc = r >> 32 != 0;
///     }});
#pragma once

#include <array>
#include <functional>
#include <inlay/runtime/isa/program.h>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace differential {

using namespace inlay::runtime;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr unsigned vgprs = 40;       ///< v8 .. v47
inline constexpr unsigned sgprs = 32;       ///< s32 .. s63
inline constexpr unsigned lds_bytes = 8192; ///< of the workgroup
inline constexpr unsigned memory_bytes = 8192;
inline constexpr u64 all_lanes = ~u64{0};

struct State {
  std::array<std::array<u32, vgprs>, 64> v{}; ///< [lane][n]: v(8+n)
  std::array<u32, sgprs> s{};                 ///< s(32+n)
  u64 vcc = 0, exec = all_lanes;
  u32 m0 = 0;
  bool scc = false;
  std::vector<u8> lds, memory; ///< empty: the case has none
  u64 address = 0;             ///< of `memory` on the device; its low and high words are also s62 and s63

  [[nodiscard]] u64 s64(unsigned n) const { return s[n] | u64{s[n + 1]} << 32; }
  void set64(unsigned n, u64 x) {
    s[n] = static_cast<u32>(x);
    s[n + 1] = static_cast<u32>(x >> 32);
  }
  [[nodiscard]] u64 v64(unsigned lane, unsigned n) const { return v[lane][n] | u64{v[lane][n + 1]} << 32; }
  void set_v64(unsigned lane, unsigned n, u64 x) {
    v[lane][n] = static_cast<u32>(x);
    v[lane][n + 1] = static_cast<u32>(x >> 32);
  }
  [[nodiscard]] bool on(unsigned lane) const { return (exec >> lane & 1U) != 0; }
};

struct Case {
  std::string text;
  State before;
  std::function<void(State&)> expect;
  /// Instead of equality, for results that a manual does not fix to the bit.
  std::function<bool(const State& before, const State& got)> accept = nullptr;
  /// Completes `before` once the address of its memory is known.
  std::function<void(State&)> place = nullptr;
};

struct LabOptions {
  unsigned denormals = 3; ///< .amdhsa_float_denorm_mode_32 and _16_64
  bool ieee = true;
};

/// Runs the cases and reports each that differs. What agreed is covered.
void run(isa::Arch arch, const std::vector<Case>& cases, const LabOptions& options = {});

/// Instructions that a test executed and compared.
using Covered = std::set<std::tuple<isa::Arch, isa::Format, std::string>>;
Covered& covered();
/// Notes the instructions of `text` that occur in `trace`, the lines that the emulator's trace gave.
void note_covered(isa::Arch arch, const std::string& text, const std::set<std::string>& trace);
/// The instruction in a line of a trace.
std::string traced_instruction(std::string_view line);

bool assembles(const std::string& text, isa::Arch arch);
/// Random registers of everyday and extreme values, all lanes enabled.
State random_state(std::mt19937_64& random);
u32 random_word(std::mt19937_64& random);
/// Adds LDS or memory with random contents.
void with_lds(State& s, std::mt19937_64& random);
void with_memory(State& s, std::mt19937_64& random);

// One function a family; the test in differential_coverage_test.cpp calls them all.
void scalar_family();
void scalar_memory_family();
void lds_family();
void vector_memory_family();
void vector_family();
void lane_family();
void matrix_family();

} // namespace differential
