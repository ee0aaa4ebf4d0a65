// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Enables MKL's conditional numerical reproducibility (CNR): one order of sums in float32 GEMM for
/// any number of threads. With AVX-512 Intel's MKL otherwise splits long sums among the threads,
/// and the bits of a gradient depend on their number. Call this before the first GEMM. It does
/// nothing where the environment sets MKL_CBWR, and on processors that do not need it.
void enable_mkl_cnr();

}  // namespace evenkeel
