// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The content of TensorBoard's event files. A file is a sequence of records:
///
///   length of the event (uint64), masked CRC-32C of these 8 bytes (uint32),
///   the event (a protobuf message), masked CRC-32C of the event (uint32)
///
/// \source tensorboard/compat/proto/{event,summary,histogram,tensor}.proto of TensorBoard 2.21
namespace evenkeel::tracking {

/// A hyperparameter, as the HPARAMS tab shows it: "schedule.peak", 0.004.
struct HParam {
  std::string name;
  std::variant<double, bool, std::string> value;
};

/// The value of a tag in a summary, serialized.
std::string scalar_value(std::string_view tag, float value);

/// A histogram of some numbers in at most 30 buckets of equal width. NaN and infinity are left out.
std::string histogram_value(std::string_view tag, const std::vector<double>& numbers);

/// A text, which TensorBoard renders as Markdown.
std::string text_value(std::string_view tag, std::string_view text);

/// The hyperparameters of a run. \param start  of the run, seconds since 1970
std::string hparams_value(const std::vector<HParam>& hparams, double start);

/// The first record of a file.
/// \param wall_time  of all records: seconds since 1970
std::string version_record(double wall_time);

/// The record that makes TensorBoard forget values of this and later steps (SessionLog START).
std::string start_record(double wall_time, std::int64_t step);

/// A record with values of one step. \param values  each from one of the functions above
std::string summary_record(double wall_time, std::int64_t step,
                           const std::vector<std::string>& values);

/// A record around a serialized event.
std::string record_around(std::string_view event);

}  // namespace evenkeel::tracking
