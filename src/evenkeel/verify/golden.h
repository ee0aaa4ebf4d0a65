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

/// Golden files: a small model, its inputs, and expected outputs that other programs computed.
namespace evenkeel::verify {

/// Tensors by the name of the parameter or buffer.
using Tensors = std::map<std::string, at::Tensor>;

/// The model of a golden file.
struct GoldenModel {
  norm::Scheme scheme;                 // bound to the model's shape
  bool tied = true;                    // head and embedding share one matrix
  double rope_theta = 0;               // base of the rotary embedding
  std::int64_t done = 0, planned = 1;  // optimizer steps: t and T of expressions
};

/// The expected result of one forward and backward pass.
struct GoldenPass {
  at::Tensor logits;             // [B, T, V], float64, in training mode
  double loss = 0;               // nats per token, mean over the B (T - 1) tokens with a next token
  Tensors gradients;             // of every parameter, float64
  Tensors states;                // buffers after the pass, float64
  at::Tensor evaluation_logits;  // [B, T, V], float64: evaluation mode with the buffers before the
                                 // pass; undefined without buffers
  // Only in files of the authors: float64 numbers, because their tensors are rounded to float32.
  double gradient_norm = 0;                      // L2, of all parameters
  double logits_sum_of_squares = 0;              // over all logits
  std::map<std::string, double> gradient_norms;  // L2, by parameter

  /// Routing and losses of a mixture of experts:
  /// loss = cross_entropy + balance_loss + router_z_loss.
  struct Mixture {
    double balance = 0, router_z = 0;  // weights of the auxiliary losses
    double cross_entropy = 0, balance_loss = 0, router_z_loss = 0;  // weights included
    at::Tensor router_logits;                                       // [layers, B T, E], float64
    at::Tensor selected_experts;   // [layers, B T, k], int64, the larger probability first
    at::Tensor tokens_per_expert;  // [layers, E], int64
  };
  std::optional<Mixture> mixture;  // nullopt for a dense model
};

/// The expected results of several optimizer steps, one batch each.
struct GoldenTrajectory {
  /// One step.
  struct Step {
    double rate = 0;           // learning rate
    double loss = 0;           // nats per token, before the update
    double gradient_norm = 0;  // L2, before clipping
  };
  config::Optimizer optimizer;
  config::Schedule schedule;
  std::vector<Step> steps;
  double last_loss = 0;  // nats per token on the last batch, after the last update
  Tensors final;         // every parameter after the last update, float64
};

/// The layout of a file: names and dtypes of tensors, and tolerances.
enum class GoldenLayout {
  authors,  // from the published code: FILE.json next to FILE.safetensors; absolute tolerances
  schemes,  // from the reference of all schemes: metadata "config"; tolerances relative to max
            // |tensor|
};

/// The content of a golden file. Floating-point tensors are converted to float64.
struct Golden {
  std::string path;
  GoldenLayout layout = GoldenLayout::schemes;
  GoldenModel model;
  Tensors parameters;  // initial values
  Tensors states;      // initial values of the buffers
  at::Tensor ids;      // [B, T], int64; in a trajectory [steps, B, T]
  std::variant<GoldenPass, GoldenTrajectory> expected;
};

/// Reads a golden file, and the JSON file next to it if the file has no metadata "config".
/// \param path  a .safetensors file
/// \throws Error (io, exit code 74) if it cannot be read; (data, 65) if a part is missing or
///         contradictory; (usage, 64) if its scheme is not in the catalogue
Golden read_golden(const std::filesystem::path& path);

}  // namespace evenkeel::verify
