// SPDX-License-Identifier: Apache-2.0
// In every test that multiplies, as the program does it in main().
#include "evenkeel/base/products.h"
#include "evenkeel/ops/first_call.h"

namespace {

[[maybe_unused]] const bool is_done =
    (evenkeel::fix_order_of_products(), evenkeel::ops::make_first_call(), true);

}  // namespace
