// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

inline constexpr std::string_view kBuiltin = "builtin:";

/// A generated text, as tokens of bytes.
struct Builtin {
  const char* name;
  BuiltinCorpora (*generate)();
  Corpus (*generate_validation)();  // cheaper without the training text
};

/// The builtin text in the list, or nullptr if the list has files.
/// \param key  configuration key, for messages: "data.train"
/// \throws Error (data, exit code 65) for an unknown name, or for a builtin text among other inputs
const Builtin* builtin_of(const std::vector<std::string>& inputs, const std::string& key);

}  // namespace evenkeel::data
