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
  virtual Placement placement() const = 0;
  virtual void reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                              const at::Tensor& part) = 0;
  virtual void all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) = 0;
  virtual void engine_all_reduce(const at::Tensor& /*tensor*/) {}
  virtual void engine_reduce_scatter(const at::Tensor& /*whole*/, const at::Tensor& /*part*/) {}
  virtual void broadcast(const at::Tensor& tensor, int from) = 0;
  virtual void barrier(const char* where) = 0;
  // Of an engine without a watch they do nothing.
  virtual std::string name(int rank) const { return "rank " + std::to_string(rank); }
  virtual void report(const Position& /*position*/) {}
  virtual void set_activity(const char* /*activity*/) {}
  virtual void set_run_folder(const std::string& /*folder*/) {}
  virtual bool fail(Exit /*exit*/, const std::string& /*message*/) { return true; }
  virtual void leave() {}
};

}  // namespace evenkeel::comm
