// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/describe.h"

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"

namespace evenkeel::norm {

namespace {

/// Descriptions of the fields that differ from the kind's defaults, each after a comma.
std::string describe_differences(const Norm& norm) {
  const auto defaults = default_norm(norm.kind);
  std::string out;
  const auto add = [&](bool differs, const auto&... words) {
    if (differs) out += text(", ", words...);
  };
  const auto plain = [](double value) { return Expression(value).formula(); };
  add(norm.affine != defaults.affine && norm.affine == Affine::none, "no gain");
  add(norm.affine != defaults.affine && norm.affine == Affine::scalar, "one gain");
  add(norm.affine != defaults.affine && norm.affine == Affine::vector,
      defaults.affine == Affine::vector_bias ? "no bias" : "gain vector");
  add(norm.affine != defaults.affine && norm.affine == Affine::vector_bias, "gain and bias");
  add(!norm.heads_share, "a gain for each head");
  add(norm.gain_init != defaults.gain_init, "gain starts at ", norm.gain_init.formula());
  add(norm.gain_form != defaults.gain_form, "gain stored as 1+w");
  add(norm.stored_at.has_value(), "stored at ", norm.stored_at ? norm.stored_at->formula() : "");
  add(norm.epsilon != defaults.epsilon, "epsilon ", plain(norm.epsilon));
  add(norm.epsilon_at != defaults.epsilon_at, "epsilon ", name_of(norm.epsilon_at));
  add(norm.partial != defaults.partial, "mean over the first ", plain(norm.partial), " of the row");
  add(norm.detach != defaults.detach, "only the ", name_of(norm.detach), " detached");
  add(norm.groups.has_value(), norm.groups ? norm.groups->formula() : "", " groups");
  add(norm.pre_scale != defaults.pre_scale, "row divided by its absmax/8 first");
  add(norm.out_scale != defaults.out_scale, "result times ", norm.out_scale.formula());
  add(norm.rope != defaults.rope, "after the rotation");
  add(norm.alpha_init != defaults.alpha_init, "alpha starts at ", norm.alpha_init.formula());
  add(norm.shift_init != defaults.shift_init, "shift starts at ", norm.shift_init.formula());
  add(norm.beta_init != defaults.beta_init, "beta starts at ", norm.beta_init.formula());
  add(norm.momentum != defaults.momentum, "momentum ", plain(norm.momentum));
  add(norm.rate_max != defaults.rate_max, "rate at most ", norm.rate_max.formula());
  add(norm.shift_max != defaults.shift_max, "shift at most ", norm.shift_max.formula());
  return out;
}

}  // namespace

std::string joined(const std::string& list, const std::string& more, const char* between) {
  return list.empty() ? more : text(list, between, more);
}

std::string describe(const Norm& norm) {
  return text(name_of(norm.kind), norm.scope == Scope::head ? " per head" : "",
              describe_differences(norm));
}

std::string describe(const Experts& experts) {
  return text(experts.active, " of ", experts.count, " experts",
              experts.shared > 0 ? text(" and ", experts.shared, " shared") : "");
}

std::string describe(const Number& number) {
  if (const auto* const fixed = std::get_if<Expression>(&number)) return fixed->formula();
  const auto& learned = std::get<Learned>(number);
  auto out = text("learned ", name_of(learned.size), " from ", learned.init.formula());
  if (learned.transform != Learned::Transform::identity) {
    out += text(", through ", name_of(learned.transform));
  }
  if (learned.at_most) out += text(", at most ", learned.at_most->formula());
  if (learned.stored_at) out += text(", stored at ", learned.stored_at->formula());
  return out;
}

}  // namespace evenkeel::norm
