// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/verify/golden.h"

namespace evenkeel::verify {

/// How a golden file is recomputed.
struct VerifyOptions {
  nn::Precision precision = nn::Precision::float64;  // or float32
  double tolerance = 1;                              // factor of all tolerances
  nn::AttentionPath attention = nn::AttentionPath::automatic;
  bool fused = true;  // false: the formulas of ops/common/reference.h
};

/// The model of a golden file, with the initial parameters and states of the file.
class VerifyModel {
 public:
  /// \throws Error (data) unless the file has exactly the parameters of the model, in their shapes;
  ///         Error (usage) for a scheme that this version cannot run
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
