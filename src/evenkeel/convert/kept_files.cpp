// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/kept_files.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/version.h"
#include "evenkeel/store/imported_files.h"

namespace evenkeel::convert {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kOriginName = "origin.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kSpecialTokens = "special_tokens_map.json";

/// True for a file of a model that is kept.
bool is_kept_name(const std::string& name) {
  return name == kTokenizerConfig || name == kSpecialTokens || name == "added_tokens.json" ||
         name == "generation_config.json" || name.starts_with("chat_template");
}

/// A token id, a list of token ids, or null.
bool is_token_id(const nlohmann::json& value) {
  const auto is_one = [](const nlohmann::json& each) { return each.is_number_unsigned(); };
  if (value.is_array()) return std::all_of(value.begin(), value.end(), is_one);
  return is_one(value) || value.is_null();
}

/// What says whether a tokenizer is that of the imported model.
OrderedJson tokenizer_key(const data::TextEncoding& encoding) {
  const auto end = encoding.end_of_text();
  return {{"digest", encoding.tokenizer().digest()},
          {"end_of_text", end ? OrderedJson(*end) : OrderedJson()},
          {"begin", encoding.prompt_begins_with_end_of_text()}};
}

/// The JSON object of a file; an empty one if the file is missing or damaged.
OrderedJson object_in(const store::Directory& folder, const char* name) {
  if (!folder.has_file(name)) return OrderedJson::object();
  auto json = OrderedJson::parse(folder.read(name), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : OrderedJson::object();
}

/// A kept file, or nullopt for a tokenizer whose Python code is not there. Its length is that of
/// the run where the run changed it.
/// \param before  model.context of the import; null: not known
std::optional<std::string> kept_text(const std::string& name, std::string content,
                                     const OrderedJson& before, std::int64_t context) {
  if (name != kTokenizerConfig) return content;
  auto json = OrderedJson::parse(content, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return content;
  if (json.contains("auto_map")) return std::nullopt;
  if (!before.is_number_integer() || before == context) return content;
  json["model_max_length"] = context;
  return json.dump(2) + "\n";
}

bool has_name(const NamedTexts& files, std::string_view name) {
  return std::ranges::any_of(files, [&](const auto& each) { return each.first == name; });
}

/// A tokenizer_config.json without begin, end and padding.
std::string without_tokens(const std::string& content) {
  auto json = parse_ordered_json(content);
  for (const auto* const key : {"bos_token", "eos_token", "pad_token"}) json.erase(key);
  return json.dump(2) + "\n";
}

std::optional<store::Directory> imported_folder(const store::Directory& run) {
  if (!run.has_folder(store::kImportedName)) return std::nullopt;
  return run.folder(store::kImportedName);
}

}  // namespace

OrderedJson origin_json(const ImportOrigin& origin) {
  return {{"version", kVersion},
          {"class", origin.architecture},
          {"folder", std::filesystem::absolute(origin.folder).lexically_normal().string()},
          {"config", *origin.config}};
}

void keep_files(const store::Directory& run, const ImportOrigin& origin) {
  run.make_folder(store::kImportedName);
  const auto folder = run.folder(store::kImportedName);
  auto about = origin_json(origin);
  about.erase("config");
  auto ids = OrderedJson::object();
  for (const auto* const key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    const auto found = origin.config->find(key);
    if (found != origin.config->end() && is_token_id(*found)) ids[key] = *found;
  }
  about["token_ids"] = ids;
  about["context"] = origin.config->value("max_position_embeddings", nlohmann::json());
  if (origin.encoding != nullptr) about["tokenizer"] = tokenizer_key(*origin.encoding);
  folder.write(kOriginName, about.dump(2) + "\n");
  for (const auto& name : store::Directory(origin.folder).entries()) {
    const auto path = origin.folder / name;  // maybe a link, as in the cache of Hugging Face
    std::error_code none;
    if (!is_kept_name(name) || !std::filesystem::is_regular_file(path, none)) continue;
    folder.write(name, read_file(path));
  }
}

std::optional<KeptFiles> kept_files(const store::Directory& run, const data::TextEncoding& encoding,
                                    std::int64_t context) {
  const auto folder = imported_folder(run);
  if (!folder) return std::nullopt;
  const auto about = object_in(*folder, kOriginName);
  const auto ids = about.find("token_ids");
  const bool fits = about.value("tokenizer", OrderedJson()) == tokenizer_key(encoding);
  if (!fits || ids == about.end() || !ids->is_object()) return std::nullopt;
  KeptFiles kept = {.files = {}, .token_ids = *ids};
  for (const auto& name : folder->entries()) {
    if (!is_kept_name(name) || !folder->has_file(name)) continue;
    auto content =
        kept_text(name, folder->read(name), about.value("context", OrderedJson()), context);
    if (content) kept.files.emplace_back(name, *std::move(content));
  }
  return kept;
}

void take_kept(NamedTexts& files, const KeptFiles& kept) {
  const bool has_config = has_name(kept.files, kTokenizerConfig);
  const bool has_map = has_name(kept.files, kSpecialTokens);
  // transformers reads the map after tokenizer_config.json: one of ours would replace its tokens.
  if (has_config && !has_map) {
    std::erase_if(files, [](const auto& each) { return each.first == kSpecialTokens; });
  }
  for (auto& [name, content] : files) {
    if (has_map && !has_config && name == kTokenizerConfig) content = without_tokens(content);
  }
  for (const auto& each : kept.files) {
    std::erase_if(files, [&](const auto& other) { return other.first == each.first; });
    files.push_back(each);
  }
}

std::string origin_text(const store::Directory& run) {
  auto about = object_in(run, "import.json");
  if (const auto folder = imported_folder(run); folder && about.empty()) {
    about = object_in(*folder, kOriginName);
  }
  const auto word = [&](const char* key) {
    const auto found = about.find(key);
    return found != about.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (word("class").empty() || word("folder").empty()) return "";
  return text(word("class"), " in ", word("folder"));
}

}  // namespace evenkeel::convert
