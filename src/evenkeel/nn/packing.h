// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "evenkeel/nn/attention_inputs.h"

/// Sequences side by side in one row of tokens. Sequences that begin with the same tokens share
/// them: they form a prefix tree, whose tokens are stored once.
namespace evenkeel::nn {

/// Consecutive tokens of the row that continue a sequence. The sequence before them is that of the
/// parent up to `position`, which may leave the parent before its end.
struct PackedSegment {
  std::int64_t first = 0;             // index in the row
  std::int64_t count = 0;             // tokens, at least 1
  std::int64_t position = 0;          // of its first token in the sequence
  std::optional<std::size_t> parent;  // has position - 1; nullopt: position is 0
};

/// The sequences of one row [1, T]. Tokens of the row that are in no segment are padding.
struct Packing {
  std::vector<PackedSegment> segments;

  /// The position in its sequence of each of `tokens` tokens; 0 for padding. [tokens], int64
  at::Tensor positions(std::int64_t tokens) const;

  /// The slices of x along `dim` for all tokens of a sequence, up to the last one of `segment`.
  at::Tensor gather(const at::Tensor& x, std::size_t segment, std::int64_t dim) const;

  /// The start of each token's document as a position of its sequence; 0 for padding.
  /// \param ids  [1, T], int64
  /// \param end  the id of the end-of-text token
  /// \return [1, T], int32
  at::Tensor document_starts(const at::Tensor& ids, std::int64_t end) const;
};

/// Causal attention in each sequence. The bits of a token's result depend on its sequence alone,
/// not on other sequences, nor on which tokens are shared.
/// \param inputs  B = 1, S = T: keys and values of the tokens of the row; `document_starts` as from
///                Packing::document_starts()
/// \param attend  causal_attention() for one sequence, with S >= T
/// \return [1, h, T, dk]; 0 for padding
at::Tensor packed_attention(const AttentionInputs& inputs, const Packing& packing,
                            const std::function<at::Tensor(const AttentionInputs&)>& attend);

}  // namespace evenkeel::nn
