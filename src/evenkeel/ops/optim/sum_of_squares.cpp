// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/sum_of_squares.h"

#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

double sum_of_squares(const at::Tensor& x) {
  static const auto op =
      registered_operator<at::Tensor(const at::Tensor&)>("evenkeel::sum_of_squares");
  return op.call(x).item<double>();
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("sum_of_squares(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("sum_of_squares", autograd_not_implemented());
}

}  // namespace evenkeel::ops
