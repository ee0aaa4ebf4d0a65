// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "evenkeel/nn/rotary.h"

namespace evenkeel::nn {

/// Where the tokens of a pass stand: by which angle their heads are turned, and where their
/// documents begin. Angles go on from one document to the next, since scores depend on distances
/// only.
struct Positions {
  Rotary rotary;
  at::Tensor begins;  // [B, T], int32: the first position that a token sees; undefined: all

  Positions(Rotary turns, at::Tensor documents = {})  // NOLINT: a rotation is one
      : rotary(std::move(turns)), begins(std::move(documents)) {}
};

/// Where the document of each token begins. An end-of-text belongs to the document that it ends.
struct Documents {
  at::Tensor begins;  // [B, T], int32
  at::Tensor next;    // [B], int32: that of the token that would follow
};

/// \param ids    [B, T], int64, the tokens at positions first, first + 1, ...
/// \param end    the id of the end-of-text
/// \param begin  [B], int32: where the documents begin that ids continue; undefined: at 0
Documents documents_of(const at::Tensor& ids, std::int64_t end, std::int64_t first,
                       const at::Tensor& begin);

}  // namespace evenkeel::nn
