// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The measures that probe.what selects. "all" selects the measures that are on by default.
std::set<std::string> measures_named(const std::vector<std::string>& names);

/// The measures without those of an optimizer step.
std::set<std::string> without_updates(std::set<std::string> measures);

/// The result of a probe.
struct ProbeResult {
  double loss = 0;  // cross-entropy of the batch, nats per token
  std::vector<LayerProfile> profiles;

  /// The profile of one part of a measure; nullptr if it was not measured.
  const LayerProfile* find(const std::string& measure, const std::string& part = "") const;
};

/// Coefficients of the auxiliary losses of training.
struct AuxiliaryLosses {
  config::Experts experts = {};
  double z_loss = 0;  // of the logits
};

/// Computes layer statistics of a model on one batch in training mode, so norms over a batch use
/// its statistics. Gradients are those of an optimizer step before clipping: of the mean loss of
/// the batch and of the auxiliary losses. Weights and buffers are bitwise unchanged afterwards;
/// gradients are zero.
///
/// \param measures          names of measures; without_updates()
/// \param micro_batch_size  sequences per forward pass
/// \param planned           steps of the learning-rate schedule (T): initial gains may depend on it
ProbeResult run_probe(const nn::Model& model, nn::Parameters& parameters,
                      const AuxiliaryLosses& auxiliary, const data::Batch& batch,
                      const std::set<std::string>& measures, std::int64_t micro_batch_size,
                      std::int64_t planned);

/// A line of probes.jsonl: {"step", "on", "measure", "part", "first", "values"}.
/// \param on  the text of the batch: "training" or "validation"
nlohmann::ordered_json record(std::int64_t step, const std::string& on,
                              const LayerProfile& profile);

/// The result as text: a table of the main measures with one column per measure and one row per
/// layer, tables of gradient and weight norms by part of a block, and the gain drifts.
std::string probe_table(const ProbeResult& result);

}  // namespace evenkeel::probe
