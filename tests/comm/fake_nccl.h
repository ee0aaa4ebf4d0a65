// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "evenkeel/comm/nccl_library.h"

/// NCCL between threads, for tensors in CPU memory.
namespace evenkeel::comm {

/// All ranks of one group.
struct FakeNetwork {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;  // by (from, to)
};

struct NcclCommunicator {
  int rank;
  FakeNetwork* network;
};

namespace testing {

struct FakeCall {
  NcclCommunicator* communicator;
  const void* from;  // nullptr: receives
  void* to;
  std::size_t bytes;
  int peer;
};

/// The calls of the group that this thread has open.
inline std::vector<FakeCall>& fake_group() {
  thread_local std::vector<FakeCall> calls;
  return calls;
}

inline int end_fake_group() {
  for (const auto& [own, from, to, bytes, peer] : fake_group()) {
    if (from == nullptr) continue;
    const auto* const begin = static_cast<const char*>(from);
    const std::lock_guard lock(own->network->mutex);
    own->network->messages[{own->rank, peer}].emplace_back(begin, begin + bytes);
    own->network->arrived.notify_all();
  }
  int result = NcclLibrary::kSuccess;
  for (const auto& [own, from, to, bytes, peer] : fake_group()) {
    if (from != nullptr) continue;
    std::unique_lock lock(own->network->mutex);
    auto& queue = own->network->messages[{peer, own->rank}];
    own->network->arrived.wait(lock, [&] { return !queue.empty(); });
    constexpr int kInvalidArgument = 4;
    if (queue.front().size() != bytes) result = kInvalidArgument;
    std::memcpy(to, queue.front().data(), std::min(bytes, queue.front().size()));
    queue.pop_front();
  }
  fake_group().clear();
  return result;
}

inline FakeNetwork* new_fake_network() {
  static std::list<FakeNetwork> all;
  return &all.emplace_back();
}

inline NcclLibrary fake_nccl() {
  NcclLibrary fake;
  fake.get_unique_id = [](NcclLibrary::UniqueId* id) {
    const auto* const network = new_fake_network();
    std::memcpy(id->bytes, &network, sizeof network);
    return 0;
  };
  fake.init_rank = [](NcclCommunicator** made, int, NcclLibrary::UniqueId id, int rank) {
    FakeNetwork* network = nullptr;
    std::memcpy(&network, id.bytes, sizeof network);
    *made = new NcclCommunicator{rank, network};
    return 0;
  };
  fake.abort = [](NcclCommunicator* own) {
    delete own;
    return 0;
  };
  fake.async_error = [](NcclCommunicator*, int* result) { return *result = 0; };
  fake.error_text = [](int) { return "invalid argument"; };
  fake.group_start = [] { return 0; };
  fake.group_end = end_fake_group;
  fake.send = [](const void* from, std::size_t bytes, int, int to, NcclCommunicator* own, void*) {
    fake_group().push_back({own, from, nullptr, bytes, to});
    return 0;
  };
  fake.receive = [](void* to, std::size_t bytes, int, int from, NcclCommunicator* own, void*) {
    fake_group().push_back({own, nullptr, to, bytes, from});
    return 0;
  };
  return fake;
}

}  // namespace testing
}  // namespace evenkeel::comm
