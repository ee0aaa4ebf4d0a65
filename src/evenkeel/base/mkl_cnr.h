// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Enables MKL's conditional numerical reproducibility (CNR): float32 GEMM then sums in the same
/// order for any number of threads. Without CNR, MKL splits long sums between threads on Intel
/// processors with AVX-512, so gradients depend on the number of threads. The caller must call this
/// function before the first GEMM. It has no effect on other processors, or if the environment sets
/// MKL_CBWR.
void enable_mkl_cnr();

}  // namespace evenkeel
