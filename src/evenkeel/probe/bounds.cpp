// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/bounds.h"

#include <ATen/ATen.h>

#include <cmath>

namespace evenkeel::probe {

namespace {

/// Of one matrix.
struct Measure {
  double largest = 0, smallest = 0, frobenius = 0;  // singular values; their root sum of squares
};

Measure measure(const at::Tensor& weight) {
  const auto values = at::linalg_svdvals(weight.detach());
  return {values.max().item<double>(), values.min().item<double>(), values.norm().item<double>()};
}

/// The sizes and norms that the formulas are made of.
struct Terms {
  double s = 0, d = 0, dk = 0;
  OfWeights<Measure> of;
};

Terms terms_of(const Head& head) {
  Terms terms = {.s = static_cast<double>(head.x.size(0)),
                 .d = static_cast<double>(head.x.size(1)),
                 .dk = static_cast<double>(head.weights.query.size(1)),
                 .of = {}};
  for (std::size_t w = 0; w < kWeights<Measure>.size(); ++w) {
    terms.of.*kWeights<Measure>[w].member = measure(head.weights.*kWeights<at::Tensor>[w].member);
  }
  return terms;
}

Bound of_output(Placement placement, const Terms& at) {
  const auto& [s, d, dk, of] = at;
  if (placement == Placement::qkv) return {s * std::sqrt(d * dk), s * std::sqrt(d)};
  return {s * d * of.value.largest, s * std::sqrt(d) * of.value.largest};
}

Bound of_value(Placement placement, const Terms& at) {
  const auto& [s, d, dk, of] = at;
  if (placement == Placement::qkv) {
    const auto same = s * dk / of.value.smallest * of.output.largest;
    return {same, same};
  }
  return {s * std::sqrt(d) * of.output.frobenius, s * of.output.frobenius};
}

/// Of the query matrix; of the key matrix with the two exchanged.
Bound of_query(Placement placement, const Terms& at, const Measure& query, const Measure& key) {
  const auto& [s, d, dk, of] = at;
  const auto value_path = of.value.largest * of.output.largest;
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
  const auto common = s * std::sqrt(s * dk) * of.output.largest / (2 * query.smallest);
  return {dk * common, common};
}

}  // namespace

OfWeights<Bound> bounds(Placement placement, const Head& head) {
  const auto terms = terms_of(head);
  const auto& query = terms.of.query;
  const auto& key = terms.of.key;
  return {.output = of_output(placement, terms),
          .value = of_value(placement, terms),
          .query = of_query(placement, terms, query, key),
          .key = of_query(placement, terms, key, query)};
}

}  // namespace evenkeel::probe
