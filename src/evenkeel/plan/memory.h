// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/mode.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/plan/machine.h"
#include "evenkeel/plan/plan.h"

namespace evenkeel::plan {

/// The mode of activation checkpointing in model.recompute; Recompute::none for "auto", which
/// with_recompute() resolves.
nn::Recompute recompute_of(const config::Config& config);

/// The predicted peak memory of one optimizer step, in bytes by purpose.
/// \param scheme  bound to the shape of the model
/// \param padded_vocabulary  rows of the embedding
/// \param counts  of the model's parameters: Plan::counts
/// \param widened_products  Machine::widened_products
nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, const nn::ParameterCounts& counts,
                           nn::Precision precision, bool widened_products = false);

/// The memory of one of `ranks` ranks, from that of a run of one process: ranks share the optimizer
/// state as distributed.shard says. Every rank holds the whole gradient of the shard that it
/// computes, also with "gradients". train.gradient_shards = "auto" is one shard per rank.
/// \param keeps_masters  of a GPU, where a rank has all master weights also during a step
nn::Footprint footprint_of_rank(const nn::Footprint& whole, const config::Config& config,
                                nn::Precision precision, std::int64_t parameters,
                                std::int64_t ranks, bool keeps_masters = false);

/// A value of model.recompute other than "auto", and the memory of a step of one rank with it.
struct PlannedMemory {
  std::string recompute;
  nn::Footprint memory;
};

/// Resolves model.recompute. "auto" is the first of "none", "norms" and "block", in the order of
/// their time, whose step takes at most kFitShare of Machine::free_memory; if none does, the one
/// with the least memory; "none" if the free memory is unknown. "block" is left out for schemes
/// that refuse it.
/// The micro-batch is Plan::micro_batch_size with every mode, because it changes roundings.
/// \param plan  with its scheme, parameters, counts and micro-batch
/// \param padded_vocabulary  rows of the embedding
PlannedMemory planned_memory(const config::Config& config, const Plan& plan,
                             std::int64_t padded_vocabulary, const Machine& machine);
inline constexpr double kFitShare = 0.9;  // the rest is for the error of the prediction

/// The configuration with "auto" of model.recompute replaced by Plan::recompute, and the
/// micro-batch of the plan. Gradients have the same bits with each mode, so every process may
/// resolve "auto" for itself.
config::Config with_recompute(config::Config config, const Plan& plan);

}  // namespace evenkeel::plan
