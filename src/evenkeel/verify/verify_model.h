// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/verify/golden.h"

namespace evenkeel::verify {

/// The settings of a recomputation.
struct VerifyOptions {
  nn::Precision precision = nn::Precision::float64;  // or float32
  double tolerance = 1;                              // factor on all tolerances
  nn::AttentionPath attention = nn::AttentionPath::automatic;
  bool fused = true;  // false: the reference implementations (ops/common/reference.h)
};

/// The model of a golden file with the initial parameters and buffers of the file.
class VerifyModel {
 public:
  /// \throws Error (data, exit code 65) unless the file has exactly the model's parameters in their
  ///         shapes; Error (usage, 64) for a scheme that this version does not support
  VerifyModel(const Golden& golden, const VerifyOptions& options);
  VerifyModel(const VerifyModel&) = delete;
  VerifyModel& operator=(const VerifyModel&) = delete;

  nn::Parameters& parameters() { return parameters_; }
  const nn::Model& model() const { return model_; }

 private:
  nn::Parameters parameters_;
  nn::Model model_;
};

}  // namespace evenkeel::verify
