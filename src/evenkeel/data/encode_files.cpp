// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/encode_files.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/threads.h"
#include "evenkeel/data/block_reader.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::data {

namespace {

/// The tokens of a block.
struct EncodedBlock {
  enum class End { none, document, file };
  struct Piece {
    std::size_t ids_end = 0;
    End end = End::none;
    TextBytes text_bytes = {};
  };
  std::vector<TokenId> ids;
  std::vector<Piece> pieces;
  std::int64_t bytes = 0;  // of text
  JsonCounts json;
  std::exception_ptr error;  // after the pieces
  bool is_last = false;      // of its group
};

/// Parses and encodes blocks; one thread uses it.
class BlockEncoder {
 public:
  BlockEncoder(const TextEncoding& encoding, const std::string& text_key)
      : encoding_(encoding),
        encoder_(encoding.tokenizer(), encoding.special_in_text()),
        parser_(text_key) {}

  void encode(const TextBlock& block, EncodedBlock& out) {
    constexpr std::size_t kBytesPerToken = 4;
    out.ids.reserve(block.bytes.size() / kBytesPerToken);
    try {
      for (const auto& part : block.parts) encode_part(block, part, out);
    } catch (...) {
      out.error = std::current_exception();  // before an error of the reader
    }
    out.json = block.json;
    out.json += parser_.take_counts();
  }

 private:
  void encode_part(const TextBlock& block, const TextBlock::Part& part, EncodedBlock& out) {
    using End = EncodedBlock::End;
    if (part.form == TextBlock::Form::end_of_file) {
      out.pieces.push_back({.ids_end = out.ids.size(), .end = End::file});
      return;
    }
    for_each_piece(block, part, parser_, [&](std::string_view piece, bool is_end) {
      const auto first = out.ids.size();
      encoder_.encode(piece, out.ids, part.continues);
      out.bytes += static_cast<std::int64_t>(piece.size());
      out.pieces.push_back(
          {.ids_end = out.ids.size(),
           .end = is_end ? End::document : End::none,
           .text_bytes = encoding_.text_bytes(piece, std::span(out.ids).subspan(first))});
    });
  }

  const TextEncoding& encoding_;
  tokenizer::Encoder encoder_;
  JsonText parser_;
};

/// Files that one thread at a time reads: one file, or small ones that follow one another.
struct FileGroup {
  std::span<const TextFile> files;
  std::unique_ptr<BlockReader> reader;  // once a thread has begun
  std::size_t blocks = 0;               // read so far
  bool is_busy = false, is_read = false;
};

std::vector<FileGroup> groups_of(std::span<const TextFile> files) {
  constexpr std::uintmax_t kGroupBytes = std::uintmax_t{2} << 20;
  constexpr std::uintmax_t kUnpacked = 4;  // usual compression ratio of text
  std::vector<FileGroup> groups;
  std::uintmax_t group_bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::error_code error;
    auto bytes = std::filesystem::file_size(files[i].path, error);
    if (error) bytes = 0;  // the reader says why
    if (files[i].compression != Compression::none) bytes *= kUnpacked;
    if (groups.empty() || group_bytes + bytes > kGroupBytes) {
      groups.push_back({.files = files.subspan(i, 0)});
      group_bytes = 0;
    }
    auto& group = groups.back().files;
    group = {group.data(), group.size() + 1};
    group_bytes += bytes;
  }
  return groups;
}

/// Threads that read, parse and encode blocks of text. The blocks are used in the order of the
/// text, by one thread at a time: the one that has encoded the next block. While a file is being
/// read, another thread may read a later one.
class EncodingPipeline {
 public:
  EncodingPipeline(const std::vector<TextFile>& files, const config::Data& data,
                   const TextEncoding& encoding, int threads, const UsePieces& use,
                   const std::function<void(const EncodedText&)>& progress)
      : files_(files),
        text_key_(data.text_key),
        encoding_(encoding),
        thread_count_(static_cast<std::size_t>(threads)),
        use_(use),
        progress_(progress),
        groups_(groups_of(files)) {}
  EncodingPipeline(const EncodingPipeline&) = delete;
  EncodingPipeline& operator=(const EncodingPipeline&) = delete;
  EncodingPipeline(EncodingPipeline&&) = delete;
  EncodingPipeline& operator=(EncodingPipeline&&) = delete;
  ~EncodingPipeline() {
    stop(nullptr);
    join();
  }

  EncodedText run() {
    for (std::size_t i = 1; i < thread_count_; ++i) threads_.emplace_back([this] { work(); });
    work();
    join();
    if (error_) std::rethrow_exception(error_);
    return sum_;
  }

 private:
  /// The place of a block in the text.
  struct Place {
    std::size_t group = 0, block = 0;
    auto operator<=>(const Place&) const = default;
  };

  void work() {
    try {
      BlockEncoder encoder(encoding_, text_key_);
      while (const auto group = begin_reading()) {
        TextBlock block;
        EncodedBlock encoded;
        const auto place = read(*group, block, encoded);
        encoder.encode(block, encoded);
        block = {};
        deliver(place, std::move(encoded));
      }
    } catch (...) {
      stop(std::current_exception());
    }
  }

  /// Waits for a group that this thread may read a block of; nullopt if there is none any more.
  std::optional<std::size_t> begin_reading() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (is_stopped_ || first_unread_ == groups_.size()) return std::nullopt;
      const auto end = std::min(first_unread_ + thread_count_, groups_.size());
      for (auto at = first_unread_; at < end; ++at) {
        if (!may_read(at)) continue;
        groups_[at].is_busy = true;
        ++blocks_;
        return at;
      }
      changed_.wait(lock);
    }
  }

  /// A block that is to be used next may always be read, others while there are not too many.
  bool may_read(std::size_t at) const {
    constexpr std::size_t kBlocksPerThread = 3;
    const auto& group = groups_[at];
    if (group.is_busy || group.is_read) return false;
    return Place{at, group.blocks} == next_ || blocks_ < kBlocksPerThread * thread_count_;
  }

  Place read(std::size_t at, TextBlock& block, EncodedBlock& encoded) {
    auto& group = groups_[at];
    bool is_last = true;
    try {
      if (!group.reader) {
        group.reader =
            std::make_unique<BlockReader>(group.files, text_key_, encoding_.tokenizer().line_cut());
      }
      is_last = !group.reader->read(block);
    } catch (...) {
      encoded.error = std::current_exception();
    }
    if (is_last) group.reader.reset();
    encoded.is_last = is_last;
    const std::lock_guard lock(mutex_);
    group.is_busy = false;
    group.is_read = is_last;
    while (first_unread_ < groups_.size() && groups_[first_unread_].is_read) ++first_unread_;
    changed_.notify_all();
    return {at, group.blocks++};
  }

  /// Uses the block, and those after it that wait, if it is the next.
  void deliver(Place place, EncodedBlock encoded) {
    std::unique_lock lock(mutex_);
    encoded_.emplace(place, std::move(encoded));
    if (std::exchange(is_using_, true)) return;
    while (!is_stopped_) {
      const auto found = encoded_.find(next_);
      if (found == encoded_.end()) break;
      const auto block = std::move(found->second);
      encoded_.erase(found);
      lock.unlock();
      use(block);
      lock.lock();
      --blocks_;
      next_ = block.is_last ? Place{next_.group + 1, 0} : Place{next_.group, next_.block + 1};
      changed_.notify_all();
    }
    is_using_ = false;
  }

  void use(const EncodedBlock& block) {
    using End = EncodedBlock::End;
    sum_.json += block.json;
    std::size_t begin = 0;
    for (const auto& [ids_end, end, text_bytes] : block.pieces) {
      if (end == End::file) {
        end_file();
        continue;
      }
      use_({.ids = std::span(block.ids).subspan(begin, ids_end - begin),
            .is_end = end == End::document,
            .text_bytes = text_bytes});
      begin = ids_end;
      sum_.documents += end == End::document ? 1 : 0;
      has_text_ = true;
    }
    sum_.bytes += block.bytes;
    sum_.tokens += static_cast<std::int64_t>(block.ids.size());
    if (block.error) std::rethrow_exception(block.error);
    if (progress_) progress_(sum_);
  }

  void end_file() {
    const auto& file = files_[file_++];
    if (std::exchange(has_text_, false) || file.may_be_empty) return;
    if (sum_.json.invalid_lines == 0) {
      throw Error(Exit::data, text(file.path, ": must hold text, but is empty"));
    }
    throw Error(Exit::data,
                text(file.path, ": must hold text, but has none; the first invalid line: ",
                     sum_.json.first_invalid));
  }

  /// Ends all threads. \param error  why; the first one counts
  void stop(const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    is_stopped_ = true;
    changed_.notify_all();
  }

  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  const std::vector<TextFile>& files_;
  const std::string& text_key_;
  const TextEncoding& encoding_;
  std::size_t thread_count_;
  const UsePieces& use_;
  const std::function<void(const EncodedText&)>& progress_;

  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  std::vector<FileGroup> groups_;
  std::size_t first_unread_ = 0;           // group that is not read completely
  std::size_t blocks_ = 0;                 // that are being read or encoded, or wait to be used
  std::map<Place, EncodedBlock> encoded_;  // that wait to be used
  Place next_;                             // to be used
  bool is_using_ = false, is_stopped_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;

  // Of the thread that uses a block.
  std::size_t file_ = 0;   // number of the file
  bool has_text_ = false;  // of this file
  EncodedText sum_;
};

}  // namespace

EncodedText encode_files(const std::vector<TextFile>& files, const config::Data& data,
                         const TextEncoding& encoding, int threads, const UsePieces& use,
                         const std::function<void(const EncodedText&)>& progress) {
  EK_ASSERT(threads > 0);
  check_threads(threads);
  return EncodingPipeline(files, data, encoding, threads, use, progress).run();
}

EncodedText encode_files(const std::vector<TextFile>& files, const config::Data& data,
                         const TextEncoding& encoding, int threads, const UseTokens& use,
                         const std::function<void(const EncodedText&)>& progress) {
  const UsePieces use_ids = [&](const EncodedPiece& piece) { use(piece.ids, piece.is_end); };
  return encode_files(files, data, encoding, threads, use_ids, progress);
}

}  // namespace evenkeel::data
