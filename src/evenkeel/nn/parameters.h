// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::nn {

/// The arithmetic of a model. `bfloat16` is mixed precision: master weights, moments and gains are
/// float32. With `float64` everything is float64.
enum class Precision { float32, bfloat16, float64 };

/// The dtype of matrices and activations in the forward pass.
at::ScalarType compute_dtype(Precision precision);
/// The dtype of master weights, gradients, moments, gains and logits: float32 or float64.
at::ScalarType master_dtype(Precision precision);

/// The tensors of parameters: for training all of them; for inference the values alone.
enum class ParameterUse { training, inference };

/// All n values of the parameters of one role, concatenated in flat tensors. The optimizer updates
/// a group in one pass.
struct ParameterGroup {
  ParameterRole role = ParameterRole::matrix;
  at::Tensor master;    // [n], master_dtype(): updated by the optimizer, written to checkpoints;
                        // for inference undefined unless it is `value`
  at::Tensor value;     // [n], read by the forward pass: `master` itself or its bfloat16 copy
  at::Tensor gradient;  // [n], master_dtype(): memory of Parameters::gradients(); training only
};

/// One parameter. Its tensors are views of the flat tensors of its group.
struct Parameter {
  std::string name;                     // as in ParameterSpec
  std::vector<std::int64_t> shape;      // as in ParameterSpec
  std::size_t group = 0;                // index in Parameters::groups()
  std::int64_t begin = 0;               // index of its first value in the tensors of the group
  at::Tensor master;                    // [shape], master_dtype(); undefined as in its group
  at::Tensor value;                     // [shape], for training a leaf that requires a gradient
  ops::GradientBuffer gradient_buffer;  // accumulated gradient, [shape], master_dtype()

  /// The parameter's slice of a flat tensor with the layout of its group.
  /// \param flat  [n]
  /// \return a view with the parameter's shape
  at::Tensor slice_of(const at::Tensor& flat) const;
};

/// The parameters of a model and their gradients, in flat tensors by role, and its states (PyTorch:
/// buffers), which have no gradient and are not updated by the optimizer.
class Parameters {
 public:
  /// Allocates all tensors. Gradients and states are zeros. Masters and values are uninitialized
  /// until initialize(), or a checkpoint, overwrites all of them.
  Parameters(const std::vector<ParameterSpec>& specs, Precision precision,
             at::Device device = ops::compute_device(), ParameterUse use = ParameterUse::training);

  /// All parameters, in the order of their specs.
  const std::vector<Parameter>& all() const { return all_; }
  /// One group per role that occurs, in the order of ParameterRole.
  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  Precision precision() const { return precision_; }
  /// The device of all tensors.
  at::Device device() const { return device_; }

  /// The value of the parameter of that name; undefined if there is none.
  at::Tensor find(const std::string& name) const;
  /// The parameter of that name.
  /// \throws std::logic_error if there is none
  const Parameter& at(const std::string& name) const;

  /// The state of that name, master_dtype(); undefined if there is none.
  at::Tensor find_state(const std::string& name) const;
  /// All states by name.
  const std::map<std::string, at::Tensor>& states() const { return states_; }

  /// The same parameters and states on another device, as the constructor allocates them.
  Parameters empty_on(at::Device device) const;
  /// Copies all masters, values and states of empty_on() back.
  void copy_from(const Parameters& other);

  /// Frees the memory of all parameters of a role, which keep name and shape; their tensors are
  /// undefined. Tensors that share the memory have undefined values. For inference.
  void release(ParameterRole role);

  /// Rounds every master to the dtype of its value. Call it after each change of masters.
  void copy_masters_to_values();

  /// Empties all gradient buffers. Call it before the first micro-batch of a step. Memory is not
  /// cleared here; gradients() clears buffers that no backward pass wrote.
  void zero_gradients();
  /// Adds .grad of every value to its gradient buffer and resets .grad. Call it after each backward
  /// pass. The sum over micro-batches (gradient accumulation) is float32 even if .grad is bfloat16.
  void accumulate_gradients();
  /// Marks all gradient buffers as written. Call it after a CUDA graph has written them: a graph
  /// repeats the kernels of a backward pass without its function calls.
  void mark_gradients_written();
  /// The sums since zero_gradients(): ParameterGroup::gradient of each group, in order.
  std::vector<at::Tensor> gradients();

 private:
  Precision precision_;
  at::Device device_;
  std::vector<ParameterGroup> groups_;
  std::vector<Parameter> all_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, at::Tensor> states_;
};

}  // namespace evenkeel::nn
