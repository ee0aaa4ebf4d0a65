// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/learned_numbers.h"

#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {

namespace {

class LearnedNumberList {
 public:
  explicit LearnedNumberList(const Shape& shape) : shape_(shape) {}

  /// \param vector  number of values of a learned number with size "vector"
  void add(const std::string& name, const Number& number, std::int64_t vector) {
    const auto* const learned = std::get_if<Learned>(&number);
    if (learned == nullptr) return;
    const auto size = learned->size == Learned::Size::scalar     ? 1
                      : learned->size == Learned::Size::per_head ? shape_.heads
                                                                 : vector;
    numbers_.push_back({prefix() + name, *learned, size, block_});
  }

  void add_sublayer(const std::string& sublayer, const Residual& rules) {
    add(sublayer + ".skip_scale", rules.skip_scale, shape_.width);
    add(sublayer + ".branch_scale", rules.branch_scale, shape_.width);
    if (rules.update != Update::geodesic) return;
    add(sublayer + ".angle_scale", Learned{.init = 1}, 1);
    add(sublayer + ".angle_bias", Learned{.init = 0}, 1);
  }

  void add_block(const Block& block, std::int64_t l) {
    block_ = l;
    const auto& [attention, feed_forward, damp] = block;
    if (attention.score_scale) add("attention.score_scale", *attention.score_scale, shape_.heads);
    add_sublayer("attention", attention.add);
    if (feed_forward.up_gate_scale) {
      add("feed_forward.up_gate_scale", *feed_forward.up_gate_scale, 2 * shape_.inner);
    }
    add_sublayer("feed_forward", feed_forward.add);
    if (damp) add("damp", *damp, 1);
    block_ = 0;
  }

  std::vector<LearnedNumber> numbers() && { return std::move(numbers_); }

 private:
  std::string prefix() const { return block_ > 0 ? text("blocks.", block_ - 1, ".") : ""; }

  const Shape& shape_;
  std::vector<LearnedNumber> numbers_;
  std::int64_t block_ = 0;
};

}  // namespace

std::vector<LearnedNumber> learned_numbers_of(const Scheme& scheme) {
  LearnedNumberList list(scheme.shape);
  list.add("embedding_scale", scheme.embedding_scale, scheme.shape.width);
  std::int64_t l = 0;
  for (const auto& block : scheme.blocks) list.add_block(block, ++l);
  list.add("logits_scale", scheme.logits_scale, scheme.shape.vocabulary);
  return std::move(list).numbers();
}

double stored_initial(const LearnedNumber& number, const Variables& variables) {
  const auto& learned = number.learned;
  if (learned.stored_at) return learned.stored_at->value(variables);
  const double init = learned.init.value(variables);
  const auto refuse = [&](const char* wanted) {
    throw SchemeError("bad_value", number.name, text("init must be ", wanted, ", but is ", init));
  };
  switch (learned.transform) {
    case Learned::Transform::exp:
      if (!(init > 0)) refuse("above 0 to be an exp()");
      return std::log(init);
    case Learned::Transform::abs:
      if (!(init >= 0)) refuse("0 or above to be an abs()");
      return init;
    case Learned::Transform::silu:
      if (init != 0) refuse("0 under silu()");
      return 0;
    case Learned::Transform::identity:
      break;
  }
  return init;
}

}  // namespace evenkeel::norm
