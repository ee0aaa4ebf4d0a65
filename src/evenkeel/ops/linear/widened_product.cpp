// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/widened_product.h"

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"

namespace evenkeel::ops {

bool widens_bf16_products() {
  return !kernels::cpu::has_amx() && !kernels::cpu::has_avx512_bf16();
}

bool widens_bf16(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kBFloat16 && widens_bf16_products();
}

at::Tensor widened(const at::Tensor& x) {
  return x.to(at::kFloat);
}

}  // namespace evenkeel::ops
