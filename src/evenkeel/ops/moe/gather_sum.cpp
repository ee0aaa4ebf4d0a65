// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/moe/gather_sum.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <string>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using GatherSumSignature = Tensor(const Tensor&, const Tensor&, const Tensor&);
using GatherSumForwardSignature = Tensor(const Tensor&, const Tensor&);

Tensor call_gather_sum(const Tensor& x, const Tensor& rows) {
  static const auto op =
      registered_operator<GatherSumForwardSignature>("evenkeel::gather_sum_forward");
  return op.call(x, rows);
}

class GatherSumFunction : public torch::autograd::Function<GatherSumFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& rows,
                        const Tensor& gradient_rows) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({gradient_rows});
    return call_gather_sum(x, rows);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    const SavedTensors saved(ctx);
    return {call_gather_sum(dy[0], saved[0]), Tensor(), Tensor()};
  }
};

void check_gathered_rows(const char* name, const Tensor& rows, const Tensor& x) {
  TORCH_CHECK((rows.dim() == 1 || rows.dim() == 2) && rows.scalar_type() == at::kLong &&
                  rows.device() == x.device(),
              "[gather_sum] ", name, " must be [N] or [N, k] of int64 on ", x.device(), ", but is ",
              rows.sym_sizes(), " of ", dtype_name(rows.scalar_type()), " on ", rows.device());
}

Tensor gather_sum_autograd(const Tensor& x, const Tensor& rows, const Tensor& gradient_rows) {
  check_dtype("gather_sum", "x", x);
  TORCH_CHECK(x.dim() == 2, "[gather_sum] x must be [M, D], but is ", x.sym_sizes());
  check_gathered_rows("rows", rows, x);
  check_gathered_rows("gradient_rows", gradient_rows, x);
  TORCH_CHECK(
      gradient_rows.sym_size(0) == x.sym_size(0) && gradient_rows.sym_numel() == rows.sym_numel(),
      "[gather_sum] gradient_rows must have the ", x.sym_size(0), " rows of x and the ",
      rows.sym_numel(), " terms of rows, but is ", gradient_rows.sym_sizes(),
      gradient_rows.dim() == 2 ? c10::str(", which has ", gradient_rows.sym_numel(), " terms")
                               : std::string());
  return GatherSumFunction::apply(x, rows, gradient_rows);
}

Tensor gather_sum_forward_meta(const Tensor& x, const Tensor& rows) {
  return at::empty_symint({rows.sym_size(0), x.sym_size(1)}, x.options());
}

}  // namespace

Tensor gather_sum(const Tensor& x, const Tensor& rows, const Tensor& gradient_rows) {
  static const auto op = registered_operator<GatherSumSignature>("evenkeel::gather_sum");
  return op.call(x, rows, gradient_rows);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("gather_sum(Tensor x, Tensor rows, Tensor gradient_rows) -> Tensor");
  m.def("gather_sum_forward(Tensor x, Tensor rows) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("gather_sum", gather_sum_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("gather_sum_forward", gather_sum_forward_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("gather_sum_forward", autograd_not_implemented());
}

}  // namespace evenkeel::ops
