/// Names of kernels, as the linker has them and as C++ writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay::runtime {

/// The C++ of a linker's name. `demangled("_Z3addIfEvPT_i") = "void add<float>(float*, int)"`; other names, those of C and Triton among
/// them, are as they are. Source: Itanium C++ ABI, 5.1.
[[nodiscard]] std::string demangled(std::string_view symbol);

/// The ways to write a kernel's name, from the most that is said to the least: the linker's, the whole C++, without what it returns, without
/// its arguments, without those of its template, without its namespaces. Of `_ZN2ns3addIfEEvPT_i` the last is `add`.
[[nodiscard]] std::vector<std::string> spellings(std::string_view symbol);

/// For columns and other narrow places: without what it returns and its arguments. `short_name("_Z3addIfEvPT_i") = "add<float>"`.
[[nodiscard]] std::string short_name(std::string_view symbol);

/// Which of `symbols` is meant by `name`: those that have it as a spelling that says as much as any of them does, spaces aside. None: it
/// is no name of theirs; several: it does not say which.
[[nodiscard]] std::vector<std::size_t> meant(std::string_view name, std::span<const std::string> symbols);

} // namespace inlay::runtime
