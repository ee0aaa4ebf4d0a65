// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Attributes of functions that are compiled for AVX-512, alone or with bfloat16 or VNNI; check
/// has_avx512(), has_avx512_bf16() or has_avx512_vnni() before the call. They do not extend to
/// lambdas in the function. The _INLINE attributes are those of a lambda or helper that must be
/// inlined into such a function, or into one that is compiled for more. With EK_EMULATED (tests)
/// any processor can run them.
#if defined(__x86_64__) && !defined(EK_EMULATED)
#define EK_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define EK_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")))
#define EK_AVX512_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#else
#define EK_AVX512
#define EK_AVX512_BF16
#define EK_AVX512_VNNI
#endif
#define EK_AVX512_INLINE EK_AVX512 __attribute__((always_inline)) inline
#define EK_AVX512_BF16_INLINE EK_AVX512_BF16 __attribute__((always_inline)) inline
#define EK_AVX512_VNNI_INLINE EK_AVX512_VNNI __attribute__((always_inline)) inline
