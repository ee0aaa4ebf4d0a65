// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "evenkeel/data/encode_files.h"

namespace evenkeel::cli {

/// Prints the progress of `tokenize` on a terminal, at most five times a second.
class EncodingProgress {
 public:
  explicit EncodingProgress(bool quiet);
  EncodingProgress(const EncodingProgress&) = delete;
  EncodingProgress& operator=(const EncodingProgress&) = delete;
  EncodingProgress(EncodingProgress&&) = delete;
  EncodingProgress& operator=(EncodingProgress&&) = delete;
  /// Removes the line.
  ~EncodingProgress();

  void report(const data::EncodedText& sum);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_shown_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace evenkeel::cli
