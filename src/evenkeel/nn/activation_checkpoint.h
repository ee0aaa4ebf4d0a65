// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace evenkeel::nn {

using Tensors = std::vector<at::Tensor>;

/// A segment of a model as a function of its inputs. It computes the same bits each time.
/// \param is_recomputation  the call comes from the backward pass
using Segment = std::function<Tensors(const Tensors& inputs, bool is_recomputation)>;

/// segment(inputs). Only the inputs are saved: the backward pass recomputes the segment. The
/// gradients of parameters that the segment reads are added where backward() adds them, in the same
/// order and with the same bits as without.
///
/// \param inputs  all defined; one of them at least must need a gradient
/// \source Chen et al. 2016, arXiv:1604.06174
Tensors run_checkpointed(const Segment& segment, const Tensors& inputs);

}  // namespace evenkeel::nn
