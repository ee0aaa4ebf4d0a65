// SPDX-License-Identifier: Apache-2.0
// Every test with GEMMs sets up MKL as main() does.
#include "evenkeel/base/mkl_cnr.h"
#include "evenkeel/ops/common/mkl_warm_up.h"

namespace {

[[maybe_unused]] const bool is_done =
    (evenkeel::enable_mkl_cnr(), evenkeel::ops::warm_up_mkl(), true);

}  // namespace
