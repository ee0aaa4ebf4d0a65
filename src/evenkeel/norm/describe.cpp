// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/describe.h"

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"

namespace evenkeel::norm {

namespace {

/// What differs from the kind's defaults, as words after a comma.
std::string differences(const Norm& norm) {
  const auto usual = norm_of(norm.kind);
  std::string out;
  const auto say = [&](bool differs, const auto&... words) {
    if (differs) out += text(", ", words...);
  };
  const auto plain = [](double value) { return Expression(value).formula(); };
  say(norm.affine != usual.affine && norm.affine == Affine::none, "no gain");
  say(norm.affine != usual.affine && norm.affine == Affine::scalar, "one gain");
  say(norm.affine != usual.affine && norm.affine == Affine::vector,
      usual.affine == Affine::vector_bias ? "no bias" : "gain vector");
  say(norm.affine != usual.affine && norm.affine == Affine::vector_bias, "gain and bias");
  say(!norm.heads_share, "a gain for each head");
  say(norm.gain_init != usual.gain_init, "gain starts at ", norm.gain_init.formula());
  say(norm.gain_form != usual.gain_form, "gain stored as 1+w");
  say(norm.stored_at.has_value(), "stored at ", norm.stored_at ? norm.stored_at->formula() : "");
  say(norm.epsilon != usual.epsilon, "epsilon ", plain(norm.epsilon));
  say(norm.epsilon_at != usual.epsilon_at, "epsilon ", name_of(norm.epsilon_at));
  say(norm.partial != usual.partial, "mean over the first ", plain(norm.partial), " of the row");
  say(norm.groups.has_value(), norm.groups ? norm.groups->formula() : "", " groups");
  say(norm.pre_scale != usual.pre_scale, "row divided by its absmax/8 first");
  say(norm.out_scale != usual.out_scale, "result times ", norm.out_scale.formula());
  say(norm.rope != usual.rope, "after the rotation");
  return out;
}

}  // namespace

std::string describe(const Norm& norm) {
  return text(name_of(norm.kind), norm.scope == Scope::head ? " per head" : "", differences(norm));
}

}  // namespace evenkeel::norm
