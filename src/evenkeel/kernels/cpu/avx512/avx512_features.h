// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::kernels::cpu {

/// True if the CPU has AVX-512 with bfloat16 instructions (Cooper Lake, Sapphire Rapids, Zen 4, and
/// later ones), and EVENKEEL_ISA allows them.
bool has_avx512_bf16();

/// True if has_avx512_bf16(), and the dot products of bfloat16 are faster than float32 arithmetic
/// (CpuFeatures::fast_bf16_dot).
bool has_fast_bf16_dot();

}  // namespace evenkeel::kernels::cpu
