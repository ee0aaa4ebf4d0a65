// SPDX-License-Identifier: Apache-2.0
#include "ops/operator_case.h"

namespace evenkeel::testing {

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all;
  for (const auto& room : {norm_cases(), weight_cases(), linear_cases(), attention_cases(),
                           moe_cases(), optim_cases()}) {
    all.insert(all.end(), room.begin(), room.end());
  }
  return all;
}

}  // namespace evenkeel::testing
