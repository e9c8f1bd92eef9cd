/// The JSON lines of `inlay eval --jsonl`, without the command around them.
#pragma once

#include <inlay/algebra/expression.h>

#include <iosfwd>
#include <nlohmann/json.hpp>

namespace inlay::cli {

/// A value as `eval` writes it: numbers, arrays and objects as such, null for what is free, everything else as text.
[[nodiscard]] nlohmann::ordered_json to_json(const Value& v);

/// Answers every line of `in` that is not blank by one line of `out`, in order: a result or an error, never an exception.
void evaluate_lines(std::istream& in, std::ostream& out);

} // namespace inlay::cli
