// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/check_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

namespace {

/// Evaluates expressions at one place of a scheme (the model, a block or a norm). Every error
/// message names the place.
class Evaluator {
 public:
  /// \param variables  variables of the place at step 0
  Evaluator(const Scheme& scheme, std::int64_t l, Variables variables, std::int64_t last)
      : scheme_(scheme), l_(l), variables_(std::move(variables)), last_(last) {}

  /// The value of an expression; for an expression of t, the minimum over all steps.
  double value(const std::string& place, const Expression& formula) const {
    try {
      return formula.names().contains("t") ? least(formula) : formula.value(variables_);
    } catch (const SchemeError& error) {
      throw SchemeError(error.code(), place_in(scheme_, l_, place), error.explanation());
    }
  }

  /// Refuses `t` in an expression that is evaluated at the start of a run only.
  void no_step(const std::string& place, const Expression& formula) const {
    if (!formula.names().contains("t")) return;
    refuse(place, text("is evaluated at the start of a run only, where `t` is 0, but is \"",
                       formula.formula(), "\"; leave `t` out"));
  }

  /// The value of an expression that is evaluated at the start of a run only.
  double initial(const std::string& place, const Expression& formula) const {
    no_step(place, formula);
    return value(place, formula);
  }

  double positive(const std::string& place, const Expression& formula) const {
    const double result = value(place, formula);
    if (result > 0) return result;
    refuse(place, formula.formula() == text(result)
                      ? text("must be > 0, found ", formula.formula())
                      : text("must be > 0, but ", formula.formula(), " is ", result,
                             when_it_is(formula, result)));
  }

  void at_least(const std::string& place, const Expression& formula, double limit) const {
    const double result = value(place, formula);
    if (result >= limit) return;
    refuse(place, text("must be >= ", limit, ", but is ", result, when_it_is(formula, result)));
  }

  void number(const std::string& place, const Number& number) const {
    if (const auto* fixed = std::get_if<Expression>(&number)) {
      value(place, *fixed);
      return;
    }
    const auto& learned = std::get<Learned>(number);
    // The stored parameter of "exp" is the logarithm of init.
    if (learned.transform == Learned::Transform::exp) {
      positive(place + ".init", learned.init);
    } else {
      value(place + ".init", learned.init);
    }
    if (!learned.stored_at) no_step(place + ".init", learned.init);
    if (learned.at_most) {
      value(place + ".at_most", *learned.at_most);
      const double start = learned.init.value(variables_),
                   most = learned.at_most->value(variables_);
      if (start > most) {
        throw SchemeError("bad_value", place_in(scheme_, l_, place),
                          text("init is ", shortest(start), ", above at_most = ", shortest(most),
                               ", where it has no gradient; start it lower"));
      }
    }
    if (!learned.stored_at) return;
    positive(place + ".stored_at", *learned.stored_at);
    using Transform = Learned::Transform;
    if (learned.transform != Transform::exp && learned.transform != Transform::silu) return;
    refuse(place + ".stored_at",
           "scales the stored parameter, and not what exp or silu make of "
           "it: the value would not begin at init; leave stored_at or "
           "through out");
  }

  void distribution(const std::string& place, const std::string& words) const {
    auto at_start = variables_;
    at_start.erase("t");
    try {
      distribution_of(words, at_start);
    } catch (const SchemeError& error) {
      throw SchemeError(error.code(), place_in(scheme_, l_, place), error.explanation());
    }
  }

  /// Calls act(value, when) for the values over the run; `when` is " at t = 2", or "" without t.
  template <typename Act>
  void at_each_step(const Expression& formula, const Act& act) const {
    if (!formula.names().contains("t")) return act(formula.value(variables_), "");
    auto variables = variables_;
    double& t = variables["t"];
    constexpr std::int64_t kMost = 100'000;  // evaluations, evenly spaced in a longer run
    const auto stride = std::max<std::int64_t>(1, last_ / kMost);
    for (std::int64_t step = 0; step <= last_; step += stride) {
      t = static_cast<double>(step);
      act(formula.value(variables), text(" at t = ", step));
    }
  }

  [[noreturn]] void refuse(const std::string& place, const std::string& explanation) const {
    throw SchemeError("bad_value", place_in(scheme_, l_, place), explanation);
  }

 private:
  /// The first step with this value: " at t = 2", or "" without t.
  std::string when_it_is(const Expression& formula, double result) const {
    std::optional<std::string> first;
    at_each_step(formula, [&](double value, const std::string& when) {
      if (value == result && !first) first = when;
    });
    return first.value_or("");
  }

  double least(const Expression& formula) const {
    double least = std::numeric_limits<double>::infinity();
    at_each_step(formula,
                 [&](double value, const std::string&) { least = std::min(least, value); });
    return least;
  }

  const Scheme& scheme_;
  std::int64_t l_;
  Variables variables_;
  std::int64_t last_;
};

void check_groups(const Slot& slot, const Evaluator& at, double width) {
  const auto place = slot.place + ".groups";
  if (!slot.norm->groups)
    at.refuse(place, text("a ", name_of(slot.norm->kind), " needs its number of groups"));
  at.positive(place, *slot.norm->groups);
  at.at_each_step(*slot.norm->groups, [&](double count, const std::string& when) {
    if (count == std::floor(count) && std::fmod(width, count) == 0) return;
    at.refuse(place, text("must divide the width ", width, ", but is ", count, when));
  });
}

Steps first(const Steps& last) {
  return {.done = 0, .planned = last.planned};
}

void check_values_check_slot(const Scheme& scheme, const Slot& slot, const Steps& last) {
  const auto variables = variables_of(slot, scheme.shape, first(last));
  const Evaluator at(scheme, slot.block, variables, last.done);
  const auto& norm = *slot.norm;
  at.value(slot.place + ".gain_init", norm.gain_init);
  if (!norm.stored_at) at.no_step(slot.place + ".gain_init", norm.gain_init);
  at.value(slot.place + ".out_scale", norm.out_scale);
  at.initial(slot.place + ".alpha_init", norm.alpha_init);
  at.initial(slot.place + ".shift_init", norm.shift_init);
  at.initial(slot.place + ".beta_init", norm.beta_init);
  at.at_least(slot.place + ".rate_max", norm.rate_max, 1);
  at.at_least(slot.place + ".shift_max", norm.shift_max, 0);
  if (norm.stored_at) {
    at.positive(slot.place + ".stored_at", *norm.stored_at);
    if (norm.gain_form == GainForm::one_plus_w) {
      at.refuse(slot.place + ".stored_at",
                "scales the stored w of gain_form = \"1+w\", and not the 1: the gain would not "
                "begin at gain_init; leave one of the two out");
    }
  }
  if (row_of(norm.kind).axis == StatisticAxis::group) check_groups(slot, at, variables.at("width"));
}

void check_residual(const std::string& sublayer, const Residual& add, const Evaluator& at) {
  at.number(sublayer + ".skip_scale", add.skip_scale);
  at.number(sublayer + ".branch_scale", add.branch_scale);
  at.value(sublayer + ".angle_decay", add.angle_decay);
}

void check_values_check_block(const Scheme& scheme, const Block& block, std::int64_t l,
                              const Steps& last) {
  const Evaluator at(scheme, l, scheme.shape.variables_of_block(l, first(last)), last.done);
  const auto& [attention, feed_forward, damp] = block;
  check_residual("attention", attention.add, at);
  check_residual("feed_forward", feed_forward.add, at);
  if (attention.score_scale) at.number("attention.score_scale", *attention.score_scale);
  if (attention.softcap) at.positive("attention.softcap", *attention.softcap);
  if (feed_forward.up_gate_scale) {
    at.number("feed_forward.up_gate_scale", *feed_forward.up_gate_scale);
  }
  if (damp) at.number("damp", *damp);
  if (scheme.dual) at.value("dual.write_y", scheme.dual->write_y);
  for (const auto& rule : scheme.init) at.initial("init.factor", rule.factor);
}

}  // namespace

std::string place_in(const Scheme& scheme, std::int64_t l, const std::string& place) {
  return text("scheme ", scheme.info.name, l > 0 ? text(", block ", l) : "", ", ", place);
}

void check_values(const Scheme& scheme, const Steps& last) {
  for (const auto& slot : slots_of(scheme)) check_values_check_slot(scheme, slot, last);
  std::int64_t l = 0;
  for (const auto& block : scheme.blocks) check_values_check_block(scheme, block, ++l, last);
  const Evaluator at(scheme, 0, scheme.shape.variables(first(last)), last.done);
  at.number("embedding.scale", scheme.embedding_scale);
  at.number("logits.scale", scheme.logits_scale);
  if (scheme.logits_softcap) at.positive("logits.softcap", *scheme.logits_softcap);
  if (scheme.dual) at.value("dual.y_init", scheme.dual->y_init);
  at.distribution("base_init", scheme.base_init);
  at.distribution("embedding_init", scheme.embedding_init);
  if (scheme.norm_parameters) {
    Evaluator(scheme, 0, scheme.shape.variables(), last.done)
        .value("norm_parameters", *scheme.norm_parameters);
  }
}

}  // namespace evenkeel::norm
