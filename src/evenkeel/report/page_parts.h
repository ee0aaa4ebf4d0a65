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

/// The state of a run as a coloured word: `training` becomes "in training", "" "state unknown".
std::string state_text(const Run& run);

/// "200 of 400 steps"; "400 steps" for a finished run, or if the planned number is unknown.
std::string steps_text(const Run& run);

/// A paragraph in place of the content of a file: the reason from Run::missing, or `otherwise` if
/// the file is valid but empty.
std::string missing_text(const Run& run, const std::string& file, std::string_view otherwise);

/// A table with one row per key.
std::string key_value_table(const KeyValues& entries);

/// A table of differing keys: one row per key, one column per run.
std::string differences_table(const std::vector<Run>& runs, const std::vector<Difference>& rows);

/// The style of the curves of one run on a page of several runs: one colour per scheme, one dash
/// pattern per run of the scheme. Indices as in Line (chart.h).
struct LineStyle {
  int colour = 0, dash = 0;
};

/// One style per run, in the order of the runs.
std::vector<LineStyle> line_styles(const std::vector<Run>& runs);

/// A quantity that is charted over steps. The page of one run shows logged values (faint) and their
/// moving mean; the page of several runs shows the moving means.
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
    kOodExactMatch;  // as above; for texts with answers, and for data.ood

/// The number of neighbours on either side in the moving mean of a curve of `points` points.
std::size_t half_window(std::size_t points);

/// A loss with four decimals, since the sampling error of 64 sequences is about 0.001; "–" for NaN.
/// From 100,000 on as in decimal_text().
std::string loss_text(double value);

/// fixed(), but from 100,000 on short_number(): 5160951505.75 becomes "5.161e9".
std::string decimal_text(double value, int decimals);

/// "no data: metrics.jsonl is missing" or "no data: metrics.jsonl has no lr".
std::string no_data(const std::vector<const Run*>& runs, const Quantity& quantity);

}  // namespace evenkeel::report
