// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/rank_device.h"

#include <algorithm>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

namespace {

/// The first rank that shares its GPU; -1: none.
int first_that_shares(const std::vector<Member>& members) {
  for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
    if (ranks_on_device(members, rank) > 1) return rank;
  }
  return -1;
}

}  // namespace

int ranks_on_device(const std::vector<Member>& members, int rank) {
  const auto& own = members[static_cast<std::size_t>(rank)];
  return static_cast<int>(std::count_if(members.begin(), members.end(), [&](const Member& each) {
    return each.host == own.host && each.gpu == own.gpu;
  }));
}

std::string too_few_gpus_text(int ranks, int gpus) {
  return text(ranks, " ranks on this machine, but ", gpus, gpus == 1 ? " GPU" : " GPUs",
              ": start at most ", gpus, ", or let ranks share a GPU with --device cuda:0");
}

DeviceEngine device_engine(const std::vector<Member>& members, int rank, const RankDevice& device,
                           const std::string& backend, bool has_nccl) {
  if (device.device.is_cpu()) return DeviceEngine::none;
  if (!device.is_named && ranks_on_device(members, rank) > 1) {
    const auto& host = members[static_cast<std::size_t>(rank)].host;
    const auto here = std::count_if(members.begin(), members.end(),
                                    [&](const Member& each) { return each.host == host; });
    if (here > device.gpus)
      throw Error(Exit::usage, too_few_gpus_text(static_cast<int>(here), device.gpus));
    throw Error(Exit::usage,
                text(here,
                     " ranks on this machine chose the same GPU: the launcher must set LOCAL_RANK, "
                     "from 0 to ",
                     here - 1, "; or let them share a GPU with --device cuda:0"));
  }
  const int shares = first_that_shares(members);
  if (backend == "gloo") return DeviceEngine::host_memory;
  if (backend == "auto") {
    return has_nccl && shares < 0 ? DeviceEngine::nccl : DeviceEngine::host_memory;
  }
  if (shares >= 0) {
    throw Error(Exit::usage, text("distributed.backend = \"nccl\" needs a GPU for each rank, but ",
                                  member_name(shares, members[static_cast<std::size_t>(shares)]),
                                  " shares its GPU; choose \"gloo\", or leave it out"));
  }
  if (has_nccl) return DeviceEngine::nccl;
  throw Error(Exit::usage,
              "distributed.backend = \"nccl\": the LibTorch of this program has no NCCL "
              "(libnccl.so.2); choose \"gloo\", or leave it out");
}

}  // namespace evenkeel::comm
