// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace evenkeel::tracking {

/// The CRC-32C (Castagnoli) of some bytes: 0xE3069283 for "123456789".
/// \source RFC 3720, appendix B.4: polynomial 0x1EDC6F41, reflected 0x82F63B78
std::uint32_t crc32c(std::string_view bytes);

/// The CRC-32C as a record of TFRecord stores it: rotated right by 15 bits, plus 0xa282ead8.
/// \source https://www.tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace evenkeel::tracking
