// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/golden.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/verify/verify.h"
#include "evenkeel/verify/verify_text.h"
#include "support/golden_files.h"

namespace evenkeel::verify {
namespace {

using nn::AttentionPath;
using nn::Precision;
using testing::golden_file;
using testing::golden_files_in;
using testing::golden_folder;

struct Variant {
  const char* name;
  VerifyOptions options;
};

const Variant kVariants[] = {
    {"Float64", {.precision = Precision::float64}},
    {"Float32", {.precision = Precision::float32}},
    {"Float64Flash", {.precision = Precision::float64, .attention = AttentionPath::flash}},
    {"Float64Explicit",
     {.precision = Precision::float64, .attention = AttentionPath::explicit_scores}},
    {"Float64Formulas", {.precision = Precision::float64, .fused = false}},
    {"Float32Flash", {.precision = Precision::float32, .attention = AttentionPath::flash}},
    {"Float32Explicit",
     {.precision = Precision::float32, .attention = AttentionPath::explicit_scores}},
    {"Float32Formulas", {.precision = Precision::float32, .fused = false}},
};

std::vector<std::filesystem::path> own_files() {
  auto files = golden_files_in(golden_folder() / "authors");
  const auto scheme_files = golden_files_in(golden_folder() / "schemes");
  files.insert(files.end(), scheme_files.begin(), scheme_files.end());
  return files;
}

using FileAndVariant = std::tuple<std::filesystem::path, Variant>;

class GoldenFile : public ::testing::TestWithParam<FileAndVariant> {};

// logits, loss and every gradient, or every step of a trajectory, as another program computed them
TEST_P(GoldenFile, IsReproduced) {
  const auto& [path, variant] = GetParam();
  const auto result = verify(read_golden(path), variant.options);
  EXPECT_TRUE(result.passed()) << table_of(result);
  EXPECT_GE(result.totals.size(), 2u);
  EXPECT_GE(result.tensors.size(), 10u);
}

std::string name_of_variant(const ::testing::TestParamInfo<FileAndVariant>& info) {
  const auto& [path, variant] = info.param;
  return path.stem().string() + "_" + variant.name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFile,
                         ::testing::Combine(::testing::ValuesIn(own_files()),
                                            ::testing::ValuesIn(kVariants)),
                         name_of_variant);

TEST(GoldenFiles, AreAllThere) {
  EXPECT_EQ(own_files().size(), 30u);
}

// Only schemes that are not in the catalogue may be refused.
TEST(GoldenFiles, OfAnotherFolderAreReproduced) {
  const auto* const folder = std::getenv("EVENKEEL_GOLDEN");
  if (folder == nullptr) GTEST_SKIP() << "EVENKEEL_GOLDEN names no folder with more golden files";
  const auto known = config::catalogue();
  int passed = 0;
  for (const auto* const part : {"authors", "schemes"}) {
    for (const auto& path : golden_files_in(std::filesystem::path(folder) / part)) {
      const auto name = path.stem().string();
      const bool runs =
          part == std::string("authors") || std::count(known.begin(), known.end(), name) > 0;
      if (!runs) {
        EXPECT_THROW(verify(read_golden(path), {}), Error) << name;
        continue;
      }
      for (const auto& variant : kVariants) {
        const auto result = verify(read_golden(path), variant.options);
        EXPECT_TRUE(result.passed()) << variant.name << "\n" << table_of(result);
        passed += result.passed() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(passed, 0) << folder << " has no authors/ or schemes/ with golden files";
}

void for_each_block(Golden& golden, const std::function<void(norm::Block&)>& change) {
  for (auto& block : golden.model.scheme.blocks) change(block);
}

void for_each_norm(Golden& golden, const std::function<void(norm::Norm&)>& change) {
  for_each_block(golden, [&](norm::Block& block) {
    auto& [attention, feed_forward, damp] = block;
    for (auto* const slot :
         {&attention.input, &attention.q, &attention.k, &attention.v, &feed_forward.input}) {
      if (*slot) change(**slot);
    }
  });
  change(*golden.model.scheme.final);
}

void remove(Tensors& tensors, const std::string& part) {
  std::erase_if(tensors,
                [&](const auto& each) { return each.first.find(part) != std::string::npos; });
}

at::Tensor halves_swapped(const at::Tensor& matrix) {
  const auto halves = matrix.chunk(2, 0);
  return at::cat({halves[1], halves[0]}, 0);
}

GoldenTrajectory& trajectory_of(Golden& golden) {
  return std::get<GoldenTrajectory>(golden.expected);
}

struct Mutation {
  const char* name;
  const char* file;
  std::function<void(Golden&)> make;
};

constexpr const char* kPass = "authors/dense_hybrid_norm_star";
constexpr const char* kTrajectory = "authors/trajectory_hybrid_norm_star";

const Mutation kMutations[] = {
    {"Epsilon", kPass,
     [](Golden& golden) { for_each_norm(golden, [](norm::Norm& norm) { norm.epsilon = 1e-6; }); }},
    {"EpsilonOutsideTheRoot", kPass,
     [](Golden& golden) {
       for_each_norm(golden, [](norm::Norm& norm) { norm.epsilon_at = norm::EpsilonAt::outside; });
     }},
    {"UpAndGateSwapped", kPass,
     [](Golden& golden) {
       auto& matrix = golden.parameters.at("blocks.2.feed_forward.up_gate.weight");
       matrix = halves_swapped(matrix);
     }},
    {"NoValueNorm", kPass,
     [](Golden& golden) {
       for_each_block(golden, [](norm::Block& block) { block.attention.v.reset(); });
       remove(golden.parameters, "v_norm");
       remove(std::get<GoldenPass>(golden.expected).gradients, "v_norm");
     }},
    {"NormAfterRotation", kPass,
     [](Golden& golden) { golden.model.scheme.blocks[3].attention.q->rope = norm::Rope::before; }},
    {"NormOverAllHeads", kPass,
     [](Golden& golden) {
       auto& norm = *golden.model.scheme.blocks[0].attention.k;
       norm.scope = norm::Scope::token;
       for (auto* const tensors :
            {&golden.parameters, &std::get<GoldenPass>(golden.expected).gradients}) {
         auto& gain = tensors->at("blocks.0.attention.k_norm.gain");
         gain = gain.repeat({2});
       }
     }},
    {"FirstBlockLikeTheOthers", kPass,
     [](Golden& golden) {
       golden.model.scheme.blocks[0].feed_forward.add.skip = {norm::Tap::normed};
     }},
    {"AnotherTheta", kPass, [](Golden& golden) { golden.model.rope_theta = 10000; }},
    {"NoFinalNorm", kPass,
     [](Golden& golden) {
       golden.model.scheme.final.reset();
       remove(golden.parameters, "final_norm");
       remove(std::get<GoldenPass>(golden.expected).gradients, "final_norm");
     }},
    {"StepsDoneOfAnotherTime", "schemes/prores", [](Golden& golden) { golden.model.done = 1499; }},
    {"GainNotStoredAsDistance", "schemes/gemma2",
     [](Golden& golden) { golden.model.scheme.final->gain_form = norm::GainForm::w; }},
    {"DecayOnTheEmbedding", kTrajectory,
     [](Golden& golden) { trajectory_of(golden).optimizer.decay_embedding = true; }},
    {"NoDecayOnGains", kTrajectory,
     [](Golden& golden) { trajectory_of(golden).optimizer.decay_gains = false; }},
    {"NoClipping", kTrajectory, [](Golden& golden) { trajectory_of(golden).optimizer.clip = 0; }},
    {"AnotherBeta", kTrajectory,
     [](Golden& golden) { trajectory_of(golden).optimizer.beta2 = 0.951; }},
    {"WarmupOneStepShort", kTrajectory,
     [](Golden& golden) { trajectory_of(golden).schedule.warmup.amount = 4; }},
};

using MutationAndPrecision = std::tuple<Mutation, Precision>;

class MutatedGolden : public ::testing::TestWithParam<MutationAndPrecision> {};

TEST_P(MutatedGolden, IsRefuted) {
  const auto& [mutation, precision] = GetParam();
  auto golden = read_golden(golden_file(mutation.file));
  EXPECT_TRUE(verify(golden, {.precision = precision}).passed());
  mutation.make(golden);
  const auto result = verify(golden, {.precision = precision});
  EXPECT_FALSE(result.passed()) << table_of(result);
  EXPECT_TRUE(verify(golden, {.precision = precision, .tolerance = 1e15}).passed())
      << "a multiple of the tolerances must be a multiple of all of them";
}

std::string name_of_mutation(const ::testing::TestParamInfo<MutationAndPrecision>& info) {
  const auto& [mutation, precision] = info.param;
  return std::string(mutation.name) + (precision == Precision::float64 ? "Float64" : "Float32");
}

INSTANTIATE_TEST_SUITE_P(All, MutatedGolden,
                         ::testing::Combine(::testing::ValuesIn(kMutations),
                                            ::testing::Values(Precision::float64,
                                                              Precision::float32)),
                         name_of_mutation);

// In float32 this lies below the rounding of the arithmetic: logits move by 3e-5.
TEST(Verify, DetectsTheEpsilonOfOneNormInFloat64) {
  auto golden = read_golden(golden_file(kPass));
  golden.model.scheme.blocks[1].feed_forward.input->epsilon = 1e-6;
  EXPECT_FALSE(verify(golden, {}).passed());
}

TEST(Verify, GivesANonfiniteNumberAnInfiniteError) {
  auto golden = read_golden(golden_file(kPass));
  golden.parameters.at("final_norm.gain")[3] = std::numeric_limits<double>::quiet_NaN();
  const auto result = verify(golden, {.tolerance = 1e300});
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.totals.front().error, std::numeric_limits<double>::infinity());
}

Verification example() {
  return {.file = "x.safetensors",
          .scheme = "pre_norm",
          .precision = "float64",
          .totals = {{"logits", 2e-7, 1e-6}, {"loss", 1e-15, 1e-12}},
          .tensors = {{"gradient of a", 3e-7, 2e-7},
                      {"gradient of b", 1e-7, 2e-7},
                      {"gradient of c", 5e-8, 2e-7},
                      {"gradient of d", 4e-8, 2e-7}}};
}

TEST(VerifyText, ShowsEveryTensorAndAVerdict) {
  const auto pad = [](const char* text) {
    return text + std::string(58 - std::string(text).size(), ' ');
  };
  EXPECT_EQ(table_of(example()),
            "x.safetensors: scheme pre_norm, computed again in float64\n"
            "  " +
                pad("quantity") +
                "    error   allowed\n"
                "  " +
                pad("logits") +
                "  2.0e-07   1.0e-06  held\n"
                "  " +
                pad("loss") +
                "  1.0e-15   1.0e-12  held\n"
                "  " +
                pad("gradient of a") +
                "  3.0e-07   2.0e-07  refuted\n"
                "  " +
                pad("gradient of b") +
                "  1.0e-07   2.0e-07  held\n"
                "  " +
                pad("gradient of c") +
                "  5.0e-08   2.0e-07  held\n"
                "  " +
                pad("gradient of d") +
                "  4.0e-08   2.0e-07  held\n"
                "  parameters: 4 compared, 3 held\n"
                "refuted: gradient of a off by 3.0e-07 where 2.0e-07 is allowed\n");
}

TEST(VerifyText, IsOneLinePerFile) {
  auto verification = example();
  EXPECT_EQ(line_of(verification),
            "x.safetensors: refuted: gradient of a off by 3.0e-07 where 2.0e-07 is allowed");
  verification.tensors.front().error = 1.5e-7;
  EXPECT_EQ(line_of(verification),
            "x.safetensors: held; gradient of a off by 1.5e-07 where 2.0e-07 is allowed");
  verification.totals.front().error = verification.totals.back().error = 1;
  EXPECT_EQ(line_of(verification),
            "x.safetensors: refuted: loss off by 1.0e+00 where 1.0e-12 is allowed; 1 other "
            "too");
}

TEST(VerifyText, IsJsonWithEveryCheck) {
  const auto reply = json_of(example());
  EXPECT_EQ(reply["held"], false);
  EXPECT_EQ(reply["checks"].size(), 6u);
  EXPECT_EQ(reply["checks"][2].dump(),
            R"({"error":3e-07,"held":false,"quantity":"gradient of a","tolerance":2e-07})");
}

}  // namespace
}  // namespace evenkeel::verify
