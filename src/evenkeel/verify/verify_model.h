// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/verify/golden.h"

namespace evenkeel::verify {

/// How the numbers of a golden file are recomputed.
struct VerifyOptions {
  nn::Precision precision = nn::Precision::float64;  // or float32
  double tolerance = 1;                              // times the tolerances
  nn::AttentionPath attention = nn::AttentionPath::automatic;
  bool fused = true;  // false: the formulas of ops/reference.h
};

/// The model of a golden file, with its parameters as they are at the start.
class VerifyModel {
 public:
  /// \throws Error (data) unless the file has each parameter of the model, of its shape, and no
  /// other;
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
