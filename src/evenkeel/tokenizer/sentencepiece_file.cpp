// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/sentencepiece_file.h"

#include <sentencepiece_processor.h>

#include <array>

#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/tokenizer/metaspace.h"
#include "evenkeel/tokenizer/refuse.h"
#include "evenkeel/tokenizer/sentencepiece_bpe.h"

namespace evenkeel::tokenizer {

namespace {

using sentencepiece::SentencePieceProcessor;

/// Fields of sentencepiece_model.proto.
constexpr std::uint64_t kTrainerSpec = 2, kModelType = 3;
constexpr std::uint64_t kNormalizerSpec = 3, kAddDummyPrefix = 3;
constexpr std::uint64_t kUnigram = 1, kBpe = 2;

/// The number of a field in a message of the model.
std::uint64_t number_of(std::string_view model, std::uint64_t message, std::uint64_t field,
                        std::uint64_t missing) {
  const auto spec = protobuf_field(model, message);
  const auto found = spec ? protobuf_field(spec->bytes, field) : std::nullopt;
  return found ? found->number : missing;
}

void check_model_type(const std::string& path, std::string_view content) {
  const auto type = number_of(content, kTrainerSpec, kModelType, kUnigram);
  if (type == kBpe) return;
  constexpr std::array<const char*, 5> kTypes = {"unknown", "unigram", "BPE", "word", "char"};
  refuse(path, "trainer_spec.model_type must be BPE, but is ",
         type < kTypes.size() ? kTypes[type] : kTypes[0], "; use a BPE model");
}

void add_pieces(const SentencePieceProcessor& processor, Model& model) {
  const int count = processor.GetPieceSize();
  for (int piece = 0; piece < count; ++piece) {
    const auto& text = processor.IdToPiece(piece);
    const auto id = static_cast<Id>(piece);
    if (processor.IsControl(piece)) {
      model.add_added_token(text, id, true);
      if (!text.empty()) model.raw_added.add({text, id, true});
    } else if (const auto byte = fallback_byte(text); byte && processor.IsByte(piece)) {
      model.add_token(std::string(1, static_cast<char>(*byte)), id);
    } else {
      model.add_token(with_spaces(text), id);
    }
  }
}

std::optional<Id> optional_id(int id) {
  return id < 0 ? std::nullopt : std::optional(static_cast<Id>(id));
}

}  // namespace

SentencePiece::SentencePiece(std::unique_ptr<SentencePieceProcessor> processor)
    : processor_(std::move(processor)) {}
SentencePiece::~SentencePiece() = default;

void SentencePiece::encode(std::string_view text, std::vector<Id>& out) const {
  std::vector<int> ids;
  const auto status = processor_->Encode({text.data(), text.size()}, &ids);
  if (!status.ok()) refuse("text", "SentencePiece must encode it, but says: ", status.ToString());
  for (const int id : ids) out.push_back(static_cast<Id>(id));
}

Model sentencepiece_file(const std::string& path, std::string_view content) {
  check_model_type(path, content);
  auto processor = std::make_unique<SentencePieceProcessor>();
  const auto status = processor->LoadFromSerializedProto({content.data(), content.size()});
  if (!status.ok()) {
    refuse(path, "must be a SentencePiece model, but: ", status.ToString(), "; copy it again");
  }
  Model model;
  model.kind = kSentencePiece;
  model.path = path;
  add_pieces(*processor, model);
  model.end_of_text = optional_id(processor->eos_id());
  model.begin_of_text = optional_id(processor->bos_id());
  model.strips_first_space = number_of(content, kNormalizerSpec, kAddDummyPrefix, 1) != 0;
  model.text_changes = read_sentencepiece_normalizer(content).changes();
  if (!read_sentencepiece_bpe(content, model)) {
    model.sentencepiece = std::make_shared<const SentencePiece>(std::move(processor));
  }
  return model;
}

}  // namespace evenkeel::tokenizer
