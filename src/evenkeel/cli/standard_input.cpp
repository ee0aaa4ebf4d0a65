// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/standard_input.h"

#include <array>
#include <cerrno>
#include <iostream>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"

namespace evenkeel::cli {

std::string standard_input(const char* what, const char* remedy) {
  constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  errno = 0;
  std::string content;
  std::array<char, 1 << 16> buffer{};
  while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (content.size() <= kMaxBytes) continue;
    throw Error(Exit::data, text("standard input: ", what, " must have at most ", kMaxBytes,
                                 " bytes, but has more; ", remedy));
  }
  if (errno != 0) {
    throw Error(Exit::io, text("standard input: cannot be read as ", what, ": ",
                               std::generic_category().message(errno)));
  }
  if (const auto bad = first_invalid_utf8(content)) {
    throw Error(Exit::data, text("standard input: ", what, " must be UTF-8, but byte ", *bad,
                                 " is not; convert it"));
  }
  return content;
}

}  // namespace evenkeel::cli
