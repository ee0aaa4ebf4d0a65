// SPDX-License-Identifier: Apache-2.0
// Loss and gradients have the same bits for any number of threads, and every width.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/pass.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::AttentionPath;
using nn::Precision;
using testing::TinyModel;

struct ThreadCase {
  std::string scheme = "hybrid_norm_star";
  norm::Shape shape;
  Precision precision = Precision::float32;
  nn::ModelOptions options = {};
};

norm::Shape threads_shape(std::int64_t ffn_width, std::int64_t experts = 0) {
  auto shape = testing::tiny_shape(2);
  shape.width = 40, shape.inner = ffn_width, shape.context = 100;
  shape.vocabulary = 70;
  if (experts > 0) shape.experts = {.count = experts, .active = 2};
  return shape;
}

/// The loss of 10 windows of 100 tokens, and all gradients.
std::vector<at::Tensor> step_of(const ThreadCase& one, int threads) {
  at::set_num_threads(threads);
  const TinyModel tiny(one.scheme, one.precision, one.options, one.shape);
  const auto ids = testing::fixed_token_ids(10, 100, one.shape.vocabulary);
  nn::RouterLosses router;
  const ops::SerialLibraries one_thread(tiny.model->uses_library_operators());
  auto loss = tiny.model->loss_sum(ids, ids, {.mode = nn::Mode::training, .router = &router});
  if (router.balance.defined()) loss = loss + router.balance + router.z;
  loss.backward();
  tiny.parameters->accumulate_gradients();
  auto all = tiny.parameters->gradients();
  for (auto& each : all) each = each.clone();
  all.push_back(loss.detach());
  return all;
}

void expect_equal_bits(const ThreadCase& one, const std::string& name) {
  const int before = at::get_num_threads();
  const auto wanted = step_of(one, 1);
  for (const int threads : {2, 3, 4, 5, 8, 16}) {
    const auto got = step_of(one, threads);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(got[i].equal(wanted[i])) << name << ", " << threads << " threads, tensor " << i;
    }
  }
  at::set_num_threads(before);
}

TEST(ModelOfAnyWidth, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    for (const std::int64_t width : {1, 24, 37, 100}) {
      const auto name = "FFN width " + std::to_string(width);
      expect_equal_bits({.shape = threads_shape(width), .precision = precision}, name);
    }
  }
}

TEST(MixtureOfAnyWidth, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    for (const std::int64_t width : {24, 37}) {
      const auto name = "FFN width " + std::to_string(width);
      expect_equal_bits({.shape = threads_shape(width, /*experts=*/17), .precision = precision},
                        name);
    }
  }
}

TEST(ReferenceModel, HasTheSameBitsForAnyNumberOfThreads) {
  const auto shape = threads_shape(37);
  expect_equal_bits({.shape = shape, .options = {.fused = false}}, "kernels.fused = false");
  expect_equal_bits({.shape = shape, .options = {.attention = AttentionPath::explicit_scores}},
                    "explicit attention");
  expect_equal_bits({.shape = shape, .options = {.attention = AttentionPath::flash}}, "flash");
}

}  // namespace
}  // namespace evenkeel
