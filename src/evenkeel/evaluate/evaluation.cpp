// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/evaluation.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evenkeel/base/error.h"
#include "evenkeel/evaluate/exact_match.h"
#include "evenkeel/nn/batch_tensors.h"

namespace evenkeel::evaluate {

Evaluation evaluate(const nn::Model& model, const data::ValidationWindows& windows,
                    std::int64_t micro_batch_size,
                    const std::function<void(std::int64_t)>& on_progress) {
  const at::NoGradGuard no_grad;
  double nats = 0;
  ExactMatch answers;
  Evaluation result;
  for (std::int64_t first = 0; first < windows.count(); first += micro_batch_size) {
    const auto batch = windows.batch(first, std::min(micro_batch_size, windows.count() - first));
    const auto [ids, targets] = nn::batch_tensors(batch.inputs, batch.targets, batch.rows);
    const auto x = model.hidden(ids);
    nats += model.loss_sum_of(x, targets).item<double>();
    if (windows.has_answers()) answers.add(batch, model.logits(x).argmax(-1));
    result.tokens += batch.scored;
    if (on_progress) on_progress(first + batch.rows);
  }
  EK_ASSERT(result.tokens > 0);
  const auto tokens = static_cast<double>(result.tokens);
  result.nats_per_token = nats / tokens;
  result.perplexity = std::exp(result.nats_per_token);
  if (answers.total > 0) result.exact_match = answers.accuracy();
  if (!windows.scored_bytes()) return result;
  const auto bytes = static_cast<double>(*windows.scored_bytes());
  const double nats_per_byte = nats / bytes;
  result.bits_per_byte = nats_per_byte / std::numbers::ln2;
  if (const auto floor = windows.floor_nats_per_token()) {
    result.floor = *floor * tokens / bytes;
    result.gap = nats_per_byte - *result.floor;
  }
  return result;
}

Evaluation weighted_mean(const std::vector<Evaluation>& parts, const std::vector<double>& shares) {
  EK_ASSERT(!parts.empty() && parts.size() == shares.size());
  if (parts.size() == 1) return parts.front();
  Evaluation mean;
  mean.bits_per_byte = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    mean.nats_per_token += shares[i] * parts[i].nats_per_token;
    mean.tokens += parts[i].tokens;
    if (!parts[i].bits_per_byte) mean.bits_per_byte.reset();
    if (mean.bits_per_byte) *mean.bits_per_byte += shares[i] * *parts[i].bits_per_byte;
  }
  mean.perplexity = std::exp(mean.nats_per_token);
  return mean;
}

nlohmann::ordered_json record(const Evaluation& evaluation, const std::string& text) {
  nlohmann::ordered_json out = {{text + "_loss", evaluation.nats_per_token}};
  const auto add = [&](const char* what, const std::optional<double>& value) {
    if (value) out[text + what] = *value;
  };
  add("_bits_per_byte", evaluation.bits_per_byte);
  add("_floor", evaluation.floor);
  add("_gap", evaluation.gap);
  add("_exact", evaluation.exact_match);
  return out;
}

}  // namespace evenkeel::evaluate
