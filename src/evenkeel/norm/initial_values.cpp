// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/initial_values.h"

#include <cmath>
#include <limits>

#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/learned_numbers.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

std::vector<InitialValue> initial_values(const Scheme& scheme, const Steps& steps) {
  std::vector<InitialValue> all;
  for (const auto& slot : slots_of(scheme)) {
    const auto variables = variables_of(slot, scheme.shape, steps);
    for (const auto& parameter : parameters_of(*slot.norm, slot.width, slot.heads)) {
      all.push_back({slot.name + "." + parameter.name,
                     stored_initial(*slot.norm, parameter.name, variables)});
    }
    for (const auto& state : buffers_of(*slot.norm, slot.width, slot.heads)) {
      all.push_back({slot.name + "." + state.name, state.initial});
    }
  }
  for (const auto& number : learned_numbers_of(scheme)) {
    const auto variables = number.block > 0 ? scheme.shape.variables_of_block(number.block, steps)
                                            : scheme.shape.variables(steps);
    all.push_back({number.name, stored_initial(number, variables)});
  }
  for (const auto& [name, value] : all) {
    if (std::abs(value) <= std::numeric_limits<float>::max()) continue;
    throw SchemeError("bad_value", name,
                      text("must start with a number that float32 can hold, but "
                           "with ",
                           value));
  }
  return all;
}

}  // namespace evenkeel::norm
