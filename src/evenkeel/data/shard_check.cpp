// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/shard_check.h"

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/data/document_bounds.h"
#include "evenkeel/data/token_file.h"

namespace evenkeel::data {

namespace {

[[noreturn]] void refuse_shard(const std::string& path, const std::string& wanted,
                               const std::string& found) {
  throw Error(Exit::data,
              text(path, ": must have ", wanted, " as ", kShardManifest, " says, but has ", found,
                   "; copy the file or write the shards again"));
}

void check_number(const std::string& path, std::int64_t wanted, std::int64_t found,
                  const char* unit) {
  if (wanted != found) refuse_shard(path, text(wanted, " ", unit), std::to_string(found));
}

/// The path of a file of a shard, after its size and digest were compared.
std::string checked_file(const std::filesystem::path& folder, const ShardFile& file) {
  const auto path = (folder / file.name).string();
  const auto found = file_digest(path);
  check_number(path, file.digest.bytes, found.bytes, "bytes");
  if (found.xxh3 != file.digest.xxh3) {
    refuse_shard(path, "the XXH3 digest " + file.digest.xxh3, found.xxh3);
  }
  return path;
}

void check_shard(const std::filesystem::path& folder, const ShardManifest& manifest,
                 const Shard& shard) {
  const auto path = checked_file(folder, shard.tokens_file);
  const auto sidecar = shard.sidecar ? checked_file(folder, *shard.sidecar) : std::string();
  const TokenFile file(path, &manifest.type, manifest.vocabulary);
  check_number(path, shard.tokens, file.count(), "tokens");
  file.check_ids(manifest.vocabulary);
  if (manifest.format == ShardFormat::megatron) {
    check_number(path, shard.documents, file.layout().documents, "documents");
  }
  if (manifest.format == ShardFormat::olmo && shard.sidecar) {
    std::int64_t documents = 0;
    read_document_bounds(sidecar, shard.tokens, [&](std::int64_t, std::int64_t) { ++documents; });
    check_number(sidecar, shard.documents, documents, "documents");
  }
}

}  // namespace

ShardManifest check_shards(const std::string& folder) {
  auto manifest = read_shard_manifest(folder);
  for (const auto& shard : manifest.shards) check_shard(folder, manifest, shard);
  return manifest;
}

}  // namespace evenkeel::data
