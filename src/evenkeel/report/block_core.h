// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/report/block_canvas.h"

namespace evenkeel::report {

/// The operations of attention, in a frame: projections, norms of q, k and v, softmax, the norm of
/// the context, the output projection.
void put_attention(BlockCanvas& canvas, BlockColumn& column, const norm::Attention& attention);

/// The operations of a feed-forward sublayer (SwiGLU), in a frame.
/// \param experts  of a mixture of experts; nullptr: dense
void put_feed_forward(BlockCanvas& canvas, BlockColumn& column, const norm::FeedForward& parts,
                      const norm::Experts* experts);

}  // namespace evenkeel::report
