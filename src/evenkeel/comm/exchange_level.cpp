// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/exchange_level.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/tree_sum.h"

namespace evenkeel::comm {

namespace {

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

/// sum = the tree over ranks of received rows; row `rank` is `own`.
template <typename T>
void sum_chunk(const at::Tensor& received, int rank, const at::Tensor& own, const at::Tensor& sum) {
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  const auto width = received.size(1);
  const T* const rows = received.const_data_ptr<T>();
  T* const out = sum.mutable_data_ptr<T>();
  at::parallel_for(0, sum.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<const T*> pointers;
    pointers.reserve(static_cast<std::size_t>(received.size(0)));
    for (std::int64_t each = 0; each < received.size(0); ++each)
      pointers.push_back((each == rank ? own.const_data_ptr<T>() : rows + each * width) + begin);
    kernels::cpu::sum_of_rows(pointers, end - begin, out + begin);
  });
}

/// sum_chunk() by tensor operations: the rows of `received` are overwritten.
void sum_rows(const at::Tensor& received, int rank, const at::Tensor& own, const at::Tensor& sum) {
  const auto count = own.numel();
  auto rows = received.narrow(1, 0, count).unbind(0);
  rows[index(rank)].copy_(own);  // not summed in place: only `sum` may change
  for (std::size_t stride = 1; stride < rows.size(); stride *= 2) {
    for (std::size_t i = 0; i + stride < rows.size(); i += 2 * stride)
      rows[i].add_(rows[i + stride]);
  }
  sum.copy_(rows.front());
}

int position_of(const std::vector<int>& members, int rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  EK_ASSERT(found != members.end());
  return static_cast<int>(found - members.begin());
}

}  // namespace

at::Tensor slice_of(const at::Tensor& piece, std::int64_t begin, std::int64_t count) {
  const auto first = std::min(begin, piece.numel());
  return piece.narrow(0, first, std::min(count, piece.numel() - first));
}

ExchangeLevel::ExchangeLevel(c10::intrusive_ptr<c10d::Backend> backend, std::vector<int> members,
                             const LevelOptions& options)
    : backend_(std::move(backend)),
      members_(std::move(members)),
      options_(options),
      rank_(position_of(members_, backend_->getRank())),
      ranks_(static_cast<int>(members_.size())) {}

void ExchangeLevel::send(const at::Tensor& values, int to, Works& works) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> one{values};
  works.push_back(backend_->send(one, members_[index(to)], tag_));
}

void ExchangeLevel::receive(const at::Tensor& values, int from, Works& works) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> one{values};
  works.push_back(backend_->recv(one, members_[index(from)], tag_));
}

void ExchangeLevel::wait_for(Works& works) {
  for (const auto& each : works) each->wait();
  works.clear();
}

ExchangeLevel::Chunks ExchangeLevel::chunks_of(const std::vector<at::Tensor>& pieces) const {
  std::int64_t longest = 0;
  for (const auto& each : pieces) longest = std::max(longest, each.numel());
  const auto in_chunk = std::max<std::int64_t>(
      1, options_.chunk_bytes / pieces.front().element_size() / std::max(1, ranks_ - 1));
  const auto columns = std::max<std::int64_t>(1, std::min(longest, in_chunk));
  return {(longest + columns - 1) / columns, columns};
}

template <typename Sent, typename Received>
void ExchangeLevel::begin_chunk(const Sent& sent, const Received& received, Works& works) {
  const bool is_group = backend_->supportsCoalescing();
  if (is_group) backend_->startCoalescing();
  for (int distance = 1; distance < ranks_; ++distance) {
    const int to = (rank_ + distance) % ranks_, from = (rank_ - distance + ranks_) % ranks_;
    receive(received(from), from, works);
    send(sent(to), to, works);
  }
  if (is_group) works = {backend_->endCoalescing()};  // the end of all of them
  constexpr int kTags = 1 << 20;
  tag_ = (tag_ + 1) % kTags;
}

template <typename Begin, typename End>
void ExchangeLevel::pipeline(std::int64_t chunks, const Begin& begin, const End& end) {
  if (chunks > 0) begin(0, works_[0]);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) begin(chunk + 1, works_[(chunk + 1) % 2]);
    wait_for(works_[chunk % 2]);
    end(chunk);
  }
}

void ExchangeLevel::add_up(std::size_t which, const at::Tensor& own, const at::Tensor& sum) {
  const auto& received = received_[which];
  if (options_.sum == RowSum::tensor_operations) return sum_rows(received, rank_, own, sum);
  AT_DISPATCH_FLOATING_TYPES(sum.scalar_type(), "reduce_scatter",
                             [&] { sum_chunk<scalar_t>(received, rank_, own, sum); });
}

void ExchangeLevel::reduce_scatter(const std::vector<at::Tensor>& pieces, const at::Tensor& part) {
  const auto [chunks, columns] = chunks_of(pieces);
  for (auto& each : received_) each = at::empty({ranks_, columns}, part.options());
  const auto values = [&, columns = columns](int rank, std::int64_t chunk) {
    return slice_of(pieces[index(rank)], chunk * columns, columns);
  };
  const auto begin = [&](std::int64_t chunk, Works& works) {
    const auto rows = received_[chunk % 2].narrow(1, 0, values(rank_, chunk).numel());
    begin_chunk([&](int to) { return values(to, chunk); }, [&](int from) { return rows[from]; },
                works);
  };
  const auto end = [&, columns = columns](std::int64_t chunk) {
    const auto own = values(rank_, chunk);
    if (own.numel() == 0) return;
    const auto sum = slice_of(part, chunk * columns, columns);
    add_up(static_cast<std::size_t>(chunk % 2), own, sum);
  };
  pipeline(chunks, begin, end);
}

// Chunks keep all links busy: with whole pieces, several ranks send to one rank at a time.
void ExchangeLevel::all_gather(const std::vector<at::Tensor>& pieces) {
  const auto [chunks, columns] = chunks_of(pieces);
  const auto values = [&, columns = columns](int rank, std::int64_t chunk) {
    return slice_of(pieces[index(rank)], chunk * columns, columns);
  };
  const auto begin = [&](std::int64_t chunk, Works& works) {
    begin_chunk([&](int) { return values(rank_, chunk); },
                [&](int from) { return values(from, chunk); }, works);
  };
  pipeline(chunks, begin, [](std::int64_t) {});
}

}  // namespace evenkeel::comm
