// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

Variables Shape::variables(double t, double T) const {
  const auto number = [](std::int64_t size) { return static_cast<double>(size); };
  return {{"N", number(layers)},
          {"S", 2 * number(layers)},
          {"d", number(width)},
          {"dk", number(head_width())},
          {"f", number(inner)},
          {"h", number(heads)},
          {"kv", number(kv_heads)},
          {"vocab", number(vocabulary)},
          {"context", number(context)},
          {"t", t},
          {"T", T}};
}

Variables Shape::variables_of_block(std::int64_t l, double t, double T) const {
  auto all = variables(t, T);
  all["l"] = static_cast<double>(l);
  return all;
}

}  // namespace evenkeel::norm
