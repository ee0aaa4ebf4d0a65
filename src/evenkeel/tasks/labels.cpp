// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/labels.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/tasks/metric.h"

namespace evenkeel::tasks {

/// Generated from *.txt by cmake/Embed.cmake: {name, text}, sorted by name.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_tables();

namespace {

using TableWords = std::vector<std::string>;

/// The words of each line of an embedded table. A line that begins with a blank goes on with the
/// line before. A line that begins with # is a comment.
std::vector<TableWords> lines_of_table(std::string_view name) {
  const auto& tables = embedded_tables();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const auto& table) { return table.first == name; });
  EK_ASSERT(found != tables.end());
  std::vector<TableWords> lines;
  std::istringstream source{std::string(found->second)};
  for (std::string line; std::getline(source, line);) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with(' ')) lines.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  return lines;
}

void set_option(Label& label, const std::string& option) {
  if (option == "five_shots") {
    label.prompts = MmluPrompts::five_shots;
  } else if (option == "seven_prompts") {
    label.prompts = MmluPrompts::seven_prompts;
  } else if (option == "letters") {
    label.has_letters = true;
  } else {
    EK_ASSERT(option == "fast");
    label.is_fast = true;
  }
}

Label label_of(const TableWords& words) {
  constexpr std::size_t kColumns = 5;
  EK_ASSERT(words.size() >= kColumns);
  const auto metric = find_metric(words[4]);
  EK_ASSERT(metric.has_value());
  Label label = {
      .name = words[0], .form = words[1], .path = words[2], .variant = words[3], .metric = *metric};
  for (std::size_t i = kColumns; i < words.size(); ++i) set_option(label, words[i]);
  return label;
}

/// The labels of each group.
const std::map<std::string, TableWords>& groups() {
  static const auto kGroups = [] {
    std::map<std::string, TableWords> found = {{"all", list_labels()}};
    for (const auto& words : lines_of_table("label_groups")) {
      found[words.at(0)].assign(words.begin() + 1, words.end());
    }
    return found;
  }();
  return kGroups;
}

}  // namespace

const std::vector<Label>& labels() {
  static const auto kLabels = [] {
    std::vector<Label> all;
    for (const auto& words : lines_of_table("labels")) all.push_back(label_of(words));
    return all;
  }();
  return kLabels;
}

std::vector<std::string> list_labels() {
  std::vector<std::string> names;
  for (const auto& label : labels()) names.push_back(label.name);
  return names;
}

const Label* find_label(std::string_view name) {
  for (const auto& label : labels()) {
    if (label.name == name) return &label;
  }
  return nullptr;
}

std::string did_you_mean_label(std::string_view name) {
  auto known = list_labels();
  for (const auto& group : label_groups()) known.push_back(group);
  return did_you_mean(name, known, "`evenkeel eval --list-tasks` lists all");
}

std::vector<std::string> label_groups() {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : groups()) names.push_back(name);
  return names;
}

std::vector<std::string> expand_labels(const std::vector<std::string>& names) {
  std::vector<std::string> expanded;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) expanded.push_back(name);
  };
  for (const auto& name : names) {
    const auto group = groups().find(name);
    if (group == groups().end()) {
      add(name);
    } else {
      for (const auto& label : group->second) add(label);
    }
  }
  return expanded;
}

std::vector<std::string> mmlu_subjects(std::string_view group) {
  std::vector<std::string> subjects;
  for (const auto& words : lines_of_table("mmlu_subjects")) {
    if (words.at(0) == group) subjects.push_back(words.at(1));
  }
  return subjects;
}

}  // namespace evenkeel::tasks
