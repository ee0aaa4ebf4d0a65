// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/watch/run_cache.h"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::watch {

namespace {

namespace fs = std::filesystem;

/// The files that report::read_run() reads.
constexpr std::array kFiles = {"metrics.jsonl",   "status.json",       "probes.jsonl",
                               "health.jsonl",    "evaluations.jsonl", "sample.txt",
                               "provenance.json", "scheme.txt",        "run.toml"};

std::shared_ptr<const report::Run> read_or_none(const fs::path& folder) {
  try {
    return std::make_shared<const report::Run>(report::read_run(folder));
  } catch (const Error&) {
    return nullptr;
  }
}

/// Whether a process trains the run: after a crash only the lock says that it ended.
const char* lock_text(const fs::path& folder) {
  try {
    return store::is_locked(folder) ? "locked" : "free";
  } catch (const Error&) {
    return "unknown";  // no free file descriptor
  }
}

/// Whether a file could not be read. That may pass without a change of the folder.
bool has_failed(const report::Run& run) {
  return std::any_of(run.missing.begin(), run.missing.end(), [](const auto& each) {
    return each.second.find(" cannot be read: ") != std::string::npos;
  });
}

}  // namespace

std::shared_ptr<const report::Run> RunCache::read(const fs::path& folder,
                                                  const std::string& signature) {
  const std::lock_guard guard(mutex_);
  auto& entry = entries_[folder];
  const bool is_current = entry.run && entry.signature == signature && !has_failed(*entry.run);
  if (!is_current) entry = {signature, read_or_none(folder)};
  return entry.run;
}

void RunCache::retain(const std::vector<fs::path>& folders) {
  const std::lock_guard guard(mutex_);
  const std::set<fs::path> kept(folders.begin(), folders.end());
  std::erase_if(entries_, [&](const auto& each) { return !kept.contains(each.first); });
}

std::string signature_of(const fs::path& folder) {
  auto out = text(folder.string(), ' ', lock_text(folder));
  for (const auto* const name : kFiles) {
    std::error_code none;
    const auto size = fs::file_size(folder / name, none);
    const auto time = fs::last_write_time(folder / name, none).time_since_epoch().count();
    out += text(' ', none ? 0 : size, ' ', none ? 0 : time);
  }
  return out;
}

}  // namespace evenkeel::watch
