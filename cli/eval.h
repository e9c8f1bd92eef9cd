/// The JSON lines of `inlay eval --jsonl`, without the command around them.
#pragma once

#include <iosfwd>

namespace inlay::cli {

/// Answers every line of `in` that is not blank by one line of `out`, in order: a result or an error, never an exception.
void evaluate_lines(std::istream& in, std::ostream& out);

} // namespace inlay::cli
