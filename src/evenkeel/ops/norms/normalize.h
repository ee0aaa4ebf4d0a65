// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::ops {

/// torch.nn.functional.normalize(w, dim=dim) in place: divides the vectors along an axis by their
/// L2 norm; vectors of zeros do not change. Norms are summed in float64, in an order that does not
/// depend on the number of threads.
///
/// \param w    [rows, columns], float32, bfloat16 or float64, on the CPU or CUDA; without gradient
/// \param dim  1: every row gets length 1; 0: every column
/// \throws c10::Error if w is not a matrix of these dtypes, or dim is neither 0 nor 1
/// \source Loshchilov et al. 2024, arXiv:2410.01131, sec. 2.1 (nGPT)
void normalize_(const at::Tensor& w, std::int64_t dim);

}  // namespace evenkeel::ops
