// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/data/windows.h"

namespace evenkeel::evaluate {

/// How many questions of a text a model answers. An answer is what of a document is scored, up to
/// and with the end-of-text (data::ValidationWindows); it is right if each of its tokens is the
/// most probable one after the text before it: what greedy decoding would write.
struct Answers {
  std::int64_t asked = 0, right = 0;

  /// \param likeliest  of the tokens that may follow each input. [rows, context], int64
  void add(const data::Batch& batch, const at::Tensor& likeliest);
  double share() const { return static_cast<double>(right) / static_cast<double>(asked); }
};

}  // namespace evenkeel::evaluate
