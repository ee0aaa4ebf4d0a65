// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/split_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace evenkeel {
namespace {

const std::vector<std::int64_t> kRowsOfBlocks = {3, 1, 2};

/// A function of some blocks, whose gradient with respect to each differs.
at::Tensor sum_of_blocks(const std::vector<at::Tensor>& blocks, bool with_last) {
  auto sum = (blocks[0] * 2).sum() + blocks[1].square().sum();
  if (with_last) sum = sum + (blocks[2] * blocks[2]).sum() * 3;
  return sum;
}

/// The gradient by autograd, without a buffer.
at::Tensor gradient_of(const at::Tensor& w, bool with_last) {
  const auto leaf = w.detach().clone().requires_grad_();
  sum_of_blocks(ops::split_rows(leaf, kRowsOfBlocks, {}), with_last).backward();
  return leaf.grad().to(at::kFloat);
}

TEST(SplitRows, GradientsGoIntoTheBuffer) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    at::manual_seed(3);
    const auto w = at::randn({6, 4}).to(dtype).requires_grad_();
    const auto memory = at::full({6, 4}, 7.0);
    const ops::GradientBuffer buffer(memory);
    const auto run = [&](bool with_last) {
      const auto blocks = ops::split_rows(w, kRowsOfBlocks, buffer);
      ASSERT_EQ(blocks.size(), kRowsOfBlocks.size());
      EXPECT_TRUE(at::cat(blocks).equal(w));
      sum_of_blocks(blocks, with_last).backward();
    };
    run(false);  // zeros where no gradient comes
    EXPECT_TRUE(memory.equal(gradient_of(w, false)));
    run(true);  // adds
    EXPECT_TRUE(memory.equal(gradient_of(w, false) + gradient_of(w, true)));
    EXPECT_FALSE(w.grad().defined());
    buffer.reset();
    run(true);
    EXPECT_TRUE(memory.equal(gradient_of(w, true)));
  }
}

TEST(SplitRows, IsASplitWithoutGradients) {
  const auto w = at::randn({6, 4}).requires_grad_();
  const ops::GradientBuffer buffer(at::zeros({6, 4}));
  const at::NoGradGuard no_grad;
  const auto blocks = ops::split_rows(w, kRowsOfBlocks, buffer);
  EXPECT_EQ(blocks[1].const_data_ptr(), w[3].const_data_ptr());
}

}  // namespace
}  // namespace evenkeel
