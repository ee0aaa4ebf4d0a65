// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::memory {

/// Returns the whole pages of a tensor to the system. Its values are undefined afterwards; a page
/// that is written again gets memory again.
/// \param values  contiguous; on a GPU nothing happens
void release_pages(const at::Tensor& values);

}  // namespace evenkeel::memory
