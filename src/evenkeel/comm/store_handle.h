// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace evenkeel::comm {

/// The c10d side of a Store, for the engine. Its header takes seconds to compile.
struct StoreHandle {
  c10::intrusive_ptr<c10d::Store> store;
};

}  // namespace evenkeel::comm
