// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/comparison.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::bench {
namespace {

using nlohmann::json;

const json kMachine = {
    {"processor", "a processor"}, {"isa", "avx2"}, {"threads", 2}, {"precision", "float32"}};

/// A record of `bench step`, with the times of its rounds around a median.
json step_of(const std::string& scheme, double seconds, double floor = 1) {
  return {
      {"bench", "step"},
      {"machine", kMachine},
      {"scheme", scheme},
      {"tokens", 2048},
      {"flops", 3e9},
      {"median_seconds", seconds},
      {"round_seconds", {0.98 * seconds, 0.99 * seconds, seconds, 1.01 * seconds, 1.02 * seconds}},
      {"floor_seconds", floor},
      {"not_judged", ""}};
}

json kernel_of(const std::string& op, double seconds, double probe) {
  return {{"bench", "kernels"},
          {"machine", kMachine},
          {"op", op},
          {"pass", "forward"},
          {"dtype", "float32"},
          {"shape", "8 x 4"},
          {"seconds",
           {{"ours", {{"median", seconds}, {"rounds", std::vector<double>(5, seconds)}}},
            {"probe", {{"median", probe}, {"rounds", std::vector<double>(5, probe)}}}}}};
}

json decoding_of(const std::string& weights, double seconds, double copy_rate = 1e10) {
  return {{"bench", "decode"},
          {"machine", kMachine},
          {"case", "decode"},
          {"weights", weights},
          {"batch", 8},
          {"prompt", 128},
          {"scheme", "pre_norm"},
          {"parameters", 2e6},
          {"copy_bytes_per_second", copy_rate},
          {"median_seconds", seconds},
          {"round_seconds", std::vector<double>(5, seconds)}};
}

/// A record of `bench ranks`: an exchange of 64 KiB among two ranks, with its engine's times.
json exchange_of(double exact, double engine) {
  const auto rounds = [](double seconds) { return std::vector<double>(5, seconds); };
  return {{"bench", "ranks"},
          {"machine", kMachine},
          {"ranks", 2},
          {"network", "gloo over lo"},
          {"what", "exchange"},
          {"bytes", 65536},
          {"reduce_scatter_seconds", 3},
          {"all_gather_seconds", 2},
          {"exact_seconds", exact},
          {"engine_all_reduce_seconds", engine},
          {"engine_reduce_scatter_seconds", 3},
          {"round_seconds",
           {{"reduce_scatter", rounds(3)},
            {"all_gather", rounds(2)},
            {"exact", rounds(exact)},
            {"engine_all_reduce", rounds(engine)},
            {"engine_reduce_scatter", rounds(3)}}}};
}

/// A record of `bench ranks`: a step of one rank takes a second, that of two ranks `together`.
json rank_step_of(double together) {
  return {{"bench", "ranks"},
          {"machine", kMachine},
          {"ranks", 2},
          {"network", "gloo over lo"},
          {"what", "step"},
          {"scheme", "pre_norm"},
          {"flops", 3e9},
          {"tokens", 2048},
          {"alone_seconds", 1},
          {"together_seconds", together},
          {"round_seconds",
           {{"alone", std::vector<double>(5, 1)}, {"together", std::vector<double>(5, together)}}}};
}

Comparison compared(const std::vector<json>& before, const std::vector<json>& after) {
  return compare_records(before, after, "a.jsonl", "b.jsonl");
}

std::string refusal(const std::vector<json>& before, const std::vector<json>& after) {
  try {
    compared(before, after);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.what();
  }
  return "";
}

TEST(CompareRecords, FindsWhatGotSlowerAndFaster) {
  const auto found =
      compared({step_of("pre_norm", 1), step_of("keel", 2), step_of("mix_ln", 1)},
               {step_of("pre_norm", 1), step_of("keel", 2.4), step_of("mix_ln", 0.8)});
  ASSERT_EQ(found.cases.size(), 3U);
  const auto& slowest = found.cases[0];
  EXPECT_EQ(slowest.name, "step keel, 3.0G FLOPs, 2,048 tokens, float32");
  EXPECT_NEAR(slowest.ratio.median, 1.2, 1e-12);
  EXPECT_TRUE(slowest.is_slower(0.02));
  EXPECT_FALSE(slowest.is_slower(0.2));
  EXPECT_FALSE(found.cases[1].is_slower(0.02) || found.cases[1].is_faster(0.02));
  EXPECT_TRUE(found.cases[2].is_faster(0.02));
  EXPECT_EQ(found.cases[2].before, 1);
  EXPECT_EQ(found.cases[2].after, 0.8);
}

TEST(CompareRecords, ComparesDecoding) {
  const auto found = compared({decoding_of("int8", 1), decoding_of("float32", 1)},
                              {decoding_of("int8", 2), decoding_of("float32", 1)});
  ASSERT_EQ(found.cases.size(), 2U);
  EXPECT_EQ(found.cases[0].name,
            "decode, batch 8, weights int8, prompt 128, pre_norm, 2.0M parameters, float32");
  EXPECT_NEAR(found.cases[0].ratio.median, 2, 1e-12);
  const auto of_slower_memory = compared({decoding_of("int8", 1)}, {decoding_of("int8", 2, 5e9)});
  EXPECT_NEAR(of_slower_memory.cases[0].ratio.median, 1, 1e-12);
}

TEST(CompareRecords, ComparesEveryTimeOfRanks) {
  const auto found =
      compared({exchange_of(2, 2), rank_step_of(1)}, {exchange_of(3, 2), rank_step_of(0.5)});
  ASSERT_EQ(found.cases.size(), 5U);
  const auto& slower = found.cases.front();
  EXPECT_EQ(slower.name, "ranks exact, " + bytes_text(65536) + ", 2 ranks, gloo over lo");
  EXPECT_TRUE(slower.is_relative && slower.is_slower(0.02));
  EXPECT_NEAR(slower.ratio.low, 1.5, 1e-12);
  EXPECT_NEAR(slower.ratio.high, 1.5, 1e-12);
  const auto& faster = found.cases.back();
  EXPECT_EQ(faster.name,
            "ranks together, pre_norm, 3.0G FLOPs, 2,048 tokens, float32, 2 ranks, gloo over lo");
  EXPECT_TRUE(faster.is_relative && faster.is_faster(0.02));
  EXPECT_EQ(faster.before, 1);
  EXPECT_EQ(faster.after, 0.5);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(found.cases[i].ratio.median, 1);
}

// A network that takes twice the time today, for the engine's exchange, too.
TEST(CompareRecords, TakesAnExchangeRelativeToTheEngine) {
  const auto found = compared({exchange_of(2, 2)}, {exchange_of(4, 4)});
  ASSERT_EQ(found.cases.size(), 3U);
  for (const auto& each : found.cases) {
    EXPECT_NEAR(each.ratio.median, 1, 1e-12) << each.name;
    EXPECT_FALSE(each.is_slower(0)) << each.name;
  }
}

// A machine whose other processes slow one rank and two ranks alike.
TEST(CompareRecords, TakesAStepOfRanksRelativeToOneAlone) {
  auto busy = rank_step_of(2);
  busy["alone_seconds"] = 2;
  busy["round_seconds"]["alone"] = std::vector<double>(5, 2);
  for (const auto& each : compared({rank_step_of(1)}, {busy}).cases) {
    EXPECT_NEAR(each.ratio.median, each.is_relative ? 1 : 2, 1e-12) << each.name;
  }
}

TEST(CompareRecords, NamesTheNumberOfHosts) {
  auto record = rank_step_of(1);
  record["hosts"] = {"a", "b"};
  const auto found = compared({record}, {record});
  EXPECT_TRUE(found.cases.front().name.ends_with("2 ranks on 2 hosts, gloo over lo"));
}

// A file of an older program has medians only.
TEST(CompareRecords, JudgesNoTimesOfRanksWithoutRounds) {
  auto old = exchange_of(2, 2);
  old.erase("round_seconds");
  const auto found = compared({old}, {exchange_of(4, 2)});
  ASSERT_EQ(found.cases.size(), 3U);
  for (const auto& each : found.cases) {
    EXPECT_FALSE(each.is_judged(0.02)) << each.name;
  }
}

// A machine that is half as fast today: products and memory take twice the time, too.
TEST(CompareRecords, TakesTimesRelativeToTheMachine) {
  const auto found = compared({step_of("keel", 1, 0.5), kernel_of("rms_norm", 1, 1)},
                              {step_of("keel", 2, 1), kernel_of("rms_norm", 2, 2)});
  for (const auto& each : found.cases) {
    EXPECT_TRUE(each.is_relative);
    EXPECT_NEAR(each.ratio.median, 1, 1e-12);
    EXPECT_FALSE(each.is_slower(0));
  }
}

TEST(CompareRecords, PoolsTheRoundsOfFewRuns) {
  const auto found = compared({step_of("keel", 1)}, {step_of("keel", 1), step_of("keel", 3)});
  ASSERT_EQ(found.cases.size(), 1U);
  EXPECT_EQ(found.cases[0].sample, Sample::rounds);
  EXPECT_EQ(found.cases[0].after, 2);
  EXPECT_GT(found.cases[0].ratio.high, 2.9);
}

// Rounds of one run differ by 4 % at most, runs by 30 %: nothing is slower.
TEST(CompareRecords, ComparesRunsWhereThereAreFour) {
  std::vector<json> before, after;
  for (const double seconds : {1.0, 1.1, 1.2, 1.3}) before.push_back(step_of("keel", seconds));
  for (const double seconds : {1.05, 1.15, 1.25, 1.3}) after.push_back(step_of("keel", seconds));
  const auto found = compared(before, after).cases.at(0);
  EXPECT_EQ(found.sample, Sample::runs);
  EXPECT_LT(found.ratio.low, 0.85);
  EXPECT_GT(found.ratio.high, 1.2);
  EXPECT_FALSE(found.is_slower(0));
  EXPECT_EQ(compared({before[0]}, after).cases.at(0).sample, Sample::rounds);
}

// Equal times, and a floor that was measured 20 % too low in the second file.
TEST(CompareRecords, DoesNotBlameACaseForItsReference) {
  const auto found = compared({step_of("keel", 1, 0.5)}, {step_of("keel", 1, 0.4)}).cases.at(0);
  EXPECT_NEAR(found.ratio.median, 1.25, 1e-12);
  EXPECT_NEAR(found.of_seconds.median, 1, 1e-12);
  EXPECT_TRUE(found.is_of_reference(0.02));
  EXPECT_FALSE(found.is_slower(0.02) || found.is_judged(0.02));
  const auto noisy = compared({step_of("keel", 1, 0.5)}, {step_of("keel", 1.01, 0.4)}).cases.at(0);
  EXPECT_FALSE(noisy.is_slower(0.02) || noisy.is_judged(0.02));
}

TEST(CompareRecords, LeavesOutDisturbedRuns) {
  auto busy = step_of("keel", 9);
  busy["not_judged"] = "not judged: other processes took 40 %";
  const auto found = compared({step_of("keel", 1)}, {busy, step_of("keel", 1)}).cases.at(0);
  EXPECT_EQ(found.after, 1);
  EXPECT_TRUE(found.is_judged(0.02));
}

TEST(CompareRecords, TakesNoListOfRoundsWithAnInvalidTime) {
  auto broken = step_of("keel", 1);
  broken["round_seconds"][1] = 0;
  EXPECT_FALSE(compared({step_of("keel", 1)}, {broken}).cases.at(0).has_rounds);
}

TEST(CompareRecords, JudgesNothingOfABusyMachineOrWithoutRounds) {
  auto busy = step_of("keel", 9), old = step_of("mix_ln", 9);
  busy["not_judged"] = "not judged: other processes took 40 %";
  old.erase("round_seconds");
  const auto found = compared({step_of("keel", 1), step_of("mix_ln", 1)}, {busy, old});
  for (const auto& each : found.cases) {
    EXPECT_NEAR(each.ratio.median, 9, 1e-12);
    EXPECT_FALSE(each.is_judged(0.02) || each.is_slower(0.02));
  }
}

TEST(CompareRecords, NamesCasesOfOneFile) {
  const auto found = compared({step_of("keel", 1), step_of("mix_ln", 1)},
                              {step_of("keel", 1), kernel_of("l2", 1, 1)});
  EXPECT_EQ(found.only_before,
            std::vector<std::string>{"step mix_ln, 3.0G FLOPs, 2,048 tokens, float32"});
  EXPECT_EQ(found.only_after, std::vector<std::string>{"kernels l2 forward float32 8 x 4"});
}

TEST(CompareRecords, RefusesWhatDoesNotCompare) {
  auto other = step_of("keel", 1);
  other["machine"]["threads"] = 8;
  EXPECT_EQ(refusal({step_of("keel", 1)}, {other}),
            "b.jsonl: is of a processor, avx2, 8 threads, but a.jsonl is of a processor, avx2, 2 "
            "threads; their times do not compare");
  EXPECT_EQ(refusal({step_of("keel", 1), other}, {other}),
            "a.jsonl: must be of one machine, but has times of a processor, avx2, 2 threads and of "
            "a processor, avx2, 8 threads");
  EXPECT_EQ(refusal({step_of("keel", 1)}, {{{"step", 1}, {"loss", 5}}}),
            "b.jsonl: holds no times that `evenkeel bench kernels`, `step`, `peers`, `decode` or "
            "`ranks` with --output FILE.jsonl wrote");
  EXPECT_EQ(
      refusal({step_of("keel", 1)}, {step_of("mix_ln", 1)}),
      "b.jsonl: has no case in common with a.jsonl; its first is \"step mix_ln, 3.0G FLOPs, 2,048 "
      "tokens, float32\", the first of a.jsonl is \"step keel, 3.0G FLOPs, 2,048 tokens, "
      "float32\"");
}

}  // namespace
}  // namespace evenkeel::bench
