// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/batch.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "evenkeel/base/error.h"

namespace evenkeel::nn {

namespace {

at::Tensor matrix(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  const auto size = static_cast<std::int64_t>(ids.size());
  EK_ASSERT(rows > 0 && size % rows == 0);
  auto tensor = at::empty({rows, size / rows}, at::kLong);
  std::copy(ids.begin(), ids.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> tensors_of(const std::vector<std::int64_t>& inputs,
                                             const std::vector<std::int64_t>& targets,
                                             std::int64_t rows) {
  return {matrix(inputs, rows), matrix(targets, rows)};
}

}  // namespace evenkeel::nn
