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
#include "evenkeel/data/shard_bytes.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/shard_tokenizers.h"
#include "evenkeel/data/text_files.h"
#include "evenkeel/data/token_file.h"
#include "evenkeel/data/token_inputs.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

/// \throws Error (data) if the shards were written with another tokenizer than that of the run
void check_tokenizer(const ShardManifest& manifest, const TextEncoding& encoding,
                     bool is_vocabulary_named, const std::string& folder) {
  if (is_tokenizer_of(manifest, encoding.tokenizer())) return;
  if (encoding.is_bytes() && is_vocabulary_named) return;
  if (encoding.is_bytes()) {
    throw Error(Exit::data,
                text(folder,
                     ": token ids need the tokenizer that made them or the number of ids; set "
                     "data.tokenizer or model.vocabulary (",
                     manifest.vocabulary, ")"));
  }
  throw Error(Exit::data,
              text(folder,
                   ": the tokens were made with another tokenizer than data.tokenizer; name "
                   "that tokenizer, or tokenize the text again"));
}

/// \throws Error (data) if special tokens in the texts of the shards became other ids than those of
///         the run. Shards whose manifest does not say it are of versions that wrote only `true`
void check_special_in_text(const TokenInput& input, const config::Data& data) {
  if (!input.manifest) return;
  const bool made = input.manifest->special_in_text.value_or(true);
  if (made == data.special_in_text) return;
  const auto* const now = data.special_in_text ? "true" : "false";
  throw Error(Exit::data, text(input.name, ": the tokens were made with data.special_in_text = ",
                               made ? "true" : "false", ", but it is ", now,
                               "; set it to that, or tokenize the text again with "
                               "--special-in-text ",
                               now));
}

/// \throws Error (data) if the manifest of the file has another digest
void check_digest(const TokenInput& input, const TokenFile& file, const std::string& digest) {
  const auto* const shard = shard_of(input, file.path());
  if (shard == nullptr || shard->tokens_file.digest.xxh3 == digest) return;
  throw Error(
      Exit::data,
      text(file.path(), ": must have the XXH3 digest ", shard->tokens_file.digest.xxh3, " as ",
           kShardManifest, " says, but has ", digest, "; copy the file or write the shards again"));
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

using OpenFiles = std::vector<std::shared_ptr<const TokenFile>>;

/// Opens the files of an input and reads their headers.
OpenFiles open_token_files(const TokenInput& input, const config::Data& data,
                           std::int64_t vocabulary) {
  auto type = type_named(data.token_type);
  if (input.manifest && !type) type = input.manifest->type;
  OpenFiles files;
  for (const auto& path : input.files) {
    files.push_back(std::make_shared<const TokenFile>(path, type ? &*type : nullptr, vocabulary));
    check_format(*files.back(), data);
  }
  return files;
}

/// \throws Error (data) for a text after token files in a list without weights
void refuse_text_after_tokens(const std::vector<std::string>& inputs, const config::Data& data) {
  for (const auto& input : inputs) {
    if (are_token_files({input}, data) || text_file_names(input).empty()) continue;
    throw Error(Exit::data,
                text(input, ": must be token files as ", inputs.front(), ", but is text; ",
                     mixed_list_advice(inputs, data, "name token files only")));
  }
}

/// By id below `vocabulary`, the bytes of its text. Ids above the tokenizer's are padding of the
/// vocabulary, without a text. nullptr: no tokenizer is known.
TokenLengths lengths_up_to(std::int64_t vocabulary, const TextEncoding& encoding) {
  if (!encoding.is_of_vocabulary(vocabulary)) return nullptr;
  auto lengths = *encoding.token_lengths();
  lengths.resize(std::max(lengths.size(), static_cast<std::size_t>(vocabulary)));
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(lengths));
}

/// The end-of-text token of token files; nullopt: unknown. Warns of shards with another one than
/// data.end_of_text.
std::optional<TokenId> end_of_text_of(const std::vector<TokenInput>& inputs,
                                      const config::Data& data, const TextEncoding& encoding,
                                      std::int64_t vocabulary) {
  if (data.end_of_text == "auto") {
    if (const auto end = end_of_text_of_shards(inputs)) return end;
    return encoding.is_of_vocabulary(vocabulary) ? encoding.end_of_text() : std::nullopt;
  }
  if (encoding.end_of_text()) warn_of_other_end(inputs, *encoding.end_of_text());
  return encoding.end_of_text();
}

/// "shards (3 token files, npy, uint16)"
std::string token_files_described(const std::vector<std::string>& inputs, const OpenFiles& files) {
  const auto& layout = files.front()->layout();
  return text(inputs.front(), inputs.size() > 1 ? text(" and ", inputs.size() - 1, " more") : "",
              " (", files.size(), " token file", files.size() == 1 ? "" : "s", ", ",
              name_of(layout.format), ", ", name_of(layout.type), ")");
}

/// The position after the last end-of-text token in the `farthest` tokens before `cut`; `cut` if
/// there is none.
std::int64_t document_start_before(const Corpus& corpus, std::int64_t cut, std::int64_t farthest) {
  constexpr std::int64_t kBlock = 1 << 14;  // tokens
  if (!corpus.end_of_text) return cut;
  const auto least = std::max<std::int64_t>(0, cut - farthest);
  for (std::int64_t end = cut; end > least; end -= kBlock) {
    const auto begin = std::max(least, end - kBlock);
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
  const auto path = with_home(inputs.front());
  if (has_token_ending(path)) return true;
  if (!is_search(path)) return false;
  std::error_code none;
  if (fs::exists(fs::path(path) / kShardManifest, none)) return true;
  try {
    return !token_files_in(path).empty();
  } catch (const Error&) {
    return false;  // reported where the files are read
  }
}

bool is_tokenizer_unknown(const config::Data& data, const TextEncoding& encoding,
                          std::int64_t vocabulary) {
  if (encoding.is_of_vocabulary(vocabulary)) return false;
  if (encoding.trained_on()) return !encoding.trained_on()->knows_tokenizer;
  const auto is_unknown = [&](const std::vector<std::string>& inputs) {
    if (!are_token_files(inputs, data)) return false;
    const auto manifest = manifest_of(inputs.front());
    return !manifest || !is_tokenizer_of(*manifest, encoding.tokenizer());
  };
  if (data.weights.empty()) return is_unknown(data.train);
  return std::any_of(data.train.begin(), data.train.end(),
                     [&](const std::string& input) { return is_unknown({input}); });
}

TrainedOn training_of(const config::Data& data, const TextEncoding& encoding,
                      std::int64_t vocabulary) {
  const auto& before = encoding.trained_on();
  return {.token_files = before ? before->token_files : are_token_files(data.train, data),
          .knows_tokenizer = !is_tokenizer_unknown(data, encoding, vocabulary)};
}

nlohmann::ordered_json record_of(const TrainedOn& training) {
  return {{"token_files", training.token_files}, {"tokenizer_known", training.knows_tokenizer}};
}

std::optional<TrainedOn> trained_on(const nlohmann::json& record) {
  const auto data = record.value("data", nlohmann::json::object());
  if (!data.is_object() || !data.contains("token_files")) return std::nullopt;
  return TrainedOn{.token_files = data.value("token_files", false),
                   .knows_tokenizer = data.value("tokenizer_known", true)};
}

void check_ids_are_known(const std::vector<std::string>& inputs, const TextEncoding& encoding,
                         bool is_vocabulary_named) {
  for (const auto& input : inputs) {
    const auto manifest = manifest_of(input);
    if (manifest) check_tokenizer(*manifest, encoding, is_vocabulary_named, input);
    if (manifest || is_vocabulary_named || !encoding.is_bytes()) continue;
    throw Error(Exit::data,
                text(input,
                     ": token ids need the tokenizer that made them or the number of ids; set "
                     "data.tokenizer or model.vocabulary (257 for bytes)"));
  }
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
  return std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    const auto files = open_token_files(token_input(input), data, vocabulary);
    return std::none_of(files.begin(), files.end(), [](const auto& file) {
      return file->layout().format == TokenFormat::tokens;
    });
  });
}

TokenCount token_count(const std::vector<std::string>& inputs, const config::Data& data,
                       std::int64_t vocabulary) {
  TokenCount count;
  refuse_text_after_tokens(inputs, data);
  for (const auto& name : inputs) {
    const auto input = token_input(name);
    if (input.is_whole) {
      count.tokens += input.manifest->tokens();
      count.documents += input.manifest->documents();
      continue;
    }
    for (const auto& file : open_token_files(input, data, vocabulary)) {
      count.tokens += file->count();
      count.documents += file->layout().documents;
    }
  }
  return count;
}

void refuse_mixed_folder(const std::string& input, const config::Data& data) {
  std::error_code none;
  const fs::path path = with_home(input);
  if (data.format != "auto" || !is_search(input)) return;
  if (fs::exists(path / kShardManifest, none)) return;
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
  refuse_text_after_tokens(inputs, data);
  check_ids_are_known(inputs, encoding, is_vocabulary_named);
  Corpus corpus;
  std::vector<TokenInput> found;
  OpenFiles files;
  std::optional<TextBytes> text_bytes = TextBytes();
  for (const auto& name : inputs) {
    found.push_back(token_input(name));
    const auto& input = found.back();
    check_special_in_text(input, data);
    for (const auto& file : open_token_files(input, data, vocabulary)) {
      const auto digests = file->check_ids(vocabulary);
      check_digest(input, *file, digests.file);
      corpus.tokens.append(Tokens(file, digests.ids));
      corpus.document_count += input.is_whole ? 0 : file->layout().documents;
      files.push_back(file);
    }
    if (input.is_whole) corpus.document_count += input.manifest->documents();
    add_known(text_bytes, text_bytes_of(input, encoding));
  }
  corpus.end_of_text = end_of_text_of(found, data, encoding, vocabulary);
  corpus.token_lengths = lengths_up_to(vocabulary, encoding);
  corpus.text_bytes = corpus.token_lengths ? text_bytes : std::nullopt;
  corpus.files = corpus.tokens.files();
  corpus.origin = token_files_described(inputs, files);
  describe_tokens(corpus);
  return corpus;
}

std::pair<Corpus, Corpus> split_tokens(const Corpus& corpus, double fraction) {
  const auto size = corpus.tokens.size();
  const auto wanted = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * fraction));
  constexpr std::int64_t kFarthest = 1 << 20;
  const auto cut = document_start_before(corpus, size - wanted, std::min(kFarthest, wanted));
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
