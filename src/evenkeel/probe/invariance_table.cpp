// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/invariance_table.h"

#include <ATen/ATen.h>

#include "evenkeel/norm/kind.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

using norm::Kind;

constexpr double kFactor = 3;       // c
constexpr std::int64_t kToken = 2;  // of the sequence kSequence: the one token that is changed
constexpr std::int64_t kSequence = 1;
constexpr std::int64_t kGroups = 4;  // of features

at::Tensor noise(const char* name, at::IntArrayRef sizes) {
  return randn(1, std::string("probe/invariance/") + name, sizes);
}

at::Tensor with_weight(const Sample& sample, const at::Tensor& weight) {
  return Sample{sample.x, weight}.z();
}

/// The token of z that is changed, as a view.
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

at::Tensor shifted_rows(const Sample& sample) {
  return with_weight(sample, sample.weight + noise("v", {sample.weight.size(1)}));
}

/// v is along the feature of x that is the same in every token.
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

/// Equal inside each group of features that follow one another.
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

norm::Norm exact(Kind kind) {
  auto norm = norm::default_norm(kind);
  norm.epsilon = 0;
  if (kind == Kind::group_norm) norm.groups = static_cast<double>(kGroups);
  return norm;
}

norm::Norm partial() {
  constexpr double kHalf = 0.5;
  auto norm = exact(Kind::rms_norm);
  norm.partial = kHalf;
  return norm;
}

norm::Norm tilted_seed_norm() {
  constexpr double kTilt = 0.2;  // x.beta of order 1: its tanh is not saturated
  auto norm = exact(Kind::seed_norm);
  norm.beta_init = kTilt;
  return norm;
}

norm::Norm open_batch_renorm() {
  constexpr double kOpen = 1e9;
  auto norm = exact(Kind::batch_renorm);
  norm.rate_max = kOpen;
  norm.shift_max = kOpen;
  return norm;
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
  }};
  return kAll;
}

// The letters follow from the formulas (docs/probes.md):
//
//   centred and scaled over the batch      BatchNorm; Batch Renorm while its clips hold
//   centred and scaled over a sequence     InstanceNorm
//   centred and scaled over a token        LayerNorm; GroupNorm, for each group of features
//   scaled over a token                    RMSNorm, L2, ScaleNorm; SeedNorm while beta is 0
//   a fixed map of each value              DyT, Derf, scale; with running values: BatchNorm in
//                                          evaluation, Batch Renorm with open clips
//   beyond its start SeedNorm's gain depends on the length of x, so that nothing is left
std::vector<InvarianceRow> invariance_rows() {
  constexpr auto kTraining = nn::Mode::training;
  constexpr auto kEvaluation = nn::Mode::evaluation;
  return {
      {"batch_norm", exact(Kind::batch_norm), kTraining, "==x=x====xxxx"},
      {"batch_norm, evaluation", exact(Kind::batch_norm), kEvaluation, "xxxxxxxxxxxx="},
      {"batch_renorm", exact(Kind::batch_renorm), kTraining, "==x=x====xxxx"},
      {"batch_renorm, clips open", open_batch_renorm(), kTraining, "xxxxxxxxxxxx="},
      {"batch_renorm, evaluation", exact(Kind::batch_renorm), kEvaluation, "xxxxxxxxxxxx="},
      {"instance_norm", exact(Kind::instance_norm), kTraining, "==x=x=====xxx"},
      {"layer_norm", exact(Kind::layer_norm), kTraining, "x=====xx====="},
      {"group_norm", exact(Kind::group_norm), kTraining, "x=====x======"},
      {"rms_norm", exact(Kind::rms_norm), kTraining, "x=xxxxxx===x="},
      {"rms_norm, partial", partial(), kTraining, "x=xxxxxx===x="},
      {"l2", exact(Kind::l2), kTraining, "x=xxxxxx===x="},
      {"scale_norm", exact(Kind::scale_norm), kTraining, "x=xxxxxx===x="},
      {"seed_norm, beta 0", exact(Kind::seed_norm), kTraining, "x=xxxxxx===x="},
      {"seed_norm", tilted_seed_norm(), kTraining, "xxxxxxxxxxxx="},
      {"dyt", exact(Kind::dyt), kTraining, "xxxxxxxxxxxx="},
      {"derf", exact(Kind::derf), kTraining, "xxxxxxxxxxxx="},
      {"scale", exact(Kind::scale), kTraining, "xxxxxxxxxxxx="},
  };
}

}  // namespace evenkeel::probe
