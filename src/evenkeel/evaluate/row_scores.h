// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/tasks/task_score.h"
#include "evenkeel/tasks/token_rows.h"

namespace evenkeel::evaluate {

/// How rows are scored.
struct RowScoreOptions {
  bool shares_prefixes = true;  // tokens at the beginning of several rows are computed once
  /// Log-softmax and sum of log-probabilities in bfloat16, as OLMo computes them; false: float64
  /// from float32 logits.
  bool scores_in_bfloat16 = false;
  std::int64_t max_context = 2048;  // no row has more inputs
  /// Called after each pack with the number of rows that are scored; false ends the scoring. May be
  /// empty. Of several processes, false of one ends the scoring of all, and `ranks` packs count as
  /// one.
  std::function<bool(std::int64_t)> on_progress = {};
  EvaluationShare share = {};  // of several processes, which all get the scores of all rows
};

/// The log-probability of the targets of each row, in the order of `rows`, without a gradient.
///
/// Rows go through the model in packs of a fixed number of tokens. The bits of a score depend on
/// the tokens of the row alone: not on other rows, the order, shared prefixes, threads or
/// processes. Schemes whose norms use several tokens in evaluation (norm::causal_in_evaluation() is
/// false) get each row by itself.
/// \return log_probability is NaN if a logit is; empty if on_progress() ended the scoring
std::vector<tasks::RowScore> score_rows(const nn::Model& model,
                                        const std::vector<tasks::TokenRow>& rows,
                                        const RowScoreOptions& options);

}  // namespace evenkeel::evaluate
