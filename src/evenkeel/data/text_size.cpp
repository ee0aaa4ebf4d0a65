// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_size.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "evenkeel/data/builtins.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/shard_tokenizers.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/token_cache.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/token_file.h"
#include "evenkeel/data/token_inputs.h"

namespace evenkeel::data {

namespace {

/// Ends the reading of a text.
struct EnoughText {};

/// Bytes, tokens and documents of the first 16 MiB of a text.
struct TextSample {
  double bytes = 0, tokens = 0;
  std::int64_t documents = 0;  // with tokens
};

TextSample sample_of(const TextFiles& files, const config::Data& data,
                     const TextEncoding& encoding) {
  constexpr double kSample = 16.0 * (1 << 20);
  TextSample sample;
  bool has_tokens = false;  // the document so far; one without tokens is left out
  const auto add = [&](std::string_view piece, bool is_end) {
    const auto tokens = encoding.encode(piece).size();
    has_tokens = has_tokens || tokens > 0;
    const bool ends_document = is_end && has_tokens;
    sample.bytes += static_cast<double>(piece.size());
    sample.tokens += static_cast<double>(tokens + (ends_document ? 1 : 0));
    sample.documents += ends_document ? 1 : 0;
    if (is_end) has_tokens = false;
    if (sample.bytes >= kSample) throw EnoughText();
  };
  try {
    for (const auto& file : files.files) read_pieces(file, data, add);
  } catch (const EnoughText&) {
    return sample;
  }
  return sample;
}

/// The bytes of text in files, an estimate for compressed ones.
double bytes_in(const TextFiles& files, double packed_ratio) {
  double bytes = 0;
  for (const auto& file : files.files) {
    std::error_code error;
    const auto size = static_cast<double>(std::filesystem::file_size(file.path, error));
    const bool is_packed = file.compression != Compression::none || file.kind == TextKind::parquet;
    if (!error) bytes += is_packed ? packed_ratio * size : size;
  }
  return bytes;
}

TextSize large_text_size(const TextFiles& files, const config::Data& data,
                         const TextEncoding& encoding) {
  constexpr double kPackedRatio = 4;  // usual compression ratio of text
  const auto sample = sample_of(files, data, encoding);
  TextSize size{.is_estimate = true};
  if (sample.tokens == 0) return size;
  size.bytes_per_token = sample.bytes / sample.tokens;
  size.tokens =
      std::round(std::max(sample.tokens, bytes_in(files, kPackedRatio) / *size.bytes_per_token));
  return size;
}

/// Refuses token files that are read as a wrong type, whose first ids are not of the vocabulary:
/// their number would be wrong. A header or a manifest names the type.
/// \throws Error (data, exit code 65)
void check_first_ids(const std::vector<std::string>& inputs, const config::Data& data,
                     std::int64_t vocabulary) {
  if (data.token_type != "auto") return;
  for (const auto& name : inputs) {
    const auto input = token_input(name);
    if (input.manifest) continue;
    for (const auto& path : input.files) {
      const TokenFile file(path, nullptr, vocabulary);
      if (file.layout().format == TokenFormat::tokens) file.check_first_ids(vocabulary);
    }
  }
}

/// Takes off the validation part of token files or of a large text. It begins after an end-of-text
/// token, which is not searched.
void take_off_validation(TextSize& size, double fraction) {
  size.tokens -= std::floor(size.tokens * fraction);
  size.documents -= std::llround(static_cast<double>(size.documents) * fraction);
  size.is_estimate = true;
}

/// The sizes of a corpus in memory.
TextSize text_size_of(const Corpus& corpus) {
  TextSize size{.tokens = static_cast<double>(corpus.tokens.size()),
                .documents = corpus.document_count};
  if (!corpus.token_lengths || corpus.tokens.size() == 0) return size;
  double bytes = 0;
  for (const auto id : corpus.tokens.range(0, corpus.tokens.size())) {
    bytes += (*corpus.token_lengths)[static_cast<std::size_t>(id)];
  }
  if (corpus.text_bytes) {
    bytes += static_cast<double>(corpus.text_bytes->read - corpus.text_bytes->counted);
  }
  size.bytes_per_token = bytes / size.tokens;
  return size;
}

TextSize text_size_of(const std::vector<std::string>& inputs, const config::Data& data,
                      const TextEncoding& encoding, std::int64_t vocabulary,
                      bool is_vocabulary_named) {
  const bool is_builtin = builtin_of(inputs, "data.train") != nullptr;
  if (!is_builtin && are_token_files(inputs, data)) {
    check_ids_are_known(inputs, encoding, is_vocabulary_named);
    const auto count = token_count(inputs, data, vocabulary);
    check_first_ids(inputs, data, vocabulary);
    return {.tokens = static_cast<double>(count.tokens), .documents = count.documents};
  }
  if (!is_builtin) {
    const auto files = find_text_files(inputs, data);
    if (is_large_text(files.files)) return large_text_size(files, data, encoding);
  }
  auto one = data;
  one.train = inputs;
  one.weights.clear();
  one.ood.clear();
  // Keys of the other sources of a mixture; text_sizes() has checked them all.
  const config::Data usual;
  one.token_type = usual.token_type;
  if (is_builtin) one.validation_fraction = usual.validation_fraction;
  const bool has_keys = !is_builtin && has_fields(find_text_files(inputs, data).files);
  if (!has_keys) one.text_key = usual.text_key;
  const auto corpora = load_corpora(one, /*context=*/1, vocabulary);
  auto size = text_size_of(corpora.train.front().corpus);
  size.warnings = corpora.warnings;
  return size;
}

}  // namespace

std::vector<TextSize> text_sizes(const config::Data& data, std::int64_t vocabulary) {
  check_unused_keys(data);
  const TextEncoding encoding(data);
  check_one_tokenizer(token_files_of(data, /*with_training_text=*/true), encoding.tokenizer());
  const auto limit = vocabulary == 0 ? encoding.vocabulary() : vocabulary;
  const bool is_mixture = !data.weights.empty();
  double sum = 0;
  for (const auto weight : data.weights) sum += weight;
  std::vector<TextSize> sizes;
  for (std::size_t i = 0; i < (is_mixture ? data.train.size() : 1); ++i) {
    const auto inputs = is_mixture ? std::vector{data.train[i]} : data.train;
    auto size = text_size_of(inputs, data, encoding, limit, vocabulary != 0);
    const bool is_whole = size.is_estimate || are_token_files(inputs, data);
    const bool is_split = data.validation == std::vector<std::string>{"auto"};
    if (is_whole && is_split && builtin_of(inputs, "data.train") == nullptr) {
      take_off_validation(size, data.validation_fraction);
    }
    size.name = inputs.front();
    size.share = is_mixture ? data.weights[i] / sum : 1;
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace evenkeel::data
