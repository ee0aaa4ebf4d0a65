// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_cache.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/data/cache_lock.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/data/new_file.h"
#include "evenkeel/data/part_folder.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr int kCacheVersion = 6;  // of the tokens that a text gives, and of the files of a folder
constexpr const char* kCacheVariable = "EVENKEEL_CACHE";
constexpr const char* kNoManifest = "no manifest";
constexpr const char* kTextBytes = "text_bytes.json";

/// The digest of both numbers, which the file has next to them.
std::string digest_of(const TextBytes& bytes) {
  const auto all = text(bytes.read, " ", bytes.counted);
  return evenkeel::digest(all.data(), all.size());
}

/// Writes the bytes of a text durably.
/// \throws Error (io)
void write_text_bytes(const fs::path& folder, const TextBytes& bytes) {
  const nlohmann::ordered_json out = {
      {"read", bytes.read}, {"counted", bytes.counted}, {"xxh3", digest_of(bytes)}};
  const auto content = json_dump(out) + "\n";
  NewFile file(folder / kTextBytes);
  file.append(content.data(), content.size());
  file.finish();
}

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

/// Why a folder of the cache cannot be used; "" if it has all its files as they were written.
std::string defect_of(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kShardManifest, none)) return kNoManifest;
  try {
    check_shards(folder.string());
    cached_text_bytes(folder.string());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
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

/// Encodes the text and writes its tokens to a folder.
std::pair<EncodedText, ShardManifest> write_tokens(const fs::path& folder,
                                                   const std::vector<TextFile>& files,
                                                   const config::Data& data,
                                                   const TextEncoding& encoding,
                                                   const StopWanted& stop) {
  TokenWriter writer({.folder = folder.string(),
                      .vocabulary = encoding.vocabulary(),
                      .end_of_text = encoding.required_end_of_text(),
                      .tokenizer = encoding.tokenizer().digest()});
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto sum = encode_files(
      files, data, encoding, threads,
      [&](const EncodedPiece& piece) {
        if (piece.is_end) return writer.append(piece.ids, piece.text_bytes);
        writer.append_part(piece.ids, piece.text_bytes);
      },
      [&](const EncodedText&) {
        if (!stop || !stop()) return;
        throw Error(Exit::stopped,
                    "stopped by a signal while the text was encoded; nothing was saved; run again");
      });
  auto manifest = writer.finish();
  const auto bytes = manifest.text_bytes();
  EK_ASSERT(bytes.has_value());
  write_text_bytes(folder, *bytes);
  return {sum, std::move(manifest)};
}

/// Gives a complete folder its final name. A complete folder that another process has given this
/// name meanwhile stays: its tokens are equal. A damaged one is replaced.
/// \throws Error (io)
void publish(const PartFolder& part, const fs::path& target) {
  std::error_code error;
  fs::rename(part.path(), target, error);
  if (!error || defect_of(target).empty()) return;
  const PartFolder damaged(target);
  fs::rename(target, damaged.path(), error);  // fails if another process was faster
  fs::rename(part.path(), target, error);
  if (error && !defect_of(target).empty()) {
    throw Error(Exit::io, text(target.string(), ": cannot be written: ", error.message()));
  }
}

/// Encodes the text into the folder `target`, which appears when it is complete.
void fill_cache(const fs::path& target, const std::vector<TextFile>& files,
                const config::Data& data, const TextEncoding& encoding, const StopWanted& stop) {
  remove_leftovers(target);
  const PartFolder part(target);
  print_note(text("text   encoding ", files.size(), files.size() == 1 ? " file" : " files",
                  " once; the tokens are saved in ", target.string()));
  const auto [sum, manifest] = write_tokens(part.path(), files, data, encoding, stop);
  publish(part, target);
  print_note(text("text   encoded ", bytes_text(static_cast<double>(sum.bytes)), " as ",
                  with_commas(sum.tokens), " tokens"));
  const auto met = left_out_description(sum.json, manifest.documents_without_tokens);
  if (!met.empty()) print_message("note: " + met);
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
  if (defect_of(target).empty()) return target.string();
  const CacheLock lock(target, stop);
  const auto defect = defect_of(target);  // another process may have filled it meanwhile
  if (defect.empty()) return target.string();
  if (defect != kNoManifest) {
    print_note(text("text   encoding again, because the saved tokens are damaged: ", defect));
  }
  fill_cache(target, files, data, encoding, stop);
  return target.string();
}

TextBytes cached_text_bytes(const std::string& folder) {
  const auto path = (fs::path(folder) / kTextBytes).string();
  const auto json = parse_json(read_file(path), path);
  const auto wrong = [&](const char* name) {
    return Error(Exit::data, text(path, ": must have the bytes of a text, but \"", name,
                                  "\" is missing or wrong; remove the folder and run again"));
  };
  const auto number = [&](const char* name) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) throw wrong(name);
    return found->get<std::int64_t>();
  };
  const TextBytes bytes{.read = number("read"), .counted = number("counted")};
  const auto digest = json.find("xxh3");
  const bool is_equal =
      digest != json.end() && digest->is_string() && digest->get<std::string>() == digest_of(bytes);
  if (!is_equal) throw wrong("xxh3");
  return bytes;
}

}  // namespace evenkeel::data
