// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/checkpoint_saver.h"

#include <nlohmann/json.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/train/gather_numbers.h"

namespace evenkeel::train {

namespace {

constexpr const char* kError = "error";
constexpr const char* kFull = "full";  // the disk is full
constexpr const char* kFiles = "files";

std::uint64_t size_on_all_ranks(comm::Group& group, const store::CheckpointFiles& files) {
  const auto sizes = gather_numbers(group, {static_cast<double>(files.size())});
  return static_cast<std::uint64_t>(std::accumulate(sizes.begin(), sizes.end(), 0.0));
}

/// What a rank reports of its files: the entries of the manifest, or an error.
nlohmann::json report_of(const store::CheckpointFiles& files, const store::Directory& folder) {
  try {
    return {{kFiles, files.write(folder)}};
  } catch (const store::FullDisk& error) {
    return {{kError, error.what()}, {kFull, true}};
  } catch (const Error& error) {
    return {{kError, error.what()}, {kFull, false}};
  }
}

/// Merges the reports of all ranks.
/// \throws FullDisk or Error (io), the first error of a rank, with its number
nlohmann::json merged_files(const comm::Group& group, const std::vector<std::string>& reports) {
  auto files = nlohmann::json::object();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const auto report = parse_json(reports[rank]);
    EK_ASSERT(report.is_object());
    if (report.contains(kError)) {
      const auto error = report.at(kError).get<std::string>();
      const auto message =
          rank == 0 ? error : text(group.name(static_cast<int>(rank)), ": ", error);
      if (report.at(kFull).get<bool>()) throw store::FullDisk(message);
      throw Error(Exit::io, message);
    }
    files.update(report.at(kFiles));
  }
  return files;
}

}  // namespace

void CheckpointSaver::save(const store::Lock& lock, const store::CheckpointContent& content,
                           std::int64_t keep) {
  if (group_.ranks() == 1) return store::save_checkpoint(lock, content, keep);
  const store::CheckpointFiles files(content);
  const auto size = size_on_all_ranks(group_, files);
  std::unique_ptr<store::PendingCheckpoint> pending;
  std::exception_ptr error;
  try {
    pending = std::make_unique<store::PendingCheckpoint>(store::kernel_calls(), lock, content.step,
                                                         content.state, size);
  } catch (const Error&) {
    error = std::current_exception();
  }
  group_.broadcast_text(pending ? pending->folder().path().string() : "", 0);
  if (error) std::rethrow_exception(error);
  const auto own = report_of(files, pending->folder()).dump();
  pending->complete(merged_files(group_, group_.all_gather_texts(own)), content.manifest, keep);
}

void CheckpointSaver::help(const store::CheckpointContent& content) {
  const store::CheckpointFiles files(content);
  size_on_all_ranks(group_, files);
  const auto path = group_.broadcast_text("", 0);
  if (path.empty()) return;  // rank 0 could not begin
  nlohmann::json report;
  try {
    report = report_of(files, store::Directory(path));
  } catch (const Error& error) {
    report = {{kError, error.what()}, {kFull, false}};
  }
  group_.all_gather_texts(report.dump());
}

}  // namespace evenkeel::train
