// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/plan/machine.h"

/// Shapes, parameters, FLOPs and memory of a run, computed from its configuration alone.
namespace evenkeel::plan {

/// The sizes of a run, known before its model is built.
struct Plan {
  norm::Scheme scheme;                        // bound to the shape of the model
  std::vector<nn::ParameterSpec> parameters;  // tensors of the model, in the order of the forward
                                              // pass; the embedding has its padded vocabulary
  nn::ParameterCounts counts;
  std::int64_t active_parameters = 0;  // per token: top-k of the stacked experts
  std::int64_t steps = 0;              // optimizer steps of the run
  std::int64_t micro_batch_size = 1;   // sequences of one forward pass
  double tokens = 0;                   // of the whole run
  double flops_per_token = 0;          // forward and backward, without norms
  double norm_flops_per_token = 0;     // forward and backward, norms alone
  double paper_norms_share = 0;        // nn::paper_norms_share()
  std::string recompute = "none";      // model.recompute with "auto" resolved
  nn::Footprint memory;                // of one optimizer step of one rank

  /// FLOPs of the whole run, without norms.
  double flops() const { return tokens * flops_per_token; }
};

/// The plan of a configuration. A pure function: it reads no file, and allocates no tensor.
/// \param machine     precision: bytes per value; ranks: their shares; free_memory: for
///                    recompute = "auto"
/// \param vocabulary  size of the tokenizer's vocabulary
/// \throws Error (usage) for an invalid shape or scheme
Plan plan_of(const config::Config& config, const Machine& machine, std::int64_t vocabulary);

}  // namespace evenkeel::plan
