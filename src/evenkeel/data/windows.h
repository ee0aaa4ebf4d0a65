// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/philox.h"
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

/// The order of the training windows of a corpus.
///
///   | order    | windows                                                                         |
///   | -------- | ------------------------------------------------------------------------------- |
///   | shuffled | context + 1 tokens; each epoch starts at a random offset below `context` and    |
///   |          | has its own random order                                                        |
///   | file     | context + 1 tokens, consecutive from the first token on, as nanoGPT and llm.c   |
///   |          | read validation data                                                            |
///   | olmo     | the chunks of `context` tokens of each file in the order of OLMo; the last      |
///   |          | target of a chunk is not scored (numpy_shuffled() with seed + epoch)            |
enum class WindowOrder { shuffled, file, olmo };

/// Training windows of a corpus. Window `i` is a pure function of (seed, stream, order, i).
class TrainingWindows {
 public:
  /// \param corpus  must outlive the object; more than `context` tokens
  /// \param stream  name of the random numbers: "data"
  TrainingWindows(const Corpus& corpus, std::int64_t context, std::uint64_t seed,
                  WindowOrder order = WindowOrder::shuffled, const std::string& stream = "data");

  /// The windows [first, first + rows).
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// Appends window `i` to a batch.
  void add(Batch& batch, std::int64_t i) const;

  /// The number of windows of one epoch.
  std::int64_t epoch_size() const { return epoch_size_; }

 private:
  std::int64_t shuffled_begin(std::int64_t i) const;
  void add_chunk(Batch& batch, std::int64_t i) const;

  const Corpus* corpus_;
  std::int64_t context_;
  std::uint64_t seed_;
  WindowOrder order_;
  Philox random_;
  std::int64_t epoch_size_;
  // Order "olmo".
  std::vector<std::int64_t> chunk_sums_,
      part_starts_;                                 // by part: chunks before it, its first token
  mutable std::mutex mutex_;                        // of the two members below
  mutable std::vector<std::uint32_t> chunk_order_;  // of the epoch below
  mutable std::int64_t chunk_epoch_ = -1;
};

/// Up to `rows` windows of consecutive text, evenly spaced in the corpus: WindowOrder::file. All
/// positions are text and all targets are scored. Only a corpus of at most `context` tokens has no
/// such window: its one validation window ends with filler.
Batch evenly_spaced_text(const Corpus& corpus, std::int64_t context, std::int64_t rows);

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
  /// The number of bytes of text of the scored tokens; end-of-text counts as one byte. nullopt: the
  /// text of the tokens is unknown.
  std::optional<std::int64_t> scored_bytes() const { return scored_bytes_; }

 private:
  struct Window {
    std::int64_t begin = 0, tokens = 0;  // first input token, and number of targets
    double nats = 0;                     // of its documents; only with known entropy
  };
  const Corpus* corpus_;
  std::int64_t context_;
  std::vector<Window> windows_;
  std::optional<double> floor_;
  std::optional<std::int64_t> scored_bytes_;
};

}  // namespace evenkeel::data
