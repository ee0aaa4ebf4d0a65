// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tests set EK_VECTOR_BYTES to run the version for these vectors on any processor; the compiler
// splits vectors that are longer than the registers.
#if defined(__x86_64__) && !defined(EK_VECTOR_BYTES)
#define EK_FOR(ARCHITECTURE) __attribute__((target("arch=" ARCHITECTURE)))
#else
#define EK_FOR(ARCHITECTURE)
#endif

namespace evenkeel::kernels::cpu {

/// The vector size of this processor, in bytes.
int vector_bytes();

/// A function, compiled for each vector size, because target_clones cannot change a vector type.
/// \tparam Function  has run<kBytes>(arguments...), always inlined
template <typename Function, typename... Arguments>
struct IsaVersions {
  EK_FOR("x86-64-v4")
  static void v4(const Arguments&... arguments) { Function::template run<64>(arguments...); }
  EK_FOR("x86-64-v3")
  static void v3(const Arguments&... arguments) { Function::template run<32>(arguments...); }
  static void any(const Arguments&... arguments) { Function::template run<16>(arguments...); }

  /// The version for this processor.
  static void run(const Arguments&... arguments) {
    const int bytes = vector_bytes();
    if (bytes == 64) return v4(arguments...);
    if (bytes == 32) return v3(arguments...);
    any(arguments...);
  }
};

}  // namespace evenkeel::kernels::cpu
