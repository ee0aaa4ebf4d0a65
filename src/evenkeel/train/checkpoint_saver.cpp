// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/checkpoint_saver.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/train/gather_numbers.h"

namespace evenkeel::train {

namespace {

constexpr const char* kError = "error";
constexpr const char* kFull = "full";  // the disk is full
constexpr const char* kSavedFiles = "files";
constexpr const char* kNoFolder = "";  // rank 0 could not begin

std::uint64_t size_on_all_ranks(comm::Group& group, const store::CheckpointFiles& files) {
  const auto sizes = gather_numbers(group, {static_cast<double>(files.size())});
  return static_cast<std::uint64_t>(std::accumulate(sizes.begin(), sizes.end(), 0.0));
}

/// What a rank reports of its files: the entries of the manifest, or an error.
nlohmann::json report_of(const store::CheckpointFiles& files, const store::Directory& folder) {
  try {
    return {{kSavedFiles, files.write(folder)}};
  } catch (const store::FullDisk& error) {
    return {{kError, error.what()}, {kFull, true}};
  } catch (const Error& error) {
    return {{kError, error.what()}, {kFull, false}};
  }
}

/// As above, for the folder at a path.
nlohmann::json report_at(const store::CheckpointFiles& files, const std::string& folder) {
  try {
    return report_of(files, store::Directory(folder));
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
    files.update(report.at(kSavedFiles));
  }
  return files;
}

}  // namespace

struct CheckpointSaver::Pending {
  std::vector<std::vector<std::byte>> copies;  // the tensors that the thread writes
  std::unique_ptr<store::CheckpointFiles> files;
  std::unique_ptr<store::PendingCheckpoint> checkpoint;  // of rank 0
  nlohmann::json manifest;
  std::int64_t keep = 0;
  nlohmann::json report;
  std::atomic<bool> is_written = false;
  std::thread thread;

  /// The content with tensors that are copied into `copies`.
  store::CheckpointContent copied(store::CheckpointContent content) {
    const auto copy = [&](std::vector<store::TensorView>& tensors) {
      for (auto& tensor : tensors) {
        if (tensor.owner) continue;  // a copy already, of a GPU's tensor
        const auto* const from = static_cast<const std::byte*>(tensor.data);
        tensor.data = copies.emplace_back(from, from + store::bytes_of(tensor)).data();
      }
    };
    copy(content.model);
    copy(content.optimizer);
    for (auto& piece : content.pieces) copy(piece.tensors);
    return content;
  }

  ~Pending() {
    if (thread.joinable()) thread.join();
  }
};

CheckpointSaver::CheckpointSaver(comm::Group& group) : group_(group) {}

CheckpointSaver::~CheckpointSaver() = default;

bool CheckpointSaver::is_written() const {
  return !pending_ || pending_->is_written;
}

/// Writes the files of this rank.
/// \param folder  that rank 0 made
void CheckpointSaver::start(std::unique_ptr<Pending> pending, const std::string& folder,
                            Writer writer) {
  pending_ = std::move(pending);
  const auto work = [&each = *pending_, folder] {
    each.report = each.checkpoint ? report_of(*each.files, each.checkpoint->folder())
                                  : report_at(*each.files, folder);
    each.is_written = true;
  };
  if (writer == Writer::thread) {
    pending_->thread = std::thread(work);
  } else {
    work();
  }
}

/// The files of this rank. \param writer  thread: of a copy of the tensors
std::unique_ptr<CheckpointSaver::Pending> CheckpointSaver::prepare(
    const store::CheckpointContent& content, Writer writer) {
  EK_ASSERT(!pending_);
  auto pending = std::make_unique<Pending>();
  pending->files = std::make_unique<store::CheckpointFiles>(
      writer == Writer::thread ? pending->copied(content) : content);
  return pending;
}

void CheckpointSaver::begin(const store::Lock& lock, const store::CheckpointContent& content,
                            std::int64_t keep, Writer writer) {
  auto pending = prepare(content, writer);
  pending->manifest = content.manifest;
  pending->keep = keep;
  const auto size = size_on_all_ranks(group_, *pending->files);
  try {
    pending->checkpoint = std::make_unique<store::PendingCheckpoint>(
        store::kernel_calls(), lock, content.step, content.state, size);
  } catch (const Error&) {
    group_.broadcast_text(kNoFolder, 0);
    throw;
  }
  const auto folder = pending->checkpoint->folder().current_path();  // the run may have been moved
  start(std::move(pending), group_.broadcast_text(folder, 0), writer);
}

void CheckpointSaver::begin_piece(const store::CheckpointContent& content, Writer writer) {
  auto pending = prepare(content, writer);
  size_on_all_ranks(group_, *pending->files);
  const auto folder = group_.broadcast_text("", 0);
  if (folder != kNoFolder) start(std::move(pending), folder, writer);
}

std::string CheckpointSaver::finish() {
  EK_ASSERT(pending_);
  const auto pending = std::exchange(pending_, nullptr);
  if (pending->thread.joinable()) pending->thread.join();
  const auto reports = group_.all_gather_texts(json_dump(pending->report));
  if (!pending->checkpoint) return "";  // rank 0 completes it, and reports failures
  return pending->checkpoint->complete(merged_files(group_, reports), pending->manifest,
                                       pending->keep);
}

std::string CheckpointSaver::save(const store::Lock& lock, const store::CheckpointContent& content,
                                  std::int64_t keep) {
  if (group_.ranks() == 1) return store::save_checkpoint(lock, content, keep);
  begin(lock, content, keep, Writer::caller);
  return finish();
}

}  // namespace evenkeel::train
