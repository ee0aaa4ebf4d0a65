// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::ops {

/// A block of the result of a matrix product.
struct MatmulBlock {
  std::int64_t batch = 0, row = 0, column = 0, rows = 0, columns = 0;
};

/// A batch of matrix products that the BLAS inside LibTorch computes block by block, with the calls
/// that at::mm() and at::addmm() make for the same matrices, and so with their bits, but without
/// views and without a dispatch for each block.
/// \source https://www.netlib.org/blas/#_level_3: sgemm, dgemm
class BlasProduct {
 public:
  /// \param y, x, w   [batch, rows, columns], [batch, rows, depth], [batch, depth, columns]
  /// \param is_added  y + x w, else x w
  /// \return nullopt unless all are float32 or all float64, y is row-major, the other two are
  ///         row-major or column-major, and the process has a BLAS
  static std::optional<BlasProduct> of(const at::Tensor& y, const at::Tensor& x,
                                       const at::Tensor& w, bool is_added);

  /// Computes a block of y, with the number of threads that MKL has in this thread.
  /// \return false for a block with a side of 1, which the library computes in another way: nothing
  ///         is done
  bool multiply(const MatmulBlock& block) const;

 private:
  /// Matrices of a batch: `is_transposed` says that their columns, not their rows, are contiguous.
  struct Operand {
    const void* data = nullptr;
    std::int64_t batch_stride = 0, leading = 0;  // elements; `leading`: of rows or columns
    bool is_transposed = false;

    /// The number of elements before (row, column) of a batch entry.
    std::int64_t offset(std::int64_t batch, std::int64_t row, std::int64_t column) const {
      return batch * batch_stride +
             (is_transposed ? column * leading + row : row * leading + column);
    }
  };

  static std::optional<Operand> operand_of(const at::Tensor& x);
  template <typename T>
  void call(const MatmulBlock& block) const;

  Operand y_, x_, w_;
  std::int64_t depth_ = 0;
  bool is_added_ = false, is_double_ = false;
};

}  // namespace evenkeel::ops
