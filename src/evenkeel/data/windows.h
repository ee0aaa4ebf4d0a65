// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

inline constexpr std::int64_t kIgnoreIndex = -1;  // a target that is not scored (PyTorch)

/// Inputs and targets of B windows: targets[i] is the token after inputs[i].
struct Batch {
  std::vector<std::int64_t> inputs, targets;  // [B, T], row-major
  std::int64_t rows = 0, scored = 0;          // B, and number of targets != kIgnoreIndex
};

/// The rows [first, first + rows) of a batch. `scored` remains the count of the whole batch, the
/// divisor of its mean loss.
Batch batch_slice(const Batch& batch, std::int64_t first, std::int64_t rows);

/// Training windows of context + 1 tokens. Window `i` of the run is a pure function of (seed, i);
/// step s reads the windows from s * batch. Each epoch starts its windows at a random offset (below
/// `context`) and has its own random order.
class TrainingWindows {
 public:
  TrainingWindows(const Corpus& corpus, std::int64_t context, std::uint64_t seed);

  /// The windows [first, first + rows) of the run.
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// The number of windows of one epoch.
  std::int64_t epoch_size() const { return epoch_size_; }

 private:
  const Corpus* corpus_;
  std::int64_t context_;
  std::uint64_t seed_;
  std::int64_t epoch_size_;
};

/// Validation windows, the same in every run.
///
///   | corpus                                               | windows                           |
///   | ---------------------------------------------------- | --------------------------------- |
///   | known entropy, every document fits in a window       | whole documents; the rest of a    |
///   |                                                      | window is kIgnoreIndex            |
///   | any other                                            | consecutive                       |
///
/// With whole documents, the scored tokens are exactly those of Document::nats. In a corpus with
/// answers, only these are scored: the tokens after answer_start_token in the same window, up to
/// and with end-of-text.
class ValidationWindows {
 public:
  /// \param sequences  number of windows, evenly spaced; 0: all
  ValidationWindows(const Corpus& corpus, std::int64_t context, std::int64_t sequences);

  std::int64_t count() const { return static_cast<std::int64_t>(windows_.size()); }
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// The entropy lower bound of the loss: -ln p of the scored tokens per scored token, in nats;
  /// nullopt if it is unknown.
  std::optional<double> floor_nats_per_token() const { return floor_; }
  bool has_answers() const { return corpus_->answer_start_token.has_value(); }
  /// The number of bytes of the scored tokens; end-of-text counts as one byte.
  std::int64_t scored_bytes() const { return scored_; }

 private:
  struct Window {
    std::int64_t begin = 0, tokens = 0;  // first input token, and number of targets
    double nats = 0;                     // of its documents; only with known entropy
  };
  const Corpus* corpus_;
  std::int64_t context_;
  std::vector<Window> windows_;
  std::optional<double> floor_;
  std::int64_t scored_ = 0;
};

}  // namespace evenkeel::data
