// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "evenkeel/norm/scheme.h"
#include "evenkeel/ops/norms/row_norm.h"

/// The second table of norm kinds: one row per kind, with its operators and its reference
/// implementation. The first table, norm/kinds.h, has no torch.
namespace evenkeel::nn {

/// The fused operator of a norm, used on the CPU if kernels.fused is true. `formula`: no operator;
/// the reference implementation (ops/common/reference.h) runs, and autograd saves its intermediate
/// results.
enum class NormPath {
  rms_norm,     // ops::rms_norm
  layer_norm,   // ops::layer_norm
  row_norm,     // ops::row_norm
  affine,       // ops::affine
  column_norm,  // ops::column_norm
  bounded,      // ops::bounded
  seed_norm,    // ops::seed_norm
  formula
};

/// The inputs of a reference implementation: rows, and the fields of the norm as numbers.
struct FormulaInputs {
  at::Tensor x;  // float64; [..., D]; norms over a sequence [B, T, ...], over a batch [n, D]
  double epsilon = 0;
  ops::EpsilonAt epsilon_at = ops::EpsilonAt::inside;
  double partial = 1;
  std::int64_t groups = 1;
  norm::Detach detach = norm::Detach::both;
  std::optional<at::Tensor> alpha, shift;  // [1], float64
  bool fixed_order = false;                // sums the gradients of alpha and shift in a fixed order
};

/// The implementation of one norm kind.
struct NormImplementation {
  norm::Kind kind;
  std::vector<NormPath> operators;              // in order of preference
  at::Tensor (*formula)(const FormulaInputs&);  // before gain and bias; [..., D] float64
  bool has_dynamic_gain = false;                // the gain depends on the row (SeeDNorm)
  bool renormalizes = false;                    // batch_renorm: corrects by running statistics
  bool is_erf = false;                          // NormPath::bounded: erf; false: tanh
};

/// The implementation of a kind.
const NormImplementation& implementation_of(norm::Kind kind);

/// The path that NormLayer runs and footprint() counts: the first operator of the kind that
/// supports the fields of the norm.
/// \param heads  vectors that a norm of scope head normalizes separately; 1 for scope token
NormPath path_of(const norm::Norm& norm, std::int64_t heads);

/// True if ops::qkv_norm_rope() supports the norm: an rms_norm of scope head with one gain for all
/// heads.
bool has_fused_head_norm(const norm::Norm& norm, std::int64_t heads);

}  // namespace evenkeel::nn
