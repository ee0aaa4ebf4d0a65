// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <emmintrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/// The vectors and masks of AVX-512 by their names in the compiler's header, and functions that all
/// headers of this folder use. Each function does what the processor's instruction of that name
/// does to each lane.
/// \source Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2
using __m256 [[gnu::vector_size(32), gnu::may_alias]] = float;
using __m256d [[gnu::vector_size(32), gnu::may_alias]] = double;
using __m256i [[gnu::vector_size(32), gnu::may_alias]] = long long;
using __m256bh [[gnu::vector_size(32), gnu::may_alias]] = short;
using __m512 [[gnu::vector_size(64), gnu::may_alias]] = float;
using __m512d [[gnu::vector_size(64), gnu::may_alias]] = double;
using __m512i [[gnu::vector_size(64), gnu::may_alias]] = long long;
using __m512bh [[gnu::vector_size(64), gnu::may_alias]] = short;
using __mmask8 = std::uint8_t;
using __mmask16 = std::uint16_t;
using __mmask32 = std::uint32_t;

enum { _CMP_NEQ_UQ = 4, _CMP_NLT_UQ = 5, _CMP_LT_OQ = 17, _CMP_GE_OQ = 29, _CMP_GT_OQ = 30 };

namespace emulated {

[[noreturn]] inline void stop(const char* what) {
  std::fprintf(stderr, "an instruction that would stop the program: %s\n", what);
  std::abort();
}

/// Lanes of T in a vector of another type.
template <typename T, typename V>
struct Lanes {
  static constexpr int kCount = static_cast<int>(sizeof(V) / sizeof(T));
  T of[kCount];
};
template <typename T, typename V>
Lanes<T, V> lanes(const V& v) {
  Lanes<T, V> all;
  std::memcpy(all.of, &v, sizeof v);
  return all;
}
template <typename T, typename V>
V vector(const Lanes<T, V>& all) {
  V v;
  std::memcpy(&v, all.of, sizeof v);
  return v;
}

/// A vector of lane(0), lane(1), ...
template <typename T, typename V, typename Lane>
V of_lanes(const Lane& lane) {
  Lanes<T, V> all;
  for (int i = 0; i < all.kCount; ++i) all.of[i] = lane(i);
  return vector<T, V>(all);
}

template <typename Mask>
bool has(Mask mask, int lane) {
  return (mask >> lane & 1) != 0;
}

/// Unlike the instructions without "u" in their names, this says what is wrong.
template <int kBytes>
void must_be_aligned(const void* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % kBytes != 0) stop("memory that is not aligned");
}

template <typename V>
V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <typename V>
void store(void* to, const V& v) {
  std::memcpy(to, &v, sizeof v);
}
/// Reads only the lanes of the mask; zeros elsewhere.
template <typename T, typename V, typename Mask>
V load_some(Mask mask, const void* from) {
  return of_lanes<T, V>([&](int i) {
    T value = {};
    if (has(mask, i)) std::memcpy(&value, static_cast<const T*>(from) + i, sizeof value);
    return value;
  });
}
/// Writes only the lanes of the mask.
template <typename T, typename V, typename Mask>
void store_some(void* to, Mask mask, const V& v) {
  const auto all = lanes<T>(v);
  for (int i = 0; i < all.kCount; ++i) {
    if (has(mask, i)) std::memcpy(static_cast<T*>(to) + i, all.of + i, sizeof(T));
  }
}

/// Lanes i of `low` and `high` halves of the quarters of a and b, in turn.
template <typename T, typename V>
V unpack(const V& a, const V& b, bool is_high) {
  constexpr int kQuarter = 16 / static_cast<int>(sizeof(T));
  const auto first = lanes<T>(a), second = lanes<T>(b);
  return of_lanes<T, V>([&](int i) {
    const int at = i / kQuarter * kQuarter + i % kQuarter / 2 + (is_high ? kQuarter / 2 : 0);
    return i % 2 == 0 ? first.of[at] : second.of[at];
  });
}

struct Quarter {
  std::uint64_t half[2];
};
/// Two quarters of a, then two of b, as `which` says in pairs of bits.
template <typename V>
V shuffle_quarters(const V& a, const V& b, int which) {
  const auto first = lanes<Quarter>(a), second = lanes<Quarter>(b);
  return of_lanes<Quarter, V>([&](int i) {
    const int from = which >> 2 * i & 3;
    return i < 2 ? first.of[from] : second.of[from];
  });
}

/// The sums of neighbours in the quarters of a and b, in turn: those of a, then those of b.
template <typename F, typename V>
V neighbour_sums(const V& a, const V& b) {
  constexpr int kQuarter = 16 / static_cast<int>(sizeof(F));
  const auto first = lanes<F>(a), second = lanes<F>(b);
  return of_lanes<F, V>([&](int i) {
    const auto& from = i % kQuarter < kQuarter / 2 ? first : second;
    const int at = i / kQuarter * kQuarter + i % (kQuarter / 2) * 2;
    return from.of[at] + from.of[at + 1];
  });
}
/// Two quarters of a and b: 0 and 1 are those of a, 2 and 3 those of b, 8 is zero.
template <typename V>
V two_quarters(const V& a, const V& b, int which) {
  const auto first = lanes<Quarter>(a), second = lanes<Quarter>(b);
  return of_lanes<Quarter, V>([&](int i) {
    const int from = which >> 4 * i & 15;
    if (from == 8) return Quarter{};
    return from < 2 ? first.of[from] : second.of[from - 2];
  });
}

/// a with its part `which`, as large as `part`, replaced.
template <typename V, typename Part>
V insert(const V& a, const Part& part, int which) {
  auto all = lanes<Part>(a);
  all.of[which] = part;
  return vector<Part, V>(all);
}
/// A vector that begins with `part`; of the rest nothing is promised, so it is made useless.
template <typename V, typename Part>
V widen(const Part& part) {
  V v;
  std::memset(&v, 0xff, sizeof v);
  std::memcpy(&v, &part, sizeof part);
  return v;
}

template <typename F>
bool compare(F a, F b, int how) {
  switch (how) {
    case _CMP_NEQ_UQ:
      return !(a == b);
    case _CMP_NLT_UQ:
      return !(a < b);
    case _CMP_LT_OQ:
      return a < b;
    case _CMP_GE_OQ:
      return a >= b;
    case _CMP_GT_OQ:
      return a > b;
    default:
      stop("a comparison that is not emulated");
  }
}
template <typename Mask, typename V>
Mask mask_of_comparison(const V& a, const V& b, int how) {
  std::uint32_t mask = 0;
  constexpr int kCount = static_cast<int>(sizeof(V) / sizeof(a[0]));
  for (int i = 0; i < kCount; ++i) mask |= compare(a[i], b[i], how) ? 1U << i : 0;
  return static_cast<Mask>(mask);
}

/// Half by half.
template <typename F, typename V>
F sum_of(const V& v) {
  auto all = lanes<F>(v);
  for (int half = all.kCount / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) all.of[i] += all.of[i + half];
  }
  return all.of[0];
}

}  // namespace emulated
