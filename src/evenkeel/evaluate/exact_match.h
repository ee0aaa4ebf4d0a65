// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/data/windows.h"

namespace evenkeel::evaluate {

/// Exact match of the answers in a text. An answer is the scored part of a document, up to
/// and with the end-of-text (data::ValidationWindows); it is correct if each of its tokens is the
/// most probable one after the text before it, as in greedy decoding.
struct ExactMatch {
  std::int64_t total = 0, correct = 0;

  /// \param predicted  of the tokens that may follow each input. [rows, context], int64
  void add(const data::Batch& batch, const at::Tensor& predicted);
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(total); }
};

}  // namespace evenkeel::evaluate
