// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evenkeel/base/file.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/verify_model.h"
#include "support/golden_files.h"

namespace evenkeel::verify {
namespace {

using nn::Precision;
using testing::golden_file;
using testing::golden_folder;

/// The tokens of a golden pass: each but the last of a sequence is scored on its next.
data::Batch batch_of(const Golden& golden) {
  const auto ids = golden.ids.contiguous();
  const auto columns = ids.size(1);
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + ids.numel()}, {}, ids.size(0), 0};
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const bool last = (i + 1) % columns == 0;
    batch.targets.push_back(last ? data::kIgnoreIndex : values[i + 1]);
    batch.scored += last ? 0 : 1;
  }
  return batch;
}

struct Case {
  const char* variant;
  Precision precision;
  double tolerance;  // relative
};

class GoldenProbes : public ::testing::TestWithParam<Case> {};

void expect_values(const probe::ProbeResult& result, const char* measure, const char* part,
                   const nlohmann::json& expected, std::size_t from, double tolerance) {
  const auto* const profile = result.find(measure, part);
  ASSERT_NE(profile, nullptr) << measure;
  ASSERT_EQ(profile->values.size(), expected.size() + from) << measure;
  for (std::size_t l = 0; l < expected.size(); ++l) {
    const double value = expected[l].get<double>();
    EXPECT_NEAR(profile->values[l + from], value, tolerance * std::abs(value))
        << measure << " of block " << l;
  }
}

// Two sequences, one at a time: what is summed up must not depend on the split.
TEST_P(GoldenProbes, AreReproduced) {
  const auto& [variant, precision, tolerance] = GetParam();
  const auto all = nlohmann::json::parse(read_file(golden_folder() / "authors/probes.json"));
  const auto& expected = all.at("values").at(variant);
  const auto golden = read_golden(golden_file(std::string("authors/dense_") + variant));
  VerifyModel model(golden, {.precision = precision});
  const auto result =
      probe::run_probe(model.model(), model.parameters(), {}, batch_of(golden),
                       probe::measures_named({"all"}), /*micro_batch_size=*/1, /*planned=*/1);
  EXPECT_NEAR(result.loss, expected.at("loss"), tolerance * result.loss);
  expect_values(result, "token_cosine", "", expected.at("token_cosine_similarity"), 1, tolerance);
  expect_values(result, "attention_entropy", "", expected.at("attention_entropy_nats"), 0,
                tolerance);
  expect_values(result, "stream_rms", "", expected.at("residual_rms"), 1, tolerance);
  expect_values(result, "grad_norm", "block", expected.at("grad_norm_block"), 0, tolerance);
  expect_values(result, "grad_norm", "output", expected.at("grad_norm_output_projection"), 0,
                tolerance);
  expect_values(result, "grad_norm", "model",
                nlohmann::json::array({expected.at("grad_norm_total")}), 0, tolerance);
  EXPECT_NEAR(result.find("stream_rms")->values[0], expected.at("embedding_output_rms"), tolerance);
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) {
  const bool is_float64 = test.param.precision == Precision::float64;
  return std::string(test.param.variant) + (is_float64 ? "_float64" : "_float32");
}

INSTANTIATE_TEST_SUITE_P(Probes, GoldenProbes,
                         ::testing::Values(Case{"pre_norm", Precision::float64, 1e-9},
                                           Case{"pre_norm", Precision::float32, 1e-5},
                                           Case{"post_norm", Precision::float64, 1e-9},
                                           Case{"post_norm", Precision::float32, 1e-5},
                                           Case{"hybrid_norm", Precision::float64, 1e-9},
                                           Case{"hybrid_norm", Precision::float32, 1e-5}),
                         name_of);

}  // namespace
}  // namespace evenkeel::verify
