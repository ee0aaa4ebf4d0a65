// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/connect_deadline.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/print.h"

namespace evenkeel::comm {

ConnectDeadline::ConnectDeadline(std::function<std::string()> message, std::chrono::seconds limit)
    : waiter_([message = std::move(message), limit](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any is_over;
        const auto is_connected = [&stop] { return stop.stop_requested(); };
        if (is_over.wait_for(lock, stop, limit, is_connected)) return;
        print_message("evenkeel: " + message());
        ::_exit(static_cast<int>(Exit::busy));
      }) {}

}  // namespace evenkeel::comm
