// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/windows.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/data/numpy_shuffle.h"

namespace evenkeel::data {

namespace {

/// Appends a row: `inputs` ids from token `begin` on and the `scored` targets that follow them;
/// then end-of-text as input and kIgnoreIndex as target up to `context`.
void add_row(Batch& batch, const Corpus& corpus, std::int64_t begin, std::int64_t inputs,
             std::int64_t scored, std::int64_t context) {
  const auto ids = corpus.tokens.range(begin, std::max(inputs, scored + 1));
  const auto from = ids.begin();
  batch.inputs.insert(batch.inputs.end(), from, from + inputs);
  batch.targets.insert(batch.targets.end(), from + 1, from + 1 + scored);
  ++batch.rows;
  batch.scored += scored;
  const std::int64_t filler = corpus.end_of_text.value_or(0);
  batch.inputs.resize(static_cast<std::size_t>(batch.rows * context), filler);
  batch.targets.resize(static_cast<std::size_t>(batch.rows * context), kIgnoreIndex);
}

/// Sets the targets outside of answers to kIgnoreIndex, in the `tokens` targets from `first` on.
void ignore_all_but_answers(Batch& batch, std::size_t first, std::int64_t tokens, TokenId mark) {
  bool inside = false;
  for (auto at = first; at < first + static_cast<std::size_t>(tokens); ++at) {
    inside = inside || batch.inputs[at] == std::int64_t{mark};
    auto& target = batch.targets[at];
    const bool is_scored = inside;
    inside = inside && target != std::int64_t{kEndOfText};
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
  const auto last = corpus.tokens.size() - 1;
  for (std::int64_t begin = 0; begin < last; begin += context) {
    windows.push_back({.begin = begin, .tokens = std::min(context, last - begin)});
  }
  return windows;
}

}  // namespace

Batch batch_slice(const Batch& batch, std::int64_t first, std::int64_t rows) {
  if (rows == batch.rows) return batch;
  const auto width = static_cast<std::int64_t>(batch.inputs.size()) / batch.rows;
  const auto cut = [&](const std::vector<std::int64_t>& all) {
    return std::vector(all.begin() + first * width, all.begin() + (first + rows) * width);
  };
  return {cut(batch.inputs), cut(batch.targets), rows, batch.scored};
}

TrainingWindows::TrainingWindows(const Corpus& corpus, std::int64_t context, std::uint64_t seed,
                                 WindowOrder order, const std::string& stream)
    : corpus_(&corpus),
      context_(context),
      seed_(seed),
      order_(order),
      random_(seed, stream),
      epoch_size_(std::max<std::int64_t>(1, (corpus.tokens.size() - context) / context)) {
  EK_ASSERT(context > 0 && corpus.tokens.size() > context);
  if (order == WindowOrder::file) epoch_size_ = (corpus.tokens.size() - 1) / context;
  if (order != WindowOrder::olmo) return;
  std::int64_t chunks = 0, start = 0;
  for (const auto size : corpus.tokens.part_sizes()) {
    chunk_sums_.push_back(chunks);
    part_starts_.push_back(start);
    chunks += size / context;
    start += size;
  }
  epoch_size_ = chunks;
  EK_ASSERT(epoch_size_ > 0);
}

std::int64_t TrainingWindows::shuffled_begin(std::int64_t i) const {
  constexpr std::uint64_t kPhase = ~std::uint64_t{0};  // a counter that no permutation uses
  const auto size = static_cast<std::uint64_t>(epoch_size_);
  // A text of at least two windows permits every offset 0 .. context - 1.
  const auto phases = std::min(context_, corpus_->tokens.size() - epoch_size_ * context_);
  const auto epoch = static_cast<std::uint64_t>(i) / size;
  const auto phase = random_.below(static_cast<std::uint64_t>(phases), epoch, kPhase);
  const auto position = permuted(static_cast<std::uint64_t>(i) % size, size, random_, epoch);
  return static_cast<std::int64_t>(phase) + static_cast<std::int64_t>(position) * context_;
}

/// Appends chunk `i` of the order "olmo".
void TrainingWindows::add_chunk(Batch& batch, std::int64_t i) const {
  const auto epoch = i / epoch_size_;
  std::int64_t chunk = 0;
  {
    const std::lock_guard lock(mutex_);
    if (chunk_epoch_ != epoch) {
      chunk_order_ = numpy_shuffled(static_cast<std::uint32_t>(epoch_size_),
                                    seed_ + static_cast<std::uint64_t>(epoch));
      chunk_epoch_ = epoch;
    }
    chunk = chunk_order_[static_cast<std::size_t>(i % epoch_size_)];
  }
  const auto after = std::upper_bound(chunk_sums_.begin(), chunk_sums_.end(), chunk);
  const auto part = static_cast<std::size_t>(after - chunk_sums_.begin()) - 1;
  const auto begin = part_starts_[part] + (chunk - chunk_sums_[part]) * context_;
  add_row(batch, *corpus_, begin, context_, context_ - 1, context_);
}

void TrainingWindows::add(Batch& batch, std::int64_t i) const {
  if (order_ == WindowOrder::olmo) return add_chunk(batch, i);
  const auto begin = order_ == WindowOrder::file ? i % epoch_size_ * context_ : shuffled_begin(i);
  add_row(batch, *corpus_, begin, context_, context_, context_);
}

Batch TrainingWindows::batch(std::int64_t first, std::int64_t rows) const {
  Batch batch;
  for (std::int64_t i = first; i < first + rows; ++i) add(batch, i);
  return batch;
}

Batch evenly_spaced_text(const Corpus& corpus, std::int64_t context, std::int64_t rows) {
  if (corpus.tokens.size() <= context) return ValidationWindows(corpus, context, 1).batch(0, 1);
  const TrainingWindows windows(corpus, context, /*seed=*/0, WindowOrder::file);
  const auto count = std::min(rows, windows.epoch_size());
  Batch batch;
  for (std::int64_t i = 0; i < count; ++i) windows.add(batch, i * windows.epoch_size() / count);
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
  std::int64_t scored = 0, bytes = 0;
  for (std::int64_t i = 0; i < count(); ++i) {
    nats += windows_[static_cast<std::size_t>(i)].nats;
    if (!corpus.token_lengths) continue;
    const auto one = batch(i, 1);
    scored += one.scored;
    for (const auto target : one.targets) {
      if (target != kIgnoreIndex)
        bytes += (*corpus.token_lengths)[static_cast<std::size_t>(target)];
    }
  }
  if (corpus.token_lengths) scored_bytes_ = corpus.bytes_of_text(bytes);
  if (whole_documents) floor_ = nats / static_cast<double>(scored);
}

Batch ValidationWindows::batch(std::int64_t first, std::int64_t rows) const {
  EK_ASSERT(first >= 0 && first + rows <= count());
  Batch batch;
  for (std::int64_t i = first; i < first + rows; ++i) {
    const auto& window = windows_[static_cast<std::size_t>(i)];
    const auto begin = batch.targets.size();
    add_row(batch, *corpus_, window.begin, window.tokens, window.tokens, context_);
    if (has_answers())
      ignore_all_but_answers(batch, begin, window.tokens, *corpus_->answer_start_token);
  }
  return batch;
}

}  // namespace evenkeel::data
