// SPDX-License-Identifier: Apache-2.0
// Declarations only: gloo/context.h says why.
#pragma once

#include <memory>

namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
