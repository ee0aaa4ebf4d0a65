// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace evenkeel::nn {

/// Token ids as tensors: (ids, targets), each [batch_size, inputs.size() / batch_size], int64;
/// copied.
std::pair<at::Tensor, at::Tensor> batch_tensors(const std::vector<std::int64_t>& inputs,
                                                const std::vector<std::int64_t>& targets,
                                                std::int64_t batch_size);

}  // namespace evenkeel::nn
