// SPDX-License-Identifier: Apache-2.0
// The tasks of src/evenkeel/tasks as JSON lines, for tests/ecosystem/tasks_check.py.
//
//   tasks_driver labels            the names of all labels
//   tasks_driver LABEL FOLDER      a line for the task; then, for each document, its id, the index
//                                  of its gold choice, its tag, and context and continuation of its
//                                  rows
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <string>

#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/load_task.h"
#include "evenkeel/tasks/metric.h"

namespace evenkeel::tasks {
namespace {

void put_line(const nlohmann::json& value) {
  std::puts(value.dump().c_str());
}

void print_task(const std::string& label, const std::string& folder) {
  const auto task = load_task(label, folder);
  put_line({{"label", task.label},
            {"metric", name_of(task.metric)},
            {"documents", task.documents.size()},
            {"skipped_rows", task.skipped_rows},
            {"digest", task.digest}});
  for (const auto& document : task.documents) {
    auto rows = nlohmann::json::array();
    for (const auto& row : document.rows) rows.push_back({row.context, row.continuation});
    put_line({document.id, document.gold, document.tag, rows});
  }
}

int run(int count, const char* const* words) {
  if (count == 2 && std::string(words[1]) == "labels") {
    put_line(list_labels());
    return 0;
  }
  if (count != 3) {
    std::fputs("usage: tasks_driver LABEL FOLDER\n", stderr);
    return 64;
  }
  try {
    print_task(words[1], words[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 65;
  }
}

}  // namespace
}  // namespace evenkeel::tasks

int main(int count, char** words) {
  return evenkeel::tasks::run(count, words);
}
