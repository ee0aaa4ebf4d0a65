// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <string>

#include "evenkeel/comm/store.h"

namespace evenkeel::comm {

/// Connects all ranks by c10d's Gloo. Every rank calls it.
/// \param address    IP address that this rank listens on
/// \param interface  network interface, in place of the address; empty: the address counts
/// \param timeout    of the connection, and of each wait of the engine
/// \throws c10::Error or std::exception, with what the engine says
c10::intrusive_ptr<c10d::Backend> connect_gloo(const Store& store, int rank, int ranks,
                                               const std::string& address,
                                               const std::string& interface,
                                               std::chrono::seconds timeout);

}  // namespace evenkeel::comm
