// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/group.h"

#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/comm/engine.h"
#include "evenkeel/comm/network.h"

namespace evenkeel::comm {
namespace {

/// Adds the life of the object to a sum of seconds.
class CallTimer {
 public:
  explicit CallTimer(double& seconds) : seconds_(seconds) {}
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;
  ~CallTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Waits until a GPU has done what is queued on its current stream: no time of an exchange.
void wait_for_device(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return;
  const c10::impl::VirtualGuardImpl device(tensor.device().type());
  device.synchronizeStream(device.getStream(tensor.device()));
}

void check_bounds(const std::vector<std::int64_t>& bounds, int ranks, std::int64_t count) {
  EK_ASSERT(static_cast<int>(bounds.size()) == ranks + 1);
  EK_ASSERT(bounds.front() == 0 && bounds.back() == count);
  EK_ASSERT(std::is_sorted(bounds.begin(), bounds.end()));
}

std::vector<std::int64_t> equal_bounds(int ranks, std::int64_t count) {
  std::vector<std::int64_t> bounds;
  for (int rank = 0; rank <= ranks; ++rank) bounds.push_back(rank * count);
  return bounds;
}

}  // namespace

Group::Group() {
  placement_.hosts = {host_name()};
}

Group::Group(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {
  EK_ASSERT(engine_ != nullptr);
  rank_ = engine_->rank();
  ranks_ = engine_->ranks();
  placement_ = engine_->placement();
}

Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
Group::~Group() = default;

void Group::reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                           const at::Tensor& part) {
  check_bounds(bounds, ranks_, whole.numel());
  EK_ASSERT(whole.is_contiguous() && part.is_contiguous());
  EK_ASSERT(whole.scalar_type() == part.scalar_type());
  if (engine_) wait_for_device(whole);
  const CallTimer timer(seconds_);
  if (engine_) {
    engine_->reduce_scatter(whole, bounds, part);
  } else if (part.data_ptr() != whole.data_ptr()) {
    part.copy_(whole);
  }
}

void Group::all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) {
  check_bounds(bounds, ranks_, whole.numel());
  EK_ASSERT(whole.is_contiguous());
  if (engine_) wait_for_device(whole);
  const CallTimer timer(seconds_);
  if (engine_) engine_->all_gather(whole, bounds);
}

void Group::engine_all_reduce(const at::Tensor& whole) {
  if (engine_) engine_->engine_all_reduce(whole);
}

void Group::engine_reduce_scatter(const at::Tensor& whole, const at::Tensor& part) {
  if (engine_) engine_->engine_reduce_scatter(whole, part);
}

at::Tensor Group::all_gather_scalars(const at::Tensor& mine) {
  EK_ASSERT(mine.dim() == 1 && mine.scalar_type() == at::kDouble);
  at::Tensor all = at::zeros({ranks_, mine.numel()}, mine.options());
  all[rank_].copy_(mine);
  all_gather(all.view({-1}), equal_bounds(ranks_, mine.numel()));
  return all;
}

std::vector<std::string> Group::all_gather_texts(const std::string& mine) {
  if (!engine_) return {mine};
  at::Tensor size = at::zeros({1}, at::kDouble);
  size.fill_(static_cast<double>(mine.size()));
  const at::Tensor sizes = all_gather_scalars(size);
  std::vector<std::int64_t> bounds{0};
  for (int rank = 0; rank < ranks_; ++rank) {
    bounds.push_back(bounds.back() +
                     static_cast<std::int64_t>(sizes.const_data_ptr<double>()[rank]));
  }
  const at::Tensor bytes = at::zeros({bounds.back()}, at::kByte);
  char* begin = static_cast<char*>(bytes.data_ptr());
  const auto at = [&](int rank) { return begin + bounds[static_cast<std::size_t>(rank)]; };
  std::memcpy(at(rank_), mine.data(), mine.size());
  all_gather(bytes, bounds);
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank) texts.emplace_back(at(rank), at(rank + 1));
  return texts;
}

void Group::broadcast(const at::Tensor& tensor, int from) {
  EK_ASSERT(from >= 0 && from < ranks_ && tensor.is_contiguous());
  const CallTimer timer(seconds_);
  if (engine_) engine_->broadcast(tensor, from);
}

std::string Group::broadcast_text(const std::string& mine, int from) {
  const std::string empty;
  return all_gather_texts(from == rank_ ? mine : empty)[static_cast<std::size_t>(from)];
}

void Group::barrier(const char* where) {
  const CallTimer timer(seconds_);
  if (engine_) engine_->barrier(where);
}

std::string Group::name(int rank) const {
  return engine_ ? engine_->name(rank) : "rank 0";
}

void Group::report(const Position& position) {
  if (engine_) engine_->report(position);
}

void Group::set_activity(const char* activity) {
  if (engine_) engine_->set_activity(activity);
}

void Group::set_run_folder(const std::string& folder) {
  if (engine_) engine_->set_run_folder(folder);
}

bool Group::fail(Exit exit, const std::string& message) {
  return engine_ ? engine_->fail(exit, message) : true;
}

void Group::leave() {
  if (engine_) engine_->leave();
}

}  // namespace evenkeel::comm
