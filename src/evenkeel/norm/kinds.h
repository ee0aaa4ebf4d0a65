// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/norm/scheme.h"

/// The table of norm kinds, one row per kind. The code of norm/, config/ and probe/ takes all facts
/// about a kind from this table and does not branch on a kind. nn/norm_path.h has the second table:
/// operators and reference implementations of each kind.
namespace evenkeel::norm {

/// The values of x [B, T, D] over which one statistic (mean, variance, mean square) is computed.
enum class StatisticAxis {
  none,      // no statistic: the norm is element-wise
  row,       // the D features of one token; under scope "head" the dk features of one head
  group,     // D / groups consecutive features of one token
  sequence,  // one feature of all tokens of a sequence, future ones included
  batch,     // one feature of all tokens of a batch; evaluation uses running statistics
};

/// The function of x before gain and bias.
enum class Operation {
  identity,           // x
  bounded,            // a bounded element-wise function, such as tanh(alpha x)
  divide_by_rms,      // x / rms(x), without centering
  divide_by_l2_norm,  // x / |x|, with the L2 norm |x|; without centering
  standardize,        // (x - mean(x)) / std(x)
};

/// A trained tensor of a kind other than gain and bias.
struct ParameterRule {
  const char* name;            // "alpha"
  bool per_feature;            // true: [D]; false: [1]
  Expression Norm::* initial;  // value of all entries at the start of a run
};

/// A running statistic of a kind (PyTorch: a buffer), [D].
struct BufferRule {
  const char* name;  // "running_mean"
  double initial;    // value of all entries at the start of a run
};

/// All facts about one norm kind that norm/, config/ and probe/ use.
struct KindRow {
  Kind kind;
  const char* name;     // as in TOML
  const char* title;    // in reports: "RMSNorm"
  const char* formula;  // for people to read; without gain and bias unless they are special
  const char* example;  // a TOML value with the keys of the kind
  StatisticAxis axis;
  Operation operation;
  Norm defaults;                    // the values of omitted keys
  std::vector<const char*> fields;  // TOML keys in addition to the keys of all kinds
  std::vector<ParameterRule> parameters = {};
  std::vector<BufferRule> states = {};
};

/// All kinds, in the order of the enumerators.
const std::vector<KindRow>& kinds();

/// The row of one kind.
const KindRow& row_of(Kind kind);

}  // namespace evenkeel::norm
