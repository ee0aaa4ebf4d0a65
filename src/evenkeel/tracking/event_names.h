// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// The tags of TensorBoard for the fields of a run's records. Most are the names of OLMo-core.
/// docs/tracking.md has the table.
namespace evenkeel::tracking {

/// A value of a tag, serialized (tracking/event.h).
struct TaggedValue {
  std::string tag;
  std::string bytes;
};

/// The scalars of a line of metrics.jsonl: of a training step or an evaluation. A number that is
/// not finite, null in the file, is NaN.
std::vector<TaggedValue> metric_values(const nlohmann::ordered_json& line);

/// The scalar of a line of evaluations.jsonl: "eval/downstream/LABEL_METRIC".
std::vector<TaggedValue> task_values(const nlohmann::ordered_json& line);

/// The scalars of a line of probes.jsonl, "probe/grad_norm/block 01", and the histogram of the
/// gradient norms over blocks. A layer without a value has no scalar.
/// \param layers  blocks of the model
std::vector<TaggedValue> probe_values(const nlohmann::ordered_json& line, std::int64_t layers);

}  // namespace evenkeel::tracking
