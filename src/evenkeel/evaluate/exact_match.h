// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/data/windows.h"

namespace evenkeel::evaluate {

/// The exact match of the answers in a text. An answer is the scored part of a document,
/// end-of-text included (data::ValidationWindows). It is correct if each of its tokens has the
/// largest logit, as in greedy decoding with the correct tokens before it.
struct ExactMatch {
  std::int64_t total = 0, correct = 0;

  /// Counts the answers of a batch.
  /// \param predicted  [B, T], int64: the most probable next token after each input
  void add(const data::Batch& batch, const at::Tensor& predicted);
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(total); }
};

}  // namespace evenkeel::evaluate
