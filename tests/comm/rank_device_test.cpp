// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/rank_device.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {
namespace {

/// Members by their machine and GPU.
std::vector<Member> members_on(const std::vector<std::pair<std::string, std::string>>& places) {
  std::vector<Member> all;
  for (const auto& [host, gpu] : places) {
    all.push_back({.ranks = static_cast<int>(places.size()), .host = host, .process = 7});
    all.back().gpu = gpu;
  }
  return all;
}

RankDevice on_gpu(bool is_named = false) {
  return {.device = at::kCUDA, .gpu = "x", .gpus = 2, .is_named = is_named};
}

std::string refusal_of(const std::vector<Member>& members, const RankDevice& device,
                       const std::string& backend, bool has_nccl = true) {
  try {
    device_engine(members, 0, device, backend, has_nccl);
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "no error";
}

const auto kOwnGpus = members_on({{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", "2"}});
const auto kSharedGpu = members_on({{"a", "1"}, {"a", "1"}, {"a", "2"}});

TEST(DeviceEngine, IsNcclWhereEachRankHasAGpuOfItsOwn) {
  EXPECT_EQ(device_engine(kOwnGpus, 0, on_gpu(), "auto", true), DeviceEngine::nccl);
  EXPECT_EQ(device_engine(kOwnGpus, 0, on_gpu(), "nccl", true), DeviceEngine::nccl);
  EXPECT_EQ(device_engine(kOwnGpus, 0, on_gpu(), "gloo", true), DeviceEngine::host_memory);
  EXPECT_EQ(device_engine(kOwnGpus, 0, on_gpu(), "auto", false), DeviceEngine::host_memory);
  EXPECT_EQ(device_engine(members_on({{"a", ""}, {"a", ""}}), 0, {}, "auto", false),
            DeviceEngine::none);
}

TEST(DeviceEngine, IsGlooWhereRanksShareAGpu) {
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(device_engine(kSharedGpu, rank, on_gpu(true), "auto", true),
              DeviceEngine::host_memory);
  }
}

TEST(DeviceEngine, RefusesWhatDoesNotWork) {
  EXPECT_EQ(refusal_of(kSharedGpu, on_gpu(), "auto"),
            "64 3 ranks on this machine, but 2 GPUs: start at most 2, or let ranks share a GPU "
            "with --device cuda:0");
  EXPECT_EQ(
      refusal_of(members_on({{"a", "1"}, {"a", "1"}}), on_gpu(), "auto"),
      "64 2 ranks on this machine chose the same GPU: the launcher must set LOCAL_RANK, from 0 "
      "to 1; or let them share a GPU with --device cuda:0");
  EXPECT_EQ(refusal_of(kSharedGpu, on_gpu(true), "nccl"),
            "64 distributed.backend = \"nccl\" needs a GPU for each rank, but rank 0 (a, process "
            "7) shares its GPU; choose \"gloo\", or leave it out");
  EXPECT_EQ(refusal_of(kOwnGpus, on_gpu(), "nccl", false),
            "64 distributed.backend = \"nccl\": the LibTorch of this program has no NCCL "
            "(libnccl.so.2); choose \"gloo\", or leave it out");
}

TEST(RanksOnDevice, CountsThoseOfTheMachine) {
  EXPECT_EQ(ranks_on_device(kOwnGpus, 2), 1);
  EXPECT_EQ(ranks_on_device(kSharedGpu, 0), 2);
  EXPECT_EQ(ranks_on_device(members_on({{"a", ""}, {"a", ""}, {"b", ""}}), 1), 2);
}

}  // namespace
}  // namespace evenkeel::comm
