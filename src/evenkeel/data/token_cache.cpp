// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
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
constexpr const char* kPart = ".part-";
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

/// Removes what processes that were killed have left of a folder: TARGET.part-PID.
void remove_leftovers(const fs::path& target) {
  const auto prefix = target.filename().string() + kPart;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(target.parent_path(), none)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    int process = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), process);
    const bool is_alive = process > 0 && (::kill(process, 0) == 0 || errno != ESRCH);
    if (!is_alive || process == ::getpid()) fs::remove_all(entry.path(), none);
  }
}

/// The folder of a cache that is being written. Its end removes it.
class PartFolder {
 public:
  explicit PartFolder(const fs::path& target) : path_(target.string() + text(kPart, ::getpid())) {
    remove_leftovers(target);
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  PartFolder(PartFolder&&) = delete;
  PartFolder& operator=(PartFolder&&) = delete;
  ~PartFolder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Encodes the text and writes its tokens to a folder.
EncodedText write_tokens(const fs::path& folder, const std::vector<TextFile>& files,
                         const config::Data& data, const TextEncoding& encoding,
                         const StopWanted& stop) {
  TokenWriter writer({.folder = folder.string(),
                      .vocabulary = encoding.vocabulary(),
                      .end_of_text = encoding.required_end_of_text(),
                      .tokenizer = encoding.tokenizer().digest()});
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto sum = encode_files(
      files, data, encoding, threads,
      [&](std::span<const TokenId> ids, bool is_end) {
        if (is_end) return writer.append(ids);
        writer.append_part(ids);
      },
      [&](const EncodedText&) {
        if (!stop || !stop()) return;
        throw Error(Exit::stopped,
                    "stopped by a signal while the text was encoded; nothing was saved; run again");
      });
  writer.finish();
  return sum;
}

/// Encodes the text into the folder `target`, which appears when it is complete.
void fill_cache(const fs::path& target, const std::vector<TextFile>& files,
                const config::Data& data, const TextEncoding& encoding, const StopWanted& stop) {
  const PartFolder part(target);
  print_message(text("text   encoding ", files.size(), files.size() == 1 ? " file" : " files",
                     " once; the tokens are saved in ", target.string()));
  const auto sum = write_tokens(part.path(), files, data, encoding, stop);
  std::error_code error;
  fs::rename(part.path(), target, error);
  if (error && !is_complete(target)) {  // complete: another process was faster
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
                          const TextEncoding& encoding, const StopWanted& stop) {
  const auto target = cache_folder() / cache_key(files, digests, data, encoding);
  if (is_complete(target)) return target.string();
  std::error_code none;
  fs::remove_all(target, none);
  fill_cache(target, files, data, encoding, stop);
  return target.string();
}

}  // namespace evenkeel::data
