// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/kind.h"

namespace evenkeel::norm {

namespace {

Norm with_bias(Kind kind) {
  Norm norm;
  norm.kind = kind;
  norm.affine = Affine::vector_bias;
  return norm;
}

Norm with_length_statistic(Kind kind, Affine affine, double epsilon) {
  Norm norm;
  norm.kind = kind;
  norm.affine = affine;
  norm.epsilon = epsilon;
  norm.epsilon_at = EpsilonAt::clamp;
  return norm;
}

}  // namespace

Norm default_norm(Kind kind) {
  constexpr double kTinyLength = 1e-12;   // l2: an epsilon that no real row reaches
  constexpr double kSlowMomentum = 0.01;  // batch_renorm
  Norm norm;
  switch (kind) {
    case Kind::layer_norm:
    case Kind::group_norm:
    case Kind::dyt:
    case Kind::derf:
    case Kind::batch_norm:
      return with_bias(kind);
    case Kind::batch_renorm:
      norm = with_bias(kind);
      norm.momentum = kSlowMomentum;
      return norm;
    case Kind::l2:
      return with_length_statistic(kind, Affine::none, kTinyLength);
    case Kind::scale_norm:
      norm = with_length_statistic(kind, Affine::scalar, norm.epsilon);
      norm.gain_init = Expression::parse("sqrt(width)");
      return norm;
    case Kind::instance_norm:
      norm.affine = Affine::none;
      break;
    case Kind::seed_norm:
      norm.alpha_init = 1;
      break;
    case Kind::rms_norm:
    case Kind::scale:
      break;
  }
  norm.kind = kind;
  return norm;
}

std::vector<std::string> allowed_fields(Kind kind) {
  std::vector<std::string> fields = {"scope",     "affine",    "heads_share",
                                     "gain_init", "gain_form", "stored_at",
                                     "out_scale", "pre_scale", "rope"};
  const auto add = [&](std::initializer_list<const char*> more) {
    fields.insert(fields.end(), more.begin(), more.end());
  };
  const bool bounded = kind == Kind::dyt || kind == Kind::derf;
  const bool over_batch = kind == Kind::batch_norm || kind == Kind::batch_renorm;
  if (!bounded && kind != Kind::scale) add({"epsilon"});
  if (!bounded && kind != Kind::scale && !over_batch) add({"epsilon_at"});
  if (kind == Kind::rms_norm) add({"partial"});
  if (kind == Kind::group_norm) add({"groups"});
  if (bounded) add({"alpha_init"});
  if (kind == Kind::derf) add({"shift_init"});
  if (kind == Kind::seed_norm) add({"alpha_init", "beta_init"});
  if (over_batch) add({"momentum"});
  if (kind == Kind::batch_renorm) add({"rate_max", "shift_max"});
  if (sees_other_tokens(kind)) add({"allow_leakage"});
  return fields;
}

bool sees_other_tokens(Kind kind) {
  return kind == Kind::batch_norm || kind == Kind::batch_renorm || kind == Kind::instance_norm;
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
  if (norm.kind == Kind::dyt || norm.kind == Kind::derf) parameters.push_back({"alpha", 1});
  if (norm.kind == Kind::derf) parameters.push_back({"shift", 1});
  if (norm.kind == Kind::seed_norm) {
    parameters.push_back({"alpha", features});
    parameters.push_back({"beta", features});
  }
  return parameters;
}

double stored_initial(const Norm& norm, const std::string& parameter, const Variables& variables) {
  if (parameter == "alpha") return norm.alpha_init.value(variables);
  if (parameter == "beta") return norm.beta_init.value(variables);
  if (parameter == "shift") return norm.shift_init.value(variables);
  if (parameter != "gain") return 0;
  if (norm.stored_at) return norm.stored_at->value(variables);
  const double gain = norm.gain_init.value(variables);
  return norm.gain_form == GainForm::one_plus_w ? gain - 1 : gain;
}

double gain_factor(const Norm& norm, const Variables& variables) {
  if (!norm.stored_at) return 1;
  return norm.gain_init.value(variables) / norm.stored_at->value(variables);
}

std::vector<NormState> states_of(const Norm& norm, std::int64_t width, std::int64_t heads) {
  const auto features = norm.scope == Scope::head ? width / heads : width;
  if (norm.kind == Kind::batch_norm) {
    return {{"running_mean", features, 0}, {"running_var", features, 1}};
  }
  if (norm.kind == Kind::batch_renorm) {
    return {{"running_mean", features, 0}, {"running_std", features, 1}};
  }
  return {};
}

std::int64_t parameter_count(const Norm& norm, std::int64_t width, std::int64_t heads) {
  std::int64_t count = 0;
  for (const auto& parameter : parameters_of(norm, width, heads)) count += parameter.size;
  return count;
}

}  // namespace evenkeel::norm
