// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Asks the library of float32 products for one order of sums, whatever the number of threads: with
/// AVX-512 Intel's MKL otherwise splits long sums among them, and the bits of a gradient depend on
/// how many there are. To be called before the first product; says nothing where the environment
/// has MKL_CBWR already, and on processors on which it was not found to be needed.
void fix_order_of_products();

}  // namespace evenkeel
