// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr int kCacheVersion = 2;  // of the tokens that a text gives
constexpr const char* kCacheVariable = "EVENKEEL_CACHE";

/// The folder of all caches, which is made if it is missing.
/// \throws Error (io)
fs::path cache_folder() {
  const auto* const set = std::getenv(kCacheVariable);
  const fs::path folder = set == nullptr ? ".evenkeel-cache" : set;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return folder;
  throw Error(Exit::io,
              text(folder.string(), ": cannot make the folder for tokens of large texts: ",
                   error.message(), "; set ", kCacheVariable, " to another folder"));
}

/// True if a folder of the cache has all its files as they were written.
bool is_complete(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kShardManifest, none)) return false;
  try {
    check_shards(folder.string());
  } catch (const Error& error) {
    print_message(
        text("text   encoding again, because the saved tokens are damaged: ", error.what()));
    return false;
  }
  return true;
}

std::string cache_key(const std::vector<TextFile>& files, const std::vector<Tokens::File>& digests,
                      const config::Data& data, const TextEncoding& encoding) {
  auto all = text("version ", kCacheVersion, "\ntokenizer ", encoding.tokenizer().digest(),
                  "\nspecial ", encoding.special_in_text(), "\nend ",
                  encoding.required_end_of_text(), "\nkey ", data.text_key, "\n");
  for (std::size_t i = 0; i < files.size(); ++i) {
    all += text(name_of(files[i].kind), " ", digests[i].digest, "\n");
  }
  return evenkeel::digest(all.data(), all.size());
}

/// Encodes the text into the folder `target`, which appears when it is complete.
void fill_cache(const fs::path& target, const std::vector<TextFile>& files,
                const config::Data& data, const TextEncoding& encoding) {
  const auto part = fs::path(target.string() + text(".part-", ::getpid()));
  std::error_code none;
  fs::remove_all(part, none);
  print_message(text("text   encoding ", files.size(), files.size() == 1 ? " file" : " files",
                     " once; the tokens are saved in ", target.string()));
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
  std::error_code error;
  fs::rename(part, target, error);
  if (error) fs::remove_all(part, none);  // another process was faster
  if (error && !is_complete(target)) {
    throw Error(Exit::io, text(target.string(), ": cannot be written: ", error.message()));
  }
  print_message(text("text   encoded ", bytes_text(static_cast<double>(sum.bytes)), " as ",
                     with_commas(sum.tokens), " tokens"));
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

std::vector<Tokens::File> digests_of(const std::vector<TextFile>& files) {
  std::vector<Tokens::File> digests;
  digests.reserve(files.size());
  for (const auto& file : files) digests.push_back({file.path, file_digest(file.path).xxh3});
  return digests;
}

std::string cached_tokens(const std::vector<TextFile>& files,
                          const std::vector<Tokens::File>& digests, const config::Data& data,
                          const TextEncoding& encoding) {
  const auto target = cache_folder() / cache_key(files, digests, data, encoding);
  if (is_complete(target)) return target.string();
  std::error_code none;
  fs::remove_all(target, none);
  fill_cache(target, files, data, encoding);
  return target.string();
}

}  // namespace evenkeel::data
