// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/deterministic_matmul.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/linear/bf16_product.h"
#include "evenkeel/ops/linear/linear.h"
#include "evenkeel/ops/linear/weight_gradient.h"
#include "evenkeel/ops/linear/widened_product.h"
#include "ops/operator_case.h"
#include "support/close.h"

namespace evenkeel::ops {
namespace {

constexpr auto kDtypes = {at::kFloat, at::kBFloat16, at::kDouble};

class DeterministicMatmul : public ::testing::Test {
 protected:
  DeterministicMatmul() { at::manual_seed(0); }
  ~DeterministicMatmul() override { at::set_num_threads(before_); }
  DeterministicMatmul(const DeterministicMatmul&) = delete;
  DeterministicMatmul& operator=(const DeterministicMatmul&) = delete;

 private:
  int before_ = at::get_num_threads();
};

/// Output and gradients of a linear layer: all three products of a training step.
std::vector<at::Tensor> products(const at::Tensor& x, const at::Tensor& w, const at::Tensor& dy) {
  const GradientBuffer sum(
      at::zeros(w.sizes(), w.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
  const auto leaf = x.detach().requires_grad_();
  const auto y = linear(leaf, w.detach().requires_grad_(), sum);
  y.backward(dy);
  return {y.detach(), leaf.grad(), sum.value()};
}

/// The thread counts whose bits differ from those of one thread.
std::vector<int> unequal_threads(at::ScalarType dtype, std::int64_t tokens, std::int64_t inputs,
                                 std::int64_t outputs) {
  const auto x = at::randn({tokens, inputs}).to(dtype), w = at::randn({outputs, inputs}).to(dtype);
  const auto dy = at::randn({tokens, outputs}).to(dtype);
  at::set_num_threads(1);
  const auto one = products(x, w, dy);
  std::vector<int> found;
  for (const int threads : {2, 3, 4, 5, 8, 16}) {
    at::set_num_threads(threads);
    const auto all = products(x, w, dy);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].equal(one[i])) found.push_back(threads);
    }
  }
  return found;
}

TEST_F(DeterministicMatmul, HasTheSameBitsForAnyNumberOfThreadsAtEveryWidth) {
  for (const auto dtype : kDtypes) {
    for (std::int64_t rest = 0; rest < 32; ++rest) {
      const auto width = (rest % 3 + 1) * 32 + rest;  // 32 to 127
      EXPECT_EQ(unequal_threads(dtype, 300, 40, width), std::vector<int>{}) << dtype << width;
      EXPECT_EQ(unequal_threads(dtype, 300, width, 24), std::vector<int>{}) << dtype << width;
    }
    for (const std::int64_t width : {1, 5, 24, 31, 100, 200}) {  // several blocks
      EXPECT_EQ(unequal_threads(dtype, 2100, 128, width), std::vector<int>{}) << dtype << width;
    }
  }
}

// Few rows, as in decoding, read each row of the weight in place; more rows pack it.
TEST_F(DeterministicMatmul, OfFewRowsIsTheProductForAnyNumberOfThreads) {
  for (const auto dtype : kDtypes) {
    for (const std::int64_t rows : {0, 1, 2, 3, 8, 9, 20, 32, 33}) {
      const auto wide = at::randn({700, 240}).to(dtype);
      const auto w = wide.narrow(1, 7, 200).narrow(0, 1, 603).t();  // rows that are apart
      const auto x = at::randn({200, rows}).to(dtype).t();
      at::set_num_threads(1);
      const auto y = deterministic_matmul(x, w);
      const auto exact = at::mm(x.to(at::kDouble), w.to(at::kDouble));
      const double rounding = dtype == at::kBFloat16 ? 5e-3 : 1e-6;
      EXPECT_TRUE(testing::close(y.to(at::kDouble), exact, rounding, 20 * rounding)) << rows;
      for (const int threads : {2, 3, 8}) {
        at::set_num_threads(threads);
        EXPECT_TRUE(deterministic_matmul(x, w).equal(y)) << rows << " rows, " << threads;
      }
      const std::int64_t few = dtype == at::kFloat ? 8 : dtype == at::kBFloat16 ? 2 : 0;
      for (std::int64_t i = 0; i < rows && rows <= few; ++i) {
        EXPECT_TRUE(deterministic_matmul(x.narrow(0, i, 1), w).equal(y.narrow(0, i, 1)))
            << "row " << i << " of " << rows << ": the library sums them in another order";
      }
      const auto beside = at::ones({rows, 610}, w.options());
      const auto part = beside.narrow(1, 3, 603);
      deterministic_matmul_out(part, x, w);
      EXPECT_TRUE(part.equal(y)) << rows;
      deterministic_matmul_out(part, x, w, /*is_added=*/true);
      EXPECT_TRUE(beside.narrow(1, 0, 3).eq(1).all().item<bool>());
      EXPECT_TRUE(beside.narrow(1, 606, 4).eq(1).all().item<bool>());
      EXPECT_TRUE(testing::close(part.to(at::kDouble), 2 * exact, 2 * rounding, 40 * rounding));
    }
  }
}

// dy^T x, as autograd makes it for a weight that is computed: the kernel of weight gradients.
TEST_F(DeterministicMatmul, OfAColumnMajorLeftOperandIsRoundedOnce) {
  if (!multiplies_bf16_pairs()) GTEST_SKIP() << "this processor has no bfloat16 instructions";
  constexpr std::int64_t kRows = 130, kColumns = 70;
  for (const std::int64_t depth : {1, 40, 700}) {
    const auto x = at::randn({depth, kRows}).to(at::kBFloat16).t();
    const auto w = at::randn({depth, kColumns}).to(at::kBFloat16);
    const auto exact = at::mm(x.to(at::kDouble), w.to(at::kDouble));
    at::set_num_threads(1);
    const auto y = deterministic_matmul(x, w);
    EXPECT_TRUE(testing::close(y.to(at::kDouble), exact, 0x1p-8, 1e-4)) << depth;
    const auto beside = at::ones({kRows, kColumns + 9}, w.options());
    const auto part = beside.narrow(1, 3, kColumns),
               turned = at::empty({kColumns, kRows}, w.options()).t();
    deterministic_matmul_out(turned, x, w);
    EXPECT_TRUE(turned.equal(y)) << depth;
    deterministic_matmul_out(part, x, w, /*is_added=*/true);
    EXPECT_TRUE(testing::close(part.to(at::kDouble), exact + 1, 0x1p-8, 1e-4)) << depth;
    EXPECT_TRUE(beside.narrow(1, 0, 3).eq(1).all().item<bool>());
    for (const int threads : {2, 3, 8}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(deterministic_matmul(x, w).equal(y)) << depth << ", " << threads;
    }
  }
}

// In tiles, a row has the same bits in products of any number of rows from 5 on.
TEST_F(DeterministicMatmul, RowsInTilesDoNotDependOnOtherRows) {
  if (!multiplies_bf16_tiles()) GTEST_SKIP() << "this processor has no AMX";
  const auto x = at::randn({70, 200}).to(at::kBFloat16), w = at::randn({90, 200}).to(x).t();
  const auto together = deterministic_matmul(x, w);
  for (const std::int64_t rows : {5, 16, 17, 32, 33}) {
    for (const std::int64_t first : {0, 1, 31}) {
      EXPECT_TRUE(
          deterministic_matmul(x.narrow(0, first, rows), w).equal(together.narrow(0, first, rows)))
          << rows << " rows from " << first;
    }
  }
}

// EVENKEEL_ISA=avx2 takes this path on every processor (the test ops_avx2).
TEST_F(DeterministicMatmul, OfBfloat16WithoutItsInstructionsIsThatOfFloat32Copies) {
  if (!ops::widens_bf16_products()) GTEST_SKIP() << "this processor has bfloat16 instructions";
  const auto x = at::randn({3, 70, 90}).to(at::kBFloat16), w = at::randn({3, 90, 130}).to(x);
  const auto first = at::randn({3, 70, 130}).to(x);
  for (const bool is_added : {false, true}) {
    const auto y = first.clone(), one = first[1].clone(), wide = first.to(at::kFloat);
    deterministic_matmul_out(wide, x.to(at::kFloat), w.to(at::kFloat), is_added);
    deterministic_matmul_out(y, x, w, is_added);
    EXPECT_TRUE(y.equal(wide.to(at::kBFloat16))) << is_added;
    deterministic_matmul_out(one, x[1], w[1], is_added);
    EXPECT_TRUE(one.equal(wide[1].to(at::kBFloat16))) << is_added;
  }
}

// Few rows widen a part of the columns at a time.
TEST_F(DeterministicMatmul, OfFewRowsWidensBfloat16WithTheSameBits) {
  if (!ops::widens_bf16_products()) GTEST_SKIP() << "this processor has bfloat16 instructions";
  for (const std::int64_t rows : {9, 16, 33, 256, 257}) {
    for (const std::int64_t depth : {2, 90, 9000}) {
      const auto x = at::randn({depth, rows}).to(at::kBFloat16).t();
      const auto w = at::randn({131, depth + 3}).to(x).narrow(1, 2, depth).t();
      for (const bool is_added : {false, true}) {
        const auto transposed = at::randn({131, rows}).to(x).t(), other = transposed.clone();
        deterministic_matmul_out(transposed, x, w, is_added);
        const auto y = other.contiguous(), wide = y.to(at::kFloat);
        deterministic_matmul_out(wide, x.to(at::kFloat), w.to(at::kFloat), is_added);
        deterministic_matmul_out(y, x, w, is_added);
        EXPECT_TRUE(y.equal(wide.to(at::kBFloat16))) << rows << " rows over " << depth;
        EXPECT_TRUE(testing::close(transposed, y, 0.01, 0.05)) << rows << " rows over " << depth;
      }
    }
  }
}

// Sums of more terms than are packed at one time, and a result that no cache holds.
TEST_F(DeterministicMatmul, OfLongSumsAndLargeResultsIsTheProduct) {
  struct Sizes {
    std::int64_t rows, depth, columns;
  };
  for (const auto& [rows, depth, columns] :
       {Sizes{67, 9001, 70}, Sizes{300, 8, 32000}, Sizes{33, 300, 640}}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      const auto x = at::randn({rows, depth}).to(dtype);
      for (const bool is_transposed : {false, true}) {
        const auto w = is_transposed ? at::randn({columns, depth}).to(dtype).t()
                                     : at::randn({depth, columns}).to(dtype);
        const auto exact = at::mm(x.to(at::kDouble), w.to(at::kDouble));
        const double rounding = dtype == at::kBFloat16 ? 5e-3 : 1e-4;
        at::set_num_threads(1);
        const auto y = deterministic_matmul(x, w);
        EXPECT_TRUE(testing::close(y.to(at::kDouble), exact, rounding, 20 * rounding)) << dtype;
        const auto sum = at::ones({rows, columns}, w.options());
        deterministic_matmul_out(sum, x, w, /*is_added=*/true);
        EXPECT_TRUE(testing::close(sum.to(at::kDouble), 1 + exact, rounding, 20 * rounding));
        for (const int threads : {2, 3, 16}) {
          at::set_num_threads(threads);
          EXPECT_TRUE(deterministic_matmul(x, w).equal(y)) << dtype << ", " << threads;
        }
      }
    }
  }
}

TEST_F(DeterministicMatmul, IsTheProductWithAndWithoutABatch) {
  for (const std::int64_t n : {0, 1, 70, 700}) {
    const auto x = at::randn({3, n, 90}, at::kDouble), w = at::randn({3, 90, 130}, at::kDouble);
    EXPECT_TRUE(testing::close(deterministic_matmul(x, w), at::bmm(x, w), 1e-12, 1e-12)) << n;
    EXPECT_TRUE(testing::close(deterministic_matmul(x[1], w[1]), at::mm(x[1], w[1]), 1e-12, 1e-12));
    const auto wide = at::ones({3, n, 140}, at::kDouble);
    const auto y = wide.narrow(2, 5, 130);  // no other column may change
    deterministic_matmul_out(y, x, w, /*is_added=*/true);
    EXPECT_TRUE(testing::close(y, 1 + at::bmm(x, w), 1e-12, 1e-12)) << n;
    EXPECT_TRUE(wide.narrow(2, 0, 5).eq(1).all().item<bool>());
    EXPECT_TRUE(wide.narrow(2, 135, 5).eq(1).all().item<bool>());
  }
}

TEST_F(DeterministicMatmul, HasFirstAndSecondDerivatives) {
  const auto x = at::randn({2, 3, 4}, at::kDouble).requires_grad_();
  const auto w = at::randn({2, 4, 5}, at::kDouble).requires_grad_();
  const auto gradients = [&](const auto& product) {
    const auto first = torch::autograd::grad({product(x, w).pow(3).sum()}, {x, w}, {}, true,
                                             /*create_graph=*/true);
    auto all = torch::autograd::grad({(first[0] * first[0]).sum() + first[1].sum()}, {x, w});
    all.insert(all.end(), first.begin(), first.end());
    return all;
  };
  const auto got =
      gradients([](const auto& a, const auto& b) { return deterministic_matmul(a, b); });
  const auto wanted = gradients([](const auto& a, const auto& b) { return at::matmul(a, b); });
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(testing::close(got[i], wanted[i], 1e-11, 1e-11)) << i;
  }
}

TEST_F(DeterministicMatmul, RejectsMismatchedArguments) {
  EXPECT_EQ(testing::message_of([] { deterministic_matmul(at::ones({2, 3}), at::ones({4, 5})); }),
            "[deterministic_matmul] x must be [n, depth] and w [depth, columns], or both with a "
            "batch before, of one dtype and device, but they are [2, 3] of float32 on cpu and "
            "[4, 5] of float32 on cpu");
  EXPECT_EQ(testing::message_of([] {
              deterministic_matmul_out(at::ones({2, 4}), at::ones({2, 3}), at::ones({3, 5}));
            }),
            "[deterministic_matmul] y must fit x [2, 3] and w [3, 5] of float32 on cpu, but is "
            "[2, 4] of float32 on cpu");
}

// Sums over all values and over columns, and sigmoid: LibTorch splits them by its threads.
TEST_F(DeterministicMatmul, LibrariesAreSerialOnRequest) {
  const auto x = at::randn({3000, 37});
  const auto results = [&](int threads, bool serial) {
    at::set_num_threads(threads);
    const SerialLibraries one_thread(serial);
    return std::vector{x.sum(), x.sum(0), at::sigmoid(x)};
  };
  const auto one = results(1, false);
  bool differs = false;
  for (const int threads : {2, 3, 4, 5, 8, 16}) {
    const auto serial = results(threads, true), parallel = results(threads, false);
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(serial[i].equal(one[i])) << threads << " threads, result " << i;
      differs = differs || !parallel[i].equal(one[i]);
    }
    EXPECT_EQ(at::get_num_threads(), threads) << "is restored";
  }
  EXPECT_TRUE(differs) << "without SerialLibraries; else this test checks nothing";
}

}  // namespace
}  // namespace evenkeel::ops
