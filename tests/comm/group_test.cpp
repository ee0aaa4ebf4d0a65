// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/group.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "comm/rank_threads.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/comm/agreement.h"
#include "evenkeel/comm/join.h"
#include "evenkeel/comm/network.h"

namespace evenkeel::comm {
namespace {

/// Calls `body` with the group of each rank, all of this process.
void groups_of(int ranks, const std::function<void(Group&)>& body) {
  const auto socket = listen_on_loopback();
  testing::for_each_rank(ranks, [&](int rank) {
    const at::NoGradGuard no_grad;
    Place place = {.launcher = Launcher::own,
                   .rank = rank,
                   .ranks = ranks,
                   .address = "127.0.0.1",
                   .port = socket.port};
    if (rank == 0) place.listen_fd = socket.fd;
    auto group = join(place, {}, {{"version", "1"}});
    body(group);
    group.leave();
  });
}

TEST(Group, OfOneRankCopiesAtMost) {
  Group group;
  EXPECT_EQ(group.ranks(), 1);
  EXPECT_TRUE(group.is_first());
  EXPECT_EQ(group.placement().hosts.size(), 1U);
  const auto whole = at::full({3}, 2.0, at::kFloat), part = at::full({3}, 0.0, at::kFloat);
  group.reduce_scatter(whole, {0, 3}, part);
  EXPECT_TRUE(at::equal(part, whole));
  group.all_gather(whole, {0, 3});
  EXPECT_EQ(group.all_gather_texts("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(group.broadcast_text("b", 0), "b");
  EXPECT_EQ(group.all_gather_scalars(at::full({2}, 1.0, at::kDouble)).sizes(),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(group.fail(Exit::data, "mine"));
  group.barrier("here");
  group.leave();
}

TEST(Group, GathersWhatAllRanksSay) {
  groups_of(3, [](Group& group) {
    EXPECT_EQ(group.placement().local_ranks, 3);
    EXPECT_EQ(group.placement().launcher, "--ranks");
    EXPECT_EQ(group.placement().network, "gloo over lo");
    const auto all = group.all_gather_scalars(at::tensor({1.0 * group.rank(), 0.5}, at::kDouble));
    EXPECT_TRUE(
        at::equal(all, at::tensor({0.0, 0.5, 1.0, 0.5, 2.0, 0.5}, at::kDouble).view({3, 2})));
    const auto texts =
        group.all_gather_texts(std::string(static_cast<std::size_t>(group.rank()), 'x'));
    EXPECT_EQ(texts, (std::vector<std::string>{"", "x", "xx"}));
    EXPECT_EQ(group.broadcast_text(text("from ", group.rank()), 1), "from 1");
    const auto values = at::full({5}, group.rank(), at::kBFloat16);
    group.broadcast(values, 2);
    EXPECT_EQ(values.max().item<float>(), 2.0F);
    group.barrier("here");
    EXPECT_GT(group.seconds(), 0);
  });
}

TEST(Group, SumsOverRanks) {
  groups_of(2, [](Group& group) {
    const auto whole = at::full({4}, group.rank() + 1.0, at::kFloat);
    const auto part = whole.narrow(0, 2 * group.rank(), 2);
    group.reduce_scatter(whole, {0, 2, 4}, part);
    group.all_gather(whole, {0, 2, 4});
    EXPECT_TRUE(at::equal(whole, at::full({4}, 3.0, at::kFloat)));
  });
}

/// Code and message of the error of `body`.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "no error";
}

TEST(CheckEqual, NamesTheRankThatDiffers) {
  groups_of(3, [](Group& group) {
    const auto digest = group.rank() == 2 ? "abc" : "def";
    const auto error = error_of([&] { check_equal(group, {{"data.train", digest}}); });
    EXPECT_EQ(error, text("78 ", group.name(2), " has data.train = abc, but rank 0 has def"));
    check_equal(group, {{"seed", "1"}});
  });
}

TEST(CheckSharedFolder, NamesTheRankThatSeesAnotherFolder) {
  const auto base = std::filesystem::temp_directory_path() / text("evenkeel-", ::getpid());
  for (const auto* const name : {"a", "b"}) std::filesystem::create_directories(base / name);
  groups_of(2, [&base](Group& group) {
    check_shared_folder(group, base / "a");
    const auto own = base / (group.rank() == 0 ? "a" : "b");
    const auto error = error_of([&] { check_shared_folder(group, own); });
    EXPECT_EQ(
        error,
        text("64 ", own.string(), ": rank 1 (", host_name(), ") does not see what ",
             "rank 0 wrote; the run folder must be on a file system that all machines ", "share"));
  });
  EXPECT_TRUE(std::filesystem::is_empty(base / "a"));
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace evenkeel::comm
