// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/canonical_form.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/call.h"

namespace evenkeel::norm {

/// Twelve significant digits: equal expressions may differ in the last bits of their values.
double rounded(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.12g", value);
  return std::strtod(digits, nullptr);
}

namespace {

/// Replaces expressions by their values (constant folding), with the variables of one place.
class ConstantFolder {
 public:
  explicit ConstantFolder(Variables variables) : variables_(std::move(variables)) {}

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

  /// \param width  features of the norm's input, all heads together
  void operator()(std::optional<Norm>& norm, std::int64_t width, std::int64_t heads = 1) const {
    if (!norm) return;
    auto variables = variables_;
    const auto row = norm->scope == Scope::head ? width / heads : width;
    variables["width"] = static_cast<double>(row);
    const ConstantFolder fold(std::move(variables));
    for (auto* const formula :
         {&norm->gain_init, &norm->out_scale, &norm->alpha_init, &norm->shift_init,
          &norm->beta_init, &norm->rate_max, &norm->shift_max}) {
      fold(*formula);
    }
    fold(norm->stored_at);
    fold(norm->groups);
  }

  /// Folds the arguments of a distribution: "normal(1/sqrt(d))".
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

void fold_block(Block& block, const Shape& shape, const ConstantFolder& fold) {
  auto& [attention, feed_forward, damp] = block;
  const auto query = shape.heads * shape.head_width();
  const auto key = shape.kv_heads * shape.head_width();
  for (auto* const norm : {&attention.input, &attention.output, &attention.residual}) {
    fold(*norm, shape.width);
  }
  fold(attention.q, query, shape.heads);
  fold(attention.k, key, shape.kv_heads);
  fold(attention.v, key, shape.kv_heads);
  fold(attention.context, query, shape.heads);
  fold(attention.add);
  fold(attention.score_scale);
  fold(attention.softcap);
  for (auto* const norm : {&feed_forward.input, &feed_forward.output, &feed_forward.residual}) {
    fold(*norm, shape.width);
  }
  fold(feed_forward.hidden, shape.inner);
  fold(feed_forward.add);
  fold(feed_forward.up_gate_scale);
  fold(damp);
}

void fold_dual(Dual& dual, const Shape& shape, const ConstantFolder& fold) {
  std::optional<Norm> norm = dual.norm;
  fold(norm, shape.width);
  dual.norm = *norm;
  fold(dual.write_y);
  fold(dual.y_init);
}

}  // namespace

Scheme evaluated(Scheme scheme) {
  const auto& shape = scheme.shape;
  std::int64_t l = 0;
  for (auto& block : scheme.blocks) {
    auto& scale = block.attention.score_scale;
    if (!scale) scale = Number(Expression(1 / std::sqrt(static_cast<double>(shape.head_width()))));
    fold_block(block, shape, ConstantFolder(shape.variables_of_block(++l)));
  }
  const ConstantFolder fold(shape.variables());
  fold(scheme.embedding_norm, shape.width);
  fold(scheme.final, shape.width);
  fold(scheme.embedding_scale);
  fold(scheme.logits_scale);
  fold(scheme.logits_softcap);
  fold(scheme.base_init);
  fold(scheme.embedding_init);
  for (auto& rule : scheme.init) fold(rule.factor);
  if (scheme.dual) fold_dual(*scheme.dual, shape, fold);
  return scheme;
}

}  // namespace evenkeel::norm
