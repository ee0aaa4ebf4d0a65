// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint_save.h"

#include <cerrno>
#include <fstream>
#include <string>

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
void remove_leftovers(const Directory& checkpoints) {
  for (const auto& name : checkpoints.entries()) {
    if (!name.starts_with(kTemporary) && !name.starts_with(kTrash)) continue;
    if (const int error = checkpoints.remove(name); error != 0)
      throw_system_error(checkpoints.path() / name, "remove", error);
  }
}

/// \throws FullDisk unless the file system has 1.1 times the size of the files plus 16 MiB free
void check_space(const Directory& checkpoints, const CheckpointFiles& files_to_write) {
  constexpr double kMargin = 1.1;
  const auto size =
      files_to_write.model.size() + files_to_write.optimizer.size() + files_to_write.state.size();
  const double wanted = kMargin * static_cast<double>(size) + kCheckpointReserve;
  const auto free = checkpoints.system().free_bytes(checkpoints.descriptor());
  if (free < 0) throw_system_error(checkpoints.path(), "ask for free space", errno);
  if (static_cast<double>(free) >= wanted) return;
  throw FullDisk(text(checkpoints.path().string(), ": a checkpoint needs ", bytes_text(wanted),
                      " free, but ", bytes_text(static_cast<double>(free)),
                      " are; free some space, older checkpoints are intact"));
}

nlohmann::json file_json(const WrittenFile& written) {
  return {{"size", written.size}, {"digest", written.digest}};
}

/// Writes a checkpoint's folder and all its files durably. The name of the folder is not durable
/// yet.
/// \throws Error (io)
void write_folder(const Directory& checkpoints, const std::string& name,
                  const CheckpointContent& content, const CheckpointFiles& files_to_write) {
  constexpr mode_t kModeBeforeUmask = 0777;
  const auto path = checkpoints.path() / name;
  if (checkpoints.system().mkdirat(checkpoints.descriptor(), name.c_str(), kModeBeforeUmask) != 0) {
    throw_system_error(path, "make the folder", errno);
  }
  const auto folder = checkpoints.folder(name);
  const auto tensors = [&](const char* file, const SafetensorsWriter& writer) {
    auto written = file_json(writer.write(OutputFile(folder, file, writer.size())));
    written["tensors"] = writer.tensors();
    return written;
  };
  const auto json = [&](const char* file, const std::string& json_content) {
    return file_json(write_new_file(folder, file, json_content, path / file));
  };
  nlohmann::json files;
  files[kModelName] = tensors(kModelName, files_to_write.model);
  files[kOptimizerName] = tensors(kOptimizerName, files_to_write.optimizer);
  files[kStateName] = json(kStateName, files_to_write.state);
  json(kManifestName, manifest_text(content.manifest, content.step, files));
  folder.flush();
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

/// Removes all but the newest `keep` checkpoints, and those of steps after `saved`. Only
/// checkpoints with the file sizes of their manifests count towards `keep`.
void remove_old_checkpoints(const Directory& checkpoints, std::int64_t saved, std::int64_t keep) {
  const auto steps = listed_steps(checkpoints);
  std::int64_t kept_count = 0;
  bool moved = false;
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (*at <= saved && kept_count < keep) {
      kept_count += check_checkpoint(checkpoints, *at, CheckLevel::sizes).defect.empty() ? 1 : 0;
      continue;
    }
    checkpoints.rename(step_name(*at), process_unique_name(kTrash, *at));
    moved = true;
  }
  if (moved) checkpoints.flush();
}

}  // namespace

void save_checkpoint(const SystemCalls& system, const Lock& lock, const CheckpointContent& content,
                     std::int64_t keep) {
  EK_ASSERT(keep >= 1 && content.step >= 0);
  lock.check_file();
  const auto run = lock.directory().with(system);
  run.make_folder(kCheckpointsName);
  run.flush();  // new records files; and an earlier process may have ended before its fsync
  const auto checkpoints = run.folder(kCheckpointsName);
  remove_leftovers(checkpoints);
  const auto files_to_write = checkpoint_files(content);
  check_space(checkpoints, files_to_write);
  const auto temporary = process_unique_name(kTemporary, content.step);
  try {
    write_folder(checkpoints, temporary, content, files_to_write);
    move_into_place(checkpoints, temporary, content.step);
  } catch (...) {
    checkpoints.remove(temporary);  // the next save removes the rest
    throw;
  }
  checkpoints.flush();  // from here on the checkpoint survives power loss
  remove_old_checkpoints(checkpoints, content.step, keep);
  remove_leftovers(checkpoints);
}

void save_checkpoint(const Lock& lock, const CheckpointContent& content, std::int64_t keep) {
  save_checkpoint(kernel_calls(), lock, content, keep);
}

}  // namespace evenkeel::store
