// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/int8_matmul.h"

namespace evenkeel::kernels::cpu {

/// int8_matmul() by vpmaddwd, with the same bits. Only if vector_bytes() is at least 32.
template <typename T>
void int8_matmul_avx2(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
