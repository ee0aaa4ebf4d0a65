// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "ops/gradients.h"

/// What every operator promises, as one suite of tests (operator_case_test.cpp). An operator joins
/// with one row in the table of its room: norms/norm_cases.cpp, linear/linear_cases.cpp, ...
namespace evenkeel::testing {

/// How an input follows the dtype under test.
enum class Role {
  rows,      // has the dtype under test
  vector,    // float64 if the rows are float64, else float32
  float64,   // always float64
  constant,  // as a vector, without gradient
  index      // integers, without gradient
};

struct Input {
  at::Tensor value;  // float64, or integers
  Role role = Role::rows;
};
using Inputs = std::vector<Input>;

/// A call with wrong arguments, and the whole message of the error.
struct Refusal {
  const char* message;
  std::function<void()> call;
};

/// Largest errors against the formula in double.
struct Tolerance {
  double value = 1e-12;           // float64: relative
  double value_floor = 1e-13;     // float64: absolute
  double gradient = 1e-10;        // float64: relative
  double gradient_floor = 1e-12;  // float64: absolute
  double float32 = 8 * 0x1p-24;   // of the largest value, plus one rounding of each result
  double bfloat16 = 8 * 0x1p-24;  // the same; above it: results that are rounded on the way
  double narrow_gradient = 0;     // the same for gradients of float32 and bfloat16; 0: no other
  double strides = 0;             // of the largest value; 0: strides do not change a bit
};

/// One operator, with its options fixed.
struct OperatorCase {
  std::string name;
  /// `n` rows (tokens, sequences) of random values; 0 must work unless takes_empty is false.
  std::function<Inputs(std::int64_t n)> inputs;
  Function run;
  Function formula = {};  // plain tensor operations, in double
  Tolerance tolerance = {};
  std::vector<Refusal> refusals = {};
  std::int64_t rows = 70;               // n for values and gradients: two blocks of 64 rows
  std::int64_t rows_of_threads = 1000;  // n for the comparison of thread counts
  std::vector<int> threads = {2, 3, 4, 5, 8, 16};  // each is compared with one thread
  bool has_gradient = true;                        // and refuses a second derivative
  bool takes_strides = true;
  bool takes_empty = true;
  bool takes_meta = true;
  bool is_rounded_once = true;  // false: a test of its own compares float32 and bfloat16
};

inline void PrintTo(const OperatorCase& one, std::ostream* out) {
  *out << one.name;
}

/// The tables.
std::vector<OperatorCase> norm_cases();
std::vector<OperatorCase> weight_cases();
std::vector<OperatorCase> linear_cases();
std::vector<OperatorCase> attention_cases();
std::vector<OperatorCase> moe_cases();
std::vector<OperatorCase> optim_cases();

/// The rows of all tables that are tested (operator_cases.cpp).
std::vector<OperatorCase> operator_cases();

/// Standard normal values in double, as rows.
inline Input rows(at::IntArrayRef sizes) {
  return {at::randn(sizes, at::kDouble), Role::rows};
}
inline Input vector(std::int64_t width) {
  return {at::randn({width}, at::kDouble), Role::vector};
}
/// One learned value, float64 for every dtype of rows.
inline Input value_float64(double value) {
  return {at::full({1}, value, at::kDouble), Role::float64};
}

}  // namespace evenkeel::testing
