// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/nn/attention.h"
#include "evenkeel/nn/feed_forward.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/pass.h"
#include "evenkeel/nn/positions.h"
#include "evenkeel/nn/residual.h"
#include "evenkeel/nn/residual_stream.h"
#include "evenkeel/nn/step_number.h"

/// One block of the transformer. A sublayer with the branch F (attention or feed-forward) computes,
/// from the residual stream x and, in a scheme with two streams, y:
///
///   base = x, or x + dual_norm(y)
///   read = input_norm(base)
///   out  = output_norm(F(read))
///   y'   = y + write_y * out
///   x'   = residual_norm(skip_scale * (taps of the skip connection) + branch_scale * out)
///
/// An empty slot is the identity. nn/residual.h has the last line in full.
/// In a parallel block both branches start from the same x:
///
///   x' = residual_norm(skip + branch_scale_a * attention + branch_scale_f * feed_forward)
namespace evenkeel::nn {

/// The norms and the skip connection around the branch of one sublayer.
struct SublayerConnection {
  std::optional<NormLayer> dual;           // norm of y, if the sublayer reads x + norm(y)
  std::optional<NormLayer> input, output;  // norms before and after the branch
  ResidualRule rule;
  StepNumber write_y;  // factor of the branch output that is added to y
};

/// The layers of one block and the options that its forward pass needs.
struct Block {
  std::int64_t l = 0;  // layer index, from 1
  SublayerConnection attention_connection, feed_forward_connection;
  Attention attention;
  FeedForward feed_forward;                 // unused with a mixture
  std::optional<MixtureOfExperts> mixture;  // in place of feed_forward
  bool is_parallel = false;                 // both sublayers read the same stream
  bool shares_input = false;    // parallel: both branches read the input norm of attention
  bool taps_its_input = false;  // a skip connection reads the block's input
  bool fused = true;            // false: reference implementations (ops/common/reference.h)
  Recompute recompute = Recompute::none;
};

/// The state between two blocks.
struct BlockState {
  ResidualStream x;        // [B, T, D]
  at::Tensor y;            // [B, T, D]; undefined in a scheme with one stream
  at::Tensor block_input;  // [B, T, D]: input of the current block, if a skip connection reads it
  at::Tensor router;       // [2]: sums of RouterLosses over previous blocks; undefined: none yet
};

/// Runs one block.
/// \param state      in: the state before the block; out: the state after it
/// \param positions  positions of the tokens of x
void run_block(BlockState& state, const Block& block, const Pass& pass, const Positions& positions);

/// run_block() under activation checkpointing: only the streams before the block are saved, and the
/// backward pass recomputes the block. Results are bitwise identical.
/// \source Chen et al. 2016, arXiv:1604.06174
void run_block_checkpointed(BlockState& state, const Block& block, const Pass& pass,
                            const Positions& positions);

/// Re-evaluates all expressions of the block.
/// \param variables  norm::Shape::variables_of_block() at the new step
/// \return true if an expression names t, the step
bool set_step(Block& block, const norm::Variables& variables);

}  // namespace evenkeel::nn
