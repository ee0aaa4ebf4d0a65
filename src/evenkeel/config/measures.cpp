// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/measures.h"

namespace evenkeel::config {

const std::vector<Measure>& measures() {
  static const std::vector<Measure> all = {
      {"grad_norm", "length of the loss gradient: of a block, its parts and its parameters"},
      {"stream_rms", "root mean square of the residual stream that leaves a block"},
      {"stream_max", "largest magnitude of the residual stream that leaves a block"},
      {"branch_ratio", "rms of a branch, before any scale, over rms of the stream before it"},
      {"kurtosis", "kurtosis of the features of a token, mean over tokens; 3 if they are normal"},
      {"outlier_share", "share of the entries above 6 times the rms of their token"},
      {"token_mean", "magnitude of the mean of a token over its rms, mean over tokens"},
      {"attention_entropy",
       "entropy of the weights of a query, mean over batch, heads, queries; nats"},
      {"attention_logit_max", "largest score of a head, after scale, before cap"},
      {"token_cosine", "cosine of the stream at two positions, mean over pairs"},
      {"effective_rank", "exp of the entropy of the singular values of the centred stream"},
      {"block_angle", "angle between input and output stream of a block, mean over tokens; in pi"},
      {"router_entropy", "entropy of a token's probabilities over the experts, mean; nats"},
      {"router_logit_max", "largest magnitude of a router's logits"},
      {"expert_load", "choices of a block's busiest expert over the mean of all"},
      {"dead_experts", "share of a block's experts that no token chose"},
      {"gain_drift", "change of a norm's gain since the start: mean and largest magnitude"},
      {.name = "update_ratio",
       .meaning = "length of an optimizer step over that of the parameter; inside a run",
       .of_update = true},
      {"sparse_attention", "share of the queries that give one key more than half", false},
      {"circuit_collapse", "share of sparse queries whose key changes under noise on key lengths",
       false},
      {"skip_loss", "rise of the loss when a block is left out; nats a token", false},
      {"weight_norm", "length of the weights: of a block, its parts and its parameters", false},
      {"stream_jacobian", "rms gain of a random gradient from the last stream to a block's", false},
      {.name = "stream_shift",
       .meaning =
           "change of the residual stream by an optimizer step over its length; inside a run",
       .by_default = false,
       .of_update = true},
  };
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
