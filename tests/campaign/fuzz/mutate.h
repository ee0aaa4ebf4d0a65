// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "targets.h"

namespace evenkeel::campaign {

/// Another input of the same form: the text inside a gzip, the header of a safetensors file (with
/// its length), or the value inside a manifest (with its digest) changes; some bytes change at
/// random.
/// \param seed  determines the change, together with libFuzzer's own random numbers
/// \param most  the maximum size of the result in bytes
std::string mutated(Grammar grammar, const std::string& input, std::uint32_t seed,
                    std::size_t most);

}  // namespace evenkeel::campaign
