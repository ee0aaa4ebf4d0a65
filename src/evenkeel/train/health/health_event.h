// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::train {

/// What the health monitor saw: one line on the console and in health.jsonl.
struct HealthEvent {
  std::string kind;          // "nonfinite", "explosion", "spike", "gradient_spike", "logits", ...
  std::int64_t layer = 0;    // block, from 1; 0: none, or outside the blocks
  std::string tensor;        // "blocks.2.attention.q_norm.gain"; may be empty
  std::string observation;   // "loss 9.1 is 24 deviations above the median of 3.2"
  std::string explanation;   // "one batch or one layer"
  std::string remedy;        // "lower schedule.peak"
  bool is_repeated = false;  // the same event of another block: only in health.jsonl
};

/// "OBSERVATION; block 3, TENSOR: EXPLANATION; try: REMEDY"
std::string line_of(const HealthEvent& event);

}  // namespace evenkeel::train
