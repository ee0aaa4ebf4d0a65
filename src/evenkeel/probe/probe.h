// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/probe/layer_profile.h"

namespace evenkeel::probe {

/// The measures of these names: "all" means those that are measured by default.
std::set<std::string> measures_named(const std::vector<std::string>& names);

/// The result of a probe.
struct ProbeResult {
  double loss = 0;  // nats a token, of the batch
  std::vector<LayerProfile> profiles;

  /// The values of one part of a measure; nullptr if it was not measured.
  const LayerProfile* find(const std::string& measure, const std::string& part = "") const;
};

/// Measures a model on a batch, in training: norms over a batch take their statistics from it, and
/// gradients are those of the batch's mean loss before clipping. Weights and states are afterwards
/// what they were, bit for bit; gradients are zero.
///
/// \param measures  names of measures; update_ratio is not for a single pass, and skipped here
/// \param micro_batch_size     sequences that go through the model at once
/// \param planned  optimizer steps of the run: initial gains may depend on it
ProbeResult run_probe(const nn::Model& model, nn::Parameters& parameters, const data::Batch& batch,
                      const std::set<std::string>& measures, std::int64_t micro_batch_size,
                      std::int64_t planned);

/// A line of probes.jsonl: {"step", "on", "measure", "part", "first", "values"}.
/// \param on  the text that was probed: "training" or "validation"
nlohmann::ordered_json record(std::int64_t step, const std::string& on,
                              const LayerProfile& profile);

/// For people: the measures with one value a layer, a column each and a row a layer; the gradients
/// by part of a block; the gains that moved.
std::string probe_table(const ProbeResult& result);

}  // namespace evenkeel::probe
