// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/comm/group.h"

namespace evenkeel::comm {

/// The exchange between at least two ranks. Its calls are those of Group.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual std::vector<std::string> hosts() const = 0;
  virtual void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                              const at::Tensor& part) = 0;
  virtual void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) = 0;
  virtual void broadcast(const at::Tensor& tensor, int from) = 0;
  virtual void barrier(const char* where) = 0;
  virtual void report(const Position& position) = 0;
};

}  // namespace evenkeel::comm
