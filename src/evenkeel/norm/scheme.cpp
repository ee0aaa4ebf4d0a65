// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

Variables Shape::variables(const std::optional<Steps>& steps) const {
  const auto number = [](std::int64_t size) { return static_cast<double>(size); };
  Variables all = {
      {"N", number(layers)},        {"S", 2 * number(layers)},     {"d", number(width)},
      {"dk", number(head_width())}, {"f", number(inner)},          {"h", number(heads)},
      {"kv", number(kv_heads)},     {"vocab", number(vocabulary)}, {"context", number(context)}};
  if (steps) {
    all["t"] = number(steps->done);
    all["T"] = number(steps->planned);
  }
  return all;
}

Variables Shape::variables_of_block(std::int64_t l, const std::optional<Steps>& steps) const {
  auto all = variables(steps);
  all["l"] = static_cast<double>(l);
  return all;
}

}  // namespace evenkeel::norm
