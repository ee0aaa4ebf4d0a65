// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/answers.h"

#include <ATen/ATen.h>

#include "evenkeel/base/error.h"

namespace evenkeel::evaluate {

void Answers::add(const data::Batch& batch, const at::Tensor& likeliest) {
  const auto context = static_cast<std::int64_t>(batch.inputs.size()) / batch.rows;
  EK_ASSERT(likeliest.sizes() == at::IntArrayRef({batch.rows, context}));
  const auto guesses = likeliest.to(at::kLong).contiguous();
  const auto* const guess = guesses.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    bool good = true;
    for (auto i = row * context; i < (row + 1) * context; ++i) {
      const auto target = batch.targets[static_cast<std::size_t>(i)];
      if (target == data::kIgnoreIndex) continue;
      good = good && guess[i] == target;
      if (target != data::kEndOfText) continue;
      ++asked;
      right += good ? 1 : 0;
      good = true;
    }
  }
}

}  // namespace evenkeel::evaluate
