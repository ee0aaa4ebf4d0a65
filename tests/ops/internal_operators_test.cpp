// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/ops/norms/rms_norm.h"

namespace evenkeel {
namespace {

/// Arguments of the right types that do not fit together: the first tensor is `first`, all
/// other tensors are [4, 8].
torch::jit::Stack arguments_of(const c10::FunctionSchema& schema, const at::Tensor& first) {
  torch::jit::Stack stack;
  bool is_first = true;
  for (const auto& argument : schema.arguments()) {
    const auto kind = argument.type()->kind();
    if (kind == c10::TypeKind::TensorType) {
      stack.emplace_back(is_first ? first : at::ones({4, 8}, first.options()));
      is_first = false;
    } else if (kind == c10::TypeKind::IntType) {
      stack.emplace_back(std::int64_t{1});
    } else if (kind == c10::TypeKind::FloatType) {
      stack.emplace_back(1.0);
    } else if (kind == c10::TypeKind::BoolType) {
      stack.emplace_back(false);
    } else if (kind == c10::TypeKind::ListType) {
      stack.emplace_back(c10::List<double>());
    } else {
      stack.emplace_back();  // of what may be none
    }
  }
  return stack;
}

// Internal operators (X_forward, X_backward) do not check every shape, and may be called
// from Python: none may read out of bounds.
TEST(InternalOperators, RejectMismatchedArguments) {
  ops::rms_norm(at::ones({1, 8}), std::nullopt, 1e-5);  // so that all are linked and registered
  int found = 0;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("evenkeel::", 0) != 0) continue;
    if (name.name.find("_backward") == std::string::npos) continue;
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(),
                                                                   name.overload_name.c_str());
    for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
      auto stack = arguments_of(op.schema(), at::ones({1}, dtype));
      EXPECT_THROW(op.callBoxed(&stack), c10::Error) << name.name;
    }
    ++found;
  }
  EXPECT_GE(found, 12);
}

}  // namespace
}  // namespace evenkeel
