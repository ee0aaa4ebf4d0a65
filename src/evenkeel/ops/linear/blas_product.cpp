// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/blas_product.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#if defined(__x86_64__)
// Functions of the MKL inside LibTorch. NOLINTBEGIN(readability-identifier-naming): BLAS's names
extern "C" {
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) __attribute__((weak));
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc) __attribute__((weak));
}
// NOLINTEND(readability-identifier-naming)
#endif

namespace evenkeel::ops {

namespace {

bool has_blas() {
#if defined(__x86_64__)
  return sgemm_ != nullptr && dgemm_ != nullptr;
#else
  return false;
#endif
}

}  // namespace

std::optional<BlasProduct::Operand> BlasProduct::operand_of(const at::Tensor& x) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const auto rows = x.size(1), columns = x.size(2);
  if (rows < 2 || columns < 2 || x.is_conj() || x.is_neg()) return std::nullopt;
  const bool is_rows = x.stride(2) == 1 && x.stride(1) >= columns;
  const bool is_columns = x.stride(1) == 1 && x.stride(2) >= rows;
  if (!is_rows && !is_columns) return std::nullopt;
  const auto leading = is_rows ? x.stride(1) : x.stride(2);
  if (std::max({leading, rows, columns}) > kMost) return std::nullopt;
  return Operand{.data = x.const_data_ptr(),
                 .batch_stride = x.stride(0),
                 .leading = leading,
                 .is_transposed = !is_rows};
}

std::optional<BlasProduct> BlasProduct::of(const at::Tensor& y, const at::Tensor& x,
                                           const at::Tensor& w, bool is_added) {
  const auto dtype = y.scalar_type();
  const bool is_known = dtype == at::kFloat || dtype == at::kDouble;
  if (!is_known || !has_blas()) return std::nullopt;
  const auto out = operand_of(y), left = operand_of(x), right = operand_of(w);
  if (!out || out->is_transposed || !left || !right) return std::nullopt;
  BlasProduct product;
  product.y_ = *out, product.x_ = *left, product.w_ = *right;
  product.y_.data = y.mutable_data_ptr();
  product.depth_ = x.size(2);
  product.is_added_ = is_added;
  product.is_double_ = dtype == at::kDouble;
  return product;
}

bool BlasProduct::multiply(const MatmulBlock& block) const {
  if (block.rows < 2 || block.columns < 2) return false;
  is_double_ ? call<double>(block) : call<float>(block);
  return true;
}

/// BLAS has column-major matrices: it computes the transpose of the block, w^T x^T.
template <typename T>
void BlasProduct::call([[maybe_unused]] const MatmulBlock& block) const {
#if defined(__x86_64__)
  const auto in = [](const Operand& of, std::int64_t offset) {
    return static_cast<const T*>(of.data) + offset;
  };
  const auto* const x = in(x_, x_.offset(block.batch, block.row, 0));
  const auto* const w = in(w_, w_.offset(block.batch, 0, block.column));
  auto* const y = const_cast<T*>(in(y_, y_.offset(block.batch, block.row, block.column)));
  const char w_order = w_.is_transposed ? 't' : 'n', x_order = x_.is_transposed ? 't' : 'n';
  const int m = static_cast<int>(block.columns), n = static_cast<int>(block.rows),
            k = static_cast<int>(depth_);
  const int lda = static_cast<int>(w_.leading), ldb = static_cast<int>(x_.leading),
            ldc = static_cast<int>(y_.leading);
  const T alpha = 1, beta = is_added_ ? 1 : 0;
  if constexpr (std::is_same_v<T, float>) {
    sgemm_(&w_order, &x_order, &m, &n, &k, &alpha, w, &lda, x, &ldb, &beta, y, &ldc);
  } else {
    dgemm_(&w_order, &x_order, &m, &n, &k, &alpha, w, &lda, x, &ldb, &beta, y, &ldc);
  }
#endif
}

}  // namespace evenkeel::ops
