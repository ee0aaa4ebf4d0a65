// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's short vectors, with the alignment that they have on the device.
#define EK_VECTOR2(NAME, T)                 \
  struct alignas(2 * sizeof(T)) NAME##2 {   \
    T x, y;                                 \
  };                                        \
  inline NAME##2 make_##NAME##2(T x, T y) { \
    return {x, y};                          \
  }
#define EK_VECTOR3(NAME, T)                      \
  struct NAME##3 {                               \
    T x, y, z;                                   \
  };                                             \
  inline NAME##3 make_##NAME##3(T x, T y, T z) { \
    return {x, y, z};                            \
  }
#define EK_VECTOR4(NAME, T)                                    \
  struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) NAME##4 { \
    T x, y, z, w;                                              \
  };                                                           \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) {          \
    return {x, y, z, w};                                       \
  }
#define EK_VECTORS(NAME, T) EK_VECTOR2(NAME, T) EK_VECTOR3(NAME, T) EK_VECTOR4(NAME, T)
EK_VECTORS(char, signed char)
EK_VECTORS(uchar, unsigned char)
EK_VECTORS(short, short)
EK_VECTORS(ushort, unsigned short)
EK_VECTORS(int, int)
EK_VECTORS(uint, unsigned)
EK_VECTORS(longlong, long long)
EK_VECTORS(ulonglong, unsigned long long)
EK_VECTORS(float, float)
EK_VECTORS(double, double)
#undef EK_VECTORS
#undef EK_VECTOR4
#undef EK_VECTOR3
#undef EK_VECTOR2

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}
};
