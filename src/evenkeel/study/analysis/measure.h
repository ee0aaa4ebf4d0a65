// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/report/run.h"
#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// A kind of measure: TOML key, name and unit in reports, and value.
struct MeasureRow {
  Measure::Kind kind;
  std::string key;                      // `measure = "val_loss"`
  std::string name;                     // "validation loss"
  std::string unit;                     // "nats per token"; "" without a unit
  double (*value)(const report::Run&);  // NaN if not recorded
};

/// The kinds that are named by one word, in the order of the enumerators.
const std::vector<MeasureRow>& measure_rows();

/// The row of a kind; nullptr for the other kinds.
const MeasureRow* measure_row(Measure::Kind kind);

/// The value of a measure in a run; NaN if not recorded.
double measured_value(const report::Run& run, const Measure& measure);

/// True for a probe of a given step: what happens to the run later does not change its value.
bool outlives_failure(const Measure& measure);

/// False for probes and step times, which also compare models that see later tokens with others.
bool is_of_predictions(const Measure& measure);

/// The value of a measure in the run of a seed; NaN if it is not recorded, or if the run did not
/// finish and the measure does not outlive that.
double seed_run_value(const SeedRun& seed_run, const Measure& measure);

/// The validation loss after a share of the steps.
Measure loss_after(double share);

/// The measure of a study, then those of its claims that are of one run, then the validation losses
/// of Study::loss_shares, each once.
std::vector<Measure> measures_of(const Study& study);

/// The median step time over logged steps, in ms; NaN without logged steps.
double median_step_milliseconds(const report::Run& run);

/// Checks that runs of this configuration record the measure.
/// \throws Error (usage) for a task that is not scored, a probe that is not taken at that step, a
/// gap for a text of unknown
///         entropy, or a step time if runs are not `exclusive`
void check_measure(const Measure& measure, const config::Config& config, bool exclusive);

/// The reason why a run counts as failed: it diverged, or its last validation loss is not finite or
/// is above `fails_above`; "" if the run did not fail.
/// \param fails_above  nats per token; 0: no limit
std::string failure_reason(const report::Run& run, double fails_above);

/// True for a reason of failure_reason() that another `fails_above` may remove.
bool is_of_threshold(const std::string& failure_reason);

}  // namespace evenkeel::study
