// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Names and shapes of the tensors of a model, without torch.
namespace evenkeel::norm {

struct Scheme;
struct Shape;

/// The role of a tensor, which determines weight decay, initial values and dtype.
enum class ParameterRole {
  embedding,  // one row per token; a tied head is the same tensor
  matrix,     // every other matrix, also an untied head; experts are stacked: [E, rows, columns]
  router,     // matrix that selects experts; at least float32
  gain,       // parameters of norms, [n]; at least float32
  scale,      // trained numbers outside norms, [n]; at least float32
  state,      // not trained: updated by forward passes or by the trainer (PyTorch: buffer)
};

/// Name, shape and role of one tensor of a model.
struct ParameterSpec {
  std::string name;                 // "blocks.0.attention.qkv.weight"
  std::vector<std::int64_t> shape;  // matrices [rows, columns], gains, scales and states [n]
  ParameterRole role = ParameterRole::matrix;
  /// The number of values.
  std::int64_t numel() const;
};

/// All parameters and buffers of a model under a scheme, in the order of the forward pass.
/// initialize() gives their initial values.
///
/// \param padded_vocabulary  rows of the embedding and of an untied head
/// \param tied  the head is the embedding
std::vector<ParameterSpec> parameter_specs(const Scheme& scheme, std::int64_t padded_vocabulary,
                                           bool tied);

/// True for a state that each forward pass in training moves, as the running statistics of
/// batch_norm; false for one that the trainer updates. A block with such a state cannot run twice.
bool is_moved_in_forward(const std::string& state_name);

/// Numbers of trained values of a model, without buffers.
struct ParameterCounts {
  std::int64_t total = 0;
  std::int64_t embedding = 0;  // the embedding and an untied head
  std::int64_t norms = 0;      // role `gain`
  std::int64_t without_embedding() const { return total - embedding; }
};
/// Counts by role.
ParameterCounts parameter_counts(const std::vector<ParameterSpec>& specs);

/// The number of parameters that are active for one token: in a mixture of experts, top-k of the
/// stacked experts count.
std::int64_t active_parameters(const std::vector<ParameterSpec>& specs, const Shape& shape);

}  // namespace evenkeel::norm
