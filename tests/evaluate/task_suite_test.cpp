// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/task_suite.h"

#include <string>
#include <vector>

#include "data/temporary_folder.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/tasks/task_files.h"

namespace evenkeel::evaluate {
namespace {

class TaskSuiteOfFiles : public data::TemporaryFolder {
 protected:
  std::string quiz(const std::string& name, const std::string& question) const {
    std::string rows;
    for (const std::string choice : {"0", "1"}) {
      rows += R"({"doc_id": 0, "idx": )" + choice + R"(, "label": 1, "request": {"context": ")" +
              question + R"(", "continuation": " choice )" + choice + "\"}}\n";
    }
    return file(name, rows);
  }

  static nlohmann::ordered_json provenance(const std::vector<std::string>& tasks) {
    auto config = config::resolve({});
    config.evaluate.tasks = tasks;
    return TaskSuite(config, data::TextEncoding(config.data), data::kByteVocabulary).provenance();
  }
};

// Studies compare these fields with the files that they read themselves.
TEST_F(TaskSuiteOfFiles, RecordsTheDigestsOfItsFiles) {
  const auto one = quiz("one.jsonl", "Q"), two = quiz("two.jsonl", "R");
  const auto of_one = data::file_digest(one).xxh3, of_two = data::file_digest(two).xxh3;
  const auto both = provenance({one, two});
  EXPECT_EQ(both.at("evaluate_tasks_digest"), tasks::digest_of_tasks({of_one, of_two}));
  const auto& files = both.at("evaluate_tasks");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].at("label"), one);
  EXPECT_EQ(files[0].at("path"), one);
  EXPECT_EQ(files[0].at("digest"), of_one);
  EXPECT_EQ(files[1].at("path"), two);
  EXPECT_EQ(files[1].at("digest"), of_two);
  EXPECT_EQ(provenance({one}).at("evaluate_tasks_digest"), of_one);
  EXPECT_TRUE(provenance({}).empty());
}

}  // namespace
}  // namespace evenkeel::evaluate
