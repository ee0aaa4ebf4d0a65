// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/report/flattened.h"
#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// `<section>` with a heading. \param content  HTML
std::string section(std::string_view heading, std::string_view content);

/// `training` -> "in training": the state as a coloured word, or "state unknown".
std::string state_text(const Run& run);

/// "400 of 400 steps"; "400 steps" where these are all, or the plan is not known.
std::string steps_text(const Run& run);

/// A paragraph in place of a file's content: why the file cannot be shown, or `otherwise` if the
/// file is there and has none.
std::string missing_text(const Run& run, const std::string& file, std::string_view otherwise);

/// A table of keys and values, one a row.
std::string key_value_table(const KeyValues& entries);

/// A table of the keys that differ: one row a key, one column a run.
std::string differences_table(const std::vector<Run>& runs, const std::vector<Difference>& rows);

/// The style of a run's curves on a page of several runs: one colour a scheme, one dash pattern a
/// run of that scheme. Indices into the palette of chart.h.
struct LineStyle {
  int colour = 0, dash = 0;
};

/// A style for each run, in the order of the runs.
std::vector<LineStyle> line_styles(const std::vector<Run>& runs);

/// The chart of one measured quantity over steps: what was logged, faintly, and its moving mean.
/// With many runs the mean alone, one colour and pattern a run.
struct Quantity {
  const char* title;
  const char* unit;
  const char* key;  // of metrics.jsonl
  Series Run::* values;
};

extern const Quantity kLoss, kLearningRate, kGradientNorm, kThroughput;
extern const Quantity kLoad, kBalance;           // of a mixture of experts
extern const Quantity kValidation, kBits, kGap;  // measured on evaluation only
extern const Quantity kExactMatch, kOodLoss,
    kOodExactMatch;  // the same, where the text has answers, data.ood

/// How many neighbours on either side the moving mean takes for this many points.
std::size_t half_window(std::size_t points);

/// "no data: metrics.jsonl is missing" or "no data: metrics.jsonl has no lr".
std::string no_data(const std::vector<const Run*>& runs, const Quantity& quantity);

}  // namespace evenkeel::report
