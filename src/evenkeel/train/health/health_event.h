// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::train {

/// A failure that the health monitor found. It is one line on the console and in health.jsonl.
struct HealthEvent {
  std::string kind;          // "nonfinite", "explosion", "spike", "gradient_spike", "logits", ...
  std::int64_t layer = 0;    // block, from 1; 0: the failure is not in a single block
  std::string tensor;        // "blocks.2.attention.q_norm.gain"; may be empty
  std::string observation;   // "loss 9.1 is 24 deviations above the median of 3.2"
  std::string explanation;   // "one batch or one layer"
  std::string remedy;        // "lower schedule.peak"
  bool is_repeated = false;  // not the first event of its kind in this step: health.jsonl only
};

/// "OBSERVATION; block 3, TENSOR: EXPLANATION; try: REMEDY"
std::string line_of(const HealthEvent& event);

}  // namespace evenkeel::train
