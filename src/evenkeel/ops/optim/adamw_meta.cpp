// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("adamw_", adamw_of_arguments<check_adamw>);
}

}  // namespace evenkeel::ops
