// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/evaluator.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/plan/batch_size.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

namespace {

/// The number of windows of a source: its share of all, at least one; 0: all windows.
std::int64_t sequences_of(double share, std::int64_t all) {
  if (all == 0 || share == 1) return all;
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(all)));
}

}  // namespace

Evaluator::Evaluator(const config::Config& config, const data::Corpora& text,
                     std::int64_t vocabulary)
    : micro_batch_size_(plan::evaluation_batch_size(config, vocabulary)) {
  for (const auto& source : text.validation) {
    validation_.push_back(
        {source.name, source.share,
         data::ValidationWindows(source.corpus, config.model.context,
                                 sequences_of(source.share, config.evaluate.sequences))});
  }
  if (text.ood) ood_.emplace(*text.ood, config.model.context, config.evaluate.sequences);
}

RunEvaluation Evaluator::evaluate(const nn::Model& model, std::int64_t step) {
  RunEvaluation result{.step = step};
  std::vector<double> shares;
  std::vector<evaluate::Evaluation> parts;
  for (const auto& source : validation_) {
    parts.push_back(evaluate::evaluate(model, source.windows, micro_batch_size_));
    shares.push_back(source.share);
    if (validation_.size() > 1) result.sources.push_back({source.name, parts.back()});
  }
  result.validation = evaluate::weighted_mean(parts, shares);
  last_step_ = step;
  gap_ = result.validation.gap;
  if (ood_) result.ood = evaluate::evaluate(model, *ood_, micro_batch_size_);
  return result;
}

void Evaluator::resume(const std::vector<nlohmann::json>& metrics) {
  for (const auto& line : metrics) {
    if (!line.contains("val_loss")) continue;
    last_step_ = line.at("step").get<std::int64_t>();
    const auto gap = line.value("val_gap", nlohmann::json());
    if (gap.is_number()) gap_ = gap.get<double>();
  }
}

}  // namespace evenkeel::train
