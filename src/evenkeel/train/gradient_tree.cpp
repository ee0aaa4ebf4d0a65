// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/gradient_tree.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace evenkeel::train {

void GradientTree::add(const std::vector<at::Tensor>& gradients, bool is_last) {
  const at::NoGradGuard no_grad;
  int level = 0;
  // The last shard closes all subtrees, from the smallest to the largest.
  while (!waiting_.empty() && (is_last || waiting_.back().level == level)) {
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].add_(waiting_.back().sum[i]);
    waiting_.pop_back();
    ++level;
  }
  if (is_last) return;
  Partial partial{.sum = {}, .level = level};
  partial.sum.reserve(gradients.size());
  for (const auto& gradient : gradients) partial.sum.push_back(gradient.clone());
  waiting_.push_back(std::move(partial));
}

}  // namespace evenkeel::train
