// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/verify_model.h"

namespace evenkeel::verify {

/// The error of one quantity.
struct Check {
  std::string quantity;  // "logits", "gradient of final_norm.gain"
  double error = 0;      // infinite if a number is not finite
  double tolerance = 0;  // largest permitted error
  bool passed() const { return error <= tolerance; }
};

/// The result for one file.
struct Verification {
  std::string file, scheme, precision;  // precision: "float64" or "float32"
  std::vector<Check> totals;            // quantities of the whole model
  std::vector<Check> tensors;           // one per parameter, the worst first

  /// True if all checks passed.
  bool passed() const;

  /// The check with the largest error / tolerance.
  const Check& worst() const;
};

/// Recomputes a golden file and compares the results with it:
///
/// | file         | quantity                        | error                 | float64 | float32 |
/// | ------------ | ------------------------------- | --------------------- | ------- | ------- |
/// | authors      | logits                          | largest               | 1e-6    | 7e-5    |
/// |              | gradients                       | largest               | 2e-7    | 2e-5    |
/// |              | loss, gradient norm, sum of l^2 | relative              | 1e-12   | 2e-6    |
/// |              | gradient norm of a parameter    | relative              | 1e-12   | -       |
/// | a trajectory | final parameters                | largest               | 1e-7    | 2e-5    |
/// |              | loss, gradient norm             | relative, of any step | 1e-12   | 5e-6    |
/// |              | learning rate                   | relative, of any step | 1e-12   | 1e-12   |
/// | schemes      | logits, gradients               | largest, scaled       | 1e-10   | 2e-5    |
/// |              | loss                            | relative              | 1e-12   | 2e-5    |
///
/// l are the logits. A scaled error is divided by the largest magnitude of the expected tensor. The
/// tolerances of float32 files are the rounding of the file, or twice the observed error of float32
/// arithmetic. The files of `schemes` are float64; their tolerances are rounding only.
///
/// \throws Error of VerifyModel()
Verification verify(const Golden& golden, const VerifyOptions& options);

}  // namespace evenkeel::verify
