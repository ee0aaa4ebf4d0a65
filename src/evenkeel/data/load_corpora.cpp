// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/load_corpora.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/builtins.h"
#include "evenkeel/data/corpus_checks.h"
#include "evenkeel/data/detokenize.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/shard_tokenizers.h"
#include "evenkeel/data/split.h"
#include "evenkeel/data/texts.h"
#include "evenkeel/data/token_cache.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::data {

namespace {

using Inputs = std::vector<std::string>;
const Inputs kAuto = {"auto"};

/// Appends the tokens of a document, and end-of-text. Leaves out a document without tokens.
void append_encoded(Corpus& corpus, const TextEncoding& encoding, tokenizer::Encoder& encoder,
                    std::string_view document, double nats) {
  std::vector<TokenId> ids;
  encoder.encode(document, ids);
  if (ids.empty()) return;
  *corpus.text_bytes += encoding.text_bytes(document, ids);
  *corpus.text_bytes += encoding.end_of_text_bytes(1);
  const auto begin = corpus.tokens.size();
  for (const auto id : ids) corpus.tokens.push_back(id);
  corpus.documents.push_back({begin, corpus.tokens.size(), nats});
  corpus.tokens.push_back(*corpus.end_of_text);
  ++corpus.document_count;
}

Corpus empty_corpus(const TextEncoding& encoding) {
  Corpus corpus;
  corpus.end_of_text = encoding.required_end_of_text();
  corpus.token_lengths = encoding.token_lengths();
  corpus.text_bytes = TextBytes();
  if (encoding.begins_with_end_of_text()) corpus.tokens.push_back(*corpus.end_of_text);
  return corpus;
}

Corpus tokens_of(const Documents& documents, const TextEncoding& encoding) {
  auto corpus = empty_corpus(encoding);
  tokenizer::Encoder encoder(encoding.tokenizer(), encoding.special_in_text());
  for (const auto& document : documents) append_encoded(corpus, encoding, encoder, document, 0);
  return corpus;
}

/// A generated text, whose tokens are bytes, in the tokens of the run.
Corpus encoded(Corpus bytes, const TextEncoding& encoding, const char* name) {
  if (encoding.is_bytes() && encoding.begins_with_end_of_text()) return bytes;
  if (bytes.answer_start_token) {
    throw Error(Exit::data, text(kBuiltin, name,
                                 " needs data.tokenizer = \"bytes\" and no other "
                                 "data.begin, because its answers begin at a byte"));
  }
  auto corpus = empty_corpus(encoding);
  corpus.has_known_entropy = bytes.has_known_entropy;
  tokenizer::Encoder encoder(encoding.tokenizer(), encoding.special_in_text());
  for (const auto& document : bytes.documents) {
    const auto ids = bytes.tokens.range(document.begin, document.end - document.begin);
    append_encoded(corpus, encoding, encoder, detokenize(ids), document.nats);
  }
  return corpus;
}

Corpus corpus_described(Corpus corpus, const std::string& what, std::int64_t bytes) {
  const auto documents = corpus.document_count;
  corpus.description =
      text(what, ", ", with_commas(documents), " document", documents == 1 ? "" : "s", ", ",
           bytes_text(static_cast<double>(bytes)));
  corpus.digest = corpus.tokens.digest();
  return corpus;
}

std::int64_t bytes_of(const Corpus& bytes) {
  std::int64_t sum = 0;
  for (const auto& document : bytes.documents) sum += document.end - document.begin;
  return sum;
}

std::int64_t bytes_of(const Documents& documents) {
  std::int64_t sum = 0;
  for (const auto& document : documents) sum += static_cast<std::int64_t>(document.size());
  return sum;
}

Corpus builtin_corpus(Corpus bytes, const Builtin& builtin, const TextEncoding& encoding) {
  const auto size = bytes_of(bytes);
  return corpus_described(encoded(std::move(bytes), encoding, builtin.name),
                          text(kBuiltin, builtin.name), size);
}

Corpus text_corpus(const Documents& documents, const std::string& what,
                   const TextEncoding& encoding) {
  auto corpus = tokens_of(documents, encoding);
  const auto documents_read = static_cast<std::int64_t>(documents.size());
  const auto left_out = without_tokens_text(documents_read - corpus.document_count);
  return corpus_described(std::move(corpus), what + (left_out.empty() ? "" : ", ") + left_out,
                          bytes_of(documents));
}

/// The name, with a number if another source has the same one.
std::string unique_name(const std::vector<Source>& sources, const std::string& name) {
  const auto same = std::count_if(sources.begin(), sources.end(),
                                  [&](const Source& each) { return each.name.starts_with(name); });
  return same == 0 ? name : text(name, " (", same + 1, ")");
}

/// Loads the texts of a run.
class CorporaLoader {
 public:
  CorporaLoader(const config::Data& data, std::int64_t context, std::int64_t vocabulary,
                std::shared_ptr<const TextEncoding> encoding, const StopWanted& stop)
      : data_(data),
        context_(context),
        stop_(stop),
        encoding_(std::move(encoding)),
        is_vocabulary_named_(vocabulary != 0),
        vocabulary_(vocabulary == 0 ? encoding_->vocabulary() : vocabulary) {
    if (!encoding_->is_bytes()) encoding_->check_holds_text(vocabulary_);
    encoding_->check_end_of_text(vocabulary_);
  }

  Corpora load(bool with_training_text) const;
  Source load_named(const config::NamedText& text) const;

 private:
  std::vector<Inputs> training_inputs() const;
  bool is_split_off(const Inputs& train) const;
  std::pair<Corpus, std::optional<Corpus>> training_corpora(const Inputs& inputs) const;
  Corpus large_text_corpus(const TextFiles& files) const;
  Corpus evaluation_corpus(const Inputs& inputs, const std::string& key) const;
  void check_text(const std::string& key) const;
  void check_shards(const config::Data& data, bool reads_training) const;

  const config::Data& data_;
  std::int64_t context_;
  StopWanted stop_;
  std::shared_ptr<const TextEncoding> encoding_;
  bool is_vocabulary_named_;
  std::int64_t vocabulary_;
};

/// The inputs of each source: one list, or one input per source of a mixture.
std::vector<Inputs> CorporaLoader::training_inputs() const {
  if (data_.weights.empty()) return {data_.train};
  std::vector<Inputs> sources;
  sources.reserve(data_.train.size());
  for (const auto& input : data_.train) sources.push_back({input});
  return sources;
}

/// True if the validation text is a part of the training text or of the same builtin.
bool CorporaLoader::is_split_off(const Inputs& train) const {
  return data_.validation == kAuto ||
         (builtin_of(train, "data.train") != nullptr && data_.validation == train);
}

/// A training text, and its validation text if that is split off.
std::pair<Corpus, std::optional<Corpus>> CorporaLoader::training_corpora(
    const Inputs& inputs) const {
  const bool split_off = is_split_off(inputs);
  if (const auto* const builtin = builtin_of(inputs, "data.train")) {
    check_text("data.train");
    auto [train, validation] = builtin->generate();
    std::optional<Corpus> other;
    if (split_off) other = builtin_corpus(std::move(validation), *builtin, *encoding_);
    return {builtin_corpus(std::move(train), *builtin, *encoding_), std::move(other)};
  }
  for (const auto& input : inputs) refuse_mixed_folder(input, data_);
  if (are_token_files(inputs, data_)) {
    auto whole = token_corpus(inputs, data_, *encoding_, vocabulary_, is_vocabulary_named_);
    if (!split_off) return {std::move(whole), std::nullopt};
    return split_tokens(whole, data_.validation_fraction);
  }
  check_text("data.train");
  const auto files = find_text_files(inputs, data_);
  if (is_large_text(files.files)) {
    auto whole = large_text_corpus(files);
    if (!split_off) return {std::move(whole), std::nullopt};
    return split_tokens(whole, data_.validation_fraction);
  }
  auto texts = read_texts(inputs, data_);
  if (!split_off) {
    auto train = text_corpus(texts.documents, texts.description, *encoding_);
    train.files = digests_of(files.files);
    return {std::move(train), std::nullopt};
  }
  const auto all = static_cast<double>(texts.bytes());
  const auto [front, back] = split(std::move(texts.documents), data_.validation_fraction);
  const double share = all > 0 ? 1 - static_cast<double>(bytes_of(front)) / all : 0;
  auto train = text_corpus(front, texts.description, *encoding_);
  train.files = digests_of(files.files);
  return {
      std::move(train),
      text_corpus(back, text("the last ", percent(share), " of ", texts.description), *encoding_)};
}

/// An evaluation text: the validation documents of a builtin, or files.
Corpus CorporaLoader::evaluation_corpus(const Inputs& inputs, const std::string& key) const {
  if (const auto* const builtin = builtin_of(inputs, key)) {
    check_text(key);
    return builtin_corpus(builtin->generate_validation(), *builtin, *encoding_);
  }
  for (const auto& input : inputs) refuse_mixed_folder(input, data_);
  if (are_token_files(inputs, data_)) {
    return token_corpus(inputs, data_, *encoding_, vocabulary_, is_vocabulary_named_);
  }
  check_text(key);
  const auto files = find_text_files(inputs, data_);
  if (is_large_text(files.files)) return large_text_corpus(files);
  const auto texts = read_texts(inputs, data_);
  auto corpus = text_corpus(texts.documents, texts.description, *encoding_);
  corpus.files = digests_of(files.files);
  return corpus;
}

/// The tokens of a text that does not stay in memory.
Corpus CorporaLoader::large_text_corpus(const TextFiles& files) const {
  const auto digests = digests_of(files.files);
  const auto folder = cached_tokens(files.files, digests, data_, *encoding_, stop_);
  auto corpus = token_corpus({folder}, {}, *encoding_, encoding_->vocabulary(), true);
  corpus.text_bytes = cached_text_bytes(folder);
  *corpus.text_bytes += encoding_->end_of_text_bytes(corpus.document_count);
  if (encoding_->begins_with_end_of_text()) {
    Tokens all({encoding_->required_end_of_text()});
    all.append(corpus.tokens);
    corpus.tokens = std::move(all);
  }
  corpus.origin = files.description;
  corpus.files = digests;
  describe_tokens(corpus);
  return corpus;
}

/// Refuses a text for a model whose vocabulary is not the tokenizer's.
void CorporaLoader::check_text(const std::string& key) const {
  check_tokenizer_is_known(data_, *encoding_, vocabulary_, key);
  encoding_->check_holds_text(vocabulary_);
}

/// Compares the tokenizers of all shards before one of them is read. Without data.tokenizer, the
/// shards of an evaluation are compared with those of the training text, which it does not read.
void CorporaLoader::check_shards(const config::Data& data, bool reads_training) const {
  check_one_tokenizer(token_files_of(data, reads_training || encoding_->is_bytes()),
                      encoding_->tokenizer());
}

Corpora CorporaLoader::load(bool with_training_text) const {
  Corpora corpora{.encoding = encoding_};
  const auto inputs = training_inputs();
  const bool reads_training =
      with_training_text || std::any_of(inputs.begin(), inputs.end(),
                                        [&](const Inputs& each) { return is_split_off(each); });
  check_shards(data_, reads_training);
  double sum = 0;
  for (const auto weight : data_.weights) sum += weight;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!with_training_text && !is_split_off(inputs[i])) continue;
    const double share = data_.weights.empty() ? 1 : data_.weights[i] / sum;
    auto [train, validation] = training_corpora(inputs[i]);
    const auto name = unique_name(corpora.train, inputs[i].front());
    corpora.train.push_back({name, share, std::move(train)});
    check_training(corpora.train.back(), data_, context_);
    if (validation) corpora.validation.push_back({name, share, std::move(*validation)});
  }
  if (corpora.validation.empty()) {
    corpora.validation = {
        {data_.validation.front(), 1, evaluation_corpus(data_.validation, "data.validation")}};
  }
  if (!data_.ood.empty()) corpora.ood = evaluation_corpus(data_.ood, "data.ood");
  for (const auto& source : corpora.validation)
    check_evaluation(source.corpus, "data.validation", data_, context_);
  if (corpora.ood) check_evaluation(*corpora.ood, "data.ood", data_, context_);
  return corpora;
}

Source CorporaLoader::load_named(const config::NamedText& named) const {
  const auto key = text("evaluate.texts.", named.name);
  auto data = data_;
  data.validation = named.inputs;
  data.ood.clear();
  check_shards(data, /*reads_training=*/false);
  Source source{named.name, 1, evaluation_corpus(named.inputs, key)};
  check_evaluation(source.corpus, key, data_, context_);
  return source;
}

}  // namespace

std::string description(const std::vector<Source>& sources) {
  std::string out;
  for (const auto& source : sources) {
    const auto share = sources.size() == 1 ? std::string() : percent(source.share) + " of ";
    out += (out.empty() ? "" : "; ") + share + source.corpus.description;
  }
  return out;
}

std::string digest(const std::vector<Source>& sources) {
  if (sources.size() == 1) return sources.front().corpus.digest;
  std::string all;
  for (const auto& source : sources) {
    all += text(source.corpus.digest, " ", shortest(source.share), "\n");
  }
  return evenkeel::digest(all.data(), all.size());
}

Corpora load_corpora(const config::Data& data, std::int64_t context, std::int64_t vocabulary,
                     const StopWanted& stop) {
  check_unused_keys(data);
  const auto encoding = std::make_shared<const TextEncoding>(data);
  auto corpora =
      CorporaLoader(data, context, vocabulary, encoding, stop).load(/*with_training_text=*/true);
  corpora.warnings = corpora_warnings(corpora, data, context);
  return corpora;
}

Corpora load_evaluation_corpora(const config::Data& data,
                                std::shared_ptr<const TextEncoding> encoding, std::int64_t context,
                                std::int64_t vocabulary) {
  return CorporaLoader(data, context, vocabulary, std::move(encoding), {})
      .load(/*with_training_text=*/false);
}

std::vector<Source> load_named_texts(const std::vector<config::NamedText>& texts,
                                     const config::Data& data,
                                     std::shared_ptr<const TextEncoding> encoding,
                                     std::int64_t context, std::int64_t vocabulary) {
  std::vector<Source> sources;
  if (texts.empty()) return sources;
  const CorporaLoader loader(data, context, vocabulary, std::move(encoding), {});
  for (const auto& each : texts) sources.push_back(loader.load_named(each));
  return sources;
}

}  // namespace evenkeel::data
