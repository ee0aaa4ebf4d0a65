// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/encoding_progress.h"

#include <unistd.h>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"

namespace evenkeel::cli {

EncodingProgress::EncodingProgress(bool quiet)
    : is_shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

EncodingProgress::~EncodingProgress() {
  if (is_shown_) erase_progress();
}

void EncodingProgress::report(const data::EncodedText& sum) {
  constexpr std::chrono::milliseconds kPause(200);
  const auto now = Clock::now();
  if (!is_shown_ || now - shown_ < kPause) return;
  shown_ = now;
  const std::chrono::duration<double> seconds = now - start_;
  print_progress(text("\r", with_commas(sum.documents), " documents, ",
                      bytes_text(static_cast<double>(sum.bytes)), ", ",
                      bytes_text(static_cast<double>(sum.bytes) / seconds.count()), "/s   "));
}

}  // namespace evenkeel::cli
