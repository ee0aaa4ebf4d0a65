// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/computed.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/call.h"

namespace evenkeel::norm {

/// Twelve digits: two spellings of a formula may differ in the last bits.
double rounded(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.12g", value);
  return std::strtod(digits, nullptr);
}

namespace {

/// Puts numbers in place of formulas, with the variables of one place.
class Computer {
 public:
  explicit Computer(Variables variables) : variables_(std::move(variables)) {}

  void operator()(Expression& formula) const {
    for (const auto& name : formula.names()) {
      if (!variables_.contains(name)) return;
    }
    formula = Expression(rounded(formula.value(variables_)));
  }

  template <typename T>
  void operator()(std::optional<T>& value) const {
    if (value) (*this)(*value);
  }

  void operator()(Number& number) const {
    if (auto* const fixed = std::get_if<Expression>(&number)) {
      (*this)(*fixed);
      return;
    }
    auto& learned = std::get<Learned>(number);
    (*this)(learned.init);
    (*this)(learned.at_most);
    (*this)(learned.stored_at);
  }

  void operator()(Residual& add) const {
    (*this)(add.skip_scale);
    (*this)(add.branch_scale);
    (*this)(add.angle_decay);
  }

  /// \param width  of what the norm sees, `heads` heads together
  void operator()(std::optional<Norm>& norm, std::int64_t width, std::int64_t heads = 1) const {
    if (!norm) return;
    auto variables = variables_;
    const auto row = norm->scope == Scope::head ? width / heads : width;
    variables["width"] = static_cast<double>(row);
    const Computer compute(std::move(variables));
    for (auto* const formula :
         {&norm->gain_init, &norm->out_scale, &norm->alpha_init, &norm->shift_init,
          &norm->beta_init, &norm->rate_max, &norm->shift_max}) {
      compute(*formula);
    }
    compute(norm->stored_at);
    compute(norm->groups);
  }

  /// The numbers of "normal(1/sqrt(d))".
  void operator()(std::string& distribution) const {
    auto call = parse_call(distribution);
    if (!call) return;
    std::string arguments;
    for (auto& each : call->arguments) {
      (*this)(each);
      arguments += text(arguments.empty() ? "" : ", ", each.formula());
    }
    distribution = text(call->name, "(", arguments, ")");
  }

 private:
  Variables variables_;
};

void compute_block(Block& block, const Shape& shape, const Computer& compute) {
  auto& [attention, feed_forward, damp] = block;
  const auto query = shape.heads * shape.head_width();
  const auto key = shape.kv_heads * shape.head_width();
  for (auto* const norm : {&attention.input, &attention.output, &attention.residual}) {
    compute(*norm, shape.width);
  }
  compute(attention.q, query, shape.heads);
  compute(attention.k, key, shape.kv_heads);
  compute(attention.v, key, shape.kv_heads);
  compute(attention.context, query, shape.heads);
  compute(attention.add);
  compute(attention.score_scale);
  compute(attention.softcap);
  for (auto* const norm : {&feed_forward.input, &feed_forward.output, &feed_forward.residual}) {
    compute(*norm, shape.width);
  }
  compute(feed_forward.hidden, shape.inner);
  compute(feed_forward.add);
  compute(feed_forward.up_gate_scale);
  compute(damp);
}

void compute_dual(Dual& dual, const Shape& shape, const Computer& compute) {
  std::optional<Norm> norm = dual.norm;
  compute(norm, shape.width);
  dual.norm = *norm;
  compute(dual.write_y);
  compute(dual.y_init);
}

}  // namespace

Scheme computed(Scheme scheme) {
  const auto& shape = scheme.shape;
  std::int64_t l = 0;
  for (auto& block : scheme.blocks) {
    auto& scale = block.attention.score_scale;
    if (!scale) scale = Number(Expression(1 / std::sqrt(static_cast<double>(shape.head_width()))));
    compute_block(block, shape, Computer(shape.variables_of_block(++l)));
  }
  const Computer compute(shape.variables());
  compute(scheme.embedding_norm, shape.width);
  compute(scheme.final, shape.width);
  compute(scheme.embedding_scale);
  compute(scheme.logits_scale);
  compute(scheme.logits_softcap);
  compute(scheme.base_init);
  compute(scheme.embedding_init);
  for (auto& rule : scheme.init) compute(rule.factor);
  if (scheme.dual) compute_dual(*scheme.dual, shape, compute);
  return scheme;
}

}  // namespace evenkeel::norm
