// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/single_head.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <vector>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

using Tensors = PerWeight<at::Tensor>;

at::Tensor normed(const at::Tensor& rows) {
  return ops::reference::rms_rows(rows, /*epsilon=*/0);
}

}  // namespace

const char* name_of(Placement placement) {
  return placement == Placement::pre ? "Pre" : placement == Placement::pre_qk ? "Pre + QK" : "QKV";
}

at::Tensor attention(Placement placement, const Head& head) {
  const auto& [output, value, query, key] = head.weights;
  const auto read = placement == Placement::qkv ? head.x : normed(head.x);
  auto q = at::matmul(read, query);
  auto k = at::matmul(read, key);
  auto v = at::matmul(read, value);
  if (placement != Placement::pre) {
    q = normed(q);
    k = normed(k);
  }
  if (placement == Placement::qkv) v = normed(v);
  const auto dk = static_cast<double>(query.size(-1));
  const auto scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(dk);
  return at::matmul(at::matmul(at::softmax(scores, -1), v), output);
}

Tensors jacobians(Placement placement, const Head& head) {
  const auto sequence = head.x.size(0);
  const auto width = head.x.size(1);
  PerWeight<std::vector<at::Tensor>> rows;
  for (std::int64_t i = 0; i < sequence; ++i) {
    Tensors copies;
    std::vector<at::Tensor> inputs;
    for (const auto& [name, member] : kHeadWeights<at::Tensor>) {
      copies.*member = (head.weights.*member)
                           .detach()
                           .expand({width, width, width})
                           .contiguous()
                           .requires_grad_();
      inputs.push_back(copies.*member);
    }
    const auto s = attention(placement, {head.x, copies});  // [d, s, d]
    const auto output_sum = s.select(1, i).diagonal().sum();
    const auto gradients = torch::autograd::grad({output_sum}, inputs);
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      (rows.*kHeadWeights<std::vector<at::Tensor>>[w].member).push_back(gradients[w]);
    }
  }
  return {at::cat(rows.output), at::cat(rows.value), at::cat(rows.query), at::cat(rows.key)};
}

Head random_head(std::uint64_t seed, std::int64_t sequence, std::int64_t width) {
  const auto deviation = 1 / std::sqrt(static_cast<double>(width));
  const auto weight = [&](const char* name) {
    return randn(seed, std::string("probe/theory/") + name, {width, width}) * deviation;
  };
  return {.x = randn(seed, "probe/theory/X", {sequence, width}),
          .weights = {.output = weight("W_O"),
                      .value = weight("W_V"),
                      .query = weight("W_Q"),
                      .key = weight("W_K")}};
}

}  // namespace evenkeel::probe
