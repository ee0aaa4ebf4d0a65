// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/config/section_builder.h"

namespace evenkeel::config {

namespace {

constexpr std::string_view kWantedTexts =
    "a table of names and files such as { wiki = \"wiki.txt\", code = [\"a.npy\", \"b.npy\"] }";

bool is_text_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// Reads { name = "a file", other = ["several", "files"] }.
void read_evaluation_texts(Config& config, TableReader& outer) {
  const auto* const node = outer.node("texts");
  if (node == nullptr) return;
  if (!node->is_table()) outer.refuse("texts", kWantedTexts, *node);
  auto& texts = config.evaluate.texts;
  texts.clear();
  TableReader table(*node->as_table(), outer.full_name("texts"));
  for (const auto& [key, value] : *node->as_table()) {
    const std::string name(key.str());
    if (!is_text_name(name)) {
      throw Error(Exit::usage, text(place(value), outer.full_name("texts"),
                                    ": a name must have letters, digits, '_' and '-' only, but is ",
                                    in_quotes(name)));
    }
    texts.push_back({name, table.strings(name, {})});
  }
}

std::string evaluation_texts_text(const Config& config) {
  std::string out;
  for (const auto& [name, inputs] : config.evaluate.texts) {
    out += text(out.empty() ? " " : ", ", name, " = ", keys_list_text(inputs));
  }
  return out.empty() ? std::string() : "{" + out + " }";
}

/// A list of strings, of which "none" is the empty one.
void read_tasks(Config& config, TableReader& table) {
  auto& tasks = config.evaluate.tasks;
  if (table.node("tasks") == nullptr) return;
  tasks = table.strings("tasks", tasks);
  if (tasks == std::vector<std::string>{"none"}) tasks.clear();
}

}  // namespace

Section evaluate_section() {
  SectionBuilder<Evaluate> keys("evaluate", "Loss on held-out text.", &Config::evaluate);
  keys.integer("every", &Evaluate::every, kCount);
  keys.integer("sequences", &Evaluate::sequences, kCount);
  keys.custom({"texts", read_evaluation_texts, evaluation_texts_text});
  keys.custom({"tasks", read_tasks, [](const Config& config) {
                 const auto& tasks = config.evaluate.tasks;
                 return tasks.empty() ? std::string() : keys_list_text(tasks);
               }});
  keys.integer("task_every", &Evaluate::task_every, kCount);
  keys.integer("task_documents", &Evaluate::task_documents, kCount);
  keys.integer_or("auto", "max_context", &Evaluate::max_context);
  keys.word("rule", &Evaluate::rule, {"olmo", "olmo_v2", "lm_eval"});
  keys.word("score_precision", &Evaluate::score_precision, {"float32", "bfloat16"});
  keys.string("task_folder", &Evaluate::task_folder);
  return keys.section();
}

}  // namespace evenkeel::config
