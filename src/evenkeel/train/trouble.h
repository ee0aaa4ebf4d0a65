// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::train {

/// What the health monitor saw: one line on the console and in health.jsonl.
struct Trouble {
  std::string event;         // "nonfinite", "explosion", "spike", "gradient_spike", "logits", ...
  std::int64_t layer = 0;    // block, from 1; 0: none, or outside the blocks
  std::string tensor;        // "blocks.2.attention.q_norm.gain"; may be empty
  std::string seen;          // "loss 9.1 is 24 deviations above the median of 3.2"
  std::string meaning;       // "one batch or one layer"
  std::string remedy;        // "lower schedule.peak"
  bool is_repeated = false;  // the same was told of another block: only in health.jsonl
};

/// "SEEN; block 3, TENSOR: MEANING; try: REMEDY"
std::string line_of(const Trouble& trouble);

}  // namespace evenkeel::train
