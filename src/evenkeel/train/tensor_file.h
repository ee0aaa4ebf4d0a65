// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/store/safetensors_stream.h"

/// Conversion between tensors and safetensors files.
namespace evenkeel::train {

/// A tensor for a safetensors file: a view, or of a tensor on a GPU a copy.
/// \param tensor  contiguous; on the CPU it must outlive the view
store::TensorView view_of(const std::string& name, const at::Tensor& tensor);

/// Whether a tensor of another dtype is converted (yes) or an error (no).
enum class CastDtype { no, yes };

/// Compares a tensor of a file with the one that a model needs.
/// \throws Error (no_checkpoint, exit code 77), with the file's path, if the file has no such
/// tensor,
///         or shape or dtype differ
void check_tensor(const store::SafetensorsStream& file, const std::string& name,
                  at::ScalarType dtype, const std::vector<std::int64_t>& shape);

/// Compares the tensors of a file with those of a model before the model is built: an edited
/// configuration could ask for more memory than the file has values.
/// \throws Error (no_checkpoint, exit code 77), as copy_weights() does
void check_tensors(const store::SafetensorsStream& file,
                   const std::vector<nn::ParameterSpec>& specs, nn::Precision precision);

/// Reads all weights and states from the file into the tensors of a model, and updates the
/// compute-precision copies of the weights. No tensor is in memory a second time.
/// \throws Error (no_checkpoint, exit code 77) unless the file has exactly the model's parameters;
///         Error (io, 74) on a read error
void copy_weights(const store::SafetensorsStream& file, nn::Parameters& parameters, CastDtype cast);

/// A new tensor with the values, shape and dtype of a tensor of the file.
/// \throws Error (data, exit code 65) if the file has no such tensor, or its dtype is U16, U32 or
///         U64
at::Tensor tensor_of(const store::Safetensors& file, const std::string& name);

}  // namespace evenkeel::train
