// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/sort.h>
#include <torch/library.h>

#include <type_traits>

#include "evenkeel/kernels/cpu/portable/gather_sum.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/embedding_common.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// \param id     [count], sorted
/// \param place  [count]: the row of `from` of each id
template <typename T, typename To>
void add_rows_by_id(const T* from, const std::int64_t* id, const std::int64_t* place,
                    std::int64_t count, To* to, std::int64_t width) {
  cpu::for_each_row(count, [&](std::int64_t first) {
    if (first > 0 && id[first - 1] == id[first]) return;  // the first place of an id does it all
    auto last = first + 1;
    while (last < count && id[last] == id[first]) ++last;
    kernels::cpu::gather_sum(from, place + first, last - first, to + id[first] * width, width,
                             /*is_added=*/true);
  });
}

/// Both dtypes of a gradient of `dy`. A template, so that no other pair of dtypes is compiled.
template <typename T>
void add_embedding_gradient_of(const Tensor& gradient, const Tensor& dy, const std::int64_t* id,
                               const std::int64_t* place) {
  const auto* const from = cpu::const_data<T>(dy);
  const auto add = [&](auto* to) { add_rows_by_id(from, id, place, dy.size(0), to, dy.size(-1)); };
  if constexpr (std::is_same_v<T, at::BFloat16>) {
    if (gradient.scalar_type() == at::kFloat) return add(cpu::mutable_data<float>(gradient));
  }
  add(cpu::mutable_data<T>(gradient));
}

void add_embedding_gradient_cpu(const Tensor& gradient, const Tensor& dy_any, const Tensor& ids) {
  check_embedding_gradient(gradient, dy_any, ids);
  const auto dy = dy_any.contiguous();
  const auto [sorted, order] = at::sort(ids, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const auto count = ids.numel();
  const auto* const id = sorted.const_data_ptr<std::int64_t>();
  const auto* const place = order.const_data_ptr<std::int64_t>();
  TORCH_CHECK(count == 0 || (id[0] >= 0 && id[count - 1] < gradient.size(0)),
              "[add_embedding_gradient_] ids must be 0 to ", gradient.size(0) - 1, ", but are ",
              id[0], " to ", id[count - 1]);
  bump_version(gradient);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, dy.scalar_type(), "embedding_backward", [&] {
    add_embedding_gradient_of<scalar_t>(gradient, dy, id, place);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("add_embedding_gradient_", add_embedding_gradient_cpu);
}

}  // namespace evenkeel::ops
