// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/norm/scheme.h"

/// The table of norm kinds: one row a kind. Parser, descriptions, initial values, parameter counts,
/// leakage, checks, warnings, the template of a scheme and the invariance table read it; nothing
/// else in norm/ and config/ branches on a kind. `nn/norm_implementation.h` has the second table,
/// of operators and double-precision formulas.
namespace evenkeel::norm {

/// The values of x `[B, T, D]` that share one statistic, as a mean or a variance.
enum class StatisticAxis {
  none,      // no statistic: each value is mapped by itself
  row,       // the D features of one token (of one head under scope "head")
  group,     // a run of D / groups features of one token
  sequence,  // one feature of all tokens of a sequence, later ones included
  batch,     // one feature of all tokens of a batch; evaluation uses running values
};

/// The function of x before gain and bias.
enum class Operation {
  identity,        // x
  bounded,         // a bounded function of each value, as tanh(alpha x)
  divide_by_size,  // x / size(x), not centred
  unit_length,     // x / |x|, the Euclidean length; not centred
  standardize,     // (x - mean(x)) / deviation(x)
};

/// A trained tensor of a kind, in addition to gain and bias.
struct ParameterRule {
  const char* name;            // "alpha"
  bool per_feature;            // [D], else [1]
  Expression Norm::* initial;  // its value at the start of a run, in all entries
};

/// A state of a kind (PyTorch: a buffer), `[D]`.
struct StateRule {
  const char* name;  // "running_mean"
  double initial;    // its value at the start of a run, in all entries
};

/// All that the floors norm, config and probe know of one kind.
struct KindRow {
  Kind kind;
  const char* name;     // as in TOML
  const char* formula;  // before gain and bias; for people
  const char* example;  // a TOML value with the fields of the kind
  StatisticAxis axis;
  Operation operation;
  Norm defaults;                    // what a norm of this kind is without fields
  std::vector<const char*> fields;  // TOML fields in addition to those of every kind
  std::vector<ParameterRule> parameters = {};
  std::vector<StateRule> states = {};
};

/// All kinds, in the order of the enumerators.
const std::vector<KindRow>& kinds();

/// The row of one kind.
const KindRow& row_of(Kind kind);

}  // namespace evenkeel::norm
