// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <tuple>
#include <vector>

#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/bf16_product.h"
#include "evenkeel/ops/linear/float_product.h"
#include "evenkeel/ops/linear/grouped_linear_common.h"
#include "evenkeel/ops/linear/serial_matmul.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// One product that one thread makes: some rows of the operands of a group.
struct GroupedTask {
  std::int64_t group = 0, first = 0, rows = 0;
};

/// Some rows and columns of the gradient of a group's matrix.
struct GradientTask : GroupedTask {
  std::int64_t first_column = 0, columns = 0;
};

/// Calls work(task) for each task. A free thread takes the next one: groups are of different
/// sizes. Each product runs on one thread.
template <typename Task, typename Work>
void for_each_grouped_task(const std::vector<Task>& tasks, const Work& work) {
  RECORD_FUNCTION("evenkeel::grouped_linear", {});
  std::atomic<std::size_t> next = 0;
  cpu::parallel_for(0, cpu::thread_count(), /*grain=*/1, [&](std::int64_t, std::int64_t) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;  // of this thread
    for (auto i = next++; i < tasks.size(); i = next++) work(tasks[i]);
  });
}

/// Rows of a product: enough for its rate, and, in tiles of our own, whose rows do not depend on
/// each other, as few as give every thread some products. Elsewhere bits depend on the number of
/// rows, and it does not on that of threads.
/// \param y, x, w  a product
std::int64_t rows_per_task(const Tensor& y, const Tensor& x, const Tensor& w) {
  constexpr std::int64_t kLeast = 256, kMost = 1024, kMany = 4;  // products a thread
  const bool is_own = uses_float_product(y, x, w) || uses_bf16_product(y, x, w);
  if (!is_own) return kLeast;
  return std::clamp(x.size(0) / (kMany * cpu::thread_count()), kLeast, kMost);
}

/// Blocks of rows of y = x w, w that of the group.
/// \param w  [groups, depth, columns]
std::vector<GroupedTask> row_tasks(const Tensor& y, const Tensor& x, const Tensor& w,
                                   const Tensor& offsets) {
  if (w.size(0) == 0) return {};
  const auto most = rows_per_task(y, x, w.select(0, 0));
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  std::vector<GroupedTask> tasks;
  for (std::int64_t e = 0; e + 1 < offsets.size(0); ++e) {
    for (auto first = start[e]; first < start[e + 1]; first += most) {
      tasks.push_back({e, first, std::min(most, start[e + 1] - first)});
    }
  }
  return tasks;
}

/// y = x w for the rows of one task. The libraries sum the terms of very few rows in another order
/// than those of more. So in a batch of at least kFewRows rows, zeros fill up a smaller task: the
/// bits of a row do not depend on how many rows its group has.
/// \param w  [depth, columns], the matrix of the group
void multiply_task(const Tensor& y, const Tensor& x, const Tensor& w, const GroupedTask& task) {
  constexpr std::int64_t kFewRows = 16;
  const auto to = y.narrow(0, task.first, task.rows);
  const auto from = x.narrow(0, task.first, task.rows);
  if (task.rows >= kFewRows || x.size(0) < kFewRows) return serial_matmul_out(to, from, w);
  const auto padded = at::zeros({kFewRows, x.size(1)}, x.options());
  padded.narrow(0, 0, task.rows).copy_(from);
  const auto product = at::empty({kFewRows, y.size(1)}, y.options());
  serial_matmul_out(product, padded, w);
  to.copy_(product.narrow(0, 0, task.rows));
}

/// Blocks of the gradients of the groups' matrices, largest groups first. A single group, as of a
/// router, whose matrix has a row for each expert, has few blocks of rows: its columns are split,
/// too.
/// \param sum  [groups, outputs, inputs]
std::vector<GradientTask> gradient_tasks(const Tensor& offsets, const Tensor& sum) {
  constexpr std::int64_t kRows = 512, kColumns = 128;
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  const auto groups = sum.size(0), outputs = sum.size(1), inputs = sum.size(2);
  const auto columns = groups == 1 ? kColumns : inputs;
  std::vector<GradientTask> tasks;
  for (std::int64_t e = 0; e < groups; ++e) {
    for (std::int64_t first = 0; first < outputs; first += kRows) {
      for (std::int64_t column = 0; column < inputs; column += columns) {
        tasks.push_back({{e, first, std::min(kRows, outputs - first)},
                         column,
                         std::min(columns, inputs - column)});
      }
    }
  }
  std::ranges::stable_sort(tasks, std::greater(), [&](const GradientTask& task) {
    return start[task.group + 1] - start[task.group];
  });
  return tasks;
}

/// Contiguous offsets that are the bounds of groups of `rows` rows.
Tensor checked_offsets(const Tensor& offsets_any, std::int64_t rows) {
  const auto offsets = offsets_any.contiguous();
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  TORCH_CHECK(start[0] == 0 && start[offsets.size(0) - 1] == rows &&
                  std::is_sorted(start, start + offsets.size(0)),
              "[grouped_linear] offsets must begin with 0, end with ", rows,
              ", the rows of x, and never fall");
  return offsets;
}

Tensor grouped_linear_forward_cpu(const Tensor& x_any, const Tensor& weight,
                                  const Tensor& offsets_any) {
  check_grouped_linear(x_any, weight, offsets_any);
  const auto x = x_any.contiguous();
  const auto offsets = checked_offsets(offsets_any, x.size(0));
  const auto y = at::empty({x.size(0), weight.size(1)}, x.options());
  const auto tasks = row_tasks(y, x, weight.transpose(1, 2), offsets);
  for_each_grouped_task(tasks, [&](const GroupedTask& task) {
    multiply_task(y, x, weight.select(0, task.group).t(), task);
  });
  return y;
}

/// sum[e] (+)= dy^T x over the rows of each group e.
void add_grouped_gradients(const Tensor& sum, const Tensor& dy, const Tensor& x,
                           const Tensor& offsets, bool is_first) {
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  for_each_grouped_task(gradient_tasks(offsets, sum), [&](const GradientTask& task) {
    const auto to = sum.select(0, task.group)
                        .narrow(0, task.first, task.rows)
                        .narrow(1, task.first_column, task.columns);
    const auto begin = start[task.group];
    const auto count = start[task.group + 1] - begin;
    const auto part = dy.narrow(0, begin, count).narrow(1, task.first, task.rows);
    const auto inputs = x.narrow(0, begin, count).narrow(1, task.first_column, task.columns);
    serial_add_weight_gradient(to, part, inputs, is_first);
  });
}

std::tuple<Tensor, Tensor> grouped_linear_backward_cpu(const Tensor& dy_any, const Tensor& x_any,
                                                       const Tensor& weight,
                                                       const Tensor& offsets_any, bool for_x,
                                                       bool for_weight) {
  check_grouped_linear(x_any, weight, offsets_any);
  check_grouped_upstream(dy_any, x_any, weight);
  const auto dy = dy_any.contiguous(), x = x_any.contiguous();
  const auto offsets = checked_offsets(offsets_any, x.size(0));
  const auto dx = for_x ? at::empty(x.sizes(), x.options()) : at::empty({0}, x.options());
  if (for_x) {
    const auto tasks = row_tasks(dx, dy, weight, offsets);
    for_each_grouped_task(tasks, [&](const GroupedTask& task) {
      multiply_task(dx, dy, weight.select(0, task.group), task);
    });
  }
  const auto dweight =
      for_weight ? at::empty(weight.sizes(), weight.options()) : at::empty({0}, weight.options());
  if (for_weight) add_grouped_gradients(dweight, dy, x, offsets, /*is_first=*/true);
  return {dx, dweight};
}

void add_grouped_weight_gradient_cpu(const Tensor& sum, const Tensor& dy_any, const Tensor& x_any,
                                     const Tensor& offsets_any, bool is_first) {
  check_grouped_gradient(sum, dy_any, x_any, offsets_any);
  const auto dy = dy_any.contiguous(), x = x_any.contiguous();
  const auto offsets = checked_offsets(offsets_any, x.size(0));
  bump_version(sum);
  add_grouped_gradients(sum, dy, x, offsets, is_first);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("grouped_linear_forward", grouped_linear_forward_cpu);
  m.impl("grouped_linear_backward", grouped_linear_backward_cpu);
  m.impl("add_grouped_weight_gradient_", add_grouped_weight_gradient_cpu);
}

}  // namespace evenkeel::ops
