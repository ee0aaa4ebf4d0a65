// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/convert/model_class.h"
#include "evenkeel/norm/parameter_specs.h"
#include "evenkeel/norm/scheme.h"

/// The tensors of a Hugging Face model, as parts of the tensors of a checkpoint.
namespace evenkeel::convert {

/// A tensor of a Hugging Face model: factor * x + offset of consecutive elements of one tensor of
/// ours. An export computes it; an import computes x.
struct MappedTensor {
  std::string name;                 // "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;  // of the Hugging Face tensor
  std::string own;                  // "blocks.0.attention.qkv.weight"; empty: a constant, `offset`
  std::int64_t first = 0;           // element of `own`
  double factor = 1, offset = 0;

  /// The number of elements: the product of `shape`.
  std::int64_t numel() const;
};

/// A model whose tensors are mapped.
struct MappedModel {
  const norm::Scheme* scheme = nullptr;
  norm::Steps steps;          // values of t and T
  std::int64_t own_rows = 0;  // rows of our embedding
  std::int64_t rows = 0;      // rows of theirs, at most own_rows
  bool tied = true;
};

/// The tensors of a native class, in the order of the forward pass. The scheme must fit the class.
std::vector<MappedTensor> map_to_class(const MappedModel& model, const ModelClass& model_class);

/// The tensors of EvenkeelForCausalLM, in the order of the forward pass: all parameters and
/// buffers. docs/models.md has the rules of their names.
std::vector<MappedTensor> map_to_evenkeel(const MappedModel& model);

}  // namespace evenkeel::convert
