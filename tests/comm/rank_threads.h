// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "evenkeel/comm/store.h"
#include "evenkeel/comm/store_handle.h"

namespace evenkeel::comm::testing {

/// A store of this process.
inline Store memory_store() {
  return Store(std::make_shared<StoreHandle>(StoreHandle{c10::make_intrusive<c10d::HashStore>()}));
}

/// Runs `body` for each rank in a thread of its own.
inline void for_each_rank(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (auto& each : threads) each.join();
}

}  // namespace evenkeel::comm::testing
