// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/report/run.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// A kind of measure as one row: its name in TOML, its words in reports, its value.
struct MeasureRow {
  Measure::Kind kind;
  std::string key;                      // `measure = "val_loss"`
  std::string name;                     // "validation loss"
  std::string unit;                     // "nats per token"; "" without a unit
  double (*value)(const report::Run&);  // NaN if the run did not measure it
};

/// All kinds but Measure::Kind::probe, in the order of the enumerators.
const std::vector<MeasureRow>& measure_rows();

/// The row of a kind; nullptr for Measure::Kind::probe.
const MeasureRow* measure_row(Measure::Kind kind);

/// The measure of a run; NaN if the run did not record it.
double measured_value(const report::Run& run, const Measure& measure);

/// The median of the logged step times in milliseconds; NaN without any.
double median_step_milliseconds(const report::Run& run);

/// \throws Error (usage) if runs of this configuration do not record it: a probe at that step, the
///         entropy of text that has none; a time, where runs are not `exclusive`
void check_measure(const Measure& measure, const config::Config& config, bool exclusive);

/// Why a run counts as failed: it diverged, or its last validation loss is not finite or above
/// `fails_above` (0: only the former); "" if it did not.
std::string failure_reason(const report::Run& run, double fails_above);

}  // namespace evenkeel::study
