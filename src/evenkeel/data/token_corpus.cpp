// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_corpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/input_paths.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/text_files.h"
#include "evenkeel/data/token_file.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

bool has_token_ending(const fs::path& path) {
  return path.extension() == ".bin" || path.extension() == ".npy";
}

/// The token files of an input: the file itself, or those of a folder or a pattern.
std::vector<std::string> token_files_in(const std::string& input) {
  std::vector<std::string> files;
  const auto found = input_paths(input);
  for (const auto& path : found.paths) {
    if (!found.is_search || has_token_ending(path)) files.push_back(path.string());
  }
  return files;
}

/// True if the inputs are one folder of shards.
bool is_shard_folder(const std::vector<std::string>& inputs) {
  std::error_code none;
  return inputs.size() == 1 && fs::exists(fs::path(inputs.front()) / kShardManifest, none);
}

/// The shards of a manifest. Their sizes are compared, not their digests (evenkeel tokenize
/// --check).
/// \throws Error (data) for a shard that is missing or has another size
std::vector<std::string> files_of_manifest(const ShardManifest& manifest, const fs::path& folder) {
  std::vector<std::string> files;
  files.reserve(manifest.shards.size());
  for (const auto& shard : manifest.shards) {
    const auto path = folder / shard.tokens_file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error || std::cmp_not_equal(bytes, shard.tokens_file.digest.bytes)) {
      throw Error(Exit::data,
                  text(path.string(), ": must have ", shard.tokens_file.digest.bytes, " bytes as ",
                       kShardManifest, " says, but ", error ? "is missing" : text("has ", bytes),
                       "; copy the file or write the shards again"));
    }
    files.push_back(path.string());
  }
  for (const auto& path : token_files_in(folder.string())) {
    if (std::find(files.begin(), files.end(), path) != files.end()) continue;
    throw Error(Exit::data, text(path, ": must be listed in ", kShardManifest,
                                 ", but is not; remove the file, or name a pattern in place of "
                                 "the folder"));
  }
  return files;
}

std::vector<std::string> token_files_of(const std::vector<std::string>& inputs,
                                        const std::optional<ShardManifest>& manifest) {
  if (is_shard_folder(inputs)) return files_of_manifest(*manifest, inputs.front());
  std::vector<std::string> files;
  for (const auto& input : inputs) {
    const auto inside = token_files_in(input);
    if (inside.empty()) {
      throw Error(Exit::data, text(input,
                                   ": must have token files (.bin, .npy), but has none; name "
                                   "a file"));
    }
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

/// The folder of the first input's manifest, if there is one: the input itself, or the folder of a
/// file or pattern.
fs::path manifest_folder(const std::vector<std::string>& inputs) {
  std::error_code none;
  fs::path input = with_home(inputs.front());
  if (fs::exists(input / kShardManifest, none)) return input;
  return input.has_parent_path() ? input.parent_path() : fs::path(".");
}

/// The manifest of the first input: of a folder of shards, or of the folder of a shard that is
/// named; nullopt for other files.
std::optional<ShardManifest> manifest_of(const std::vector<std::string>& inputs) {
  std::error_code none;
  const auto folder = manifest_folder(inputs);
  if (!fs::exists(folder / kShardManifest, none)) return std::nullopt;
  auto manifest = read_shard_manifest(folder.string());
  if (folder == fs::path(with_home(inputs.front()))) return manifest;
  const auto files = token_files_in(inputs.front());
  const bool is_listed =
      !files.empty() &&
      std::any_of(manifest.shards.begin(), manifest.shards.end(), [&](const Shard& shard) {
        return folder / shard.tokens_file.name == files.front();
      });
  return is_listed ? std::optional(std::move(manifest)) : std::nullopt;
}

/// \throws Error (data) if the shards were written with another tokenizer than that of the run
void check_tokenizer(const ShardManifest& manifest, const TextEncoding& encoding,
                     bool is_vocabulary_named, const std::string& folder) {
  if (encoding.tokenizer().digest() == manifest.tokenizer) return;
  if (encoding.is_bytes() && is_vocabulary_named) return;
  throw Error(Exit::data,
              text(folder,
                   ": the tokens were made with another tokenizer than data.tokenizer; name "
                   "that tokenizer, or tokenize the text again"));
}

/// \param folder  of the manifest; files of other folders are not in it
/// \param digest  of the ids. That of the file is the same where no header is before them.
/// \throws Error (data) if the manifest has another digest
void check_digest(const ShardManifest& manifest, const fs::path& folder, const TokenFile& file,
                  const std::string& digest) {
  if (file.layout().offset != 0) return;
  for (const auto& shard : manifest.shards) {
    const auto& [name, wanted] = shard.tokens_file;
    if (folder / name != fs::path(file.path()) || wanted.xxh3 == digest) continue;
    throw Error(Exit::data, text(file.path(), ": must have the XXH3 digest ", wanted.xxh3, " as ",
                                 kShardManifest, " says, but has ", digest,
                                 "; copy the file or write the shards again"));
  }
}

/// The type of data.token_type; nullopt: "auto".
std::optional<TokenType> type_named(const std::string& name) {
  for (const auto type :
       {TokenType::uint8, TokenType::uint16, TokenType::uint32, TokenType::uint64}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

/// \throws Error (data) if the file has another format than data.format
void check_format(const TokenFile& file, const config::Data& data) {
  const std::string found = name_of(file.layout().format);
  if (data.format == "auto" || data.format == found) return;
  throw Error(Exit::data, text(file.path(), ": data.format is \"", data.format,
                               "\", but the file has the format \"", found,
                               "\"; set data.format to that, or leave it out"));
}

/// Opens the files and reads their headers.
std::vector<std::shared_ptr<const TokenFile>> open_token_files(
    const std::vector<std::string>& inputs, const config::Data& data,
    const std::optional<ShardManifest>& manifest, std::int64_t vocabulary) {
  auto type = type_named(data.token_type);
  if (manifest && !type) type = manifest->type;
  std::vector<std::shared_ptr<const TokenFile>> files;
  for (const auto& path : token_files_of(inputs, manifest)) {
    files.push_back(std::make_shared<const TokenFile>(path, type ? &*type : nullptr, vocabulary));
    check_format(*files.back(), data);
  }
  return files;
}

/// By id below `vocabulary`, the bytes of its text. Ids above the tokenizer's are padding of the
/// vocabulary, without a text. nullptr: no tokenizer is known.
TokenLengths lengths_up_to(std::int64_t vocabulary, const TextEncoding& encoding) {
  if (!encoding.is_of_vocabulary(vocabulary)) return nullptr;
  auto lengths = *encoding.token_lengths();
  lengths.resize(std::max(lengths.size(), static_cast<std::size_t>(vocabulary)));
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(lengths));
}

/// "shards (3 token files, npy, uint16)"
std::string token_files_described(const std::vector<std::string>& inputs,
                                  const std::vector<std::shared_ptr<const TokenFile>>& files) {
  const auto& layout = files.front()->layout();
  return text(inputs.front(), inputs.size() > 1 ? text(" and ", inputs.size() - 1, " more") : "",
              " (", files.size(), " token file", files.size() == 1 ? "" : "s", ", ",
              name_of(layout.format), ", ", name_of(layout.type), ")");
}

/// The position after the last end-of-text token before `cut`; `cut` if there is none near.
std::int64_t document_start_before(const Corpus& corpus, std::int64_t cut) {
  constexpr std::int64_t kFarthest = 1 << 20, kBlock = 1 << 14;  // tokens
  if (!corpus.end_of_text) return cut;
  for (std::int64_t end = cut; end > 0 && end > cut - kFarthest; end -= kBlock) {
    const auto begin = std::max<std::int64_t>(0, end - kBlock);
    const auto ids = corpus.tokens.range(begin, end - begin);
    const auto found = std::find(ids.rbegin(), ids.rend(), std::int64_t{*corpus.end_of_text});
    if (found != ids.rend()) return begin + (ids.rend() - found);
  }
  return cut;
}

}  // namespace

void describe_tokens(Corpus& corpus) {
  const auto documents = corpus.document_count == 0
                             ? std::string()
                             : text(with_commas(corpus.document_count), " documents, ");
  corpus.description =
      text(corpus.origin, ", ", documents, with_commas(corpus.tokens.size()), " tokens");
  corpus.digest = corpus.tokens.digest();
}

bool are_token_files(const std::vector<std::string>& inputs, const config::Data& data) {
  constexpr std::array<std::string_view, 4> kFormats = {"tokens", "npy", "llm_c", "megatron"};
  if (data.format != "auto") {
    return std::find(kFormats.begin(), kFormats.end(), data.format) != kFormats.end();
  }
  if (inputs.empty()) return false;
  const auto& first = inputs.front();
  if (has_token_ending(first)) return true;
  std::error_code none;
  if (!fs::is_directory(first, none)) return false;
  return fs::exists(fs::path(first) / kShardManifest, none) || !token_files_in(first).empty();
}

bool is_tokenizer_unknown(const config::Data& data, const TextEncoding& encoding,
                          std::int64_t vocabulary) {
  if (encoding.is_of_vocabulary(vocabulary)) return false;
  const auto is_unknown = [&](const std::vector<std::string>& inputs) {
    if (!are_token_files(inputs, data)) return false;
    const auto manifest = manifest_of(inputs);
    return !manifest || manifest->tokenizer != encoding.tokenizer().digest();
  };
  if (data.weights.empty()) return is_unknown(data.train);
  return std::any_of(data.train.begin(), data.train.end(),
                     [&](const std::string& input) { return is_unknown({input}); });
}

void check_ids_are_known(const std::vector<std::string>& inputs, const TextEncoding& encoding,
                         bool is_vocabulary_named) {
  const auto manifest = manifest_of(inputs);
  if (manifest) check_tokenizer(*manifest, encoding, is_vocabulary_named, inputs.front());
  if (manifest || is_vocabulary_named || !encoding.is_bytes()) return;
  throw Error(Exit::data,
              text(inputs.front(),
                   ": token ids need the tokenizer that made them or the number of ids; set "
                   "data.tokenizer or model.vocabulary (257 for bytes)"));
}

void check_tokenizer_is_known(const config::Data& data, const TextEncoding& encoding,
                              std::int64_t vocabulary, const std::string& what) {
  if (!is_tokenizer_unknown(data, encoding, vocabulary)) return;
  throw Error(Exit::data, text(what,
                               ": text needs the tokenizer that made the token files of "
                               "data.train; set data.tokenizer"));
}

bool have_headers(const std::vector<std::string>& inputs, const config::Data& data,
                  std::int64_t vocabulary) {
  const auto files = open_token_files(inputs, data, manifest_of(inputs), vocabulary);
  return std::none_of(files.begin(), files.end(), [](const auto& file) {
    return file->layout().format == TokenFormat::tokens;
  });
}

TokenCount token_count(const std::vector<std::string>& inputs, const config::Data& data,
                       std::int64_t vocabulary) {
  TokenCount count;
  const auto manifest = manifest_of(inputs);
  if (is_shard_folder(inputs)) {
    return {.tokens = manifest->tokens(), .documents = manifest->documents()};
  }
  for (const auto& file : open_token_files(inputs, data, manifest, vocabulary)) {
    count.tokens += file->count();
    count.documents += file->layout().documents;
  }
  return count;
}

void refuse_mixed_folder(const std::string& input, const config::Data& data) {
  std::error_code none;
  if (data.format != "auto" || !fs::is_directory(input, none)) return;
  if (fs::exists(fs::path(input) / kShardManifest, none)) return;
  const auto tokens = token_files_in(input);
  const auto texts = text_file_names(input);
  if (tokens.empty() || texts.empty()) return;
  throw Error(Exit::data,
              text(input, ": must have text or token files, but has both: ", texts.front(), " and ",
                   tokens.front(), "; name a pattern, or set data.format to text or tokens"));
}

Corpus token_corpus(const std::vector<std::string>& inputs, const config::Data& data,
                    const TextEncoding& encoding, std::int64_t vocabulary,
                    bool is_vocabulary_named) {
  check_ids_are_known(inputs, encoding, is_vocabulary_named);
  Corpus corpus;
  const auto manifest = manifest_of(inputs);
  const auto files = open_token_files(inputs, data, manifest, vocabulary);
  for (const auto& file : files) {
    const auto digest = file->check_ids(vocabulary);
    if (manifest) check_digest(*manifest, manifest_folder(inputs), *file, digest);
    corpus.tokens.append(Tokens(file, digest));
    corpus.document_count += file->layout().documents;
  }
  const bool is_named = data.end_of_text != "auto";
  const bool is_known = is_named || encoding.is_of_vocabulary(vocabulary);
  corpus.end_of_text = is_known ? encoding.end_of_text() : std::nullopt;
  if (manifest && !is_named) corpus.end_of_text = manifest->end_of_text;
  if (is_shard_folder(inputs)) corpus.document_count = manifest->documents();
  corpus.token_lengths = lengths_up_to(vocabulary, encoding);
  corpus.files = corpus.tokens.files();
  corpus.origin = token_files_described(inputs, files);
  describe_tokens(corpus);
  return corpus;
}

std::pair<Corpus, Corpus> split_tokens(const Corpus& corpus, double fraction) {
  const auto size = corpus.tokens.size();
  const auto wanted = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * fraction));
  const auto cut = document_start_before(corpus, size - wanted);
  std::pair<Corpus, Corpus> parts{corpus, corpus};
  auto& [front, back] = parts;
  front.tokens = corpus.tokens.slice(0, cut);
  front.document_count = 0;
  describe_tokens(front);
  back.tokens = corpus.tokens.slice(cut, size);
  back.document_count = 0;
  const double share = static_cast<double>(size - cut) / static_cast<double>(size);
  back.origin = text("the last ", percent(share), " of ", corpus.origin);
  describe_tokens(back);
  return parts;
}

}  // namespace evenkeel::data
