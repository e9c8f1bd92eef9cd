/// Numbers for the symbols of a path: a violation on a path is only one when some launch takes the path.
///
///     auto sizes = find_witness(terms, finding.path);      // {{K, 513}, {workgroup_x, 0}}
///
/// Local search over the constants that the conditions name, their multiples and powers of two. What is returned has been
/// evaluated: every condition has the value that the path needs. Nothing is returned when the search gives up, which says
/// nothing about the path. Words of memory that scalar loads read count as symbols.
#pragma once

#include <inlay/runtime/symbolic/term.h>

namespace inlay::runtime::symbolic {

/// Ensures: every condition evaluates to its value under the result.
[[nodiscard]] std::optional<Terms::Assignment>
find_witness(const Terms& terms, std::span<const std::pair<Term, bool>> conditions, unsigned tries = 300);

} // namespace inlay::runtime::symbolic
