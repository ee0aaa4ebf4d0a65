// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/weight_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <dlfcn.h>

#include <algorithm>
#include <limits>

#include "evenkeel/kernels/cpu/amx.h"
#include "evenkeel/ops/dispatch.h"
#include "evenkeel/ops/rows.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// cblas_gemm_bf16bf16f32 of MKL, which LibTorch for Intel's processors exports and no header of it
/// declares; bfloat16 as bits.
using Gemm = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                      float alpha, const void* a, int lda, const void* b, int ldb, float beta,
                      float* c, int ldc);

/// Null where it is not there, or where it was not found to be faster.
Gemm gemm_of_mkl() {
  static const auto found =
      kernels::cpu::has_amx()
          ? reinterpret_cast<Gemm>(::dlsym(RTLD_DEFAULT, "cblas_gemm_bf16bf16f32"))
          : nullptr;
  return found;
}

/// Rows one after another, as a leading dimension tells: no expanded ones.
Tensor as_matrix(const Tensor& x) {
  const bool has_rows = x.size(0) <= 1 || x.stride(0) >= x.size(1);
  return x.stride(1) == 1 && has_rows ? x : x.contiguous();
}

bool fits(const Tensor& x) {
  return x.size(0) <= std::numeric_limits<int>::max() &&
         x.stride(0) <= std::numeric_limits<int>::max();
}

void anywhere(const Tensor& sum, const Tensor& dy, const Tensor& x, bool is_first) {
  if (sum.scalar_type() != dy.scalar_type()) {
    const auto product = at::mm(dy.t(), x);
    is_first ? sum.copy_(product) : sum.add_(product);
  } else if (is_first) {
    auto out = sum;
    at::mm_out(out, dy.t(), x);
  } else {
    sum.addmm_(dy.t(), x);
  }
}

void on_cpu(const Tensor& sum, const Tensor& dy_any, const Tensor& x_any, bool is_first) {
  const auto dy = as_matrix(dy_any), x = as_matrix(x_any);
  const auto gemm = dy.scalar_type() == at::kBFloat16 ? gemm_of_mkl() : nullptr;
  const bool is_direct = gemm != nullptr && sum.scalar_type() == at::kFloat &&
                         as_matrix(sum).is_same(sum) && fits(sum) && fits(dy) && fits(x);
  if (!is_direct || sum.numel() == 0 || dy.size(0) == 0) return anywhere(sum, dy, x, is_first);
  constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112;
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  const auto stride = [&](const Tensor& m) { return size(std::max(m.stride(0), m.size(1))); };
  gemm(kRowMajor, kTransposed, kAsItIs, size(sum.size(0)), size(sum.size(1)), size(dy.size(0)), 1,
       dy.const_data_ptr(), stride(dy), x.const_data_ptr(), stride(x), is_first ? 0 : 1,
       sum.mutable_data_ptr<float>(), stride(sum));
}

void nothing(const Tensor& /*sum*/, const Tensor& /*dy*/, const Tensor& /*x*/, bool /*is_first*/) {}

}  // namespace

void add_weight_gradient(const Tensor& sum, const Tensor& dy, const Tensor& x, bool is_first) {
  using Op = void(const Tensor&, const Tensor&, const Tensor&, bool);
  static const auto run = registered<Op>("evenkeel::add_weight_gradient_");
  TORCH_CHECK(
      sum.dim() == 2 && dy.dim() == 2 && x.dim() == 2 && dy.size(0) == x.size(0) &&
          sum.size(0) == dy.size(1) && sum.size(1) == x.size(1) &&
          dy.scalar_type() == x.scalar_type() && sum.device() == dy.device() &&
          (sum.scalar_type() == dy.scalar_type() || sum.scalar_type() == wide(dy.scalar_type())),
      "[add_weight_gradient] sum must be [rows, columns], dy [n, rows] and x [n, columns] of one "
      "dtype, which sum has, too, or float32 beside bfloat16; but they are ",
      sum.sizes(), " of ", name_of(sum.scalar_type()), ", ", dy.sizes(), " of ",
      name_of(dy.scalar_type()), " and ", x.sizes(), " of ", name_of(x.scalar_type()));
  run.call(sum, dy, x, is_first);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("add_weight_gradient_(Tensor(a!) sum, Tensor dy, Tensor x, bool is_first=False) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("add_weight_gradient_", on_cpu);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("add_weight_gradient_", anywhere);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("add_weight_gradient_", nothing);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("add_weight_gradient_", no_gradient());
}

}  // namespace evenkeel::ops
