// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace evenkeel::comm {

/// Ends the process with exit code 75 if this object still exists after `limit`. c10d waits twice
/// its timeout where nobody listens, and without a limit for a server that does not answer.
class ConnectDeadline {
 public:
  /// \param message  one line for standard error; called after `limit`, in another thread
  ConnectDeadline(std::function<std::string()> message, std::chrono::seconds limit);

 private:
  std::jthread waiter_;
};

}  // namespace evenkeel::comm
