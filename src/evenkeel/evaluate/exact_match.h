// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/data/windows.h"

namespace evenkeel::evaluate {

/// Exact match of the answers in a text. An answer is the scored part of a document, including its
/// end-of-text token (data::ValidationWindows). It is correct if the model gives each of its tokens
/// the highest probability after the text before that token, as in greedy decoding.
struct ExactMatch {
  std::int64_t total = 0;    // answers
  std::int64_t correct = 0;  // correct answers

  /// Adds the answers of a batch.
  /// \param predicted  the most probable token after each input. [rows, context], int64
  void add(const data::Batch& batch, const at::Tensor& predicted);
  /// correct / total; NaN without answers.
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(total); }
};

}  // namespace evenkeel::evaluate
