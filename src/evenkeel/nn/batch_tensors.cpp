// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/batch_tensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "evenkeel/base/error.h"

namespace evenkeel::nn {

namespace {

at::Tensor token_matrix(const std::vector<std::int64_t>& ids, std::int64_t batch_size) {
  const auto size = static_cast<std::int64_t>(ids.size());
  EK_ASSERT(batch_size > 0 && size % batch_size == 0);
  auto tensor = at::empty({batch_size, size / batch_size}, at::kLong);
  std::copy(ids.begin(), ids.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> batch_tensors(const std::vector<std::int64_t>& inputs,
                                                const std::vector<std::int64_t>& targets,
                                                std::int64_t batch_size) {
  return {token_matrix(inputs, batch_size), token_matrix(targets, batch_size)};
}

}  // namespace evenkeel::nn
