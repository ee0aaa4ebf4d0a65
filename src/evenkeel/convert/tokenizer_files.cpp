// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include <filesystem>

#include "evenkeel/base/file.h"
#include "evenkeel/tokenizer/byte_characters.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{256} << 20;

/// The text of the end-of-text token; "" if there is none.
std::string end_of_text_string(const data::TextEncoding& encoding) {
  const auto id = encoding.end_of_text();
  if (!id) return "";
  for (const auto& special : encoding.tokenizer().special_tokens()) {
    if (special.id == *id) return special.text;
  }
  return encoding.tokenizer().token_bytes(*id);
}

Json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

/// The step that puts end-of-text before a text.
Json begin_processor(int id) {
  constexpr const char* kEnd = "<|endoftext|>";
  const Json token = {{"SpecialToken", {{"id", kEnd}, {"type_id", 0}}}};
  const auto sequence = [](const char* name) {
    return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  const auto ids = Json::array({id}), tokens = Json::array({kEnd});
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({token, sequence("A")})},
          {"pair", Json::array({token, sequence("A"), token, sequence("B")})},
          {"special_tokens", {{kEnd, {{"id", kEnd}, {"ids", ids}, {"tokens", tokens}}}}}};
}

}  // namespace

std::string byte_tokenizer_json(bool begins) {
  constexpr int kBytes = 256;
  Json vocabulary = Json::object();
  for (int byte = 0; byte < kBytes; ++byte) {
    const auto value = static_cast<char>(byte);
    vocabulary[tokenizer::characters_of_bytes({&value, 1})] = byte;
  }
  const Json end = {
      {"id", kBytes},    {"content", "<|endoftext|>"}, {"single_word", false}, {"lstrip", false},
      {"rstrip", false}, {"normalized", false},        {"special", true}};
  const Json out = {{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", Json::array({end})},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level(false, false)},
                    {"post_processor", begins ? begin_processor(kBytes) : Json()},
                    {"decoder", byte_level(true, true)},
                    {"model",
                     {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocabulary},
                      {"merges", Json::array()}}}};
  return out.dump(2) + "\n";
}

bool is_byte_tokenizer(const std::string& json) {
  return json == byte_tokenizer_json(false) || json == byte_tokenizer_json(true);
}

NamedTexts tokenizer_files(const data::TextEncoding& encoding, std::int64_t context) {
  NamedTexts files;
  const bool begins = encoding.begins_with_end_of_text() && encoding.end_of_text();
  std::string tokenizer_class = "PreTrainedTokenizerFast";
  if (encoding.is_bytes()) {
    files.emplace_back("tokenizer.json", byte_tokenizer_json(begins));
  } else {
    const std::filesystem::path path = encoding.tokenizer().path();
    const auto ending = path.extension().string();
    const bool is_known = ending == ".json" || ending == ".model";
    if (ending == ".model") tokenizer_class = "LlamaTokenizer";
    files.emplace_back(is_known ? "tokenizer" + ending : path.filename().string(),
                       read_file(path, kMaxTokenizerBytes));
  }
  Json config = {{"tokenizer_class", tokenizer_class}};
  Json special = Json::object();
  if (const auto end = end_of_text_string(encoding); !end.empty()) {
    for (const auto* const key : {"bos_token", "eos_token", "pad_token"}) {
      config[key] = end;
      special[key] = end;
    }
  }
  config["add_bos_token"] = begins;
  config["clean_up_tokenization_spaces"] = false;
  config["model_max_length"] = context;
  files.emplace_back("tokenizer_config.json", config.dump(2) + "\n");
  files.emplace_back("special_tokens_map.json", special.dump(2) + "\n");
  return files;
}

}  // namespace evenkeel::convert
