// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/store/safetensors.h"

/// Tensors to and from safetensors files.
namespace evenkeel::train {

/// \param tensor  contiguous; must outlive the view
store::TensorView view_of(const std::string& name, const at::Tensor& tensor);

/// Whether a tensor of another dtype is accepted and converted.
enum class CastDtype { no, yes };

/// Overwrites `to` with the tensor of that name.
/// \throws Error (no_checkpoint) that names the file, unless it has the shape and dtype of `to`
void copy_from(const store::Safetensors& file, const std::string& name, at::Tensor to,
               CastDtype cast);

/// Overwrites the masters of all parameters, and what the forward pass reads.
/// \throws Error (no_checkpoint) unless the file holds exactly the parameters of the model
void copy_weights(const store::Safetensors& file, nn::Parameters& parameters, CastDtype cast);

/// A tensor of the file as a new tensor of its own dtype.
/// \throws Error (data) if there is none, or of a dtype that LibTorch does not have
at::Tensor tensor_of(const store::Safetensors& file, const std::string& name);

}  // namespace evenkeel::train
