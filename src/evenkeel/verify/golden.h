// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/norm/scheme.h"

/// Golden files: a small model, its inputs and its expected outputs, computed by other programs.
namespace evenkeel::verify {

using Tensors = std::map<std::string, at::Tensor>;

/// The model of a golden file.
struct GoldenModel {
  norm::Scheme scheme;
  bool tied = true;
  double rope_theta = 0;
  std::int64_t done = 0, planned = 1;  // optimizer steps, for expressions with t and T
};

/// One forward and backward pass.
struct GoldenPass {
  at::Tensor logits;  // [B, T, V], in training
  double loss = 0;    // mean over the B (T - 1) tokens that have a next one
  Tensors gradients;  // of every parameter
  Tensors states;     // after the pass
  at::Tensor
      evaluation_logits;  // [B, T, V], from the states before, in evaluation; if there are states
  // Of the authors' files only: exact, where the tensors are rounded to float32.
  double gradient_norm = 0, logits_sum_of_squares = 0;  // of all parameters; sum over all logits
  std::map<std::string, double> gradient_norms;         // of each parameter
  struct Mixture {
    double balance = 0, router_z = 0;  // weights of the auxiliary losses
    double cross_entropy = 0, balance_loss = 0, router_z_loss = 0;  // of which `loss` is the sum
    at::Tensor router_logits;                                       // [layers, B T, E]
    at::Tensor selected_experts;   // [layers, B T, k], the larger probability first
    at::Tensor tokens_per_expert;  // [layers, E]
  };
  std::optional<Mixture> mixture;
};

/// Some optimizer steps, one batch each.
struct GoldenTrajectory {
  struct Step {
    double rate = 0, loss = 0, gradient_norm = 0;
  };
  config::Optimizer optimizer;
  config::Schedule schedule;
  std::vector<Step> steps;
  double last_loss = 0;  // on the last batch, after the last update
  Tensors final;         // every parameter, after the last update
};

/// The origin of the numbers: it decides names, number formats and tolerances.
enum class GoldenLayout {
  authors,  // the published code: FILE.json next to FILE.safetensors, absolute tolerances
  schemes,  // the reference of all schemes: metadata "config", tolerances relative to a tensor
};

/// All tensors but `ids` are float64: they hold what the file holds.
struct Golden {
  std::string path;
  GoldenLayout layout = GoldenLayout::schemes;
  GoldenModel model;
  Tensors parameters;  // at the start
  Tensors states;      // at the start
  at::Tensor ids;      // [B, T]; of a trajectory [steps, B, T]; int64
  std::variant<GoldenPass, GoldenTrajectory> expected;
};

/// \param path  a .safetensors file
/// \throws Error (io, data) if it cannot be read, lacks a part or contradicts itself;
Golden read_golden(const std::filesystem::path& path);

}  // namespace evenkeel::verify
