// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace evenkeel::probe {

/// The placement of the norms in one attention head (equations: attention() below).
enum class Placement { pre, pre_qk, qkv };

constexpr std::array<Placement, 3> kPlacements = {Placement::pre, Placement::pre_qk,
                                                  Placement::qkv};

/// "Pre", "Pre + QK", "QKV".
const char* name_of(Placement placement);

/// One value per matrix of a head. Products are x W.
template <typename T>
struct PerWeight {
  T output, value, query, key;
};

/// The members of PerWeight with their names in equations.
template <typename T>
struct NamedWeight {
  const char* name;
  T PerWeight<T>::* member;
};
template <typename T>
constexpr std::array<NamedWeight<T>, 4> kHeadWeights = {{{"W_O", &PerWeight<T>::output},
                                                         {"W_V", &PerWeight<T>::value},
                                                         {"W_Q", &PerWeight<T>::query},
                                                         {"W_K", &PerWeight<T>::key}}};

/// One attention head of the paper's theory: no mask, no rotary embedding, gains 1, epsilon 0, dk =
/// d.
struct Head {
  at::Tensor x;                   // [s, d], float64
  PerWeight<at::Tensor> weights;  // [d, d] each, float64; or [n, d, d]: n heads with the same x
};

/// The output S of a head. N is the RMSNorm of rows without gain, and X_N = N(X):
///
///   Pre       S = softmax(X_N W_Q (X_N W_K)^T / sqrt(dk)) X_N W_V W_O
///   Pre + QK  S = softmax(N(X_N W_Q) N(X_N W_K)^T / sqrt(dk)) X_N W_V W_O
///   QKV       S = softmax(N(X W_Q) N(X W_K)^T / sqrt(dk)) N(X W_V) W_O
///
/// \return [s, d], or [n, s, d], float64
/// \source arXiv:2503.04598, section 4 and Theorem 2
at::Tensor attention(Placement placement, const Head& head);

/// The exact Jacobian dS/dW for each matrix, by automatic differentiation. Entry [i d + k, a, b] is
/// dS_ik / dW_ab. For an output row i, the head is evaluated with d copies of its matrices. Each
/// S_ik uses copy k only, so one backward pass gives d rows of the Jacobian.
/// \return [s d, d, d] each, float64
PerWeight<at::Tensor> jacobians(Placement placement, const Head& head);

/// A head with standard normal x and with random weights of variance 1/d.
/// \param sequence, width  s and d
Head random_head(std::uint64_t seed, std::int64_t sequence, std::int64_t width);

}  // namespace evenkeel::probe
