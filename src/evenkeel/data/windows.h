// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

inline constexpr std::int64_t kIgnoreIndex = -1;  // a target that is not scored

/// Inputs and targets of some windows: targets[i] is the token after inputs[i].
struct Batch {
  std::vector<std::int64_t> inputs, targets;  // [B, T], int64: rows x context
  std::int64_t rows = 0, scored = 0;          // scored: targets that are not kIgnoreIndex
};

/// Rows `first` .. `first + rows - 1` of a batch. `scored` is the count of the whole batch, the
/// divisor of a mean over it.
Batch batch_slice(const Batch& batch, std::int64_t first, std::int64_t rows);

/// Training windows: window `slot` of optimizer step `step` is a pure function of
/// (seed, step * batch + slot). Each epoch cuts the text at a random phase into windows of
/// context + 1 tokens and visits them in a random order.
class TrainingWindows {
 public:
  TrainingWindows(const Corpus& corpus, std::int64_t context, std::uint64_t seed);

  /// Windows `first` .. `first + rows - 1` of the run.
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// Windows of one epoch.
  std::int64_t epoch_size() const { return epoch_size_; }

 private:
  const Corpus* corpus_;
  std::int64_t context_;
  std::uint64_t seed_;
  std::int64_t epoch_size_;
};

/// Validation windows, always the same. A corpus that knows its probabilities is cut so that each
/// window starts at a document and holds whole documents (the rest is kIgnoreIndex), so what is
/// scored is exactly the documents of `nats`; any other text, and one with a document longer than
/// a window, is cut into consecutive windows. Of a text with answers only these are scored: what
/// follows a mark in the same window, up to and with the end-of-text.
class ValidationWindows {
 public:
  /// \param sequences  windows to use, spread evenly; 0: all
  ValidationWindows(const Corpus& corpus, std::int64_t context, std::int64_t sequences);

  std::int64_t count() const { return static_cast<std::int64_t>(windows_.size()); }
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// -ln p of what is scored of all documents, per scored token; nothing if the corpus does not
  /// know it.
  std::optional<double> floor_nats_per_token() const { return floor_; }
  bool has_answers() const { return corpus_->answer_start_token.has_value(); }
  /// Bytes of text that the scored tokens stand for (end-of-text counts as one).
  std::int64_t scored_bytes() const { return scored_; }

 private:
  struct Window {
    std::int64_t begin = 0, tokens = 0;  // first input token, and how many have a target
    double nats = 0;                     // of its documents; only if the corpus knows it
  };
  const Corpus* corpus_;
  std::int64_t context_;
  std::vector<Window> windows_;
  std::optional<double> floor_;
  std::int64_t scored_ = 0;
};

}  // namespace evenkeel::data
