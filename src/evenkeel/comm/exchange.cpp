// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/exchange.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/tree_sum.h"

namespace evenkeel::comm {

namespace {

/// Bytes that a rank receives at once, from all others together. Smaller ones cost more messages;
/// larger ones cost a sum more memory, and start it later.
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

/// The values of a chunk in the piece of a rank; the last chunks of short pieces are empty.
at::Tensor slice_of(const at::Tensor& whole, const std::vector<std::int64_t>& bounds, int rank,
                    std::int64_t begin, std::int64_t columns) {
  const auto first = std::min(bounds[index(rank)] + begin, bounds[index(rank) + 1]);
  const auto end = std::min(first + columns, bounds[index(rank) + 1]);
  return whole.narrow(0, first, end - first);
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

}  // namespace

Exchange::Exchange(c10::intrusive_ptr<c10d::Backend> backend)
    : backend_(std::move(backend)), rank_(backend_->getRank()), ranks_(backend_->getSize()) {}

void Exchange::send(const at::Tensor& values, int to, Works& works) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> one{values};
  works.push_back(backend_->send(one, to, tag_));
}

void Exchange::receive(const at::Tensor& values, int from, Works& works) {
  if (values.numel() == 0) return;
  std::vector<at::Tensor> one{values};
  works.push_back(backend_->recv(one, from, tag_));
}

void Exchange::wait_for(Works& works) {
  for (const auto& each : works) each->wait();
  works.clear();
}

Exchange::Chunks Exchange::chunks_of(const at::Tensor& whole,
                                     const std::vector<std::int64_t>& bounds) const {
  std::int64_t longest = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    longest = std::max(longest, bounds[index(rank) + 1] - bounds[index(rank)]);
  const auto in_chunk =
      std::max<std::int64_t>(1, kChunkBytes / whole.element_size() / std::max(1, ranks_ - 1));
  const auto columns = std::max<std::int64_t>(1, std::min(longest, in_chunk));
  return {(longest + columns - 1) / columns, columns};
}

template <typename Sent, typename Received>
void Exchange::begin_chunk(const Sent& sent, const Received& received, Works& works) {
  for (int distance = 1; distance < ranks_; ++distance) {
    const int to = (rank_ + distance) % ranks_, from = (rank_ - distance + ranks_) % ranks_;
    receive(received(from), from, works);
    send(sent(to), to, works);
  }
  constexpr int kTags = 1 << 20;
  tag_ = (tag_ + 1) % kTags;
}

template <typename Begin, typename End>
void Exchange::pipeline(std::int64_t chunks, const Begin& begin, const End& end) {
  if (chunks > 0) begin(0, works_[0]);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (chunk + 1 < chunks) begin(chunk + 1, works_[(chunk + 1) % 2]);
    wait_for(works_[chunk % 2]);
    end(chunk);
  }
}

void Exchange::reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                              const at::Tensor& part) {
  const auto [chunks, columns] = chunks_of(whole, bounds);
  for (auto& each : received_) each = at::empty({ranks_, columns}, whole.options());
  const auto piece = [&, columns = columns](int rank, std::int64_t chunk) {
    return slice_of(whole, bounds, rank, chunk * columns, columns);
  };
  const auto begin = [&](std::int64_t chunk, Works& works) {
    const auto rows = received_[chunk % 2].narrow(1, 0, piece(rank_, chunk).numel());
    begin_chunk([&](int to) { return piece(to, chunk); }, [&](int from) { return rows[from]; },
                works);
  };
  const auto end = [&, columns = columns](std::int64_t chunk) {
    const auto own = piece(rank_, chunk);
    if (own.numel() == 0) return;
    const auto sum = part.narrow(0, chunk * columns, own.numel());
    AT_DISPATCH_FLOATING_TYPES(whole.scalar_type(), "reduce_scatter",
                               [&] { sum_chunk<scalar_t>(received_[chunk % 2], rank_, own, sum); });
  };
  pipeline(chunks, begin, end);
}

// Chunks keep all links busy: with whole pieces, several ranks send to one rank at a time.
void Exchange::all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) {
  const auto [chunks, columns] = chunks_of(whole, bounds);
  const auto piece = [&, columns = columns](int rank, std::int64_t chunk) {
    return slice_of(whole, bounds, rank, chunk * columns, columns);
  };
  const auto begin = [&](std::int64_t chunk, Works& works) {
    begin_chunk([&](int) { return piece(rank_, chunk); },
                [&](int from) { return piece(from, chunk); }, works);
  };
  pipeline(chunks, begin, [](std::int64_t) {});
}

}  // namespace evenkeel::comm
