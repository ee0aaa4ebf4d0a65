// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::nn {

/// The arithmetic of a model. Masters, moments and gains are float32 beside bfloat16 weights; in
/// float64 everything is float64.
enum class Precision { float32, bfloat16, float64 };

at::ScalarType compute_dtype(Precision precision);
at::ScalarType master_dtype(Precision precision);

/// All parameters of one role, one after another in one buffer each: one pass of the optimizer,
/// no work per tensor.
struct ParameterGroup {
  ParameterRole role = ParameterRole::matrix;
  at::Tensor master;    // [n], float32 or float64: what the optimizer changes and checkpoints hold
  at::Tensor value;     // [n], what the forward pass reads: master itself, or a bfloat16 copy of it
  at::Tensor gradient;  // [n], of master's dtype: the memory of gradients()
};

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t group = 0;   // of Parameters::groups()
  std::int64_t begin = 0;  // where it starts in the group's buffers
  at::Tensor master;       // a view of its group's master
  at::Tensor value;        // a leaf that requires a gradient; a view of its group's value
  ops::GradientBuffer gradient_buffer;  // of its gradients, in a view of its group's gradient

  /// The parameter's slice of a flat tensor with the layout of its group, as a view.
  at::Tensor slice_of(const at::Tensor& flat) const;
};

/// The parameters of a model and their gradients, in flat buffers by role; and its states, the
/// tensors that no optimizer sees.
class Parameters {
 public:
  /// All zeros: initialize() fills them.
  Parameters(const std::vector<ParameterSpec>& specs, Precision precision);

  const std::vector<Parameter>& all() const { return all_; }
  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  Precision precision() const { return precision_; }

  /// The tensor that the forward pass reads; undefined if the model has none of that name.
  at::Tensor find(const std::string& name) const;
  /// \throws std::logic_error if there is none
  const Parameter& at(const std::string& name) const;

  /// A state: a tensor without a gradient (torch: a buffer); undefined if there is none of that
  /// name.
  at::Tensor find_state(const std::string& name) const;
  /// All of them, by name.
  const std::map<std::string, at::Tensor>& states() const { return states_; }

  /// Copies every master into its value, rounded to the value's dtype; after masters were changed.
  void copy_masters_to_values();

  /// Makes all sums empty. Their memory is not cleared: gradients() does that where nothing is
  /// added.
  void zero_gradients();
  /// After each backward pass: adds what autograd left in .grad to the gradients, in
  /// bfloat16 beside bfloat16. Micro-batches are thus summed in float32
  /// (gradient accumulation).
  void accumulate_gradients();
  /// Those of groups(), in order, with all that was added since zero_gradients().
  std::vector<at::Tensor> gradients();

 private:
  Precision precision_;
  std::vector<ParameterGroup> groups_;
  std::vector<Parameter> all_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, at::Tensor> states_;
};

}  // namespace evenkeel::nn
