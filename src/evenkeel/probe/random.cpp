// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/random.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "evenkeel/base/philox.h"

namespace evenkeel::probe {

at::Tensor randn(std::uint64_t seed, const std::string& name, at::IntArrayRef sizes) {
  const Philox random(seed, name);
  auto values = at::empty(sizes, at::kDouble);
  auto* const to = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    to[i] = random.normal(static_cast<std::uint64_t>(i));
  }
  return values;
}

at::Tensor random_tokens(std::uint64_t seed, const std::string& name, std::int64_t rows,
                         std::int64_t columns, std::int64_t vocabulary) {
  const Philox random(seed, name);
  auto ids = at::empty({rows, columns}, at::kLong);
  auto* const to = ids.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    to[i] = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(vocabulary), static_cast<std::uint64_t>(i)));
  }
  return ids;
}

double max_relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::NoGradGuard no_grad;
  return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

}  // namespace evenkeel::probe
