// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/rotary.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "evenkeel/ops/attention/apply_rotary.h"

namespace evenkeel::nn {

Rotary Rotary::of(std::int64_t first, std::int64_t positions, std::int64_t dk, double theta,
                  at::ScalarType dtype) {
  const auto exponent = at::arange(0, dk, 2, at::kDouble) / (-static_cast<double>(dk));
  const auto frequency = at::pow(at::Scalar(theta), exponent);
  const auto position = at::arange(first, first + positions, at::kDouble);
  const auto angle = at::outer(position, frequency);
  const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  return {at::stack({angle.cos(), angle.sin()}, 1).to(wide)};
}

at::Tensor Rotary::operator()(const at::Tensor& x) const {
  return ops::apply_rotary(x, cos_sin);
}

Rotary RotaryTable::rows(std::int64_t first, std::int64_t count) {
  constexpr std::int64_t kWholeTable = 65536;
  const auto needed = first + count;
  if (!computed_.cos_sin.defined() || computed_.cos_sin.size(0) < needed) {
    const auto rows = std::min(context_, std::max(2 * needed, kWholeTable));
    const auto dtype = c10::typeMetaToScalarType(options_.dtype());
    computed_ = Rotary::of(0, std::max(needed, rows), dk_, theta_, dtype);
    computed_.cos_sin = computed_.cos_sin.to(options_.device());
  }
  return computed_.narrow(first, count);
}

}  // namespace evenkeel::nn
