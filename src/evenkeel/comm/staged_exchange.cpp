// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/staged_exchange.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace evenkeel::comm {

/// Values [begin, begin + columns) of the piece of each rank, as far as it has them.
struct StagedExchange::Chunk {
  std::vector<at::Tensor> pieces;    // by rank, on the device
  std::vector<std::int64_t> bounds;  // of the pieces in `host`, [ranks + 1]
  at::Tensor host;                   // [bounds.back()]

  at::Tensor on_host(std::size_t rank) const {
    return host.narrow(0, bounds[rank], bounds[rank + 1] - bounds[rank]);
  }
};

std::int64_t StagedExchange::columns_of(const at::Tensor& whole,
                                        const std::vector<std::int64_t>& bounds) const {
  const auto ranks = static_cast<std::int64_t>(bounds.size()) - 1;
  return std::max<std::int64_t>(1, bytes_ / whole.element_size() / ranks);
}

at::Tensor StagedExchange::staging(const at::Tensor& like, std::int64_t count) {
  const auto bytes = count * like.element_size();
  if (!host_.defined() || host_.numel() < bytes) {
    host_ = at::empty({bytes}, at::device(at::kCPU).dtype(at::kByte).pinned_memory(!like.is_cpu()));
  }
  return host_.narrow(0, 0, bytes).view(like.scalar_type());
}

StagedExchange::Chunk StagedExchange::chunk_of(const at::Tensor& whole,
                                               const std::vector<std::int64_t>& bounds,
                                               std::int64_t begin, std::int64_t columns) {
  Chunk chunk{.pieces = {}, .bounds = {0}, .host = {}};
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    const auto piece = whole.narrow(0, bounds[rank], bounds[rank + 1] - bounds[rank]);
    chunk.pieces.push_back(slice_of(piece, begin, columns));
    chunk.bounds.push_back(chunk.bounds.back() + chunk.pieces.back().numel());
  }
  chunk.host = staging(whole, chunk.bounds.back());
  return chunk;
}

namespace {

std::int64_t longest_piece(const std::vector<std::int64_t>& bounds) {
  std::int64_t longest = 0;
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank)
    longest = std::max(longest, bounds[rank + 1] - bounds[rank]);
  return longest;
}

}  // namespace

void StagedExchange::reduce_scatter(const at::Tensor& whole,
                                    const std::vector<std::int64_t>& bounds,
                                    const at::Tensor& part) {
  const auto columns = columns_of(whole, bounds);
  const auto own = static_cast<std::size_t>(exchange_.rank());
  for (std::int64_t begin = 0; begin < longest_piece(bounds); begin += columns) {
    const auto chunk = chunk_of(whole, bounds, begin, columns);
    for (std::size_t rank = 0; rank < chunk.pieces.size(); ++rank)
      chunk.on_host(rank).copy_(chunk.pieces[rank]);
    exchange_.reduce_scatter(chunk.host, chunk.bounds, chunk.on_host(own));
    slice_of(part, begin, columns).copy_(chunk.on_host(own));
  }
}

void StagedExchange::all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) {
  const auto columns = columns_of(whole, bounds);
  const auto own = static_cast<std::size_t>(exchange_.rank());
  for (std::int64_t begin = 0; begin < longest_piece(bounds); begin += columns) {
    const auto chunk = chunk_of(whole, bounds, begin, columns);
    chunk.on_host(own).copy_(chunk.pieces[own]);
    exchange_.all_gather(chunk.host, chunk.bounds);
    for (std::size_t rank = 0; rank < chunk.pieces.size(); ++rank) {
      if (rank != own) chunk.pieces[rank].copy_(chunk.on_host(rank));
    }
  }
}

}  // namespace evenkeel::comm
