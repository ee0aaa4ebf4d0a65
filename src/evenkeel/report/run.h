// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/flattened.h"
#include "evenkeel/report/layer_map.h"
#include "evenkeel/report/series.h"

namespace evenkeel::report {

/// A line of health.jsonl.
struct Event {
  double step = 0;
  std::string name, detail;
};

/// The floor of the loss: the entropy of a corpus with known probabilities.
struct EntropyFloor {
  double nats_per_byte = 0;   // nats
  double nats_per_token = 0;  // nats
};

/// The content of a run folder's files. The members of a missing or damaged file stay empty;
/// `missing` says why.
struct Run {
  std::string name;                   // of the folder
  std::string scheme, preset, state;  // "" where not known
  double step = 0, steps = 0;         // done, planned; NaN where not known

  // Over steps.
  Series loss, learning_rate, gradient_norm, clipped, tokens_per_second, step_seconds;
  Series validation_loss, bits_per_byte, gap;
  Series exact_match;                         // share of the validation text's answers got right
  Series ood_loss, ood_gap, ood_exact_match;  // of data.ood
  double tokens = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  // in training steps: without evaluations and checkpoints
  double peak_memory = std::numeric_limits<double>::quiet_NaN();  // bytes
  std::optional<double> cpu_contention;  // share of CPU time that other processes took
  std::optional<EntropyFloor> floor;

  // Of a mixture of experts.
  Series balance_loss, load, dead_experts, routing_entropy;
  LayerMap expert_load;  // blocks by expert, from 1, at the last logged step: choices over the mean

  std::vector<Event> events;
  std::vector<LayerMap> layer_maps;                    // probes.jsonl
  std::optional<std::string> config, sample, diagram;  // run.toml, sample.txt, scheme.txt
  KeyValues settings, environment;                     // run.toml, provenance.json
  std::map<std::string, std::string> missing;          // file -> why it has nothing to show
};

/// Reads a run folder; files that are missing or damaged are named in `missing`.
/// \throws Error (data) if the folder has neither run.toml nor metrics.jsonl
Run read_run(const std::filesystem::path& folder);

/// The mean training loss of the last 20 logged steps.
double final_loss(const Run& run);

/// Of how many logged steps final_loss() is the mean.
std::size_t final_loss_count(const Run& run);

}  // namespace evenkeel::report
