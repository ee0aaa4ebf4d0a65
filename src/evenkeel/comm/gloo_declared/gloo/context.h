// SPDX-License-Identifier: Apache-2.0
// Declarations of Gloo that LibTorch's ProcessGroupGloo.hpp names. LibTorch has the code of Gloo,
// but not its headers (docs/decisions/0022-sums-of-ranks.md). All types are opaque here: LibTorch
// makes, copies and destroys their objects, and our code only holds pointers to them.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
