// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/buffers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/kernels/cpu/portable/memory_traffic.h"

namespace evenkeel::bench {
namespace {

TEST(RotatingBuffers, ReturnToTheFirst) {
  int made = 0;
  RotatingBuffers<Tensors> buffers(100e6, [&] {
    ++made;
    return Tensors{at::zeros({4})};
  });
  EXPECT_EQ(made, 3);  // of 100 MB each: more than a cache of 256 MB
  const auto first = buffers.next()[0];
  EXPECT_FALSE(buffers.next()[0].is_same(first));
  buffers.next();
  EXPECT_TRUE(buffers.next()[0].is_same(first));
}

// write = 1 + the sum of what is read; update += the same.
TEST(PassOver, TouchesEveryStream) {
  const auto a = at::arange(7, at::kFloat), b = at::arange(7, at::kFloat) * 10;
  auto w = at::zeros({7}), u = at::ones({7}), v = at::ones({7}), x = at::ones({7});
  kernels::cpu::run_memory_traffic({.reads = 2,
                                    .writes = 1,
                                    .read = {a.const_data_ptr<float>(), b.const_data_ptr<float>()},
                                    .write = {w.mutable_data_ptr<float>()}},
                                   0, 7);
  EXPECT_TRUE(w.equal(1 + a + b));
  kernels::cpu::run_memory_traffic(
      {.reads = 1,
       .updates = 3,
       .read = {a.const_data_ptr<float>()},
       .update = {u.mutable_data_ptr<float>(), v.mutable_data_ptr<float>(),
                  x.mutable_data_ptr<float>()}},
      2, 5);
  EXPECT_TRUE(u.narrow(0, 2, 3).equal(2 + a.narrow(0, 2, 3)));
  EXPECT_EQ(u[1].item<float>(), 1);
  EXPECT_EQ(x[5].item<float>(), 1);
}

}  // namespace
}  // namespace evenkeel::bench
