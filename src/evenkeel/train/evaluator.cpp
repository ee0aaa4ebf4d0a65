// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/evaluator.h"

#include "evenkeel/plan/batch_size.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

Evaluator::Evaluator(const config::Config& config, const data::Corpora& text,
                     std::int64_t vocabulary)
    : validation_(text.validation, config.model.context, config.evaluate.sequences),
      micro_batch_size_(plan::evaluation_batch_size(config, vocabulary)) {
  if (text.ood) ood_.emplace(*text.ood, config.model.context, config.evaluate.sequences);
}

RunEvaluation Evaluator::evaluate(const nn::Model& model, std::int64_t step) {
  RunEvaluation evaluation{.step = step,
                           .validation = evaluate::evaluate(model, validation_, micro_batch_size_),
                           .ood = {}};
  last_step_ = step;
  gap_ = evaluation.validation.gap;
  if (ood_) evaluation.ood = evaluate::evaluate(model, *ood_, micro_batch_size_);
  return evaluation;
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
