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

/// The measures of probe.what: "all" stands for the measures that are on by default.
std::set<std::string> measures_named(const std::vector<std::string>& names);

/// The result of a probe.
struct ProbeResult {
  double loss = 0;  // cross-entropy of the batch, nats a token
  std::vector<LayerProfile> profiles;

  /// The values of one part of a measure; nullptr if it was not measured.
  const LayerProfile* find(const std::string& measure, const std::string& part = "") const;
};

/// Measures a model on a batch in training mode: norms over a batch take their statistics from it.
/// Gradients are those of the batch's mean loss, before clipping. Weights and states do not change,
/// bit for bit; gradients are zero afterwards.
///
/// \param measures  names of measures; update_ratio needs an update and is skipped here
/// \param micro_batch_size  sequences that go through the model at once
/// \param planned  optimizer steps of the run: initial gains may depend on it
ProbeResult run_probe(const nn::Model& model, nn::Parameters& parameters, const data::Batch& batch,
                      const std::set<std::string>& measures, std::int64_t micro_batch_size,
                      std::int64_t planned);

/// A line of probes.jsonl: {"step", "on", "measure", "part", "first", "values"}.
/// \param on  the text that was probed: "training" or "validation"
nlohmann::ordered_json record(std::int64_t step, const std::string& on,
                              const LayerProfile& profile);

/// The result as text: a table of the main measures, one column a measure and one row a layer; a
/// table of gradient norms by part of a block; the gains that moved.
std::string probe_table(const ProbeResult& result);

}  // namespace evenkeel::probe
