// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace evenkeel::ops {

/// A list of inputs, outputs or gradients.
using Tensors = std::vector<at::Tensor>;

/// A segment of a model as a function of its inputs. All calls return equal bits.
/// \param is_recomputation  true in the backward pass
using Segment = std::function<Tensors(const Tensors& inputs, bool is_recomputation)>;

/// segment(inputs) under activation checkpointing, as torch.utils.checkpoint: only the inputs are
/// saved, and the backward pass recomputes the segment. Gradients of parameters in the segment have
/// the order and the bits of a pass without checkpointing.
///
/// \param inputs  all defined; at least one requires a gradient
/// \return the outputs of the segment
/// \source Chen et al. 2016, arXiv:1604.06174
Tensors run_checkpointed(const Segment& segment, const Tensors& inputs);

}  // namespace evenkeel::ops
