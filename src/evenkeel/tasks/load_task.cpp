// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/load_task.h"

#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/data/input_paths.h"
#include "evenkeel/tasks/arrow_stream.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/metric.h"
#include "evenkeel/tasks/prompts.h"
#include "evenkeel/tasks/request_file.h"
#include "evenkeel/tasks/task_files.h"

namespace evenkeel::tasks {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMmluData = "hails/mmlu_no_train";
constexpr const char* kMmluShotSplit = "dev";

[[noreturn]] void refuse_missing(const Label& label, const fs::path& path) {
  throw Error(Exit::data, text(path.string(), ": must be a file of the task ", label.name,
                               ", but is missing; `./ek eval --fetch-tasks` in the folder of the "
                               "source fetches it, or set "
                               "evaluate.task_folder"));
}

/// A request file, and the configuration next to it, which names the metric.
std::vector<fs::path> files_with_config(const fs::path& file) {
  auto config = config_of_requests(file);
  std::error_code error;
  if (!fs::exists(config, error)) return {file};
  return {file, std::move(config)};
}

/// \param files  that the digest covers; the first one has the requests
Task request_task(const std::string& name, const std::vector<fs::path>& files, Metric metric) {
  const auto& file = files[0];
  auto read = read_request_file(file.string(), metric);
  return {.label = name,
          .metric = metric,
          .documents = std::move(read.documents),
          .skipped_rows = read.skipped_rows,
          .source = file.string(),
          .digest = digest_of_files(files)};
}

/// Gives the documents of a task the ids 0, 1, ..., and leaves the gold choice where the metric
/// needs no more.
Task numbered(const Label& label, std::vector<Document> documents, const fs::path& source,
              const std::vector<fs::path>& files) {
  if (documents.empty()) {
    throw Error(Exit::data, text(source.string(), ": must have a row, but has none"));
  }
  std::int64_t id = 0;
  for (auto& document : documents) {
    document.id = id++;
    if (scores_gold_alone(label.metric)) reduce_to_gold(document);
  }
  return {.label = label.name,
          .metric = label.metric,
          .documents = std::move(documents),
          .source = source.string(),
          .digest = digest_of_files(files)};
}

/// The folder of a data set's files, or the file if it has a name of its own.
fs::path source_of(const std::vector<fs::path>& files) {
  const bool is_named = files[0].filename().string().starts_with("data-");
  return is_named ? files[0].parent_path() : files[0];
}

Task form_task(const Label& label, const fs::path& folder) {
  auto files = find_data_files(folder, label.path, label.variant);
  std::error_code error;
  const auto flat = folder / (label.name + ".arrow");
  if (files.empty() && fs::exists(flat, error)) files = {flat};
  if (files.empty()) {
    refuse_missing(
        label, folder / "hf_datasets" / label.path / label.variant / "data-00000-of-00001.arrow");
  }
  std::vector<Document> documents;
  for (const auto& file : files) {
    ArrowStream(file.string()).each_row([&](const ArrowRow& row) {
      documents.push_back(form_document(label.form, row));
    });
  }
  return numbered(label, std::move(documents), source_of(files), files);
}

/// The questions of a subject. \param used  gets the files that were read
std::vector<MmluQuestion> mmlu_questions(const Label& label, const fs::path& folder,
                                         const std::string& subject, const std::string& split,
                                         std::vector<fs::path>& used) {
  const auto path = text(kMmluData, "/", subject);
  const auto files = find_data_files(folder, path, split);
  if (files.empty()) {
    refuse_missing(label, folder / "hf_datasets" / path / split / "data-00000-of-00001.arrow");
  }
  std::vector<MmluQuestion> questions;
  for (const auto& file : files) {
    used.push_back(file);
    ArrowStream(file.string()).each_row([&](const ArrowRow& row) {
      questions.push_back(mmlu_question(row, label.has_letters));
    });
  }
  return questions;
}

Task mmlu_task(const Label& label, const fs::path& folder) {
  const auto subjects = mmlu_subjects(label.path);
  std::vector<fs::path> files;
  MmluShots shots;
  if (label.prompts != MmluPrompts::plain) {
    for (const auto& subject : subjects) {
      shots[subject] = mmlu_questions(label, folder, subject, kMmluShotSplit, files);
    }
  }
  std::vector<Document> documents;
  for (const auto& subject : subjects) {
    for (const auto& question : mmlu_questions(label, folder, subject, label.variant, files)) {
      for (auto& document : mmlu_documents(question, label, shots)) {
        documents.push_back(std::move(document));
      }
    }
  }
  // FOLDER/SUBJECT/SPLIT/FILE
  return numbered(label, std::move(documents),
                  files.back().parent_path().parent_path().parent_path(), files);
}

Task labelled_task(const Label& label, const fs::path& folder) {
  if (label.form == "mmlu") return mmlu_task(label, folder);
  if (label.form != "requests") return form_task(label, folder);
  auto file = find_request_file(folder, label.path, label.variant);
  if (!file) file = find_request_file(folder, label.name, "");
  if (file) return request_task(label.name, {*file}, label.metric);
  refuse_missing(label,
                 folder / "oe_eval_tasks" / label.path / label.variant / "requests.jsonl.gz");
}

/// The request file that a path names: the file, or the one in a folder.
std::optional<fs::path> named_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return find_request_file(path, "", "");
  return fs::exists(path, error) ? std::optional(path) : std::nullopt;
}

/// True if a name is meant as a file or a folder, not as a label.
bool looks_like_path(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos || name.find(".json") != std::string::npos ||
         fs::exists(data::with_home(name), error);
}

/// Refuses a name that is neither a label nor that of a request file in the folder.
[[noreturn]] void refuse_unknown(const std::string& name, const fs::path& folder) {
  std::error_code error;
  const auto place =
      fs::is_directory(folder, error)
          ? text(" in ", folder.string())
          : text(", and the folder of tasks ", folder.string(), " is ",
                 fs::exists(folder, error) ? "a file" : "missing",
                 "; set evaluate.task_folder or EVENKEEL_TASKS to a folder of tasks");
  throw Error(Exit::usage, text("no task is named \"", printable_line(name), "\"", place,
                                did_you_mean_label(name)));
}

}  // namespace

Task load_task(const std::string& label_or_path, const fs::path& folder) {
  if (const auto* const label = find_label(label_or_path); label != nullptr) {
    return labelled_task(*label, folder);
  }
  // A name below the folder comes first, so that results do not depend on the working folder.
  auto file = find_request_file(folder, label_or_path, "");
  if (!file) file = named_file(data::with_home(label_or_path));
  if (file) {
    return request_task(label_or_path, files_with_config(*file), metric_of_config(*file));
  }
  if (looks_like_path(label_or_path)) {
    std::error_code error;
    const bool is_folder = fs::is_directory(data::with_home(label_or_path), error);
    throw Error(Exit::data, text(printable_line(label_or_path), ": must be a request file, but ",
                                 is_folder ? "is a folder without requests.jsonl or "
                                             "requests.jsonl.gz"
                                           : "is missing",
                                 "; docs/evaluation.md describes them"));
  }
  refuse_unknown(label_or_path, folder);
}

}  // namespace evenkeel::tasks
