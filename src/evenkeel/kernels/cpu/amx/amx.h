// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Attribute of functions that are compiled for AMX bfloat16; check has_amx() before the call, or
/// has_avx512_bf16() for an instance of a template that uses no tile
/// (avx512/causal_attention_bf16.h). It does not extend to lambdas in the function. With
/// EK_EMULATED (tests) any processor can run it.
#if defined(__x86_64__) && !defined(EK_EMULATED)
#define EK_AMX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,amx-tile,amx-bf16")))
#else
#define EK_AMX
#endif
/// The attribute of a lambda or helper that must be inlined into such a function.
#define EK_AMX_INLINE EK_AMX __attribute__((always_inline)) inline

namespace evenkeel::kernels::cpu {

/// CpuFeatures::amx_bf16 of this process, detected once.
bool has_amx();

}  // namespace evenkeel::kernels::cpu
