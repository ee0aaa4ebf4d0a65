// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/measures.h"

#include <array>

namespace evenkeel::config {

namespace {

constexpr std::array kMeasures = {
    Measure{"grad_norm", "L2 norm of the loss gradient: of a block, its parts and its parameters"},
    Measure{"stream_rms", "root mean square of the residual stream that leaves a block"},
    Measure{"stream_max", "largest magnitude of the residual stream that leaves a block"},
    Measure{"branch_ratio", "rms of a branch, before any scale, over rms of the stream before it"},
    Measure{"kurtosis",
            "kurtosis of the features of a token, mean over tokens; 3 if they are normal"},
    Measure{"outlier_share", "share of the entries above 6 times the rms of their token"},
    Measure{"token_mean", "magnitude of the mean of a token over its rms, mean over tokens"},
    Measure{"attention_entropy",
            "entropy of the weights of a query, mean over batch, heads, queries; nats"},
    Measure{"attention_logit_max", "largest score of a head, after scale, before cap"},
    Measure{"token_cosine", "cosine of the stream at two positions, mean over pairs"},
    Measure{"effective_rank", "exp of the entropy of the singular values of the centred stream"},
    Measure{"block_angle",
            "angle between input and output stream of a block, mean over tokens; in pi"},
    Measure{.name = "router_entropy",
            .meaning = "entropy of a token's probabilities over the experts, mean; nats",
            .of_experts = true},
    Measure{.name = "router_logit_max",
            .meaning = "largest magnitude of a router's logits",
            .of_experts = true},
    Measure{.name = "expert_load",
            .meaning = "choices of a block's busiest expert over the mean of all",
            .of_experts = true},
    Measure{.name = "dead_experts",
            .meaning = "share of a block's experts that no token chose",
            .of_experts = true},
    Measure{"gain_drift", "change of a norm's gain since the start: mean and largest magnitude"},
    Measure{.name = "update_ratio",
            .meaning = "L2 norm of an optimizer step over that of the parameter; inside a run",
            .of_update = true},
    Measure{"sparse_attention", "share of the queries that give one key more than half", false},
    Measure{"circuit_collapse",
            "share of sparse queries whose key changes under noise on key lengths", false},
    Measure{"skip_loss", "rise of the loss when a block is left out; nats a token", false},
    Measure{"weight_norm", "L2 norm of the weights: of a block, its parts and its parameters",
            false},
    Measure{"stream_jacobian", "rms gain of a random gradient from the last stream to a block's",
            false},
    Measure{
        .name = "stream_shift",
        .meaning =
            "L2 norm of an optimizer step's change of the stream over the stream's; inside a run",
        .by_default = false,
        .of_update = true},
};

}  // namespace

const std::vector<Measure>& measures() {
  static const std::vector<Measure> all(kMeasures.begin(), kMeasures.end());
  return all;
}

const Measure* measure_named(const std::string& name) {
  for (const auto& measure : measures()) {
    if (measure.name == name) return &measure;
  }
  return nullptr;
}

std::vector<std::string> measure_names() {
  std::vector<std::string> names = {"all"};
  for (const auto& measure : measures()) names.emplace_back(measure.name);
  return names;
}

}  // namespace evenkeel::config
