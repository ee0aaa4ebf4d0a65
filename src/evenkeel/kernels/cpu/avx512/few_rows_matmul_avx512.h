// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"

namespace evenkeel::kernels::cpu {

/// few_rows_matmul() by vdpbf16ps: lane k of sixteen sums has the columns 2k and 2k + 1 of each 32,
/// and their binary tree is rounded once, whatever the other rows and columns are. Only if
/// has_avx512_bf16().
void few_rows_matmul_avx512(const FewRowsMatmul<Bf16, Bf16>& in, std::int64_t begin,
                            std::int64_t end);

}  // namespace evenkeel::kernels::cpu
