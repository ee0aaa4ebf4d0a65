// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "evenkeel/comm/engine.h"
#include "evenkeel/comm/group.h"

namespace evenkeel::testing {

/// What the ranks of a ThreadEngine share.
struct ThreadRanks {
  explicit ThreadRanks(int count)
      : ranks(count), meet(count), tensors(static_cast<std::size_t>(count)) {}

  int ranks;
  std::barrier<> meet;
  std::vector<at::Tensor> tensors;  // what each rank brought to the current call
};

/// Ranks that are threads of one process. Sums are in the order of the binary tree over ranks.
class ThreadEngine : public comm::Engine {
 public:
  ThreadEngine(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return all_.ranks; }
  comm::Placement placement() const override {
    return {.launcher = "threads",
            .local_ranks = all_.ranks,
            .hosts = std::vector<std::string>(static_cast<std::size_t>(all_.ranks), "here"),
            .network = ""};
  }

  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> sums;
    exchange(whole, [&] {
      for (const auto& each : all_.tensors) sums.push_back(piece(each, bounds, rank_).clone());
    });
    for (std::size_t stride = 1; stride < sums.size(); stride *= 2) {
      for (std::size_t i = 0; i + stride < sums.size(); i += 2 * stride)
        sums[i].add_(sums[i + stride]);
    }
    part.copy_(sums.front());
  }

  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> pieces;
    exchange(whole, [&] {
      for (int rank = 0; rank < all_.ranks; ++rank) {
        pieces.push_back(piece(all_.tensors[static_cast<std::size_t>(rank)], bounds, rank).clone());
      }
    });
    for (int rank = 0; rank < all_.ranks; ++rank) {
      if (rank != rank_) piece(whole, bounds, rank).copy_(pieces[static_cast<std::size_t>(rank)]);
    }
  }

  void broadcast(const at::Tensor& tensor, int from) override {
    at::Tensor sent;
    exchange(tensor, [&] { sent = all_.tensors[static_cast<std::size_t>(from)].clone(); });
    tensor.copy_(sent);
  }

  void barrier(const char* /*where*/) override { all_.meet.arrive_and_wait(); }

 private:
  static at::Tensor piece(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                          int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return whole.narrow(0, bounds[at], bounds[at + 1] - bounds[at]);
  }

  /// Calls read() while the tensors of all ranks are unchanged.
  void exchange(const at::Tensor& mine, const std::function<void()>& read) {
    all_.tensors[static_cast<std::size_t>(rank_)] = mine;
    all_.meet.arrive_and_wait();
    read();
    all_.meet.arrive_and_wait();
  }

  ThreadRanks& all_;
  int rank_;
};

/// Runs `work` on several ranks at once, each with one thread. An exception of a rank is thrown
/// here.
inline void on_ranks(int count, const std::function<void(comm::Group& group)>& work) {
  ThreadRanks all(count);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      try {
        comm::Group group(std::make_unique<ThreadEngine>(all, rank));
        work(group);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace evenkeel::testing
