// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/report/block_canvas.h"

namespace evenkeel::report {

/// Draws a block at the end of a column: both sublayers, their norms, skip connections and sums.
/// \param experts  of a block with a router; nullptr: a dense block
void put_block(BlockCanvas& canvas, BlockColumn& column, const norm::Scheme& scheme,
               const norm::Block& block, const norm::Experts* experts);

/// The start of the second residual stream at the end of a column.
/// \param is_first  true: it branches off the embedding
void put_dual_start(BlockCanvas& canvas, BlockColumn& column, const norm::Dual& dual,
                    bool is_first);

/// The sum of both residual streams after the last block.
void put_dual_end(BlockCanvas& canvas, BlockColumn& column, const norm::Dual& dual);

}  // namespace evenkeel::report
