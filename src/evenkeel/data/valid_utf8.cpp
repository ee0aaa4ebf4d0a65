// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/valid_utf8.h"

#include <simdjson.h>

#include <array>
#include <cstdio>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"

namespace evenkeel::data {

void check_utf8(std::string_view bytes, const std::string& name, std::uint64_t offset) {
  if (simdjson::validate_utf8(bytes.data(), bytes.size())) return;
  const auto first = first_invalid_utf8(bytes);
  EK_ASSERT(first.has_value());
  std::array<char, 8> byte{};
  std::snprintf(byte.data(), byte.size(), "0x%02x",
                static_cast<unsigned>(static_cast<unsigned char>(bytes[*first])));
  throw Error(Exit::data, text(name, ": must be UTF-8, but byte ", offset + *first, " is ",
                               byte.data(), "; convert it, for example with iconv"));
}

}  // namespace evenkeel::data
