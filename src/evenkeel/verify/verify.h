// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/verify_model.h"

namespace evenkeel::verify {

/// How far one quantity is from what the file says.
struct Check {
  std::string quantity;  // "logits", "gradient of final_norm.gain"
  double error = 0;      // infinite if any of the numbers is not finite
  double tolerance = 0;
  bool passed() const { return error <= tolerance; }
};

/// The result of one file.
struct Verification {
  std::string file, scheme, precision;
  std::vector<Check> totals;   // of the model as a whole
  std::vector<Check> tensors;  // one a parameter, the worst first
  bool passed() const;
  /// The check that uses most of its tolerance.
  const Check& worst() const;
};

/// Recomputes a golden file and compares. What is measured, and the tolerances:
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
/// l are the logits; a scaled error is one of the tensor's largest magnitude. The first two rows
/// are the rounding of float32 files and twice the observed error of float32 arithmetic; those of
/// `schemes`, which are float64, are only rounding.
///
/// \throws Error as VerifyModel does
Verification verify(const Golden& golden, const VerifyOptions& options);

}  // namespace evenkeel::verify
