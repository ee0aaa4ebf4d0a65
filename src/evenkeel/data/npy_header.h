// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// True if the file begins with NumPy's magic string. OLMo's files of token ids end in .npy, too,
/// but have no header.
bool is_npy(const TokenBytes& file);

/// The layout of a NumPy file, version 1 to 3.
/// \throws Error (data, exit code 65) unless it is one dimension of little-endian integers whose
///         number fits the size of the file
/// \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
TokenLayout npy_layout(const TokenBytes& file);

}  // namespace evenkeel::data
