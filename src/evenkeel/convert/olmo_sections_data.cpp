// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/convert/olmo_sections.h"
#include "evenkeel/tasks/labels.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;
using Paths = std::vector<std::string>;

/// The strings of a list. \param place  for messages
Paths paths_of(const Json& list, const std::string& place) {
  Paths out;
  const bool is_list = list.is_array() && !list.empty();
  for (const auto& each : is_list ? list : Json::array()) {
    if (each.is_string() && !each.get<std::string>().empty())
      out.push_back(each.get<std::string>());
  }
  if (!is_list || out.size() != list.size()) {
    throw Error(Exit::data, text(place, " must be a list of paths, but is not"));
  }
  return out;
}

/// The paths of data.paths, or of all data.datasets by name, as OLMo joins them.
Paths training_paths(OlmoKeys& keys) {
  if (const auto* const list = keys.value("data.paths", "data.train")) {
    return paths_of(*list, keys.place("data.paths"));
  }
  std::map<std::string, Paths> sets;
  for (const auto& key : keys.names_in("data.datasets")) {
    sets[key] = paths_of(*keys.value(key, "data.train"), keys.place(key));
  }
  Paths out;
  for (const auto& [name, paths] : sets) out.insert(out.end(), paths.begin(), paths.end());
  return out;
}

void take_token_files(OlmoKeys& keys, config::Config& config) {
  auto& data = config.data;
  auto paths = training_paths(keys);
  const auto type = keys.word("data.memmap_dtype", "data.token_type").value_or("uint16");
  const bool is_known = type == "uint8" || type == "uint16" || type == "uint32" || type == "uint64";
  if (!is_known)
    keys.refuse("data.memmap_dtype", "\"uint8\", \"uint16\", \"uint32\" or \"uint64\"", "");
  data.token_type = type;
  data.mask_documents =
      keys.flag("data.generate_doc_lengths", "data.mask_documents").value_or(false);
  const bool has_url = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return path.find("://") != std::string::npos;
  });
  if (paths.empty()) {
    keys.note_missing("data.paths", "(none)", "set data.train");
    return;
  }
  if (has_url) {
    keys.note_missing("data.paths", "(addresses)",
                      "only files are read: download them, and set data.train to their folder");
  }
  data.train = std::move(paths);
  data.order = "olmo";
  keys.write("data.order");
}

void note_other_data(OlmoKeys& keys) {
  for (const auto& key : keys.names_in("data.instance_filter")) {
    keys.note(key, KeyUse::differs, "windows with repetitions are not left out of the loss");
  }
  for (const auto* const key : {"data.instance_filter", "data.label_mask_paths",
                                "data.custom_dataset", "data.chunk_size", "data.seed"}) {
    if (keys.has(key)) keys.note(key, KeyUse::differs, "this program has nothing like it");
  }
}

void take_olmo_tokenizer(OlmoKeys& keys, config::Config& config) {
  const auto name = keys.word("tokenizer.identifier", "data.tokenizer").value_or("gpt2");
  const auto end = keys.integer("model.eos_token_id", "data.end_of_text");
  if (name.ends_with(".json") || name.ends_with(".model")) {
    config.data.tokenizer = name;
    if (end) config.data.end_of_text = std::to_string(*end);
    if (end == 0 && name.find("dolma-v1_5") != std::string::npos) {
      keys.note_missing(
          "model.eos_token_id", "0",
          "token 0 of this tokenizer is |||IP_ADDRESS|||, and <|endoftext|> is 50279; "
          "set data.end_of_text to the token that ends the documents of the data");
    }
    return;
  }
  keys.note("tokenizer.identifier", KeyUse::differs,
            "no file: download its tokenizer.json, and set data.tokenizer and data.end_of_text");
  keys.note("model.eos_token_id", KeyUse::no_effect, "data.tokenizer is not set");
}

/// The name of a text in evaluate.texts: letters, digits, '_' and '-'.
std::string text_name(std::string name) {
  for (auto& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    if (!fits) c = '_';
  }
  return name.empty() ? "text" : name;
}

/// The texts of one evaluator: data.datasets by name, or data.paths under its label.
void take_texts(OlmoKeys& keys, const Json& evaluator, const std::string& label,
                config::Config& config) {
  const auto data = evaluator.value("data", Json::object());
  const auto place = text(keys.place("evaluators"), ": data of \"", label, "\"");
  if (!data.is_object()) throw Error(Exit::data, text(place, " must be a table, but is not"));
  auto sets = data.value("datasets", Json::object());
  if (!sets.is_object()) {
    throw Error(Exit::data, text(place, ": datasets must be a table, but is not"));
  }
  if (data.contains("paths")) sets[label] = data.at("paths");
  for (const auto& [name, list] : sets.items()) {
    config.evaluate.texts.push_back({text_name(name), paths_of(list, place)});
  }
}

/// The tasks and texts of the evaluators. A label that is no task here is named.
void take_evaluators(OlmoKeys& keys, config::Config& config) {
  const auto* const list = keys.value("evaluators", "evaluate.tasks");
  if (list == nullptr) return;
  if (!list->is_array()) keys.refuse("evaluators", "a list", "");
  std::string unknown;
  for (const auto& each : *list) {
    const auto label = each.is_object() ? each.value("label", Json()) : Json();
    if (!label.is_string()) keys.refuse("evaluators", "a list of tables with a label", "");
    const auto name = label.get<std::string>();
    const bool is_task = each.value("type", Json("lm")) == "downstream";
    if (!is_task) {
      take_texts(keys, each, name, config);
    } else if (tasks::find_label(name) != nullptr) {
      config.evaluate.tasks.push_back(name);
    } else {
      unknown += (unknown.empty() ? "" : ", ") + name;
    }
  }
  keys.note("evaluators", KeyUse::taken, "evaluate.tasks, evaluate.texts");
  if (!unknown.empty()) keys.note_missing("evaluators", unknown, "this program has no such task");
  if (!config.evaluate.tasks.empty()) config.evaluate.task_every = config.evaluate.every;
  for (const auto* const own : {"evaluate.texts", "evaluate.task_every"}) keys.write(own);
}

/// Validation text: the first text of the evaluators. Otherwise a tenth of the training data.
void take_validation(OlmoKeys& keys, config::Config& config) {
  const auto batches = keys.integer("eval_subset_num_batches", "evaluate.sequences").value_or(-1);
  constexpr std::int64_t kMostBatches = 1'000'000'000;
  if (batches < -1 || batches > kMostBatches) {
    keys.refuse("eval_subset_num_batches", "-1, or a number of batches", "");
  }
  const auto size =
      batches > 0 ? keys.integer("device_eval_batch_size", "evaluate.sequences") : std::nullopt;
  constexpr std::int64_t kEvalBatch = 16, kMostBatch = 1 << 24;
  if (size && (*size < 1 || *size > kMostBatch)) keys.refuse("device_eval_batch_size", ">= 1", "");
  config.evaluate.sequences = std::max<std::int64_t>(batches, 0) * size.value_or(kEvalBatch);
  if (!config.evaluate.texts.empty()) {
    config.data.validation = config.evaluate.texts.front().inputs;
    keys.write("data.validation");
  } else if (config.data.order == "olmo") {
    keys.note_missing("data.validation", "(none)",
                      "OLMo trains on all files; here the last tenth is validation text, unless "
                      "data.validation is set");
  }
}

}  // namespace

void take_olmo_data(OlmoKeys& keys, config::Config& config) {
  take_token_files(keys, config);
  note_other_data(keys);
  take_olmo_tokenizer(keys, config);
  take_evaluators(keys, config);
  take_validation(keys, config);
}

}  // namespace evenkeel::convert
