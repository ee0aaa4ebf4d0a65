// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/int8_matmul.h"

namespace evenkeel::kernels::cpu {

/// int8_matmul() by vpdpwssd, with the same bits. Only if has_avx512_vnni().
template <typename T>
void int8_matmul_avx512(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
