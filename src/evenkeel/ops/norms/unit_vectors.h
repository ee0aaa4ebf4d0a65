// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Divides each row, or each column, of a matrix by its L2 norm, in place; vectors of zeros do not
/// change. Norms are summed in float64, in an order that does not depend on the number of threads.
///
/// \param w         [rows, columns], float32, bfloat16 or float64, on the CPU or CUDA; without
///                  gradient
/// \param are_rows  false: columns
/// \throws c10::Error if w is not a matrix, or requires a gradient while gradients are enabled
/// \source Loshchilov et al. 2024, arXiv:2410.01131, sec. 2.1 (nGPT)
void unit_vectors_(const at::Tensor& w, bool are_rows);

}  // namespace evenkeel::ops
