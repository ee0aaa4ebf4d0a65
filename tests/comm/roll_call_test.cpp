// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/roll_call.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/rank_threads.h"
#include "evenkeel/base/error.h"

namespace evenkeel::comm {
namespace {

using std::chrono::seconds;

Member member_on(const std::string& host, Facts facts = {}) {
  return {.ranks = 2, .host = host, .process = 4711, .facts = std::move(facts)};
}

/// Code and message of the error of a roll call.
struct Refusal {
  Exit exit = Exit::success;
  std::string message;
  bool is_member = true;
};

/// Calls the roll as this rank, after `others` wrote themselves into the store.
Refusal refusal_of(const Place& place, const Member& self, const Store& store) {
  try {
    claim_rank(store, place, self);
    roll_call(store, place, seconds(0), [](int, const Member&) {});
  } catch (const NotAMember& error) {
    return {error.exit(), error.what(), /*is_member=*/false};
  } catch (const Error& error) {
    return {error.exit(), error.what()};
  }
  return {};
}

/// Publishes a member as its own process would, which then goes on waiting.
void publish_as(int rank, const Member& member, const Store& store) {
  claim_rank(store, {.rank = rank, .ranks = member.ranks}, member);
}

TEST(RollCall, GivesAllMembersByRank) {
  const auto store = testing::memory_store();
  std::mutex mutex;
  testing::for_each_rank(3, [&](int rank) {
    const Place place = {.rank = rank, .ranks = 3};
    const Member self = {
        .ranks = 3, .host = text("a", rank), .process = rank, .facts = {{"x", "1"}}};
    int arrivals = 0;
    claim_rank(store, place, self);
    const auto members =
        roll_call(store, place, seconds(60), [&arrivals](int, const Member&) { ++arrivals; });
    const std::lock_guard lock(mutex);
    EXPECT_EQ(arrivals, 3);
    ASSERT_EQ(members.size(), 3U);
    EXPECT_EQ(member_name(2, members[2]), "rank 2 (a2, process 2)");
    EXPECT_EQ(members[1].facts, self.facts);
  });
}

TEST(RollCall, NamesMissingRanks) {
  const auto store = testing::memory_store();
  publish_as(2, {.ranks = 4, .host = "a2"}, store);
  const auto refusal = refusal_of({.rank = 0, .ranks = 4}, {.ranks = 4, .host = "a0"}, store);
  EXPECT_EQ(refusal.exit, Exit::busy);
  EXPECT_EQ(refusal.message, "waited 0 s for 4 processes; missing: rank 1, 3");
}

TEST(RollCall, NamesNumbersOfRanksThatDiffer) {
  const auto store = testing::memory_store();
  publish_as(1, {.ranks = 3, .host = "a2", .process = 4711}, store);
  const auto refusal = refusal_of({.rank = 0, .ranks = 2}, member_on("a1"), store);
  EXPECT_EQ(refusal.exit, Exit::usage);
  EXPECT_EQ(refusal.message, "WORLD_SIZE is 2 here, but 3 for rank 1 (a2, process 4711)");
  EXPECT_TRUE(refusal.is_member) << "the group is not complete: all its processes must know";
}

TEST(RollCall, RefusesAProcessOfAnotherGroupWhenTheGroupIsComplete) {
  const auto store = testing::memory_store();
  publish_as(1, member_on("a2"), store);
  EXPECT_EQ(refusal_of({.rank = 0, .ranks = 2}, member_on("a1"), store).exit, Exit::success);
  const auto refusal =
      refusal_of({.rank = 2, .ranks = 3}, {.ranks = 3, .host = "a3", .process = 12}, store);
  EXPECT_EQ(refusal.exit, Exit::usage);
  EXPECT_EQ(refusal.message, "WORLD_SIZE is 3 here, but 2 for rank 0 (a1, process 4711)");
  EXPECT_FALSE(refusal.is_member);
}

TEST(RollCall, NamesARankThatIsThereTwice) {
  const auto store = testing::memory_store();
  publish_as(0, member_on("a2"), store);
  const auto refusal = refusal_of({.rank = 0, .ranks = 2}, member_on("a1"), store);
  EXPECT_EQ(refusal.exit, Exit::usage);
  EXPECT_EQ(refusal.message,
            "rank 0 is here twice: this process, and rank 0 (a2, process 4711); each process needs "
            "a rank of its own, and each run a MASTER_PORT of its own");
  EXPECT_FALSE(refusal.is_member);
}

TEST(RollCall, NamesTheFirstDifference) {
  const auto store = testing::memory_store();
  publish_as(1, member_on("a2", {{"isa", "avx2"}, {"train.batch", "16"}}), store);
  const auto refusal = refusal_of({.rank = 0, .ranks = 2},
                                  member_on("a1", {{"isa", "avx2"}, {"train.batch", "8"}}), store);
  EXPECT_EQ(refusal.exit, Exit::differs);
  EXPECT_EQ(refusal.message, "rank 1 (a2, process 4711) has train.batch = 16, but rank 0 has 8");
}

// Two ranks of machine a share two cores; a launcher has given each rank of machine b its own.
TEST(RanksOnCores, AreThoseThatShareACore) {
  const auto member = [](const char* host, std::vector<int> cores) {
    return Member{.host = host, .cores = std::move(cores)};
  };
  const std::vector<Member> members = {member("a", {0, 1}), member("a", {1, 2}), member("b", {0}),
                                       member("b", {1, 2}), member("c", {})};
  const std::vector<int> wanted = {2, 2, 1, 1, 0};
  for (int rank = 0; rank < 5; ++rank)
    EXPECT_EQ(ranks_on_cores(members, rank), wanted[static_cast<std::size_t>(rank)]) << rank;
}

TEST(DifferenceOf, ReadsFactsBack) {
  const Facts facts = {{"a", "x\n\"y\""}, {"b", ""}};
  EXPECT_EQ(parse_facts(facts_text(facts)), facts);
  EXPECT_EQ(difference_of({facts, facts}, {"rank 0", "rank 1"}), "");
  EXPECT_EQ(difference_of({{{"a", "1"}}, {}}, {"rank 0", "rank 1"}),
            "rank 1 has a = unset, but rank 0 has 1");
}

TEST(ListeningAddress, IsReachableFromOtherMachines) {
  const Member first = {.host = "a1", .address = "127.0.1.1", .master = "127.0.1.1"};
  const Member second = {.host = "a2", .address = "10.0.0.2", .master = "10.0.0.1"};
  EXPECT_EQ(listening_address({first, second}, 0), "10.0.0.1");
  EXPECT_EQ(listening_address({first, second}, 1), "10.0.0.2");
  EXPECT_EQ(listening_address({first, first}, 1), "127.0.1.1");
}

}  // namespace
}  // namespace evenkeel::comm
