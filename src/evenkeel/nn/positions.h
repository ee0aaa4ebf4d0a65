// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "evenkeel/nn/rotary.h"

namespace evenkeel::nn {

/// The positions of the tokens of a pass: the rotary angles of their heads, and the starts of their
/// documents. Angles continue from one document to the next, since scores depend on distances
/// only.
struct Positions {
  Rotary rotary;
  at::Tensor document_starts;  // [B, T], int32: the first position that a token sees; undefined: 0

  Positions(Rotary rope, at::Tensor starts = {})  // NOLINT: a rotation is one
      : rotary(std::move(rope)), document_starts(std::move(starts)) {}
};

/// The start of each token's document. An end-of-text belongs to the document that it ends.
struct DocumentStarts {
  at::Tensor of_tokens;  // [B, T], int32
  at::Tensor next;       // [B], int32: of the token that would follow
};

/// \param ids    [B, T], int64, the tokens at positions first, first + 1, ...
/// \param end    the id of the end-of-text
/// \param before  [B], int32: the starts of the documents that ids continue; undefined: 0
DocumentStarts find_document_starts(const at::Tensor& ids, std::int64_t end, std::int64_t first,
                                    const at::Tensor& before);

}  // namespace evenkeel::nn
