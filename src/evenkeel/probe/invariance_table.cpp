// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/invariance_table.h"

#include <ATen/ATen.h>

#include "evenkeel/norm/kinds.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

using norm::Kind;

constexpr double kFactor = 3;       // c
constexpr std::int64_t kToken = 2;  // position of the changed token in the sequence kSequence
constexpr std::int64_t kSequence = 1;
constexpr std::int64_t kGroups = 4;  // groups of features

at::Tensor noise(const char* name, at::IntArrayRef sizes) {
  return randn(1, std::string("probe/invariance/") + name, sizes);
}

at::Tensor with_weight(const Sample& sample, const at::Tensor& weight) {
  return Sample{sample.x, weight}.z();
}

/// The changed token of z, as a view.
at::Tensor token_of(const at::Tensor& z) {
  return z.select(0, kSequence).select(0, kToken);
}

at::Tensor one_weight_row(const Sample& sample) {
  auto weight = sample.weight.clone();
  weight[0] *= kFactor;
  return with_weight(sample, weight);
}

at::Tensor whole_matrix(const Sample& sample) {
  return with_weight(sample, sample.weight * kFactor);
}

at::Tensor negative_matrix(const Sample& sample) {
  return with_weight(sample, -kFactor * sample.weight);
}

/// W + b 1^T, with an entry of b for each feature: z changes by b times the sum of x.
at::Tensor constant_for_each_weight_row(const Sample& sample) {
  return with_weight(sample, sample.weight + noise("b", {sample.weight.size(0), 1}));
}

at::Tensor shifted_rows(const Sample& sample) {
  return with_weight(sample, sample.weight + noise("v", {sample.weight.size(1)}));
}

/// The shift is along the feature of x that is 1 in every token.
at::Tensor rows_shifted_along_a_constant(const Sample& sample) {
  auto weight = sample.weight.clone();
  weight.select(1, 0).add_(kFactor);
  return with_weight(sample, weight);
}

at::Tensor constant_for_each_token(const Sample& sample) {
  return sample.z() + noise("constants", {sample.x.size(0), sample.x.size(1), 1});
}

at::Tensor same_constant(const Sample& sample) {
  return sample.z() + kFactor;
}

at::Tensor unequal_vector(const Sample& sample) {
  return sample.z() + noise("vector", {sample.weight.size(0)});
}

/// A vector with equal entries in each group of consecutive features.
at::Tensor vector_of_groups(const Sample& sample) {
  const auto of_groups = noise("groups", {kGroups});
  return sample.z() + of_groups.repeat_interleave(sample.weight.size(0) / kGroups);
}

at::Tensor whole_batch(const Sample& sample) {
  return sample.z() * kFactor;
}

at::Tensor one_sequence(const Sample& sample) {
  auto z = sample.z();
  z.select(0, kSequence).mul_(kFactor);
  return z;
}

at::Tensor one_token(const Sample& sample) {
  auto z = sample.z();
  token_of(z).mul_(kFactor);
  return z;
}

/// Two tokens after the end of each sequence, as padding to a common length.
at::Tensor padded(const Sample& sample) {
  constexpr std::int64_t kPadding = 2;
  const auto padding = noise("padding", {sample.weight.size(0)});
  return at::cat({sample.z(), padding.expand({sample.x.size(0), kPadding, padding.size(0)})}, 1);
}

at::Tensor one_token_shifted(const Sample& sample) {
  auto z = sample.z();
  token_of(z).add_(kFactor);
  return z;
}

at::Tensor another_token(const Sample& sample) {
  auto z = sample.z();
  token_of(z).copy_(noise("token", {sample.weight.size(0)}));
  return z;
}

/// The expected letters for a norm with statistics along this axis. They follow from the equations
/// (docs/probes.md).
struct AxisLetters {
  norm::StatisticAxis axis;
  bool is_centred;
  const char* letters;
};
constexpr std::array<AxisLetters, 6> kLetters = {{
    {norm::StatisticAxis::batch, true, "==x=x====xxxxxxx"},
    {norm::StatisticAxis::sequence, true, "==x=x=====xxxxxx"},
    {norm::StatisticAxis::row, true, "x=====xx=====xx="},
    {norm::StatisticAxis::group, true, "x=====x======xx="},
    {norm::StatisticAxis::row, false, "x=xxxxxx===x=xx="},
    {norm::StatisticAxis::none, false, "xxxxxxxxxxxx=xx="},
}};
/// The expected letters for a fixed element-wise map: no statistics, or running statistics.
constexpr const char* kFixedMap = "xxxxxxxxxxxx=xx=";

/// The row of a kind with default fields and epsilon 0.
InvarianceRow exact(const norm::KindRow& kind) {
  InvarianceRow row = {.name = kind.name, .norm = kind.defaults, .expected = {}};
  row.norm.epsilon = 0;
  if (kind.axis == norm::StatisticAxis::group) row.norm.groups = static_cast<double>(kGroups);
  const bool is_centred = kind.operation == norm::Operation::standardize;
  for (const auto& each : kLetters) {
    if (each.axis == kind.axis && each.is_centred == is_centred) row.expected = each.letters;
  }
  return row;
}

/// A kind with fields that differ from its defaults and change the letters or the equation.
struct Variant {
  Kind kind;
  const char* name;
  void (*change)(norm::Norm&);
  const char* letters;
  const char* default_name =
      nullptr;  // name of the row with default fields; nullptr: name of the kind
};
const std::array<Variant, 3> kVariants = {{
    {Kind::batch_renorm, "batch_renorm, clips open",
     [](norm::Norm& norm) {
       constexpr double kOpen = 1e9;
       norm.rate_max = kOpen;
       norm.shift_max = kOpen;
     },
     kFixedMap},
    {Kind::rms_norm, "rms_norm, partial",
     [](norm::Norm& norm) {
       constexpr double kPart = 0.5;
       norm.partial = kPart;
     },
     "x=xxxxxx===x=xx="},
    // Away from its initial value, the gain of SeeDNorm depends on the scale of x: no invariance
    // remains.
    {Kind::seed_norm, "seed_norm",
     [](norm::Norm& norm) {
       constexpr double kTilt = 0.2;  // x . beta of order 1, where tanh is not saturated
       norm.beta_init = kTilt;
     },
     kFixedMap, "seed_norm, beta 0"},
}};

/// The rows of one kind: its defaults, its variants, and evaluation with running statistics.
std::vector<InvarianceRow> invariance_table_rows_of(const norm::KindRow& kind) {
  std::vector<InvarianceRow> rows = {exact(kind)};
  for (const auto& variant : kVariants) {
    if (variant.kind != kind.kind) continue;
    auto row = exact(kind);
    row.name = variant.name;
    row.expected = variant.letters;
    variant.change(row.norm);
    if (variant.default_name != nullptr) rows.front().name = variant.default_name;
    rows.push_back(row);
  }
  if (kind.states.empty()) return rows;
  auto row = exact(kind);
  row.name += ", evaluation";
  row.mode = nn::Mode::evaluation;
  row.expected = kFixedMap;
  rows.push_back(row);
  return rows;
}

}  // namespace

at::Tensor Sample::z() const {
  return at::matmul(x, weight.t());
}

const std::array<Change, kChanges>& changes() {
  static const std::array<Change, kChanges> kAll = {{
      {"scale one weight row", one_weight_row},
      {"scale the whole matrix", whole_matrix},
      {"add a vector v to every weight row", shifted_rows},
      {"add v, v.x being the same for every token", rows_shifted_along_a_constant},
      {"add to each token a constant of its own", constant_for_each_token},
      {"add the same constant to every token", same_constant},
      {"add a vector of unequal entries", unequal_vector},
      {"add a vector that is equal inside each group", vector_of_groups},
      {"scale the data of the whole batch", whole_batch},
      {"scale one sequence", one_sequence},
      {"scale one token", one_token},
      {"shift all features of one token", one_token_shifted},
      {"change one token, outputs before it", another_token, kToken},
      {"scale the whole matrix by a negative number", negative_matrix},
      {"add to each weight row a constant of its own", constant_for_each_weight_row},
      {"append two tokens of padding, outputs before them", padded, kSampleTokens},
  }};
  return kAll;
}

std::vector<InvarianceRow> invariance_rows() {
  std::vector<InvarianceRow> all;
  for (const auto& part : kLetters) {
    for (const auto& kind : norm::kinds()) {
      const bool is_centred = kind.operation == norm::Operation::standardize;
      if (kind.axis != part.axis || is_centred != part.is_centred) continue;
      const auto rows = invariance_table_rows_of(kind);
      all.insert(all.end(), rows.begin(), rows.end());
    }
  }
  return all;
}

}  // namespace evenkeel::probe
