// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/embedding.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cstdint>

#include "evenkeel/ops/common/embedding_common.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using EmbeddingSignature = Tensor(const Tensor&, const Tensor&);
using AddEmbeddingGradientSignature = void(const Tensor&, const Tensor&, const Tensor&);

class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& weight, const Tensor& ids,
                        const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({ids});
    ctx->saved_data["rows"] = weight.sym_size(0);
    if (*gradient_buffer) ctx->saved_data["gradient_buffer"] = saved_value(*gradient_buffer);
    static const auto op = registered_operator<EmbeddingSignature>("evenkeel::embedding_forward");
    return op.call(weight, ids);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const SavedTensors saved(ctx);
    TORCH_CHECK(!at::GradMode::is_enabled(), "[embedding] can be differentiated once");
    const Tensor none;
    const auto ids = saved[0].flatten();
    const auto dy = upstream[0].reshape_symint({-1, upstream[0].sym_size(-1)});
    const auto found = ctx->saved_data.find("gradient_buffer");
    if (found != ctx->saved_data.end()) {
      if (ctx->needs_input_grad(0)) {
        add_embedding_gradient(saved_value_as<GradientBuffer>(found->second).value(), dy, ids);
      }
      return {none, none, none};
    }
    const auto rows = ctx->saved_data["rows"].toSymInt();
    const auto gradient = at::zeros_symint({rows, dy.sym_size(-1)}, dy.options());
    add_embedding_gradient(gradient, dy, ids);
    return {gradient, none, none};
  }
};

Tensor embedding_with_buffer(const Tensor& weight, const Tensor& ids,
                             const GradientBuffer& gradient_buffer) {
  check_dtype("embedding", "weight", weight);
  TORCH_CHECK(
      weight.dim() == 2 && ids.scalar_type() == at::kLong && weight.device() == ids.device(),
      "[embedding] weight must be [rows, D] and ids int64 on the same device, but they are ",
      weight.sym_sizes(), " on ", weight.device(), " and ", dtype_name(ids.scalar_type()), " on ",
      ids.device());
  return EmbeddingFunction::apply(weight, ids, &gradient_buffer);
}

Tensor embedding_autograd(const Tensor& weight, const Tensor& ids) {
  return embedding_with_buffer(weight, ids, {});
}

Tensor embedding_forward(const Tensor& weight, const Tensor& ids) {
  try {
    return at::embedding(weight, ids);
  } catch (const c10::IndexError&) {  // LibTorch names no operator and no id; the CPU alone throws
    C10_THROW_ERROR(IndexError, c10::str("[embedding] ids must be 0 to ", weight.size(0) - 1,
                                         ", but are ", ids.min().item<std::int64_t>(), " to ",
                                         ids.max().item<std::int64_t>()));
  }
}

/// LibTorch's embedding has no meta function in C++, only one in Python.
Tensor embedding_forward_meta(const Tensor& weight, const Tensor& ids) {
  auto sizes = ids.sym_sizes().vec();
  sizes.push_back(weight.sym_size(1));
  return at::empty_symint(sizes, weight.options());
}

void add_embedding_gradient_meta(const Tensor& /*gradient*/, const Tensor& /*dy*/,
                                 const Tensor& /*ids*/) {}

}  // namespace

void check_embedding_gradient(const Tensor& gradient, const Tensor& dy, const Tensor& ids) {
  TORCH_CHECK(gradient.dim() == 2 && dy.dim() == 2 && ids.dim() == 1 && dy.size(0) == ids.size(0) &&
                  dy.size(1) == gradient.size(1) && ids.scalar_type() == at::kLong &&
                  ids.device() == dy.device() && gradient.device() == dy.device() &&
                  gradient.is_contiguous() &&
                  (gradient.scalar_type() == dy.scalar_type() ||
                   gradient.scalar_type() == opmath_dtype(dy.scalar_type())),
              "[add_embedding_gradient_] gradient must be contiguous [rows, D], dy [n, D] of its "
              "dtype or bfloat16 with float32, and ids [n] of int64, but they are ",
              gradient.sizes(), " of ", dtype_name(gradient.scalar_type()), ", ", dy.sizes(),
              " of ", dtype_name(dy.scalar_type()), " and ", ids.sizes(), " of ",
              dtype_name(ids.scalar_type()));
}

// A GradientBuffer is a C++ object: calls with one do not go through the dispatcher.
Tensor embedding(const Tensor& weight, const Tensor& ids, const GradientBuffer& gradient_buffer) {
  if (gradient_buffer) return embedding_with_buffer(weight, ids, gradient_buffer);
  static const auto op = registered_operator<EmbeddingSignature>("evenkeel::embedding");
  return op.call(weight, ids);
}

void add_embedding_gradient(const Tensor& gradient, const Tensor& dy, const Tensor& ids) {
  static const auto op =
      registered_operator<AddEmbeddingGradientSignature>("evenkeel::add_embedding_gradient_");
  op.call(gradient, dy, ids);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("embedding(Tensor weight, Tensor ids) -> Tensor");
  m.def("embedding_forward(Tensor weight, Tensor ids) -> Tensor");
  m.def("add_embedding_gradient_(Tensor(a!) gradient, Tensor dy, Tensor ids) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("embedding", embedding_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("embedding_forward", embedding_forward);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("embedding_forward", embedding_forward);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("embedding_forward", embedding_forward_meta);
  m.impl("add_embedding_gradient_", add_embedding_gradient_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("embedding_forward", autograd_not_implemented());
  m.impl("add_embedding_gradient_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
