// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/plan.h"

#include <utility>

#include "evenkeel/nn/flops.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/model_parameters.h"
#include "evenkeel/plan/run_length.h"

namespace evenkeel::plan {

Plan plan_of(const config::Config& config, const Machine& machine, std::int64_t vocabulary) {
  const auto shape = config::shape_of(config, vocabulary);
  const auto rows = padded_vocabulary_size(config.model, shape.vocabulary);
  Plan plan{.scheme = config::bind(config.scheme, shape)};
  plan.parameters = parameter_specs_of(config.model, plan.scheme);
  plan.counts = nn::parameter_counts(plan.parameters);
  plan.active_parameters = nn::active_parameters(plan.parameters, shape);
  plan.steps = steps_of(config);
  plan.micro_batch_size = micro_batch_size(config, shape.vocabulary);
  plan.tokens = static_cast<double>(plan.steps) *
                static_cast<double>(config.train.batch * config.model.context);
  plan.flops_per_token = nn::flops_per_token(plan.scheme, rows);
  plan.norm_flops_per_token = nn::norm_flops_per_token(plan.scheme);
  plan.paper_norms_share = nn::paper_norms_share(plan.scheme);
  auto [recompute, memory] = planned_memory(config, plan, rows, machine);
  plan.recompute = std::move(recompute);
  plan.memory = memory;
  return plan;
}

}  // namespace evenkeel::plan
