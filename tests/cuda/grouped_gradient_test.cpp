// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <optional>
#include <vector>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/ops/linear/grouped_linear.h"
#include "ops/linear/group_product.h"

// Gradients of experts' weights in float32, by kernels of tensor cores, against products in
// float64.
namespace evenkeel::testing {
namespace {

struct GradientShape {
  std::int64_t rows, columns;
  bool uses_warpgroups;
};

/// Selects the kernel: products of warps or of warpgroups.
/// \return the last selection
bool select(bool uses_warpgroups) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("evenkeel::warpgroup_gradient", "")
      .typed<bool(bool)>()
      .call(uses_warpgroups);
}

class GroupedGradient : public ::testing::TestWithParam<GradientShape> {
 protected:
  void SetUp() override {
    if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
    ops::set_compute_device({at::kCUDA, 0});
    at::manual_seed(6);
    before_test_ = select(GetParam().uses_warpgroups);
    const auto options = at::device(at::kCUDA).dtype(at::kBFloat16);
    dy_ = at::randn({kTokens, GetParam().rows}, options);
    x_ = at::randn({kTokens, GetParam().columns}, options);
    before_ = at::randn({kGroups, GetParam().rows, GetParam().columns}, options).to(at::kFloat);
  }

  void TearDown() override {
    if (before_test_) select(*before_test_);
  }

  at::Tensor gradient(bool is_first) const {
    const auto sum = before_.clone();
    ops::add_grouped_weight_gradient(sum, dy_, x_, at::tensor(kOffsets).to(at::kCUDA), is_first);
    return sum;
  }

  const std::vector<std::int64_t> kOffsets = {0, 0, 700, 701, 957, 1021, 1021};
  static constexpr std::int64_t kTokens = 1021, kGroups = 6;
  at::Tensor dy_, x_, before_;
  std::optional<bool> before_test_;
};

TEST_P(GroupedGradient, IsTheProductOfEachGroup) {
  for (const bool is_first : {true, false}) {
    const auto sum = gradient(is_first);
    for (std::int64_t e = 0; e < kGroups; ++e) {
      const auto product = group_product(dy_, x_, kOffsets, e);
      const auto wanted = is_first ? product : product + before_[e].to(at::kDouble);
      const auto error = (sum[e].to(at::kDouble) - wanted).abs().max().item<double>();
      const auto largest = wanted.abs().max().item<double>();
      EXPECT_LE(error, 64 * 0x1p-24 * largest) << "group " << e << ", is_first " << is_first;
    }
  }
}

TEST_P(GroupedGradient, HasTheSameBitsEveryTime) {
  const auto first = gradient(false);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(gradient(false), first));
}

INSTANTIATE_TEST_SUITE_P(
    , GroupedGradient,
    ::testing::Values(GradientShape{48, 40, false}, GradientShape{264, 120, false},
                      GradientShape{264, 136, true}, GradientShape{520, 392, true},
                      GradientShape{2048, 1024, false}, GradientShape{2048, 1024, true}));

}  // namespace
}  // namespace evenkeel::testing
