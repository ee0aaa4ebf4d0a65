// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/store/safetensors.h"

/// Tensors from and to safetensors files.
namespace evenkeel::train {

/// A view of a tensor for a safetensors file, without a copy.
/// \param tensor  contiguous; must outlive the view
store::TensorView view_of(const std::string& name, const at::Tensor& tensor);

/// Whether a tensor of another dtype is accepted and converted.
enum class CastDtype { no, yes };

/// Overwrites `to` with the tensor `name` of the file.
/// \throws Error (no_checkpoint) that names the file, unless it has the shape and dtype of `to`
void copy_from(const store::Safetensors& file, const std::string& name, at::Tensor to,
               CastDtype cast);

/// Overwrites the master weights of all parameters, the states, and the values that the forward
/// pass reads.
/// \throws Error (no_checkpoint) unless the file holds exactly the parameters of the model
void copy_weights(const store::Safetensors& file, nn::Parameters& parameters, CastDtype cast);

/// A new tensor with the values, shape and dtype of a tensor of the file.
/// \throws Error (data) if the file has none of that name, or its dtype is U16, U32 or U64
at::Tensor tensor_of(const store::Safetensors& file, const std::string& name);

}  // namespace evenkeel::train
