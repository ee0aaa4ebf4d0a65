// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace evenkeel::nn {

using Tensors = std::vector<at::Tensor>;

/// A part of a model as a function of what enters it, which computes the same bits each time.
/// \param again  this is the second time, in the backward pass
using Part = std::function<Tensors(const Tensors& inputs, bool again)>;

/// part(inputs), of which only the inputs are kept: the backward pass computes the part again. The
/// gradients of parameters that the part reads are added where backward() adds them, in the same
/// order and with the same bits as without.
///
/// \param inputs  all defined; one of them at least must need a gradient
/// \source Chen et al. 2016, arXiv:1604.06174
Tensors recomputed(const Part& part, const Tensors& inputs);

}  // namespace evenkeel::nn
