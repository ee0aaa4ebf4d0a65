// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::nn {

/// Which experts N tokens go to, k of E each, and where their rows lie once sorted by expert. No
/// token is left out, and there is no padding: N k rows.
struct Routes {
  at::Tensor chosen;  // [N, k], int64: experts, the largest score first
  at::Tensor order;   // [N k], int64: the choice, token * k + j, whose row lies there
  at::Tensor token;   // [N k], int64: its token
  at::Tensor place;   // [N, k], int64: where the row of a choice lies
  at::Tensor starts;  // [E + 1], int64: where the rows of an expert begin, in the order of tokens
  std::int64_t tokens() const { return chosen.size(0); }
  std::int64_t active() const { return chosen.size(1); }
  std::int64_t experts() const { return starts.size(0) - 1; }
  /// Rows of each expert. [E], int64
  at::Tensor counts() const;
};

/// The k largest scores of each token; of equal ones, and of those that are not finite, the lower
/// index.
/// \param scores  [N, E], float32 or float64
/// \param k  1 to E
Routes routes_of(const at::Tensor& scores, std::int64_t k);

/// A token's row once for every expert it goes to, sorted: y[m] = x[token[m]].
/// \param x  [N, D]
/// \return [N k, D]
at::Tensor sent(const at::Tensor& x, const Routes& routes);

/// The sum of a token's rows, in the order of its choices: y[n] = sum over j of x[place[n, j]].
/// \param x  [N k, D]
/// \return [N, D]
at::Tensor brought_back(const at::Tensor& x, const Routes& routes);

}  // namespace evenkeel::nn
