// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr int kCacheVersion = 1;  // of the tokens that a text gives
constexpr const char* kCacheFolder = ".evenkeel-cache";

std::string cache_key(const std::vector<TextFile>& files, const config::Data& data,
                      const TextEncoding& encoding) {
  auto all = text("version ", kCacheVersion, "\ntokenizer ", encoding.tokenizer().digest(),
                  "\nspecial ", encoding.special_in_text(), "\nend ",
                  encoding.required_end_of_text(), "\nkey ", data.text_key, "\n");
  for (const auto& file : files) {
    const auto [bytes, xxh3] = file_digest(file.path);
    all += text(name_of(file.kind), " ", bytes, " ", xxh3, "\n");
  }
  return evenkeel::digest(all.data(), all.size());
}

/// Encodes the text into the folder `target`, which appears when it is complete.
void fill_cache(const fs::path& target, const std::vector<TextFile>& files,
                const config::Data& data, const TextEncoding& encoding) {
  const auto part = fs::path(target.string() + text(".part-", ::getpid()));
  std::error_code none;
  fs::remove_all(part, none);
  TokenWriter writer({.folder = part.string(),
                      .vocabulary = encoding.vocabulary(),
                      .end_of_text = encoding.required_end_of_text(),
                      .tokenizer = encoding.tokenizer().digest()});
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto sum =
      encode_files(files, data, encoding, threads, [&](std::span<const TokenId> ids, bool is_end) {
        if (is_end) return writer.append(ids);
        writer.append_part(ids);
      });
  writer.finish();
  fs::rename(part, target, none);
  if (none && !fs::exists(target / kShardManifest)) {
    throw Error(Exit::io, text(target.string(), ": cannot be written: ", none.message()));
  }
  if (none) fs::remove_all(part, none);  // another process was faster
  print_message(text("text   encoded ", bytes_text(static_cast<double>(sum.bytes)), " as ",
                     with_commas(sum.tokens), " tokens, saved in ", target.string()));
}

}  // namespace

bool is_large_text(const std::vector<TextFile>& files) {
  constexpr std::uintmax_t kLarge = std::uintmax_t{16} << 20;  // bytes of text
  constexpr std::uintmax_t kUnpacked = 4;                      // usual compression ratio of text
  std::uintmax_t bytes = 0;
  for (const auto& file : files) {
    std::error_code error;
    const auto size = fs::file_size(file.path, error);
    const bool is_packed = file.compression != Compression::none || file.kind == TextKind::parquet;
    if (!error) bytes += is_packed ? kUnpacked * size : size;
  }
  return bytes > kLarge;
}

std::string cached_tokens(const std::vector<TextFile>& files, const config::Data& data,
                          const TextEncoding& encoding) {
  const auto target = fs::path(kCacheFolder) / cache_key(files, data, encoding);
  std::error_code none;
  if (!fs::exists(target / kShardManifest, none)) fill_cache(target, files, data, encoding);
  return target.string();
}

}  // namespace evenkeel::data
