// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint_save.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "evenkeel/base/boot_id.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/manifest.h"
#include "evenkeel/store/output_file.h"
#include "evenkeel/store/safetensors_writer.h"

namespace evenkeel::store {

namespace {

constexpr const char* kTemporary = ".tmp-";
constexpr const char* kTrash = ".trash-";

/// A name that no other process uses, also after a reboot: ".tmp-step-00001000-1b4e28ba-4321".
std::string process_unique_name(const char* kind, std::int64_t step) {
  constexpr std::size_t kEnoughDigits = 8;
  return text(kind, step_name(step), "-", boot_id().substr(0, kEnoughDigits), "-", ::getpid());
}

/// Removes what interrupted saves left. This process has the lock, so no other process uses these
/// folders.
/// \return "", or the first failure
std::string remove_leftovers(const Directory& checkpoints) {
  std::string failure;
  try {
    for (const auto& name : checkpoints.entries()) {
      if (!name.starts_with(kTemporary) && !name.starts_with(kTrash)) continue;
      if (const int error = checkpoints.remove(name); error != 0 && failure.empty()) {
        failure =
            text((checkpoints.path() / name).string(), ": cannot remove: ", std::strerror(error));
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return failure;
}

/// \throws FullDisk unless the file system has 1.1 times `size` plus 16 MiB free
void check_space(const Directory& checkpoints, std::uint64_t size) {
  constexpr double kMargin = 1.1;
  const double wanted = kMargin * static_cast<double>(size) + kCheckpointReserve;
  const auto free = checkpoints.system().free_bytes(checkpoints.descriptor());
  if (free < 0) throw_system_error(checkpoints.path(), "ask for free space", errno);
  if (static_cast<double>(free) >= wanted) return;
  throw FullDisk(text(checkpoints.path().string(), ": a checkpoint needs ", bytes_text(wanted),
                      " free, but ", bytes_text(static_cast<double>(free)),
                      " are; free some space; older checkpoints, if there are any, are intact"));
}

nlohmann::json file_json(const WrittenFile& written) {
  return {{"size", written.size}, {"digest", written.digest}};
}

nlohmann::json write_json_file(const Directory& folder, const char* name,
                               const std::string& content) {
  return file_json(write_new_file(folder, name, content, folder.path() / name));
}

/// RUN/checkpoints, without what interrupted saves left. What cannot be removed is no reason not to
/// save.
Directory open_checkpoints(const SystemCalls& system, const Lock& lock) {
  lock.check_file();
  const auto run = lock.directory().with(system);
  run.make_folder(kCheckpointsName);
  run.flush();  // new records files; and an earlier process may have ended before its fsync
  auto checkpoints = run.folder(kCheckpointsName);
  remove_leftovers(checkpoints);
  return checkpoints;
}

/// Renames `temporary` to its final name. If a valid checkpoint has that name, the two are
/// exchanged atomically, so that a valid one exists at any time. A damaged one is renamed first.
void move_into_place(const Directory& checkpoints, const std::string& temporary,
                     std::int64_t step) {
  const auto name = step_name(step);
  const bool taken = checkpoints.has(name);
  if (taken && check_checkpoint(checkpoints, step, CheckLevel::digests).defect.empty()) {
    const auto& system = checkpoints.system();
    if (system.exchange(checkpoints.descriptor(), temporary.c_str(), name.c_str()) == 0) return;
    throw_system_error(checkpoints.path() / name, "replace", errno);
  }
  if (taken) checkpoints.rename(name, process_unique_name(kTrash, step));
  checkpoints.rename(temporary, name);
}

/// Removes all but the newest `keep` checkpoints and the newest finite one, and those of steps
/// after `saved`. Only checkpoints with the file sizes of their manifests count towards `keep`.
void remove_old_checkpoints(const Directory& checkpoints, std::int64_t saved, std::int64_t keep) {
  const auto steps = listed_steps(checkpoints);
  std::int64_t kept_count = 0;
  bool moved = false, has_finite = false;
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (*at <= saved && (kept_count < keep || !has_finite)) {
      const auto found = check_checkpoint(checkpoints, *at, CheckLevel::sizes);
      const bool is_valid = found.defect.empty();
      const bool is_finite = is_valid && found.manifest.value(kIsFiniteName, true);
      if (kept_count < keep || is_finite) {
        kept_count += is_valid ? 1 : 0;
        has_finite = has_finite || is_finite;
        continue;
      }
    }
    checkpoints.rename(step_name(*at), process_unique_name(kTrash, *at));
    moved = true;
  }
  if (moved) checkpoints.flush();
}

/// Removes older checkpoints, and what interrupted saves left.
/// \return "", or the first failure: the newest checkpoint is safe
std::string clean_up(const Directory& checkpoints, std::int64_t saved, std::int64_t keep) {
  std::string failure;
  try {
    remove_old_checkpoints(checkpoints, saved, keep);
  } catch (const Error& error) {
    failure = error.what();
  }
  const auto left = remove_leftovers(checkpoints);
  return failure.empty() ? left : failure;
}

}  // namespace

struct CheckpointFiles::File {
  std::string name;
  SafetensorsWriter writer;
};

CheckpointFiles::CheckpointFiles(const CheckpointContent& content) : content_(content.content) {
  if (content.pieces.empty()) {
    // The metadata is required by Hugging Face's tools.
    files_.push_back({kModelName, {content.model, {{"format", "pt"}}}});
    files_.push_back({kOptimizerName, {content.optimizer, {}}});
    return;
  }
  EK_ASSERT(content.model.empty() && content.optimizer.empty());
  for (const auto& [name, tensors, metadata] : content.pieces) {
    files_.push_back({name, {tensors, metadata}});
  }
}

CheckpointFiles::~CheckpointFiles() = default;

std::uint64_t CheckpointFiles::size() const {
  std::uint64_t bytes = 0;
  for (const auto& file : files_) bytes += file.writer.size();
  return bytes;
}

nlohmann::json CheckpointFiles::write(const Directory& folder) const {
  auto files = nlohmann::json::object();
  for (const auto& [name, writer] : files_) {
    const auto size = writer.size();
    const auto written = content_ ? writer.write(OutputFile(folder, name, size), content_)
                                  : writer.write(OutputFile(folder, name, size));
    files[name] = file_json(written);
    files[name]["tensors"] = writer.tensors();
  }
  return files;
}

PendingCheckpoint::PendingCheckpoint(const SystemCalls& system, const Lock& lock, std::int64_t step,
                                     const nlohmann::json& state, std::uint64_t size)
    : checkpoints_(open_checkpoints(system, lock)),
      step_(step),
      state_(json_text(state)),
      temporary_(process_unique_name(kTemporary, step)) {
  EK_ASSERT(step >= 0 && state_.size() <= kMaxJsonBytes && !parse_json(state_).is_discarded());
  check_space(checkpoints_, size + state_.size());
  constexpr mode_t kModeBeforeUmask = 0777;
  if (system.mkdirat(checkpoints_.descriptor(), temporary_.c_str(), kModeBeforeUmask) != 0) {
    throw_system_error(checkpoints_.path() / temporary_, "make the folder", errno);
  }
  try {
    folder_ = checkpoints_.folder(temporary_);
  } catch (...) {
    checkpoints_.remove(temporary_);
    throw;
  }
}

PendingCheckpoint::~PendingCheckpoint() {
  if (is_complete_) return;
  try {
    checkpoints_.remove(temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next save removes the rest
  }
}

std::string PendingCheckpoint::complete(nlohmann::json files, const nlohmann::json& manifest,
                                        std::int64_t keep) {
  EK_ASSERT(keep >= 1);
  files[kStateName] = write_json_file(*folder_, kStateName, state_);
  write_json_file(*folder_, kManifestName, manifest_text(manifest, step_, files));
  folder_->flush();
  move_into_place(checkpoints_, temporary_, step_);
  is_complete_ = true;
  checkpoints_.flush();  // from here on the checkpoint survives power loss
  return clean_up(checkpoints_, step_, keep);
}

std::string save_checkpoint(const SystemCalls& system, const Lock& lock,
                            const CheckpointContent& content, std::int64_t keep) {
  EK_ASSERT(keep >= 1 && content.step >= 0);
  const CheckpointFiles files(content);
  PendingCheckpoint pending(system, lock, content.step, content.state, files.size());
  return pending.complete(files.write(pending.folder()), content.manifest, keep);
}

std::string save_checkpoint(const Lock& lock, const CheckpointContent& content, std::int64_t keep) {
  return save_checkpoint(kernel_calls(), lock, content, keep);
}

void keep_newest_checkpoint(const Lock& lock) {
  const auto newest = newest_checkpoint(lock.directory()).found;
  const auto checkpoints = open_checkpoints(kernel_calls(), lock);
  const auto steps = listed_steps(checkpoints);
  if (!newest || newest->step != steps.back()) return;
  remove_old_checkpoints(checkpoints, newest->step, /*keep=*/1);
  remove_leftovers(checkpoints);
}

}  // namespace evenkeel::store
