// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "evenkeel/tokenizer/byte_characters.h"
#include "evenkeel/tokenizer/metaspace.h"
#include "evenkeel/tokenizer/tokenizer_json.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

/// Bytes that no UTF-8 text has.
bool occurs_in_utf8(int byte) {
  return byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
}

/// Reads the model of a tokenizer.json.
class BpeReader {
 public:
  BpeReader(const Field& field, const Decoder& decoder, Model& model)
      : field_(field), decoder_(decoder), model_(model), bpe_(model.bpe) {}

  void read(Bpe::Symbols symbols) {
    bpe_.symbols = symbols;
    bpe_.ignore_merges = field_["ignore_merges"].flag(false);
    bpe_.byte_ids.fill(kNoId);
    read_vocabulary();
    check_bytes();
    read_merges();
    if (bpe_.ignore_merges) bpe_.words = texts_;
  }

 private:
  void read_vocabulary() {
    const auto vocabulary = field_["vocab"];
    texts_.reserve(vocabulary.size_of("object"));
    std::vector<bool> taken;
    for (const auto& [text, value] : vocabulary.value().items()) {
      const auto refused = [&, name = text.c_str()](const std::string& wanted) {
        vocabulary[name].refuse_value(wanted);
      };
      if (!value.is_number_unsigned()) refused("a number of at least 0");
      const auto id = value.template get<std::uint64_t>();
      if (id >= kMaxVocabulary) refused(evenkeel::text("less than ", kMaxVocabulary));
      if (id >= taken.size()) taken.resize(id + 1);
      if (taken[id]) refused("an id that no other token has");
      taken[id] = true;
      bpe_.symbols == Bpe::Symbols::byte_level ? add_byte_token(text, static_cast<Id>(id))
                                               : add_character_token(text, static_cast<Id>(id));
    }
  }

  void add_byte_token(const std::string& text, Id id) {
    auto bytes = bytes_of_characters(text);
    if (!bytes) {  // no word has it, but an added token may have this text
      model_.add_token(text, id);
      return;
    }
    if (bytes->size() == 1) bpe_.byte_ids[static_cast<unsigned char>(bytes->front())] = id;
    texts_.emplace(*bytes, id);
    model_.add_token(std::move(*bytes), id);
  }

  void add_character_token(const std::string& text, Id id) {
    texts_.emplace(text, id);
    if (const auto byte = fallback_byte(text)) {
      bpe_.byte_ids[*byte] = id;
      model_.add_token(std::string(1, static_cast<char>(*byte)), id);
      return;
    }
    if (!text.empty()) {
      const auto [code, length] = decode_utf8(text.data());
      if (length == text.size()) bpe_.character_ids.set(code, id);
    }
    model_.add_token(decoder_.metaspace_to_space ? with_spaces(text) : text, id);
  }

  /// Without byte tokens a word can have unknown characters, which unk_token and fuse_unk are for.
  void check_bytes() const {
    int missing = -1;
    for (int byte = 0; byte < 256 && missing < 0; ++byte) {
      const bool is_needed = bpe_.symbols == Bpe::Symbols::characters || occurs_in_utf8(byte);
      if (is_needed && bpe_.byte_ids[static_cast<std::size_t>(byte)] == kNoId) missing = byte;
    }
    if (missing < 0) return;
    if (bpe_.symbols == Bpe::Symbols::characters) {
      refuse(field_["vocab"].where(), "must have a token of each byte for byte_fallback, but byte ",
             missing, " has none");
    }
    if (!field_["unk_token"].is_null()) {
      field_["unk_token"].refuse_value("null where a byte has no token");
    }
  }

  void read_merges() {
    const auto merges = field_["merges"];
    const auto count = merges.size_of("array");
    bpe_.merges = Merges(count);
    Neighbors neighbors;
    bool merges_bytes = false;  // of a character without a token: then characters say too little
    for (std::size_t rank = 0; rank < count; ++rank) {
      const auto [left, right] = parts_of(merges, rank);
      const auto a = token_of(merges, rank, left), b = token_of(merges, rank, right);
      const auto merged = token_of(merges, rank, left + right);
      bpe_.merges.add(a, b, static_cast<std::uint32_t>(rank), merged);
      if (bpe_.symbols == Bpe::Symbols::byte_level) {
        bpe_.neighbors.add(*bytes_of_characters(left + right));
      } else {
        neighbors.add(left + right);
      }
      merges_bytes = merges_bytes || fallback_byte(left) || fallback_byte(right);
    }
    const bool may_divide = bpe_.symbols == Bpe::Symbols::characters && !bpe_.ignore_merges;
    if (may_divide && !merges_bytes) model_.neighbors = neighbors;
  }

  static std::pair<std::string, std::string> parts_of(const Field& merges, std::size_t rank) {
    const auto& value = merges.value()[rank];
    if (value.is_string()) {
      const auto& both = value.get_ref<const std::string&>();
      const auto space = both.find(' ');
      if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
        return {both.substr(0, space), both.substr(space + 1)};
      }
    } else if (value.is_array() && value.size() == 2 && value[0].is_string() &&
               value[1].is_string()) {
      return {value[0].get<std::string>(), value[1].get<std::string>()};
    }
    merges[rank].refuse_value("two tokens");
  }

  Id token_of(const Field& merges, std::size_t rank, const std::string& text) const {
    const auto bytes = bpe_.symbols == Bpe::Symbols::byte_level ? bytes_of_characters(text) : text;
    const auto found = bytes ? texts_.find(*bytes) : texts_.end();
    if (found == texts_.end()) merges[rank].refuse_value("two tokens whose union is a token");
    return found->second;
  }

  const Field& field_;
  const Decoder& decoder_;
  Model& model_;
  Bpe& bpe_;
  IdByText texts_;  // tokens by what a word has: bytes, or characters
};

void check_fields(const Field& field) {
  if (!field["dropout"].is_null() && field["dropout"].value() != 0) {
    field["dropout"].refuse_value("null");
  }
  for (const auto* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto each = field[key];
    if (!each.is_null() && !each.string().empty()) each.refuse_value("null");
  }
}

}  // namespace

void read_bpe(const Field& field, Bpe::Symbols symbols, const Decoder& decoder, Model& out) {
  check_fields(field);
  BpeReader(field, decoder, out).read(symbols);
}

}  // namespace evenkeel::tokenizer
