// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/exact_match.h"

#include <ATen/ATen.h>

#include "evenkeel/base/error.h"

namespace evenkeel::evaluate {

void ExactMatch::add(const data::Batch& batch, const at::Tensor& predicted) {
  const auto context = static_cast<std::int64_t>(batch.inputs.size()) / batch.rows;
  EK_ASSERT(predicted.sizes() == at::IntArrayRef({batch.rows, context}));
  const auto guesses = predicted.to(at::kCPU, at::kLong).contiguous();
  const auto* const guess = guesses.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    bool all_correct = true;
    for (auto i = row * context; i < (row + 1) * context; ++i) {
      const auto target = batch.targets[static_cast<std::size_t>(i)];
      if (target == data::kIgnoreIndex) continue;
      all_correct = all_correct && guess[i] == target;
      if (target != data::kEndOfText) continue;
      ++total;
      correct += all_correct ? 1 : 0;
      all_correct = true;
    }
  }
}

}  // namespace evenkeel::evaluate
