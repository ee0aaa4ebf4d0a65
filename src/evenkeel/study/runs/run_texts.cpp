// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_texts.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus_checks.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/load_task.h"
#include "evenkeel/tasks/task_files.h"

namespace evenkeel::study {

namespace {

constexpr const char* kTasksName = "evaluate.tasks";

std::vector<data::Tokens::File> files_of(const std::vector<data::Source>& sources) {
  std::vector<data::Tokens::File> files;
  for (const auto& source : sources) {
    const auto& more = source.corpus.files;
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

/// A string of an object; "" if it has none of this name.
std::string string_in(const nlohmann::json& object, const std::string& name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string digest_difference(const std::string& what, const std::string& here,
                              const std::string& there) {
  return text(what, " has the digest ", here, " here, but ", there, " in the run");
}

/// The first file that differs, with both digests; "" if that is not known.
std::string file_difference(const nlohmann::json& recorded, const RunText& wanted) {
  const auto files =
      wanted.files_field.empty() ? recorded.end() : recorded.find(wanted.files_field);
  if (files == recorded.end() || !files->is_array() || files->size() != wanted.files.size())
    return "";
  for (std::size_t i = 0; i < wanted.files.size(); ++i) {
    const auto& file = wanted.files[i];
    const auto found = string_in((*files)[i], "digest");
    if (found.empty() || found == file.digest) continue;
    return digest_difference(text(file.path, " (", wanted.name, ")"), file.digest, found);
  }
  return "";
}

}  // namespace

std::vector<RunText> run_texts(const config::Config& config) {
  const auto& evaluate = config.evaluate;
  const auto context = config.model.context, vocabulary = config.model.vocabulary;
  const auto corpora = data::load_corpora(config.data, context, vocabulary);
  data::print_warnings_once(corpora.warnings);
  const auto validation_files = files_of(corpora.validation);
  std::vector<RunText> texts = {
      {"data.train", "train_digest", data::digest(corpora.train), "files", files_of(corpora.train)},
      // A part of the training text that is held out has the files of the training text.
      {"data.validation", "validation_digest", data::digest(corpora.validation),
       validation_files.empty() ? "" : "validation_files", validation_files}};
  if (corpora.ood) texts.push_back({"data.ood", "ood_digest", corpora.ood->digest, "", {}});
  if (!evaluate.texts.empty()) {
    const auto named =
        data::load_named_texts(evaluate.texts, config.data, corpora.encoding, context, vocabulary);
    texts.push_back({"evaluate.texts", "evaluate_texts_digest", data::digest(named), "", {}});
  }
  return texts;
}

RunText run_tasks(const config::Evaluate& evaluate) {
  RunText out = {.name = kTasksName,
                 .field = "evaluate_tasks_digest",
                 .digest = {},
                 .files_field = "evaluate_tasks",
                 .files = {}};
  const auto folder = tasks::task_folder(evaluate.task_folder);
  std::vector<std::string> digests;
  for (const auto& label : tasks::expand_labels(evaluate.tasks)) {
    const auto task = tasks::load_task(label, folder);
    digests.push_back(task.digest);
    out.files.push_back({task.source, task.digest});
  }
  out.digest = tasks::digest_of_tasks(digests);
  return out;
}

std::string digests_in_key(const std::vector<RunText>& texts) {
  std::string digests;
  for (const auto& each : texts) {
    if (each.name != kTasksName) {
      digests += each.digest;
      continue;
    }
    for (const auto& task : each.files) digests += task.digest;
  }
  return digests;
}

std::vector<std::string> text_lines(const std::vector<RunText>& texts) {
  std::vector<std::string> lines;
  lines.reserve(texts.size());
  for (const auto& each : texts) lines.push_back(text(each.name, ' ', each.digest));
  return lines;
}

std::string text_difference(const std::filesystem::path& run, const std::vector<RunText>& texts) {
  const auto folder = store::Directory::find(run);
  if (!folder) return "";
  const auto provenance = store::read_provenance(*folder);
  const auto recorded = provenance.find("data");
  if (recorded == provenance.end() || !recorded->is_object()) return "";
  for (const auto& wanted : texts) {
    const auto found = string_in(*recorded, wanted.field);
    if (found.empty() || found == wanted.digest) continue;
    const auto of_file = file_difference(*recorded, wanted);
    return of_file.empty() ? digest_difference(wanted.name, wanted.digest, found) : of_file;
  }
  return "";
}

}  // namespace evenkeel::study
