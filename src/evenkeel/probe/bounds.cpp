// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/bounds.h"

#include <ATen/ATen.h>

#include <cmath>

namespace evenkeel::probe {

namespace {

/// The singular values and norms of one matrix.
struct MatrixNorms {
  double largest = 0, smallest = 0;  // largest and smallest singular value
  double frobenius = 0;              // root of the sum of their squares
};

MatrixNorms matrix_norms(const at::Tensor& weight) {
  const auto values = at::linalg_svdvals(weight.detach());
  return {values.max().item<double>(), values.min().item<double>(), values.norm().item<double>()};
}

/// The sizes and norms in the formulas of bounds.h.
struct Terms {
  double s = 0, d = 0, dk = 0;
  PerWeight<MatrixNorms> norms;
};

Terms terms_of(const Head& head) {
  Terms terms = {.s = static_cast<double>(head.x.size(0)),
                 .d = static_cast<double>(head.x.size(1)),
                 .dk = static_cast<double>(head.weights.query.size(1)),
                 .norms = {}};
  for (std::size_t w = 0; w < kHeadWeights<MatrixNorms>.size(); ++w) {
    terms.norms.*kHeadWeights<MatrixNorms>[w].member =
        matrix_norms(head.weights.*kHeadWeights<at::Tensor>[w].member);
  }
  return terms;
}

Bound output_bound(Placement placement, const Terms& at) {
  const auto& [s, d, dk, norms] = at;
  if (placement == Placement::qkv) return {s * std::sqrt(d * dk), s * std::sqrt(d)};
  return {s * d * norms.value.largest, s * std::sqrt(d) * norms.value.largest};
}

Bound value_bound(Placement placement, const Terms& at) {
  const auto& [s, d, dk, norms] = at;
  if (placement == Placement::qkv) {
    const auto same = s * dk / norms.value.smallest * norms.output.largest;
    return {same, same};
  }
  return {s * std::sqrt(d) * norms.output.frobenius, s * norms.output.frobenius};
}

/// The bound for the query matrix. The bound for the key matrix exchanges query and key.
Bound query_bound(Placement placement, const Terms& at, const MatrixNorms& query,
                  const MatrixNorms& key) {
  const auto& [s, d, dk, norms] = at;
  const auto value_path = norms.value.largest * norms.output.largest;
  switch (placement) {
    case Placement::pre: {
      const auto common = key.largest * value_path / (2 * std::sqrt(dk));
      return {s * d * std::sqrt(s * d) * common, s * std::sqrt(s) * common};
    }
    case Placement::pre_qk: {
      const auto common = s * value_path / (2 * query.smallest);
      return {dk * std::sqrt(s * d) * common, std::sqrt(s * dk) * common};
    }
    case Placement::qkv:
      break;
  }
  const auto common = s * std::sqrt(s * dk) * norms.output.largest / (2 * query.smallest);
  return {dk * common, common};
}

}  // namespace

PerWeight<Bound> bounds(Placement placement, const Head& head) {
  const auto terms = terms_of(head);
  const auto& query = terms.norms.query;
  const auto& key = terms.norms.key;
  return {.output = output_bound(placement, terms),
          .value = value_bound(placement, terms),
          .query = query_bound(placement, terms, query, key),
          .key = query_bound(placement, terms, key, query)};
}

}  // namespace evenkeel::probe
