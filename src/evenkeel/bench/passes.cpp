// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/passes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

namespace evenkeel::bench {

namespace {

/// An autograd graph that is retained for repeated backward passes.
struct Graph {
  Tensors leaves, results, upstream;
};

}  // namespace

Arm forward_arm(const std::string& name, const Function& f,
                const std::shared_ptr<RotatingBuffers<Tensors>>& inputs) {
  return {name, [=] {
            const at::NoGradGuard no_grad;
            f(inputs->next());
          }};
}

Arm backward_arm(const std::string& name, const Function& f, const std::function<Tensors()>& make,
                 double bytes) {
  const auto graphs = std::make_shared<RotatingBuffers<Graph>>(bytes, [&] {
    Graph graph;
    for (const auto& each : make()) graph.leaves.push_back(each.detach().requires_grad_());
    graph.results = f(graph.leaves);
    for (const auto& y : graph.results) graph.upstream.push_back(at::randn_like(y));
    return graph;
  });
  return {name, [=] {
            const auto& [leaves, results, upstream] = graphs->next();
            torch::autograd::grad(results, leaves, upstream, /*retain_graph=*/true);
          }};
}

}  // namespace evenkeel::bench
