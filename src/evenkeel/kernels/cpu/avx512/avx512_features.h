// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::kernels::cpu {

/// True if the CPU has AVX-512 (Skylake-X, Zen 4, and later ones), and EVENKEEL_ISA allows it.
bool has_avx512();

/// True if the CPU has AVX-512 with bfloat16 instructions (Cooper Lake, Sapphire Rapids, Zen 4, and
/// later ones), and EVENKEEL_ISA allows them.
bool has_avx512_bf16();

/// True if the CPU has AVX-512 with VNNI (Cascade Lake, Zen 4, and later ones), and EVENKEEL_ISA
/// allows them.
bool has_avx512_vnni();

}  // namespace evenkeel::kernels::cpu
