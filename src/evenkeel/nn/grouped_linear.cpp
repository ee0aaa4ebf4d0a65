// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/grouped_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/serial_matmul.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// One product that one thread makes: some rows of the operands of a group.
struct Task {
  std::int64_t group = 0, first = 0, rows = 0;
};

/// Calls work(task) for each task. A free thread takes the next one: groups are of different
/// sizes. Each product runs on one thread.
template <typename Work>
void for_each_task(const std::vector<Task>& tasks, const Work& work) {
  RECORD_FUNCTION("evenkeel::grouped_linear", {});
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), /*grain_size=*/1, [&](std::int64_t, std::int64_t) {
    const at::NoGradGuard no_grad;  // of this thread
    for (auto i = next++; i < tasks.size(); i = next++) work(tasks[i]);
  });
}

/// Rows of a product: enough for its rate, and, in tiles of our own, whose rows do not depend on
/// each other, as few as give every thread some products. Elsewhere bits depend on the number of
/// rows, and it does not on that of threads.
std::int64_t rows_per_task(const at::Tensor& x) {
  constexpr std::int64_t kLeast = 256, kMost = 1024, kMany = 4;  // products a thread
  if (!ops::uses_amx_gemm(x)) return kLeast;
  return std::clamp(x.size(0) / (kMany * at::get_num_threads()), kLeast, kMost);
}

/// Blocks of rows of x.
std::vector<Task> row_tasks(const at::Tensor& x, const at::Tensor& offsets) {
  const auto most = rows_per_task(x);
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  std::vector<Task> tasks;
  for (std::int64_t e = 0; e + 1 < offsets.size(0); ++e) {
    for (auto first = start[e]; first < start[e + 1]; first += most) {
      tasks.push_back({e, first, std::min(most, start[e + 1] - first)});
    }
  }
  return tasks;
}

/// Blocks of rows of the gradients of the groups' matrices, largest groups first.
std::vector<Task> gradient_tasks(const at::Tensor& offsets, std::int64_t outputs) {
  constexpr std::int64_t kRows = 512;
  const auto* const start = offsets.const_data_ptr<std::int64_t>();
  std::vector<Task> tasks;
  for (std::int64_t e = 0; e + 1 < offsets.size(0); ++e) {
    for (std::int64_t first = 0; first < outputs; first += kRows) {
      tasks.push_back({e, first, std::min(kRows, outputs - first)});
    }
  }
  const auto size = [&](const Task& task) { return start[task.group + 1] - start[task.group]; };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const Task& left, const Task& right) { return size(left) > size(right); });
  return tasks;
}

class GroupedLinear : public torch::autograd::Function<GroupedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& offsets, const ops::GradientBuffer* gradient_buffer) {
    ctx->save_for_backward({x, weight, offsets});
    if (*gradient_buffer) ctx->saved_data["gradient_buffer"] = ops::saved_value(*gradient_buffer);
    const auto y = at::empty({x.size(0), weight.size(1)}, x.options());
    for_each_task(row_tasks(x, offsets), [&](const Task& task) {
      ops::serial_matmul_out(y.narrow(0, task.first, task.rows), x.narrow(0, task.first, task.rows),
                             weight.select(0, task.group).t());
    });
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto& [x, weight, offsets] = std::tie(saved[0], saved[1], saved[2]);
    const auto dy = upstream[0].contiguous();
    at::Tensor dx, dweight;
    if (ctx->needs_input_grad(0)) {
      dx = at::empty(x.sizes(), x.options());
      for_each_task(row_tasks(dy, offsets), [&](const Task& task) {
        ops::serial_matmul_out(dx.narrow(0, task.first, task.rows),
                               dy.narrow(0, task.first, task.rows), weight.select(0, task.group));
      });
    }
    if (ctx->needs_input_grad(1)) {
      const auto found = ctx->saved_data.find("gradient_buffer");
      if (found != ctx->saved_data.end()) {
        add_gradients(dy, x, offsets,
                      ops::saved_value_as<ops::GradientBuffer>(found->second).target());
      } else {
        dweight = at::empty(weight.sizes(), weight.options());
        add_gradients(dy, x, offsets, {dweight, /*is_first=*/true});
      }
    }
    return {dx, dweight, at::Tensor(), at::Tensor()};
  }

 private:
  /// Of each group, dy^T x over its rows.
  static void add_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& offsets,
                            const ops::GradientBuffer::Target& target) {
    const auto* const start = offsets.const_data_ptr<std::int64_t>();
    const auto& [gradient, is_first] = target;
    for_each_task(gradient_tasks(offsets, gradient.size(1)), [&](const Task& task) {
      const auto to = gradient.select(0, task.group).narrow(0, task.first, task.rows);
      const auto begin = start[task.group];
      const auto count = start[task.group + 1] - begin;
      const auto part = dy.narrow(0, begin, count).narrow(1, task.first, task.rows);
      ops::serial_add_weight_gradient(to, part, x.narrow(0, begin, count), is_first);
    });
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& x, const Weight& weight, const at::Tensor& offsets) {
  return GroupedLinear::apply(x.contiguous(), weight.value, offsets, &weight.gradient_buffer);
}

}  // namespace evenkeel::nn
