/// The canonical text of every value; `parse(print(x)) == x` (law: text round trip).
///
///     ((2,2),3):((24,2),8)          a layout            1@0@1      a basis stride, innermost index first
///     (128*m,n):(1,128*m)           a symbolic layout   (m+127)/128, m%8, min(a,b), a^b, a<<2, select(c,a,b)
#pragma once

#include <inlay/algebra/layout.h>
#include <inlay/algebra/sym.h>

#include <iosfwd>
#include <string>

namespace inlay {

[[nodiscard]] std::string to_string(Int value);
[[nodiscard]] std::string to_string(Sym value);
[[nodiscard]] std::string to_string(Truth value);
[[nodiscard]] std::string to_string(const Stride& stride);
[[nodiscard]] std::string to_string(const BasicStride<Sym>& stride);
[[nodiscard]] std::string to_string(const IntTuple& tuple);
[[nodiscard]] std::string to_string(const BasicIntTuple<Sym>& tuple);
[[nodiscard]] std::string to_string(const Tuple<Stride>& stride);
[[nodiscard]] std::string to_string(const Layout& layout);
[[nodiscard]] std::string to_string(const SymLayout& layout);
[[nodiscard]] std::string to_string(LayoutView<Int> layout);
[[nodiscard]] std::string to_string(LayoutView<Sym> layout);

std::ostream& operator<<(std::ostream& out, Int value);
std::ostream& operator<<(std::ostream& out, Sym value);
std::ostream& operator<<(std::ostream& out, Truth value);
std::ostream& operator<<(std::ostream& out, const IntTuple& tuple);
std::ostream& operator<<(std::ostream& out, const Layout& layout);
std::ostream& operator<<(std::ostream& out, const SymLayout& layout);

} // namespace inlay
