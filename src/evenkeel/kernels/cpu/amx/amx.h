// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Attribute of functions that are compiled for AMX bfloat16; check has_amx() before the call, or
/// has_avx512_bf16() where the function uses no tile. It does not extend to lambdas in the
/// function. With EK_EMULATED (tests) any processor can run it.
#if defined(__x86_64__) && !defined(EK_EMULATED)
#define EK_AMX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,amx-tile,amx-bf16")))
#else
#define EK_AMX
#endif
/// The attribute of a lambda or helper that must be inlined into such a function.
#define EK_AMX_INLINE EK_AMX __attribute__((always_inline)) inline

namespace evenkeel::kernels::cpu {

inline constexpr double kLog2OfE = 1.4426950408889634;

/// True if the CPU has AMX bfloat16 tiles, EVENKEEL_ISA allows them, and Linux grants them to this
/// process. The first call requests the permission.
bool has_amx();

}  // namespace evenkeel::kernels::cpu
