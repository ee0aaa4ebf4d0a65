// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/gguf_tokens.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/convert/tokenizer_files.h"

namespace evenkeel::convert {

namespace {

using PlainJson = nlohmann::json;

constexpr std::uint64_t kMaxGgufTokenizer = std::uint64_t{256} << 20;

/// The steps of a pre-tokenizer, those of a Sequence one by one.
void append_pre_tokenizers(const PlainJson& pre_tokenizer, std::vector<PlainJson>& steps) {
  if (!pre_tokenizer.is_object()) return;
  if (pre_tokenizer.at("type") != "Sequence") return steps.push_back(pre_tokenizer);
  for (const auto& each : pre_tokenizer.at("pretokenizers")) append_pre_tokenizers(each, steps);
}

/// Whether a step keeps the matches of its pattern, and what is between them, as words.
bool keeps_matches(const PlainJson& step) {
  const bool is_inverted = step.value("invert", false);
  return step.at("behavior") == (is_inverted ? "Removed" : "Isolated");
}

/// llama.cpp's name of a regular expression: GPT-4's with groups of three digits, or of one.
std::string regex_name(std::string_view regex, bool ignore_merges) {
  constexpr std::string_view kWords = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  constexpr std::string_view kOthers = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  for (const std::string_view contractions :
       {"(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)",
        "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"}) {
    const auto whole = [&](std::string_view digits) {
      return text(contractions, kWords, digits, kOthers) == regex;
    };
    if (whole("{1,3}")) return ignore_merges ? "llama-bpe" : "dbrx";
    if (whole("") && !ignore_merges) return "qwen2";
  }
  return "";
}

/// llama.cpp's name of the steps that divide words; "" if it has none. Without merges each byte is
/// a token, whatever the words.
std::string pattern_name(const PlainJson& tokenizer) {
  std::vector<PlainJson> steps;
  append_pre_tokenizers(tokenizer.value("pre_tokenizer", PlainJson()), steps);
  const auto& model = tokenizer.at("model");
  if (steps.empty() || steps.back().at("type") != "ByteLevel") return "";
  const bool ignore_merges = model.value("ignore_merges", false);
  const bool uses_regex = steps.back().value("use_regex", true);
  if (steps.back().value("add_prefix_space", true)) return "";
  if (steps.size() == 1) {
    const bool is_gpt2 = (uses_regex && !ignore_merges) || model.at("merges").empty();
    return is_gpt2 ? "gpt-2" : "";
  }
  if (steps.size() > 2 || uses_regex || steps.front().at("type") != "Split") return "";
  const auto regex = steps.front().at("pattern").value("Regex", "");
  return keeps_matches(steps.front()) ? regex_name(regex, ignore_merges) : "";
}

[[noreturn]] void refuse_tokenizer(const std::string& what) {
  throw Error(Exit::usage, text("--as gguf: ", what,
                                "; export it without --as, and convert it with llama.cpp's "
                                "convert_hf_to_gguf.py"));
}

/// The tokens and their types by id.
struct TokenLists {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
};

TokenLists token_lists(const PlainJson& tokenizer, std::int64_t rows) {
  constexpr std::int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5;
  TokenLists lists;
  for (std::int64_t i = 0; i < rows; ++i) {
    lists.tokens.push_back(text("[PAD", i, "]"));
    lists.types.push_back(kUnused);
  }
  const auto set = [&](const PlainJson& id, const std::string& token, std::int32_t type) {
    const auto at = id.get<std::int64_t>();
    if (at < 0 || at >= rows) return;
    lists.tokens[static_cast<std::size_t>(at)] = token;
    lists.types[static_cast<std::size_t>(at)] = type;
  };
  for (const auto& [token, id] : tokenizer.at("model").at("vocab").items()) {
    set(id, token, kNormal);
  }
  for (const auto& each : tokenizer.at("added_tokens")) {
    set(each.at("id"), each.at("content").get<std::string>(),
        each.at("special").get<bool>() ? kControl : kUserDefined);
  }
  return lists;
}

/// The special token that ends a turn of a chat, by its text, as llama.cpp searches it: the first
/// of these names. A file without the key leaves the choice to the order of a hash table.
std::optional<std::uint32_t> end_of_turn(const tokenizer::Tokenizer& tokenizer, std::int64_t rows) {
  for (const std::string_view name :
       {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<EOT>"}) {
    for (const auto& each : tokenizer.special_tokens()) {
      if (each.text == name && std::int64_t{each.id} < rows) return each.id;
    }
  }
  return std::nullopt;
}

/// Begin, end and padding are end-of-text.
void add_special_ids(GgufKeys& keys, const data::TextEncoding& encoding, std::int64_t rows) {
  if (const auto end = encoding.end_of_text()) {
    for (const auto* const key : {"bos", "eos", "padding"}) {
      keys.emplace_back(text("tokenizer.ggml.", key, "_token_id"),
                        static_cast<std::uint32_t>(*end));
    }
  }
  if (const auto end = end_of_turn(encoding.tokenizer(), rows)) {
    keys.emplace_back("tokenizer.ggml.eot_token_id", *end);
  }
  keys.emplace_back("tokenizer.ggml.add_bos_token", encoding.prompt_begins_with_end_of_text());
}

}  // namespace

void add_token_keys(GgufKeys& keys, const data::TextEncoding& encoding, std::int64_t rows) {
  const auto& kind = encoding.tokenizer().kind();
  const auto& path = encoding.tokenizer().path();
  if (!encoding.is_bytes() && (kind != "byte-level BPE" || !path.ends_with(".json"))) {
    refuse_tokenizer(
        text("only the tokens of a byte-level BPE are written, and the tokenizer is ", kind));
  }
  const auto json =
      encoding.is_bytes() ? byte_tokenizer_json() : read_file(path, kMaxGgufTokenizer);
  try {
    const auto tokenizer = parse_json(json, path);
    const auto pattern = pattern_name(tokenizer);
    if (pattern.empty()) {
      refuse_tokenizer("the pattern that divides words has no name that llama.cpp knows");
    }
    std::vector<std::string> merges;
    for (const auto& each : tokenizer.at("model").at("merges")) {
      merges.push_back(each.is_string()
                           ? each.get<std::string>()
                           : each.at(0).get<std::string>() + " " + each.at(1).get<std::string>());
    }
    auto lists = token_lists(tokenizer, rows);
    keys.emplace_back("tokenizer.ggml.model", std::string("gpt2"));
    keys.emplace_back("tokenizer.ggml.pre", pattern);
    keys.emplace_back("tokenizer.ggml.tokens", std::move(lists.tokens));
    keys.emplace_back("tokenizer.ggml.token_type", std::move(lists.types));
    keys.emplace_back("tokenizer.ggml.merges", std::move(merges));
  } catch (const PlainJson::exception&) {
    throw Error(Exit::data, text(path, ": not a tokenizer.json of a byte-level BPE"));
  }
  add_special_ids(keys, encoding, rows);
}

}  // namespace evenkeel::convert
