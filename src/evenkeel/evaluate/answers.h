// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/data/windows.h"

namespace evenkeel::evaluate {

/// How many questions of a text a model answers. An answer is what stands behind a mark, up to
/// and with the end-of-text; it is right if each of its tokens is the most probable one after the
/// text before it: what greedy decoding would write.
struct Answers {
  std::int64_t asked = 0, right = 0;

  /// \param likeliest  of the tokens that may follow each input. [rows, context], int64
  /// \param mark       the token before an answer; answers that a window cuts off do not count
  void add(const data::Batch& batch, const at::Tensor& likeliest, std::int64_t mark);
  double share() const { return static_cast<double>(right) / static_cast<double>(asked); }
};

}  // namespace evenkeel::evaluate
