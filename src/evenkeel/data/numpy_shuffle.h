// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::data {

/// The result of NumPy's `Generator(PCG64(seed)).shuffle(x)` for x = arange(count, dtype=uint32):
/// the order in which OLMo reads the chunks of its files. 4 bytes per element.
/// \source O'Neill 2014, PCG, XSL-RR 128/64; numpy/random (SeedSequence, PCG64,
///         Generator.shuffle)
std::vector<std::uint32_t> numpy_shuffled(std::uint32_t count, std::uint64_t seed);

}  // namespace evenkeel::data
