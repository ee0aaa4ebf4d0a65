// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "comm/exchange_values.h"
#include "comm/rank_threads.h"
#include "evenkeel/comm/engine_gloo.h"
#include "evenkeel/comm/engine_nccl.h"
#include "evenkeel/comm/exchange.h"
#include "evenkeel/comm/staged_exchange.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/ops/optim/block_squares.h"

// The exchanges of GPU memory, as far as one GPU can test them.
namespace evenkeel::comm {
namespace {

constexpr std::chrono::seconds kTimeout{60};
const at::Device kGpu(at::kCUDA, 0);

class OnOneGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
    ops::set_compute_device(kGpu);
  }
};

class NcclOfOneRank : public OnOneGpu {
 protected:
  void SetUp() override {
    OnOneGpu::SetUp();
    if (IsSkipped()) return;
    ASSERT_NE(nccl_library(), nullptr) << "LibTorch with CUDA links libnccl.so.2";
    backend_ = connect_nccl(*nccl_library(), testing::memory_store(),
                            {.rank = 0, .ranks = 1, .device = kGpu, .timeout = kTimeout});
  }

  /// Sends values to this rank itself.
  c10::intrusive_ptr<c10d::Work> begin_copy(const at::Tensor& from, const at::Tensor& to) {
    std::vector<at::Tensor> sent{from}, received{to};
    backend_->startCoalescing();
    backend_->send(sent, 0, 0);
    backend_->recv(received, 0, 0);
    return backend_->endCoalescing();
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
};

TEST_F(NcclOfOneRank, CopiesEveryDtype) {
  EXPECT_EQ(nccl_version().substr(0, 2), "2.");
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kByte}) {
    for (const std::int64_t count : {1L, 1001L, 3'000'001L}) {
      const auto from = at::arange(count, at::device(kGpu).dtype(at::kDouble)).to(dtype);
      const auto to = at::zeros_like(from);
      begin_copy(from, to)->wait();
      EXPECT_TRUE(at::equal(to, from)) << dtype << ' ' << count;
    }
  }
}

// A product of 8192 x 8192 takes milliseconds: a copy that does not wait for it has other values.
TEST_F(NcclOfOneRank, KeepsTheOrderOfTheStream) {
  const auto x = at::rand({8192, 8192}, at::device(kGpu));
  const auto to = at::zeros({8192 * 8192}, at::device(kGpu));
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto product = at::matmul(x, x) + repetition;
    const auto work = begin_copy(product.view({-1}), to);
    const auto after = to + 1;  // is queued before the copy has ended
    work->wait();
    EXPECT_TRUE(work->isCompleted());
    EXPECT_TRUE(at::equal(to, product.view({-1})));
    EXPECT_TRUE(at::equal(after, product.view({-1}) + 1));
  }
}

TEST_F(NcclOfOneRank, ExchangesNothingAndSumsOneRow) {
  Exchange exchange(backend_, 1, {.chunk_bytes = 256, .sum = RowSum::tensor_operations});
  const auto values = testing::values_of(0, 1001, at::kFloat).to(kGpu);
  const auto part = at::zeros_like(values);
  exchange.reduce_scatter(values, {0, 1001}, part);
  EXPECT_TRUE(at::equal(part, values));
  exchange.all_gather(part, {0, 1001});
  EXPECT_TRUE(at::equal(part, values));
}

// Ranks are threads that share the GPU; the tensors travel over Gloo through pinned host memory.
TEST_F(OnOneGpu, StagedSumsAreThoseOfAdditionsOnTheGpu) {
  const std::vector<std::int64_t> limits{0, 70'000, 70'000, 200'001};
  std::vector<at::Tensor> rows;
  for (int rank = 0; rank < 3; ++rank)
    rows.push_back(testing::values_of(rank, limits.back(), at::kFloat).to(kGpu));
  const auto expected = (rows[0] + rows[1]) + rows[2];
  const auto store = testing::memory_store();
  std::vector<std::unique_ptr<Exchange>> all(3);
  testing::for_each_rank(3, [&](int rank) {
    const at::NoGradGuard no_grad;
    const auto own = static_cast<std::size_t>(rank);
    all[own] =
        std::make_unique<Exchange>(connect_gloo(store, rank, 3, "127.0.0.1", "", kTimeout), 1);
    StagedExchange staged(*all[own], std::int64_t{1} << 18);
    const auto whole = rows[own].clone();
    const auto part = whole.narrow(0, limits[own], limits[own + 1] - limits[own]);
    staged.reduce_scatter(whole, limits, part);
    EXPECT_TRUE(at::equal(part, expected.narrow(0, limits[own], part.numel()))) << "rank " << rank;
    staged.all_gather(whole, limits);
    EXPECT_TRUE(at::equal(whole, expected)) << "rank " << rank;
    const auto half = expected.to(at::kBFloat16), gathered = at::zeros_like(half);
    gathered.narrow(0, limits[own], part.numel()).copy_(half.narrow(0, limits[own], part.numel()));
    staged.all_gather(gathered, limits);
    EXPECT_TRUE(at::equal(gathered, half)) << "rank " << rank;
  });
}

TEST_F(OnOneGpu, BlockSquaresHaveTheBitsOfTheProcessor) {
  const auto x = testing::values_of(0, 300 * 65'536 + 17, at::kFloat);
  EXPECT_EQ(ops::block_squares(x.to(kGpu)), ops::block_squares_of_device(x));
  const auto half = x.to(at::kBFloat16);
  EXPECT_EQ(ops::block_squares(half.to(kGpu)), ops::block_squares_of_device(half));
}

}  // namespace
}  // namespace evenkeel::comm
