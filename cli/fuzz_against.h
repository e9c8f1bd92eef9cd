/// One operation, here and elsewhere: the inputs that `inlay fuzz OP --against` draws, and how two answers compare.
#pragma once

#include "fuzz_inputs.h"

#include <inlay/algebra/value.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace inlay::cli {

/// How an answer relates to ours. Function values and preconditions are judged apart.
enum Agreement : int {
  same,         ///< the same text, or the same number
  both_refuse,  ///< neither has an answer
  unsupported,  ///< the other side does not know the operation
  normal_form,  ///< the same size and values, written differently
  outside,      ///< another function, of an input where the right operand reaches beyond the size of the left
  other_answer, ///< another function, and it satisfies the definition of an operation with several answers
  wrong_value,  ///< another function
  wrong_rejection,  ///< it refuses what has an answer
  missed_rejection, ///< it answers what has none
  no_answer,        ///< nothing that can be read or judged, to another question, or not in time
};
inline constexpr int first_difference = normal_form;
inline constexpr int first_fault = wrong_value;
[[nodiscard]] const char* to_string(Agreement agreement);

/// The operations that can be fuzzed against another implementation.
[[nodiscard]] std::vector<std::string> foreign_operations();

/// What is asked: the operation and its arguments, as values and as the JSON of `eval --jsonl`.
struct Question {
  std::string op;
  List arguments;
  nlohmann::ordered_json json; ///< `{"op", "args"}`
};
/// The question that an input means for an operation. Throws std::invalid_argument for an unknown operation.
[[nodiscard]] Question question(const std::string& op, const FuzzInput& input);
/// The question in a line of JSON, for replays. Throws std::invalid_argument.
[[nodiscard]] Question parse_question(const std::string& line);

/// Our answer: a value, or the message with which the operation refuses.
struct OwnAnswer {
  std::optional<Value> value;
  std::string refusal;
};
[[nodiscard]] OwnAnswer answer_here(const Question& q);

/// The line to send: the question and its id, with sample indices where the answer is too large to list.
[[nodiscard]] std::string request(const Question& q, const OwnAnswer& ours, std::int64_t id);

/// Compares. `alive` is false when the other side ended or was stopped, which counts as a refusal if it ended. An answer
/// with another id is none. What it states of size, values, samples and text has to be right; values may be left out, the
/// text is then evaluated here.
[[nodiscard]] Agreement compare(const Question& q, const OwnAnswer& ours, bool alive, const std::string& line,
                                std::optional<std::int64_t> id = {});

} // namespace inlay::cli
