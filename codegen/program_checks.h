/// What the operations of a Program refuse, each where several of them do. Private.
#pragma once

#include <inlay/codegen/program.h>

#include "words.h"

#include <inlay/algebra/error.h>
#include <inlay/algebra/print.h>
#include <inlay/algebra/symbolic.h>
#include <inlay/machine/target.h>

namespace inlay::codegen {

/// A symbol of the program that is no other's: one name is one number, so a second one of a name, with the same range, would be it.
[[nodiscard]] Sym own_symbol(SymContext& context, const std::string& name, Interval range);

/// A size that may be 0 is how far rows are apart, say, and no part of an extent: all that is proved is proved of extents from 1 on.
void refuse_empty(const std::vector<Size>& sizes, Sym extent, const std::string& what);

/// What follows a formula goes down into it: deeper, a formula ends the stack.
void check_depth(const char* operation, Expr e, const std::string& line);

/// Fragments and tensors are numbers of one program; those of another one would be taken for some of this one's.
void check_own(const std::vector<Fragment>& all, const Fragment& f, const char* operation,
               const std::source_location& where);
void check_own(const std::vector<Tensor>& all, const Tensor& t, const char* operation);

/// Vectors divide a thread's values.
void check_vector(const Layout& tv, int vector, const char* what);

/// Elements that an integer may be the bits of: f32, f16, bf16.
[[nodiscard]] bool is_short(Element e);

/// Numbers that f32 has not are compared within 1e-11: too few digits for f64, in formulas and maps alike.
void check_number_of_f64(const std::string& operation, const ExprNode& n, const std::string& line);

/// Elements of a table of rows, and of numbers of the workgroup: i32, i64.
[[nodiscard]] bool names_rows(Element e);

/// An element of i64, `wide` says which operands are some, stands in integer(..) alone: it is no number of f32, and only there is said what
/// becomes of one that 32 bits have not.
void check_wide(const std::string& operation, Expr e, const std::function<bool(const ExprNode&)>& wide,
                const std::string& line);

/// What an integer is made of is exact: `holds(operand, whole)` says whether it is a whole number, or one that was not rounded.
void check_integers(const std::string& operation, Expr e,
                    const std::function<bool(const ExprNode&, bool whole)>& holds);

/// Arithmetic is f32: what is read becomes that, and a result is rounded from it. A copy of the same element is neither.
void check_elements(const char* operation, const Target& target, const std::vector<Element>& from, Element to,
                    const std::source_location& where);

} // namespace inlay::codegen
