// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/comm/exchange.h"

namespace evenkeel::comm {

/// reduce_scatter and all_gather of tensors on a GPU by an exchange of CPU memory: pieces are
/// copied to the host, exchanged, and copied back. The CPU adds in the same tree and dtype as the
/// exchange on GPUs does, so the bits are equal.
class StagedExchange {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{64} << 20;

  /// \param exchange  of CPU tensors; must outlive this object
  /// \param bytes     of the host memory that is used at a time; pinned if tensors are on a GPU
  explicit StagedExchange(Exchange& exchange, std::int64_t bytes = kBytes)
      : exchange_(exchange), bytes_(bytes) {}

  /// Arguments as in Group. Errors are those of the exchange and of the copies.
  void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                      const at::Tensor& part);
  void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds);

 private:
  struct Chunk;  // of the pieces of all ranks
  std::int64_t columns_of(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) const;
  Chunk chunk_of(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                 std::int64_t begin, std::int64_t columns);
  /// CPU memory for `count` values.
  at::Tensor staging(const at::Tensor& like, std::int64_t count);

  Exchange& exchange_;
  std::int64_t bytes_;
  at::Tensor host_;  // bytes; grows, and stays for the next call
};

}  // namespace evenkeel::comm
