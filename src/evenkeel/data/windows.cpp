// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/windows.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"

namespace evenkeel::data {

namespace {

std::int64_t token_count(const Corpus& corpus) {
  return static_cast<std::int64_t>(corpus.tokens.size());
}

/// Appends a row: `tokens` inputs from token `begin` on with their targets, then kEndOfText as
/// input and kIgnoreIndex as target up to `context`.
void add_row(Batch& batch, const Corpus& corpus, std::int64_t begin, std::int64_t tokens,
             std::int64_t context) {
  const auto from = corpus.tokens.begin() + begin;
  batch.inputs.insert(batch.inputs.end(), from, from + tokens);
  batch.targets.insert(batch.targets.end(), from + 1, from + 1 + tokens);
  ++batch.rows;
  batch.scored += tokens;
  batch.inputs.resize(static_cast<std::size_t>(batch.rows * context), kEndOfText);
  batch.targets.resize(static_cast<std::size_t>(batch.rows * context), kIgnoreIndex);
}

/// Sets the targets outside of answers to kIgnoreIndex, in the `tokens` targets from `first` on.
void ignore_all_but_answers(Batch& batch, std::size_t first, std::int64_t tokens,
                            std::uint16_t mark) {
  bool inside = false;
  for (auto at = first; at < first + static_cast<std::size_t>(tokens); ++at) {
    inside = inside || batch.inputs[at] == mark;
    auto& target = batch.targets[at];
    const bool is_scored = inside;
    inside = inside && target != kEndOfText;
    if (is_scored) continue;
    target = kIgnoreIndex;
    --batch.scored;
  }
}

/// True if every document with the preceding end-of-text fits in a window.
bool all_fit(const Corpus& corpus, std::int64_t context) {
  return std::all_of(corpus.documents.begin(), corpus.documents.end(),
                     [&](const Document& each) { return each.end - each.begin + 1 <= context; });
}

/// `wanted` of the windows, evenly spaced; 0: all.
template <typename Window>
std::vector<Window> evenly_spaced(const std::vector<Window>& windows, std::int64_t wanted) {
  const auto size = static_cast<std::int64_t>(windows.size());
  if (wanted == 0 || wanted >= size) return windows;
  std::vector<Window> some;
  some.reserve(static_cast<std::size_t>(wanted));
  for (std::int64_t i = 0; i < wanted; ++i) {
    some.push_back(windows[static_cast<std::size_t>(i * size / wanted)]);
  }
  return some;
}

/// Windows of consecutive whole documents, each with as many as fit.
template <typename Window>
std::vector<Window> document_windows(const Corpus& corpus, std::int64_t context) {
  std::vector<Window> windows;
  for (const auto& document : corpus.documents) {
    if (windows.empty() || document.end - windows.back().begin > context) {
      windows.push_back({.begin = document.begin - 1});
    }
    windows.back().tokens = document.end - windows.back().begin;
    windows.back().nats += document.nats;
  }
  return windows;
}

template <typename Window>
std::vector<Window> consecutive_windows(const Corpus& corpus, std::int64_t context) {
  std::vector<Window> windows;
  const auto last = token_count(corpus) - 1;
  for (std::int64_t begin = 0; begin < last; begin += context) {
    windows.push_back({.begin = begin, .tokens = std::min(context, last - begin)});
  }
  return windows;
}

}  // namespace

TrainingWindows::TrainingWindows(const Corpus& corpus, std::int64_t context, std::uint64_t seed)
    : corpus_(&corpus),
      context_(context),
      seed_(seed),
      epoch_size_(std::max<std::int64_t>(1, (token_count(corpus) - context) / context)) {
  EK_ASSERT(context > 0 && token_count(corpus) > context);
}

Batch batch_slice(const Batch& batch, std::int64_t first, std::int64_t rows) {
  if (rows == batch.rows) return batch;
  const auto width = static_cast<std::int64_t>(batch.inputs.size()) / batch.rows;
  const auto cut = [&](const std::vector<std::int64_t>& all) {
    return std::vector(all.begin() + first * width, all.begin() + (first + rows) * width);
  };
  return {cut(batch.inputs), cut(batch.targets), rows, batch.scored};
}

Batch TrainingWindows::batch(std::int64_t first, std::int64_t rows) const {
  const Philox random(seed_, "data");
  constexpr std::uint64_t kPhase = ~std::uint64_t{0};  // a counter that no permutation uses
  const auto size = static_cast<std::uint64_t>(epoch_size_);
  // A text of at least two windows permits every offset 0 .. context - 1.
  const auto phases = std::min(context_, token_count(*corpus_) - epoch_size_ * context_);
  Batch batch;
  for (std::int64_t i = first; i < first + rows; ++i) {
    const auto epoch = static_cast<std::uint64_t>(i) / size;
    const auto phase = random.below(static_cast<std::uint64_t>(phases), epoch, kPhase);
    const auto position = permuted(static_cast<std::uint64_t>(i) % size, size, random, epoch);
    add_row(batch, *corpus_,
            static_cast<std::int64_t>(phase) + static_cast<std::int64_t>(position) * context_,
            context_, context_);
  }
  return batch;
}

ValidationWindows::ValidationWindows(const Corpus& corpus, std::int64_t context,
                                     std::int64_t sequences)
    : corpus_(&corpus), context_(context) {
  const bool whole_documents = corpus.has_known_entropy && all_fit(corpus, context);
  windows_ = evenly_spaced(whole_documents ? document_windows<Window>(corpus, context)
                                           : consecutive_windows<Window>(corpus, context),
                           sequences);
  double nats = 0;
  for (std::int64_t i = 0; i < count(); ++i) {
    scored_ += has_answers() ? batch(i, 1).scored : windows_[static_cast<std::size_t>(i)].tokens;
    nats += windows_[static_cast<std::size_t>(i)].nats;
  }
  if (whole_documents) floor_ = nats / static_cast<double>(scored_);
}

Batch ValidationWindows::batch(std::int64_t first, std::int64_t rows) const {
  EK_ASSERT(first >= 0 && first + rows <= count());
  Batch batch;
  for (std::int64_t i = first; i < first + rows; ++i) {
    const auto& window = windows_[static_cast<std::size_t>(i)];
    const auto begin = batch.targets.size();
    add_row(batch, *corpus_, window.begin, window.tokens, context_);
    if (has_answers())
      ignore_all_but_answers(batch, begin, window.tokens, *corpus_->answer_start_token);
  }
  return batch;
}

}  // namespace evenkeel::data
