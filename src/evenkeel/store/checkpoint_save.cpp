// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint_save.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/manifest.h"
#include "evenkeel/store/output_file.h"
#include "evenkeel/store/safetensors_writer.h"

namespace evenkeel::store {

namespace {

using std::filesystem::path;

constexpr const char* kTemporary = ".tmp-";
constexpr const char* kTrash = ".trash-";

/// The files of a new checkpoint.
struct CheckpointFiles {
  SafetensorsWriter model, optimizer;
  std::string state;
};

CheckpointFiles checkpoint_files(const CheckpointContent& content) {
  CheckpointFiles files_to_write{
      .model = {content.model, {{"format", "pt"}}},  // required by Hugging Face's tools
      .optimizer = {content.optimizer, {}},
      .state = json_text(content.state)};
  EK_ASSERT(files_to_write.state.size() <= kMaxJsonBytes &&
            !parse_json(files_to_write.state).is_discarded());
  return files_to_write;
}

/// A name that no other process uses, also after a reboot: ".tmp-step-00001000-1b4e28ba-4321".
std::string process_unique_name(const char* kind, std::int64_t step) {
  constexpr std::size_t kEnoughDigits = 8;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return text(kind, step_name(step), "-", boot.substr(0, kEnoughDigits), "-", ::getpid());
}

/// Removes what interrupted saves left. This process has the lock, so no other process uses these
/// folders.
void remove_leftovers(const SystemCalls& system, const path& checkpoints) {
  for (const auto& each : directory_entries(checkpoints)) {
    const auto name = each.filename().string();
    if (!name.starts_with(kTemporary) && !name.starts_with(kTrash)) continue;
    if (const int error = remove_all(system, each); error != 0)
      throw_system_error(each, "remove", error);
  }
}

/// \throws Error (io) unless the file system has 1.1 times the size of the files plus 16 MiB free
void check_space(const SystemCalls& system, const path& checkpoints,
                 const CheckpointFiles& files_to_write) {
  constexpr double kMargin = 1.1;
  constexpr double kReserve = 16 << 20;  // for the manifest, folders, and hours of records
  const auto size =
      files_to_write.model.size() + files_to_write.optimizer.size() + files_to_write.state.size();
  const double wanted = kMargin * static_cast<double>(size) + kReserve;
  const auto free = system.free_bytes(checkpoints.c_str());
  if (free < 0) throw_system_error(checkpoints, "ask for free space", errno);
  if (static_cast<double>(free) >= wanted) return;
  throw Error(Exit::io, text(checkpoints.string(), ": a checkpoint needs ", bytes_text(wanted),
                             " free, but ", bytes_text(static_cast<double>(free)),
                             " are; free some space, older checkpoints are intact"));
}

nlohmann::json file_json(const WrittenFile& written) {
  return {{"size", written.size}, {"digest", written.digest}};
}

/// Writes a checkpoint's folder and all its files durably. The name of the folder is not durable
/// yet.
/// \throws Error (io)
void write_folder(const SystemCalls& system, const path& folder, const CheckpointContent& content,
                  const CheckpointFiles& files_to_write) {
  constexpr mode_t kModeBeforeUmask = 0777;
  if (system.mkdir(folder.c_str(), kModeBeforeUmask) != 0) {
    throw_system_error(folder, "make the folder", errno);
  }
  nlohmann::json files;
  files[kModelName] = file_json(files_to_write.model.write(system, folder / kModelName));
  files[kModelName]["tensors"] = files_to_write.model.tensors();
  files[kOptimizerName] =
      file_json(files_to_write.optimizer.write(system, folder / kOptimizerName));
  files[kOptimizerName]["tensors"] = files_to_write.optimizer.tensors();
  files[kStateName] = file_json(write_new_file(system, folder / kStateName, files_to_write.state));
  write_new_file(system, folder / kManifestName,
                 manifest_text(content.manifest, content.step, files));
  fsync_folder(system, folder);
}

void rename_path(const SystemCalls& system, const path& from, const path& to) {
  if (system.rename(from.c_str(), to.c_str()) != 0) throw_system_error(to, "rename to", errno);
}

/// Renames `temporary` to its final name. If a valid checkpoint has that name, the two are
/// exchanged atomically, so that a valid one exists at any time. A damaged one is renamed first.
void move_into_place(const SystemCalls& system, const path& temporary, const path& folder,
                     std::int64_t step) {
  std::error_code none;
  const bool taken = exists(symlink_status(folder, none));
  if (taken && check_checkpoint(folder, step, CheckLevel::digests).defect.empty()) {
    if (system.exchange(temporary.c_str(), folder.c_str()) == 0) return;
    throw_system_error(folder, "replace", errno);
  }
  if (taken) rename_path(system, folder, folder.parent_path() / process_unique_name(kTrash, step));
  rename_path(system, temporary, folder);
}

/// Removes all but the newest `keep` checkpoints, and those of steps after `saved`. Only
/// checkpoints with the file sizes of their manifests count towards `keep`.
void remove_old_checkpoints(const SystemCalls& system, const path& run, std::int64_t saved,
                            std::int64_t keep) {
  const auto checkpoints = run / "checkpoints";
  const auto steps = listed_steps(run);
  std::int64_t kept_count = 0;
  bool moved = false;
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    const auto folder = checkpoints / step_name(*at);
    if (*at <= saved && kept_count < keep) {
      kept_count += check_checkpoint(folder, *at, CheckLevel::sizes).defect.empty() ? 1 : 0;
      continue;
    }
    rename_path(system, folder, checkpoints / process_unique_name(kTrash, *at));
    moved = true;
  }
  if (moved) fsync_folder(system, checkpoints);
}

}  // namespace

void save_checkpoint(const SystemCalls& system, const path& run, const CheckpointContent& content,
                     std::int64_t keep) {
  EK_ASSERT(keep >= 1 && content.step >= 0);
  if (!is_locked(run)) {
    throw Error(Exit::io, text(run.string(),
                               ": its lock is gone: the folder was moved or emptied "
                               "while it was in use; move it back, or start another run"));
  }
  const auto checkpoints = run / "checkpoints";
  create_folders(system, checkpoints);
  fsync_folder(system, run);  // an earlier process may have ended before its fsync
  remove_leftovers(system, checkpoints);
  const auto files_to_write = checkpoint_files(content);
  check_space(system, checkpoints, files_to_write);
  const auto temporary = checkpoints / process_unique_name(kTemporary, content.step);
  try {
    write_folder(system, temporary, content, files_to_write);
    move_into_place(system, temporary, checkpoints / step_name(content.step), content.step);
  } catch (...) {
    remove_all(system, temporary);  // the next save removes the rest
    throw;
  }
  fsync_folder(system, checkpoints);  // from here on the checkpoint survives power loss
  remove_old_checkpoints(system, run, content.step, keep);
  remove_leftovers(system, checkpoints);
}

void save_checkpoint(const path& run, const CheckpointContent& content, std::int64_t keep) {
  save_checkpoint(SystemCalls{}, run, content, keep);
}

}  // namespace evenkeel::store
