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

namespace {

/// The sums of one forward pass.
struct PassSums {
  static constexpr std::int64_t kFields = 4;
  double nats = 0, tokens = 0, answers = 0, correct = 0;
};

PassSums sums_of_pass(const nn::Model& model, const data::ValidationWindows& windows,
                      std::int64_t first, std::int64_t count) {
  const auto batch = windows.batch(first, count);
  const auto [ids, targets] = nn::batch_tensors(batch.inputs, batch.targets, batch.rows);
  const auto x = model.hidden(ids);
  PassSums sums{.nats = model.loss_sum_of(x, targets).item<double>(),
                .tokens = static_cast<double>(batch.scored)};
  if (!windows.has_answers()) return sums;
  ExactMatch answers;
  answers.add(batch, model.logits(x).argmax(-1));
  sums.answers = static_cast<double>(answers.total);
  sums.correct = static_cast<double>(answers.correct);
  return sums;
}

/// Puts the passes of all processes in their order. \param own  every ranks-th one
std::vector<PassSums> gather_passes(const std::vector<PassSums>& own, std::int64_t passes,
                                    const EvaluationShare& share) {
  if (share.ranks == 1) return own;
  std::vector<double> mine;
  for (const auto& each : own) {
    mine.insert(mine.end(), {each.nats, each.tokens, each.answers, each.correct});
  }
  const auto longest = (passes + share.ranks - 1) / share.ranks * PassSums::kFields;
  mine.resize(static_cast<std::size_t>(longest));
  const auto all = share.gather(mine);
  std::vector<PassSums> ordered;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const auto place = pass % share.ranks * longest + pass / share.ranks * PassSums::kFields;
    const auto* const from = all.data() + place;
    ordered.push_back({from[0], from[1], from[2], from[3]});
  }
  return ordered;
}

Evaluation evaluation_of(const PassSums& sums, const data::ValidationWindows& windows) {
  EK_ASSERT(sums.tokens > 0);
  Evaluation result{.tokens = static_cast<std::int64_t>(sums.tokens)};
  result.nats_per_token = sums.nats / sums.tokens;
  result.perplexity = std::exp(result.nats_per_token);
  if (sums.answers > 0) result.exact_match = sums.correct / sums.answers;
  if (!windows.scored_bytes()) return result;
  const auto bytes = static_cast<double>(*windows.scored_bytes());
  const double nats_per_byte = sums.nats / bytes;
  result.bits_per_byte = nats_per_byte / std::numbers::ln2;
  if (const auto floor = windows.floor_nats_per_token()) {
    result.floor = *floor * sums.tokens / bytes;
    result.gap = nats_per_byte - *result.floor;
  }
  return result;
}

}  // namespace

Evaluation evaluate(const nn::Model& model, const data::ValidationWindows& windows,
                    std::int64_t micro_batch_size,
                    const std::function<void(std::int64_t)>& on_progress,
                    const EvaluationShare& share) {
  const at::NoGradGuard no_grad;
  const auto passes = (windows.count() + micro_batch_size - 1) / micro_batch_size;
  std::vector<PassSums> own;
  for (auto pass = share.rank; pass < passes; pass += share.ranks) {
    const auto first = pass * micro_batch_size;
    const auto rows = std::min(micro_batch_size, windows.count() - first);
    own.push_back(sums_of_pass(model, windows, first, rows));
    if (on_progress) on_progress(first + rows);
  }
  PassSums sums;
  for (const auto& each : gather_passes(own, passes, share)) {
    sums.nats += each.nats;
    sums.tokens += each.tokens;
    sums.answers += each.answers;
    sums.correct += each.correct;
  }
  return evaluation_of(sums, windows);
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
