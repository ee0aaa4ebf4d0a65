// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/engine_gloo.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "evenkeel/comm/store_handle.h"

namespace evenkeel::comm {

c10::intrusive_ptr<c10d::Backend> connect_gloo(const Store& store, int rank, int ranks,
                                               const std::string& address,
                                               const std::string& interface,
                                               std::chrono::seconds timeout) {
  using Gloo = c10d::ProcessGroupGloo;
  const auto options = Gloo::Options::create(timeout);
  options->devices.push_back(interface.empty() ? Gloo::createDeviceForHostname(address)
                                               : Gloo::createDeviceForInterface(interface));
  return c10::make_intrusive<Gloo>(store.handle().store, rank, ranks, options);
}

}  // namespace evenkeel::comm
