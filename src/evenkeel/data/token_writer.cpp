// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/document_bounds.h"
#include "evenkeel/data/megatron_index.h"
#include "evenkeel/data/new_file.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kLlmCHeaderInts = 256;
using LlmCHeader = std::array<std::int32_t, kLlmCHeaderInts>;

LlmCHeader llm_c_header(TokenType type, std::int64_t tokens) {
  const bool is_gpt2 = type == TokenType::uint16;
  LlmCHeader header{};
  header[0] = is_gpt2 ? 20240520 : 20240801;
  header[1] = is_gpt2 ? 1 : 7;
  header[2] = static_cast<std::int32_t>(tokens);
  return header;
}

/// "tokens-00012"
std::string shard_stem(const std::string& name, std::size_t number) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "-%05zu", number);
  return name + digits.data();
}

/// Calls append(data, bytes) for the ids as numbers of type Id.
template <typename Id, typename Append>
void append_as(std::span<const std::uint32_t> ids, const Append& append) {
  constexpr std::size_t kSome = 4096;
  std::array<Id, kSome> some;
  while (!ids.empty()) {
    const auto count = std::min(kSome, ids.size());
    std::transform(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), some.begin(),
                   [](std::uint32_t id) { return static_cast<Id>(id); });
    append(some.data(), count * sizeof(Id));
    ids = ids.subspan(count);
  }
}

void prepare_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(Exit::io, text(folder, ": cannot make the folder: ", error.message()));
  }
  if (fs::exists(fs::path(folder) / kShardManifest, error)) {
    throw Error(Exit::data, text(folder, ": must hold no shards yet, but has ", kShardManifest,
                                 "; name another folder, or delete this one"));
  }
}

}  // namespace

/// A shard that is not complete yet.
class TokenWriter::OpenShard {
 public:
  OpenShard(const TokenWriterOptions& options, TokenType type, std::size_t number)
      : options_(&options),
        type_(type),
        stem_(shard_stem(options.name, number)),
        file_(path_of(tokens_ending())) {
    if (options.format != ShardFormat::llm_c) return;
    const LlmCHeader header{};
    file_.append(header.data(), sizeof header);
  }

  std::int64_t tokens() const { return tokens_; }

  void append_part(std::span<const std::uint32_t> ids) {
    const auto append = [this](const void* data, std::size_t size) {
      file_.append(data, size);
      digest_.update(data, size);
    };
    const auto bytes = item_bytes(type_);
    if (bytes == 1) append_as<std::uint8_t>(ids, append);
    if (bytes == 2) append_as<std::uint16_t>(ids, append);
    if (bytes == 4) append(ids.data(), ids.size_bytes());
    tokens_ += static_cast<std::int64_t>(ids.size());
  }

  void append(std::span<const std::uint32_t> ids) {
    append_part(ids);
    append_part(std::span(&options_->end_of_text, 1));
    ends_.push_back(tokens_);
  }

  Shard finish() {
    if (ends_.empty() || ends_.back() != tokens_) ends_.push_back(tokens_);
    if (options_->format == ShardFormat::llm_c) {
      const auto header = llm_c_header(type_, tokens());
      file_.overwrite_start(header.data(), sizeof header);
    }
    file_.finish();
    Shard shard;
    shard.documents = static_cast<std::int64_t>(ends_.size());
    shard.tokens = tokens();
    shard.tokens_file = {.name = stem_ + tokens_ending(),
                         .digest = {.bytes = file_.size(), .xxh3 = digest_.hex()}};
    // Its header is known at the end only.
    if (options_->format == ShardFormat::llm_c) shard.tokens_file = written_file(tokens_ending());
    if (options_->format == ShardFormat::olmo) {
      shard.sidecar = sidecar(".csv.gz", document_bounds_packed(ends_));
    }
    if (options_->format == ShardFormat::megatron) {
      shard.sidecar = sidecar(".idx", megatron_index(type_, ends_));
    }
    return shard;
  }

 private:
  const char* tokens_ending() const {
    return options_->format == ShardFormat::olmo ? ".npy" : ".bin";
  }
  fs::path path_of(const char* ending) const {
    return fs::path(options_->folder) / (stem_ + ending);
  }
  ShardFile written_file(const char* ending) const {
    return {.name = stem_ + ending, .digest = file_digest(path_of(ending).string())};
  }
  ShardFile sidecar(const char* ending, const std::string& content) const {
    NewFile file(path_of(ending));
    file.append(content.data(), content.size());
    file.finish();
    return written_file(ending);
  }

  const TokenWriterOptions* options_;
  TokenType type_;
  std::string stem_;
  NewFile file_;
  Digest digest_;  // of the ids
  std::int64_t tokens_ = 0;
  std::vector<std::int64_t> ends_;  // of the documents, in tokens
};

TokenWriter::TokenWriter(TokenWriterOptions options) : options_(std::move(options)) {
  EK_ASSERT(options_.end_of_text < options_.vocabulary);
  manifest_.format = options_.format;
  manifest_.type = shard_type(options_.format, options_.vocabulary);
  manifest_.tokenizer = options_.tokenizer;
  manifest_.vocabulary = options_.vocabulary;
  manifest_.end_of_text = options_.end_of_text;
  if (options_.shard_tokens < 1 || options_.shard_tokens > kMaxInt32) {
    throw Error(Exit::usage, text("a shard must have 1 to ", kMaxInt32, " tokens, but has ",
                                  options_.shard_tokens));
  }
  prepare_folder(options_.folder);
}

TokenWriter::~TokenWriter() = default;

/// Begins the next shard if the tokens do not fit into the current one.
void TokenWriter::make_room(std::int64_t tokens) {
  if (shard_ && tokens > options_.shard_tokens - shard_->tokens()) {
    manifest_.shards.push_back(shard_->finish());
    shard_.reset();
  }
  if (!shard_) {
    shard_ = std::make_unique<OpenShard>(options_, manifest_.type, manifest_.shards.size());
  }
}

void TokenWriter::append_part(std::span<const std::uint32_t> ids) {
  if (ids.empty()) return;
  make_room(static_cast<std::int64_t>(ids.size()));
  shard_->append_part(ids);
  is_in_document_ = true;
}

void TokenWriter::append(std::span<const std::uint32_t> ids) {
  if (ids.empty() && !is_in_document_) return;
  const auto is_known = [&](std::uint32_t id) { return id < options_.vocabulary; };
  EK_ASSERT(std::all_of(ids.begin(), ids.end(), is_known));
  const auto tokens = static_cast<std::int64_t>(ids.size()) + 1;
  if (tokens > kMaxInt32) {
    throw Error(Exit::data, text("a document must have fewer than ", kMaxInt32,
                                 " tokens, but one has ", tokens - 1, "; split it"));
  }
  make_room(tokens);
  shard_->append(ids);
  is_in_document_ = false;
}

ShardManifest TokenWriter::finish() {
  if (!shard_) {
    throw Error(Exit::data, text(options_.folder, ": must hold tokens, but no document has any"));
  }
  manifest_.shards.push_back(shard_->finish());
  shard_.reset();
  write_shard_manifest(options_.folder, manifest_);
  return manifest_;
}

}  // namespace evenkeel::data
