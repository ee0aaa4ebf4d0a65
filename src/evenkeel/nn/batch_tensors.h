// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace evenkeel::nn {

/// Copies the token ids of a batch into tensors.
/// \param inputs, targets  the sequences one after another; batch_size * T ids each
/// \return (ids, targets), both [batch_size, T], int64
std::pair<at::Tensor, at::Tensor> batch_tensors(const std::vector<std::int64_t>& inputs,
                                                const std::vector<std::int64_t>& targets,
                                                std::int64_t batch_size);

}  // namespace evenkeel::nn
