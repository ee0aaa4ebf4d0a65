// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_size.h"

#include <algorithm>
#include <filesystem>

#include "evenkeel/data/builtins.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/token_cache.h"
#include "evenkeel/data/token_corpus.h"

namespace evenkeel::data {

namespace {

/// Ends the reading of a text.
struct EnoughText {};

/// Bytes, tokens and documents of the first 16 MiB of a text.
struct TextSample {
  double bytes = 0, tokens = 0;
  std::int64_t documents = 0;
};

TextSample sample_of(const TextFiles& files, const config::Data& data,
                     const TextEncoding& encoding) {
  constexpr double kSample = 16.0 * (1 << 20);
  TextSample sample;
  const auto add = [&](std::string_view piece, bool is_end) {
    sample.bytes += static_cast<double>(piece.size());
    sample.tokens += static_cast<double>(encoding.encode(piece).size() + (is_end ? 1 : 0));
    sample.documents += is_end ? 1 : 0;
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
  size.bytes_per_token = sample.bytes / sample.tokens;
  size.tokens = std::max(sample.tokens, bytes_in(files, kPackedRatio) / *size.bytes_per_token);
  return size;
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
  return text_size_of(load_corpora(one, /*context=*/1, vocabulary).train.front().corpus);
}

}  // namespace

std::vector<TextSize> text_sizes(const config::Data& data, std::int64_t vocabulary) {
  check_unused_keys(data);
  const TextEncoding encoding(data);
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
      size.tokens *= 1 - data.validation_fraction;
    }
    size.name = inputs.front();
    size.share = is_mixture ? data.weights[i] / sum : 1;
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace evenkeel::data
