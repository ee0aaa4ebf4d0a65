// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/encode_files.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/threads.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{2} << 20;  // text that one thread encodes at once

/// A part of the text, and its tokens when a thread has encoded it.
struct TextBlock {
  struct Piece {
    std::size_t text_end = 0, ids_end = 0;  // in `text` and in `ids`
    bool is_end = true;                     // of a document
  };
  std::string text;
  std::vector<TokenId> ids;
  std::vector<Piece> pieces;
  std::exception_ptr error;
  bool is_encoded = false;
};

void encode_block(TextBlock& block, tokenizer::Encoder& encoder) {
  try {
    std::size_t begin = 0;
    for (auto& piece : block.pieces) {
      encoder.encode(std::string_view(block.text).substr(begin, piece.text_end - begin), block.ids);
      begin = piece.text_end;
      piece.ids_end = block.ids.size();
    }
  } catch (...) {
    block.error = std::current_exception();
  }
}

/// Threads that encode blocks, which leave in the order in which they came.
class BlockEncoder {
 public:
  BlockEncoder(const TextEncoding& encoding, int threads)
      : limit_(2 * static_cast<std::size_t>(threads)) {
    check_threads(threads + 1);
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, &encoding] { run(encoding); });
  }
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;
  BlockEncoder(BlockEncoder&&) = delete;
  BlockEncoder& operator=(BlockEncoder&&) = delete;
  ~BlockEncoder() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
      waiting_.clear();
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  bool is_full() const { return all_.size() >= limit_; }
  bool is_empty() const { return all_.empty(); }

  void push(std::unique_ptr<TextBlock> block) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(block.get());
    }
    all_.push_back(std::move(block));
    changed_.notify_one();
  }

  /// The oldest block; waits until it is encoded.
  std::unique_ptr<TextBlock> pop() {
    auto block = std::move(all_.front());
    all_.pop_front();
    std::unique_lock lock(mutex_);
    encoded_.wait(lock, [&] { return block->is_encoded; });
    lock.unlock();
    if (block->error) std::rethrow_exception(block->error);
    return block;
  }

 private:
  void run(const TextEncoding& encoding) {
    tokenizer::Encoder encoder(encoding.tokenizer(), encoding.special_in_text());
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_stopped_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      auto* const block = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      encode_block(*block, encoder);
      lock.lock();
      block->is_encoded = true;
      lock.unlock();
      encoded_.notify_one();
    }
  }

  std::size_t limit_;                           // blocks at once
  std::deque<std::unique_ptr<TextBlock>> all_;  // in order; only the calling thread uses it
  std::deque<TextBlock*> waiting_;              // for a thread
  bool is_stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_, encoded_;
  std::vector<std::thread> threads_;
};

/// Collects pieces of text into blocks, and uses the blocks when they are encoded.
class EncodingPipeline {
 public:
  EncodingPipeline(const TextEncoding& encoding, int threads, const UseTokens& use,
                   const std::function<void(const EncodedText&)>& progress)
      : encoder_(encoding, threads), use_(use), progress_(progress) {}

  void add(std::string_view piece, bool is_end) {
    block_->text += piece;
    block_->pieces.push_back({.text_end = block_->text.size(), .is_end = is_end});
    if (block_->text.size() < kBlockBytes) return;
    push_block();
  }

  EncodedText finish() {
    if (!block_->pieces.empty()) push_block();
    while (!encoder_.is_empty()) use_block();
    return sum_;
  }

 private:
  void push_block() {
    while (encoder_.is_full()) use_block();
    encoder_.push(std::exchange(block_, std::make_unique<TextBlock>()));
  }

  void use_block() {
    const auto block = encoder_.pop();
    std::size_t begin = 0;
    for (const auto& piece : block->pieces) {
      use_(std::span(block->ids).subspan(begin, piece.ids_end - begin), piece.is_end);
      begin = piece.ids_end;
      sum_.documents += piece.is_end ? 1 : 0;
    }
    sum_.bytes += static_cast<std::int64_t>(block->text.size());
    sum_.tokens += static_cast<std::int64_t>(block->ids.size());
    if (progress_) progress_(sum_);
  }

  BlockEncoder encoder_;
  const UseTokens& use_;
  const std::function<void(const EncodedText&)>& progress_;
  std::unique_ptr<TextBlock> block_ = std::make_unique<TextBlock>();
  EncodedText sum_;
};

}  // namespace

EncodedText encode_files(const std::vector<TextFile>& files, const config::Data& data,
                         const TextEncoding& encoding, int threads, const UseTokens& use,
                         const std::function<void(const EncodedText&)>& progress) {
  EK_ASSERT(threads > 0);
  EncodingPipeline pipeline(encoding, threads, use, progress);
  for (const auto& file : files) {
    read_pieces(file, data,
                [&](std::string_view piece, bool is_end) { pipeline.add(piece, is_end); });
  }
  return pipeline.finish();
}

}  // namespace evenkeel::data
