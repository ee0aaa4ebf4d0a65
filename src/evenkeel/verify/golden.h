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

/// Tensors by the name of their parameter or state.
using Tensors = std::map<std::string, at::Tensor>;

/// The model of a golden file.
struct GoldenModel {
  norm::Scheme scheme;                 // bound to the model's shape
  bool tied = true;                    // the head is the embedding, transposed
  double rope_theta = 0;               // base of the rotary embedding
  std::int64_t done = 0, planned = 1;  // optimizer steps: t and T of expressions
};

/// The expected result of one forward and backward pass.
struct GoldenPass {
  at::Tensor logits;  // [B, T, V], float64, in training mode
  double loss = 0;    // nats a token, mean over the B (T - 1) tokens that have a next one
  Tensors gradients;  // of every parameter, float64
  Tensors states;     // after the pass, float64
  at::Tensor evaluation_logits;  // [B, T, V], float64, in evaluation mode with the states before
                                 // the pass; undefined without states
  // Only in the authors' files, in float64, where the tensors are rounded to float32:
  double gradient_norm = 0;                      // L2, of all parameters
  double logits_sum_of_squares = 0;              // over all logits
  std::map<std::string, double> gradient_norms;  // L2, of each parameter

  /// Routing and losses of a mixture of experts:
  /// loss = cross_entropy + balance_loss + router_z_loss.
  struct Mixture {
    double balance = 0, router_z = 0;  // weights of the auxiliary losses
    double cross_entropy = 0, balance_loss = 0, router_z_loss = 0;  // weights included
    at::Tensor router_logits;                                       // [layers, B T, E], float64
    at::Tensor selected_experts;   // [layers, B T, k], int64, the larger probability first
    at::Tensor tokens_per_expert;  // [layers, E], int64
  };
  std::optional<Mixture> mixture;  // none for a dense model
};

/// The expected results of several optimizer steps, one batch each.
struct GoldenTrajectory {
  /// One step.
  struct Step {
    double rate = 0;           // learning rate
    double loss = 0;           // nats a token, before the update
    double gradient_norm = 0;  // L2, before clipping
  };
  config::Optimizer optimizer;
  config::Schedule schedule;
  std::vector<Step> steps;
  double last_loss = 0;  // nats a token on the last batch, after the last update
  Tensors final;         // every parameter after the last update, float64
};

/// The layout of a file: the names of its tensors, their dtypes, and the tolerances.
enum class GoldenLayout {
  authors,  // from the published code: FILE.json next to FILE.safetensors; absolute tolerances
  schemes,  // from the reference of all schemes: metadata "config"; tolerances relative to the
            // largest magnitude of a tensor
};

/// The content of a golden file. Floating-point tensors are converted to float64.
struct Golden {
  std::string path;
  GoldenLayout layout = GoldenLayout::schemes;
  GoldenModel model;
  Tensors parameters;  // at the start
  Tensors states;      // at the start
  at::Tensor ids;      // [B, T], int64; of a trajectory [steps, B, T]
  std::variant<GoldenPass, GoldenTrajectory> expected;
};

/// Reads a golden file, with its JSON file if it has no metadata "config".
/// \param path  a .safetensors file
/// \throws Error (io, data) if it cannot be read, lacks a part or contradicts itself; Error (usage)
///         for a scheme that is not in the catalogue
Golden read_golden(const std::filesystem::path& path);

}  // namespace evenkeel::verify
