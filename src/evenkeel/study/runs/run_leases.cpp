// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_leases.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iomanip>
#include <random>
#include <sstream>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/store/system_calls.h"
#include "evenkeel/study/runs/clock.h"

namespace evenkeel::study {

namespace {

constexpr const char* kFolder = ".leases";
constexpr const char* kHeld = "held";
constexpr const char* kReleased = "released";
constexpr const char* kCrashed = "crashed";
constexpr const char* kStolen = "stolen";
constexpr double kHeartbeatsPerTimeout = 6;  // an owner may miss five of them
constexpr double kMaxRetrySeconds = 2;

/// The name of a lease file: "pre_norm-0123456789abcdef.2".
std::string lease_file(const std::string& key, std::int64_t generation) {
  return text(key, ".", generation);
}

/// The string value of a key of a lease; "" for a file that is not complete yet.
std::string lease_field(const std::string& content, const char* key) {
  const auto lease = parse_json(content);
  return lease.is_object() ? lease.value(key, "") : "";
}

store::Directory lease_folder(const std::filesystem::path& run_cache) {
  store::make_run_folder(run_cache / kFolder);
  return store::Directory(run_cache / kFolder);
}

/// Replaces the content of a file in place and durably. \param flags  of open()
/// \return 0, or errno
int write_in_place(const store::Directory& folder, const std::string& name, int flags,
                   const std::string& content) {
  constexpr mode_t kModeBeforeUmask = 0666;
  const int file =
      ::openat(folder.descriptor(), name.c_str(),
               O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, kModeBeforeUmask);
  if (file < 0) return errno;
  const auto size = static_cast<ssize_t>(content.size());
  errno = ENOSPC;  // of a short write
  int error = ::pwrite(file, content.data(), content.size(), 0) == size ? 0 : errno;
  if (error == 0 && (::ftruncate(file, size) != 0 || ::fsync(file) != 0)) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

RunLeases::RunLeases(const std::filesystem::path& run_cache, std::string worker,
                     double heartbeat_timeout)
    : folder_(lease_folder(run_cache)),
      worker_(std::move(worker)),
      heartbeat_timeout_(heartbeat_timeout) {}

RunLeases::~RunLeases() {
  try {
    release_all();
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; other workers steal the leases
  }
}

double RunLeases::retry_seconds() const {
  return std::min(kMaxRetrySeconds, heartbeat_timeout_ / kHeartbeatsPerTimeout);
}

/// Reads the newest lease of a run.
RunLeases::Seen& RunLeases::look(const std::string& key) {
  const auto [entry, is_first] = seen_.try_emplace(key);
  auto& seen = entry->second;
  while (folder_.has(lease_file(key, seen.generation + 1))) {
    ++seen.generation;
    seen.content.clear();
    seen.since = seconds_now();
  }
  if (seen.generation == 0) return seen;
  auto content = folder_.read(lease_file(key, seen.generation));
  if (content != seen.content) {
    seen.content = std::move(content);
    seen.since = seconds_now();
  }
  const bool has_crashed = lease_field(seen.content, "state") == kCrashed;
  if (is_first && has_crashed) seen.old_crash = seen.generation;
  return seen;
}

RunLeases::Claim RunLeases::claim(const std::string& key) {
  if (holds(key)) return Claim::owned;
  auto& seen = look(key);
  bool is_silent = false;
  if (seen.generation > 0) {
    const auto state = lease_field(seen.content, "state");
    const bool has_crashed = state == kCrashed;
    if (has_crashed && seen.generation != seen.old_crash) return Claim::crashed_elsewhere;
    const bool is_free = has_crashed || state == kReleased;
    is_silent = !is_free && seconds_now() - seen.since >= heartbeat_timeout_;
    if (!is_free && !is_silent) return Claim::held_elsewhere;
  }
  const Held held{.generation = seen.generation + 1, .written_at = seconds_now()};
  const auto name = lease_file(key, held.generation);
  const int error = write_in_place(folder_, name, O_CREAT | O_EXCL, "");
  if (error == EEXIST) return Claim::held_elsewhere;  // another worker was faster
  if (error != 0) store::throw_system_error(folder_.path() / name, "write", error);
  held_[key] = held;
  write(key, held, kHeld, "");
  if (is_silent) write(key, {.generation = seen.generation}, kStolen, "");
  return is_silent ? Claim::stolen : Claim::owned;
}

std::string RunLeases::other_worker(const std::string& key) const {
  const auto seen = seen_.find(key);
  return seen == seen_.end() ? "" : lease_field(seen->second.content, "worker");
}

std::string RunLeases::crash_reason(const std::string& key) const {
  const auto seen = seen_.find(key);
  return seen == seen_.end() ? "" : lease_field(seen->second.content, "reason");
}

/// Writes a lease. A failure has no effect but that other workers miss a heartbeat.
void RunLeases::write(const std::string& key, const Held& held, const std::string& state,
                      const std::string& reason) const {
  const nlohmann::ordered_json lease = {
      {"worker", worker_}, {"heartbeat", held.heartbeat}, {"state", state}, {"reason", reason}};
  write_in_place(folder_, lease_file(key, held.generation), 0, store::json_line(lease));
}

/// True if another worker has a newer lease. The thief writes into both files, because a network
/// file system may show a new file late.
bool RunLeases::is_stolen(const std::string& key, const Held& held) const {
  if (folder_.has(lease_file(key, held.generation + 1))) return true;
  return lease_field(folder_.read(lease_file(key, held.generation)), "state") == kStolen;
}

void RunLeases::release(const std::string& key, const std::string& crash_reason) {
  const auto entry = held_.find(key);
  if (entry == held_.end()) return;
  write(key, entry->second, crash_reason.empty() ? kReleased : kCrashed, crash_reason);
  held_.erase(entry);
}

void RunLeases::release_all() {
  while (!held_.empty()) release(std::string(held_.begin()->first));
}

std::vector<std::string> RunLeases::renew(bool at_once) {
  std::vector<std::string> lost;
  for (auto& [key, held] : held_) {
    const bool is_due =
        seconds_now() - held.written_at >= heartbeat_timeout_ / kHeartbeatsPerTimeout;
    if (!is_due && !at_once) continue;
    held.written_at = seconds_now();
    try {
      if (is_stolen(key, held)) {
        lost.push_back(key);
        continue;
      }
    } catch (const Error&) {
      continue;  // the file system does not answer; the next call tries again
    }
    ++held.heartbeat;
    write(key, held, kHeld, "");
  }
  for (const auto& key : lost) held_.erase(key);
  return lost;
}

void RunLeases::remove(const std::string& key) const {
  for (std::int64_t generation = 1; folder_.has(lease_file(key, generation)); ++generation) {
    if (folder_.remove(lease_file(key, generation)) != 0) return;
  }
}

std::string worker_name() {
  std::random_device random;
  std::ostringstream out;
  out << host_name("?") << ':' << ::getpid() << ':' << std::hex << std::setw(8) << std::setfill('0')
      << random();
  return out.str();
}

bool fence_run(const std::filesystem::path& run, bool by_force) {
  if (!store::Directory::find(run)) return true;  // no process has begun it
  try {
    const store::Lock lock(run);
    lock.remove_file();
    return true;
  } catch (const Error& error) {
    if (error.exit() != Exit::busy) throw;
  }
  if (!by_force) return false;
  const int error = store::Directory(run).remove("lock");
  if (error != 0 && error != ENOENT) store::throw_system_error(run / "lock", "remove", error);
  return true;
}

}  // namespace evenkeel::study
