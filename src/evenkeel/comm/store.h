// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/comm/place.h"

namespace evenkeel::comm {

struct StoreHandle;  // comm/store_handle.h: the store of c10d

/// Small texts by key that all ranks see: a connection to c10d's TCPStore. Copies share it. One
/// thread at a time uses a connection.
/// Every call throws c10::Error or std::exception if the server is gone.
class Store {
 public:
  explicit Store(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}

  void set(const std::string& key, const std::string& value) const;
  bool has(const std::string& key) const;
  /// \param keys  must exist: the call waits for those that do not
  std::vector<std::string> get(const std::vector<std::string>& keys) const;
  /// \return the value of the key: `value` if there was none before
  std::string set_once(const std::string& key, const std::string& value) const;

  /// The part of this store whose keys begin with PREFIX/.
  Store under(const std::string& prefix) const;

  StoreHandle& handle() const { return *handle_; }

 private:
  std::shared_ptr<StoreHandle> handle_;
};

/// Connects to the store of a run. Rank 0 serves it, unless torchrun's agent does; that one lives
/// on when all ranks start again (comm/rendezvous.h).
/// \param serves   this connection starts the server
/// \param timeout  for the server to answer
/// \throws Error (busy, exit code 75) if the port is in use, or nobody answers
Store open_store(const Place& place, bool serves, std::chrono::seconds timeout);

/// The first line of what LibTorch says about an error, without the stack.
std::string engine_error(const std::exception& error);

}  // namespace evenkeel::comm
