// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "evenkeel/nn/packing.h"
#include "evenkeel/nn/rotary.h"

namespace evenkeel::nn {

/// Positions of the T tokens of a pass: rotary angles and document starts. Angles continue across
/// documents, because scores depend on position differences only.
struct Positions {
  Rotary rotary;
  at::Tensor document_starts;        // [B, T], int32: first visible position; undefined: 0
  const Packing* packing = nullptr;  // null: each row is one sequence

  Positions(Rotary rope, at::Tensor starts = {}, const Packing* pack = nullptr)  // NOLINT
      : rotary(std::move(rope)), document_starts(std::move(starts)), packing(pack) {}
};

/// The start position of the document of each token. An end-of-text token belongs to the document
/// that it ends.
struct DocumentStarts {
  at::Tensor of_tokens;  // [B, T], int32
  at::Tensor next;       // [B], int32: document start of the next token
};

/// Finds the document starts in a batch.
/// \param ids    [B, T], int64: the tokens at positions first, first + 1, ...
/// \param end    the id of the end-of-text token
/// \param before  [B], int32: the starts of the documents that `ids` continues; undefined: 0
DocumentStarts find_document_starts(const at::Tensor& ids, std::int64_t end, std::int64_t first,
                                    const at::Tensor& before);

}  // namespace evenkeel::nn
