// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/kind.h"

#include "evenkeel/norm/kinds.h"

namespace evenkeel::norm {

Norm default_norm(Kind kind) {
  return row_of(kind).defaults;
}

std::vector<std::string> allowed_fields(Kind kind) {
  std::vector<std::string> fields = {"scope",     "affine",    "heads_share",
                                     "gain_init", "gain_form", "stored_at",
                                     "out_scale", "pre_scale", "rope"};
  const auto& own = row_of(kind).fields;
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

bool mixes_tokens(Kind kind) {
  const auto axis = row_of(kind).axis;
  return axis == StatisticAxis::batch || axis == StatisticAxis::sequence;
}

bool mixes_tokens_in_evaluation(Kind kind) {
  return mixes_tokens(kind) && row_of(kind).states.empty();
}

std::vector<NormParameter> parameters_of(const Norm& norm, std::int64_t width, std::int64_t heads) {
  const bool per_head = norm.scope == Scope::head;
  const auto features = per_head ? width / heads : width;
  const auto copies = per_head && !norm.heads_share ? heads : 1;
  std::vector<NormParameter> parameters;
  if (norm.affine == Affine::scalar) parameters.push_back({"gain", copies});
  if (norm.affine == Affine::vector || norm.affine == Affine::vector_bias) {
    parameters.push_back({"gain", copies * features});
  }
  if (norm.affine == Affine::vector_bias) parameters.push_back({"bias", copies * features});
  for (const auto& rule : row_of(norm.kind).parameters) {
    parameters.push_back({rule.name, rule.per_feature ? features : 1, rule.per_feature});
  }
  return parameters;
}

double stored_initial(const Norm& norm, const std::string& parameter, const Variables& variables) {
  for (const auto& rule : row_of(norm.kind).parameters) {
    if (parameter == rule.name) return (norm.*rule.initial).value(variables);
  }
  if (parameter != "gain") return 0;
  if (norm.stored_at) return norm.stored_at->value(variables);
  const double gain = norm.gain_init.value(variables);
  return norm.gain_form == GainForm::one_plus_w ? gain - 1 : gain;
}

double gain_factor(const Norm& norm, const Variables& variables) {
  if (!norm.stored_at) return 1;
  return norm.gain_init.value(variables) / norm.stored_at->value(variables);
}

std::vector<NormBuffer> buffers_of(const Norm& norm, std::int64_t width, std::int64_t heads) {
  const auto features = norm.scope == Scope::head ? width / heads : width;
  std::vector<NormBuffer> states;
  for (const auto& rule : row_of(norm.kind).states) {
    states.push_back({rule.name, features, rule.initial});
  }
  return states;
}

std::int64_t parameter_count(const Norm& norm, std::int64_t width, std::int64_t heads) {
  std::int64_t count = 0;
  for (const auto& parameter : parameters_of(norm, width, heads)) count += parameter.size;
  return count;
}

}  // namespace evenkeel::norm
