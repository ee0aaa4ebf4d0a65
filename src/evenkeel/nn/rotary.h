// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::nn {

/// cos and sin of the rotary angles: position * theta^(-2j/dk), j = 0 .. dk/2 - 1.
struct Rotary {
  at::Tensor cos_sin;  // [positions, 2, dk/2]: cosines, then sines; float32 or float64

  /// Computes the table.
  /// \param first  the position of row 0
  static Rotary of(std::int64_t first, std::int64_t positions, std::int64_t dk, double theta,
                   at::ScalarType dtype);

  /// A view of `count` positions from row `first` on.
  Rotary narrow(std::int64_t first, std::int64_t count) const {
    return {cos_sin.narrow(0, first, count)};
  }

  /// ops::apply_rotary(x, cos_sin).
  /// \param x  [B, T, heads, dk], T positions; float32, bfloat16 (rotated in float32) or float64
  at::Tensor operator()(const at::Tensor& x) const;
};

/// Rotary angles of all positions of a window, computed at the first use. The table of a window of
/// more than 65,536 positions grows with the positions in use.
class RotaryTable {
 public:
  /// \param context  positions of a window
  /// \param dk       width of a head
  /// \param theta    base of the angles
  /// \param options  dtype of the activations, and the device of the table
  RotaryTable(std::int64_t context, std::int64_t dk, double theta, const at::TensorOptions& options)
      : context_(context), dk_(dk), theta_(theta), options_(options) {}

  /// A view of `count` positions from `first` on.
  Rotary rows(std::int64_t first, std::int64_t count);

 private:
  std::int64_t context_, dk_;
  double theta_;
  at::TensorOptions options_;
  Rotary computed_;
};

}  // namespace evenkeel::nn
