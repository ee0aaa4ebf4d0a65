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
#include "evenkeel/base/printable.h"
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

/// llm.c and Megatron write tokens of a document as int32.
std::int64_t most_tokens_of_document(ShardFormat format) {
  const bool is_limited = format == ShardFormat::llm_c || format == ShardFormat::megatron;
  return is_limited ? kMaxInt32 : std::numeric_limits<std::int64_t>::max();
}

/// True for a name that a writer of shards `stem`-00000, ... gives its files.
bool is_shard_file(const std::string& file, const std::string& stem) {
  constexpr std::array<const char*, 4> kFileEndings = {".npy", ".bin", ".csv.gz", ".idx"};
  if (!file.starts_with(stem + "-")) return false;
  const auto digits_end = file.find_first_not_of("0123456789", stem.size() + 1);
  return digits_end != std::string::npos && digits_end > stem.size() + 1 &&
         std::ranges::find(kFileEndings, file.substr(digits_end)) != kFileEndings.end();
}

/// Makes the folder. Removes what a killed writer of these shards has left: NAME-00000.npy.part.
/// \throws Error (data) if it has shards
void prepare_folder(const std::string& folder, const std::string& stem) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(Exit::io, text(folder, ": cannot make the folder: ", error.message()));
  }
  const std::string part = ".part";
  std::string found;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    if (name == kShardManifest) found = name;
    if (found != kShardManifest && is_shard_file(name, stem)) found = name;
    const bool is_part = name.ends_with(part);
    if (is_part && is_shard_file(name.substr(0, name.size() - part.size()), stem)) {
      left.push_back(entry.path());
    }
  }
  if (error) throw Error(Exit::io, text(folder, ": cannot be read: ", error.message()));
  if (found.empty()) {
    for (const auto& path : left) fs::remove(path, error);
    return;
  }
  throw Error(Exit::data, text(folder, ": must hold no shards yet, but has ", printable_line(found),
                               "; name another folder, or remove the shards"));
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
  bool has_documents() const { return !ends_.empty(); }
  /// Tokens of the document that is not complete.
  std::int64_t open_tokens() const { return tokens_ - (ends_.empty() ? 0 : ends_.back()); }

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

  /// \param text_bytes  of the whole document
  void append(std::span<const std::uint32_t> ids, const std::optional<TextBytes>& text_bytes) {
    append_part(ids);
    append_part(std::span(&options_->end_of_text, 1));
    ends_.push_back(tokens_);
    add_known(text_bytes_, text_bytes);
  }

  /// Moves the document that is not complete to another shard.
  void move_document_to(OpenShard& next) {
    const auto tokens = open_tokens();
    if (tokens == 0) return;
    file_.take_end(file_.size() - tokens * item_bytes(type_),
                   [&](const char* data, std::size_t size) {
                     next.file_.append(data, size);
                     next.digest_.update(data, size);
                   });
    tokens_ -= tokens;
    next.tokens_ += tokens;
    is_cut_ = true;
  }

  Shard finish() {
    if (ends_.empty() || ends_.back() != tokens_) {
      ends_.push_back(tokens_);
      text_bytes_.reset();
    }
    if (options_->format == ShardFormat::llm_c) {
      const auto header = llm_c_header(type_, tokens());
      file_.overwrite_start(header.data(), sizeof header);
    }
    file_.finish();
    Shard shard;
    shard.documents = static_cast<std::int64_t>(ends_.size());
    shard.tokens = tokens();
    shard.text_bytes = text_bytes_;
    shard.tokens_file = {.name = stem_ + tokens_ending(),
                         .digest = {.bytes = file_.size(), .xxh3 = digest_.hex()}};
    // The header of llm.c is known at the end only.
    if (is_cut_ || options_->format == ShardFormat::llm_c) {
      shard.tokens_file = written_file(tokens_ending());
    }
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
  Digest digest_;  // of the ids that were appended
  std::int64_t tokens_ = 0;
  bool is_cut_ = false;             // after move_document_to()
  std::vector<std::int64_t> ends_;  // of the documents, in tokens
  std::optional<TextBytes> text_bytes_ = TextBytes();
};

TokenWriter::TokenWriter(TokenWriterOptions options) : options_(std::move(options)) {
  EK_ASSERT(options_.end_of_text < options_.vocabulary);
  manifest_.format = options_.format;
  manifest_.type = shard_type(options_.format, options_.vocabulary);
  manifest_.tokenizer = options_.tokenizer;
  manifest_.tokenizer_encoding = options_.tokenizer_encoding;
  manifest_.vocabulary = options_.vocabulary;
  manifest_.end_of_text = options_.end_of_text;
  manifest_.special_in_text = options_.special_in_text;
  if (options_.shard_tokens < 1 || options_.shard_tokens > kMaxInt32) {
    throw Error(Exit::usage, text("a shard must have 1 to ", kMaxInt32, " tokens, but has ",
                                  options_.shard_tokens));
  }
  prepare_folder(options_.folder, options_.name);
}

TokenWriter::~TokenWriter() = default;

/// Begins the next shard if further tokens of a document do not fit into the current one, unless
/// the document is its first. The tokens of the document so far move to the next shard.
void TokenWriter::make_room(std::int64_t tokens) {
  const auto open_shard = [&](std::size_t number) {
    return std::make_unique<OpenShard>(options_, manifest_.type, number);
  };
  if (!shard_) shard_ = open_shard(manifest_.shards.size());
  const auto of_document = shard_->open_tokens() + tokens;
  if (of_document > most_tokens_of_document(options_.format)) {
    throw Error(Exit::data,
                text("a document must have fewer than ", kMaxInt32, " tokens in the format ",
                     name_of(options_.format), ", but one has more; split it"));
  }
  const bool fits = tokens <= options_.shard_tokens - shard_->tokens();
  if (fits || !shard_->has_documents()) return;
  auto next = open_shard(manifest_.shards.size() + 1);
  shard_->move_document_to(*next);
  manifest_.shards.push_back(shard_->finish());
  shard_ = std::move(next);
}

void TokenWriter::append_part(std::span<const std::uint32_t> ids,
                              const std::optional<TextBytes>& text_bytes) {
  add_known(document_bytes_, text_bytes);
  if (ids.empty()) return;
  make_room(static_cast<std::int64_t>(ids.size()));
  shard_->append_part(ids);
  is_in_document_ = true;
}

void TokenWriter::append(std::span<const std::uint32_t> ids,
                         const std::optional<TextBytes>& text_bytes) {
  add_known(document_bytes_, text_bytes);
  const auto bytes = std::exchange(document_bytes_, TextBytes());
  if (ids.empty() && !is_in_document_) {
    ++manifest_.documents_without_tokens;
    return;
  }
  const auto is_known = [&](std::uint32_t id) { return id < options_.vocabulary; };
  EK_ASSERT(std::all_of(ids.begin(), ids.end(), is_known));
  make_room(static_cast<std::int64_t>(ids.size()) + 1);
  shard_->append(ids, bytes);
  is_in_document_ = false;
}

ShardManifest TokenWriter::finish(const JsonCounts& left_out) {
  if (!shard_) {
    throw Error(Exit::data, text(options_.folder, ": must hold tokens, but no document has any"));
  }
  manifest_.shards.push_back(shard_->finish());
  shard_.reset();
  manifest_.null_texts = left_out.nulls;
  manifest_.empty_texts = left_out.empties;
  if (options_.skips_invalid) {
    manifest_.invalid_lines = left_out.invalid_lines;
    manifest_.first_invalid_lines = left_out.first_invalid_lines;
  }
  write_shard_manifest(options_.folder, manifest_);
  return manifest_;
}

}  // namespace evenkeel::data
