// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <thread>

namespace evenkeel::comm {

/// Ends the process with exit code 75 if this object still exists after `limit`. c10d waits without
/// a limit for a server that accepts connections and does not answer: a rank 0 that is stopped.
class ConnectDeadline {
 public:
  /// \param message  one line for standard error
  ConnectDeadline(std::string message, std::chrono::seconds limit);

 private:
  std::jthread waiter_;
};

}  // namespace evenkeel::comm
