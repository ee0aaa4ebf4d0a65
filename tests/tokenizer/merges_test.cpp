// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/merges.h"

#include <gtest/gtest.h>

#include <random>

namespace evenkeel::tokenizer {
namespace {

using Ids = std::vector<Id>;

Ids merged(const Merges& merges, Ids ids) {
  Merges::Scratch scratch;
  merges.apply(ids, scratch);
  return ids;
}

TEST(Merges, TakeTheSmallestRankFirstAndOfEqualOnesTheLeftmost) {
  Merges merges(3);
  merges.add(0, 1, 1, 10);
  merges.add(1, 2, 0, 11);
  merges.add(0, 0, 2, 12);
  EXPECT_EQ(merged(merges, {0, 1, 2}), (Ids{0, 11}));
  EXPECT_EQ(merged(merges, {0, 0, 0}), (Ids{12, 0}));
  EXPECT_EQ(merged(merges, {}), (Ids{}));
  EXPECT_EQ(merged(merges, {7}), (Ids{7}));
}

TEST(Merges, MayHaveEqualRanks) {
  constexpr Id kLarge = 50, kSmall = 40;
  Merges merges(2);
  merges.add(0, 1, 7, kLarge);
  merges.add(1, 2, 7, kSmall);
  EXPECT_EQ(merged(merges, {0, 1, 2}), (Ids{kLarge, 2}));
  Ids many, wanted;
  for (int i = 0; i < 20; ++i) {
    many.insert(many.end(), {0, 1, 2});
    wanted.insert(wanted.end(), {kLarge, 2});
  }
  EXPECT_EQ(merged(merges, many), wanted) << "more symbols than are scanned";
}

/// The definition: rescans all pairs for each merge.
Ids by_definition(const std::vector<std::array<Id, 3>>& rules, Ids ids) {
  for (;;) {
    std::size_t best_rank = rules.size(), best_at = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (rules[rank][0] == ids[at] && rules[rank][1] == ids[at + 1]) {
          best_rank = rank;
          best_at = at;
        }
      }
    }
    if (best_rank == rules.size()) return ids;
    ids[best_at] = rules[best_rank][2];
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

TEST(Merges, AreThoseOfTheDefinitionForShortAndLongWords) {
  std::mt19937 random(5);
  std::vector<std::array<Id, 3>> rules;
  Merges merges(40);
  for (Id rank = 0; rank < 40; ++rank) {
    const std::array<Id, 3> rule = {static_cast<Id>(random() % (4 + rank)),
                                    static_cast<Id>(random() % (4 + rank)), 4 + rank};
    const auto same_pair = [&](const auto& each) {
      return each[0] == rule[0] && each[1] == rule[1];
    };
    if (std::any_of(rules.begin(), rules.end(), same_pair)) continue;
    merges.add(rule[0], rule[1], static_cast<std::uint32_t>(rules.size()), rule[2]);
    rules.push_back(rule);
  }
  for (const std::size_t length : {2, 3, 22, 23, 24, 25, 26, 66, 200, 500}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      Ids ids(length);
      for (auto& id : ids) id = static_cast<Id>(random() % 4);
      EXPECT_EQ(merged(merges, ids), by_definition(rules, ids)) << length;
    }
  }
}

}  // namespace
}  // namespace evenkeel::tokenizer
