// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/config/section_builder.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

constexpr IntegerRange kTokenId = {0, (std::int64_t{1} << 32) - 1};
constexpr std::string_view kWantedSources =
    "a string, a list of strings, or a list of tables such as { path = \"a.txt\", weight = 0.5 }";

bool is_list_of_tables(const toml::node* node) {
  const auto* const list = node == nullptr ? nullptr : node->as_array();
  return list != nullptr && !list->empty() && list->get(0)->is_table();
}

/// Reads one source of a mixture: { path = "a.txt", weight = 0.5 }.
void read_source(TableReader& outer, const toml::node& node, Data& data) {
  if (!node.is_table()) outer.refuse("train", kWantedSources, node);
  TableReader table(*node.as_table(), text("data.train[", data.train.size(), "]"));
  const auto path = table.string("path", "");
  const double weight = table.number("weight", 1, kPositive);
  table.refuse_unknown_keys();
  if (path.empty()) table.refuse("path", "a file, a folder or a pattern", node);
  data.train.push_back(path);
  data.weights.push_back(weight);
}

void read_train(Config& config, TableReader& table) {
  const auto* const node = table.node("train");
  auto& data = config.data;
  if (!is_list_of_tables(node)) {
    const bool is_set = node != nullptr;
    data.train = table.strings("train", data.train);
    if (is_set) data.weights.clear();
    return;
  }
  data.train.clear();
  data.weights.clear();
  for (const auto& each : *node->as_array()) read_source(table, each, data);
}

std::string train_text(const Config& config) {
  const auto& data = config.data;
  if (data.weights.empty()) return keys_list_text(data.train);
  std::string out;
  for (std::size_t i = 0; i < data.train.size(); ++i) {
    out += text(out.empty() ? "" : ", ", "{ path = ", in_quotes(data.train[i]),
                ", weight = ", shortest(data.weights[i]), " }");
  }
  return "[" + out + "]";
}

/// A token id, or a string: "auto" or the text of a token.
void read_end_of_text(Config& config, TableReader& table) {
  const auto* const node = table.node("end_of_text");
  if (node == nullptr) return;
  if (node->is_integer()) {
    config.data.end_of_text = std::to_string(table.integer("end_of_text", 0, kTokenId));
    return;
  }
  config.data.end_of_text = table.string("end_of_text", "");
  if (config.data.end_of_text.empty()) {
    table.refuse("end_of_text", "\"auto\", a token or a token id", *node);
  }
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

/// true, false or "auto".
void read_begin(Config& config, TableReader& table) {
  const auto* const node = table.node("begin");
  if (node == nullptr) return;
  auto& begin = config.data.begin;
  begin.reset();
  if (node->is_boolean()) begin = table.flag("begin", false);
  if (!node->is_boolean()) table.word("begin", "auto", {"auto"});
}

void add_tokenizer_keys(SectionBuilder<Data>& keys) {
  keys.string("tokenizer", &Data::tokenizer);
  keys.flag("special_in_text", &Data::special_in_text);
  keys.custom({"end_of_text", read_end_of_text, [](const Config& config) {
                 const auto& token = config.data.end_of_text;
                 return is_number(token) ? token : in_quotes(token);
               }});
  keys.custom({"begin", read_begin, [](const Config& config) {
                 const auto& begin = config.data.begin;
                 return std::string(!begin ? "\"auto\"" : *begin ? "true" : "false");
               }});
}

}  // namespace

Section data_section() {
  SectionBuilder<Data> keys("data", "The text.", &Config::data);
  keys.custom({"train", read_train, train_text});
  keys.strings("validation", &Data::validation);
  keys.number("validation_fraction", &Data::validation_fraction, kBetweenZeroAndOne);
  keys.flag("mask_documents", &Data::mask_documents);
  keys.custom({"ood",
               [](Config& config, TableReader& table) {
                 auto& ood = config.data.ood;
                 ood = table.strings("ood", ood);
                 if (ood == std::vector<std::string>{"none"}) ood.clear();
               },
               [](const Config& config) {
                 return config.data.ood.empty() ? std::string() : keys_list_text(config.data.ood);
               }});
  add_tokenizer_keys(keys);
  keys.word("format", &Data::format,
            {"auto", "text", "jsonl", "json", "parquet", "tokens", "npy", "llm_c", "megatron"});
  keys.string("text_key", &Data::text_key);
  keys.word("token_type", &Data::token_type, {"auto", "uint8", "uint16", "uint32", "uint64"});
  keys.word("order", &Data::order, {"shuffled", "olmo", "file"});
  return keys.section();
}

}  // namespace evenkeel::config
