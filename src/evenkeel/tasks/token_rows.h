// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/tasks/rule.h"
#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// A row as tokens.
struct TokenRow {
  /// Context and continuation without its last token: the input of the model. At most max_context.
  std::vector<std::int64_t> inputs;
  /// The continuation. Target i follows inputs[inputs.size() - targets.size() + i].
  std::vector<std::int64_t> targets;
};

/// How rows become tokens.
struct EncodingOptions {
  Rule rule = Rule::olmo;
  std::int64_t max_context = 2048;  // tokens of `inputs`; longer contexts lose their beginning
  std::int64_t vocabulary = 0;      // of the model
};

/// The rows of all documents of a task, document by document.
struct TokenRows {
  std::vector<TokenRow> rows;
  std::int64_t truncated = 0;  // rows whose context lost its beginning
  /// Rows whose tokens depend on whether context and continuation are encoded together.
  std::int64_t encoded_differently = 0;
};

/// Encodes the rows of a task. The contexts begin as a prompt of the model does
/// (TextEncoding::prompt). Rule::olmo and olmo_v2 encode context and continuation separately;
/// Rule::lm_eval encodes them together, after white space at the end of the context (rstrip()) has
/// moved to the continuation, and splits the tokens at the length of the encoded context.
/// \throws Error (data, exit code 65), with task and document, for a continuation without tokens or
///         longer than max_context, a row without context on a model without a begin token, a
///         token that is not below `vocabulary`, and a choice of one character under a rule that
///         does not count it
TokenRows encode(const Task& task, const data::TextEncoding& encoding,
                 const EncodingOptions& options);

}  // namespace evenkeel::tasks
