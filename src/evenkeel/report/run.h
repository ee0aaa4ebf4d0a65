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
#include "evenkeel/report/task_results.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/run_changes.h"

namespace evenkeel::report {

/// A line of health.jsonl: the step, the name of the event, and the sentence for the user.
struct Event {
  double step = 0;
  std::string name, detail;
};

/// The entropy lower bound of the loss, for a corpus with known probabilities.
struct EntropyFloor {
  double nats_per_byte = 0;   // nats
  double nats_per_token = 0;  // nats
};

/// The content of the files of a run folder. Members of a missing or damaged file stay empty, and
/// `missing` has the reason.
struct Run {
  std::string name;                   // name of the folder
  std::filesystem::path folder;       // as it was given
  std::string scheme, preset, state;  // "": unknown
  double step = 0, steps = 0;         // completed and planned steps; NaN: unknown
  std::string started, updated;       // ISO 8601, UTC; "": unknown
  KeyValues host;                     // of status.json: cores, memory, load

  // Over steps: losses in nats per token, gaps in nats per byte, step time in seconds; clipped is 1
  // for a step whose gradient was clipped, else 0.
  Series loss, learning_rate, gradient_norm, clipped, tokens_per_second, step_seconds;
  Series validation_loss, bits_per_byte, gap;
  Series exact_match;                            // share of correct answers in the validation text
  Series ood_loss, ood_gap, ood_exact_match;     // of data.ood
  Series tokens_over_steps, seconds_over_steps;  // cumulative, of training
  Series memory;                                 // peak resident memory, bytes
  // Totals and extremes of the run.
  double tokens = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  // time of training steps, without evaluations and checkpoints
  double peak_memory = std::numeric_limits<double>::quiet_NaN();  // bytes
  std::optional<double> cpu_contention;  // share of CPU time that other processes took
  std::optional<EntropyFloor> floor;

  // Mixture of experts only.
  Series balance_loss, load, dead_experts, routing_entropy;
  LayerMap expert_load;  // [layer][expert] at the last logged step: tokens / mean

  /// A source of a mixture of texts.
  struct Source {
    double tokens = 0;  // seen in training
    Series loss;        // validation loss over steps, nats per token
  };
  std::map<std::string, Source> sources;  // by name; at most 100
  std::map<std::string, Series> texts;    // loss on evaluate.texts, nats per token; at most 100
  std::vector<TaskResults> tasks;         // evaluations.jsonl

  std::vector<Event> events;
  std::map<std::string, std::size_t> damaged;  // file name -> damaged lines, if there are any
  std::vector<LayerMap> layer_maps;            // probes.jsonl
  std::optional<std::string> config, sample, diagram;  // run.toml, sample.txt, scheme.txt
  KeyValues settings, environment;                     // run.toml, provenance.json
  std::vector<store::RunChange> changes;               // of the settings; provenance.json
  std::map<std::string, std::string> missing;          // file name -> reason why it has no content
};

/// Losses of the records of a run, one sentence each: damaged lines of the files, and the events
/// records_missing of health.jsonl.
std::vector<std::string> record_losses(const Run& run);

/// Reads a run folder. Run::missing names missing and damaged files, and symbolic links, which are
/// not followed.
/// \throws Error (data) if the folder has neither run.toml nor metrics.jsonl
Run read_run(const std::filesystem::path& folder);
Run read_run(const store::Directory& folder);

/// The mean training loss of the last 20 logged steps, or of all of a shorter run, in nats per
/// token; NaN without steps. The measure `loss` of studies: recorded results have this rule. Pages
/// of runs show end_training().
double final_loss(const Run& run);

/// FLOPs of the forward and backward pass of a token: `flops_per_token` of provenance.json, which
/// counts the active experts only; for a run without it, 6 * parameters. 0 if unknown.
double flops_per_token(const Run& run);

}  // namespace evenkeel::report
