// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/part_folder.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "evenkeel/base/boot_id.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/host_name.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = ".part-";

/// The number of the process namespace, and the start of this machine: names and namespaces of
/// machines may be equal. "0" and a number at random if they cannot be read.
std::string namespace_and_start() {
  std::error_code none;
  auto number = fs::read_symlink("/proc/self/ns/pid", none).string();  // "pid:[4026531836]"
  std::erase_if(number, [](char each) { return each < '0' || each > '9'; });
  auto start = boot_id();
  std::erase(start, '-');
  if (!number.empty() && !start.empty()) return text(number, "-", start);
  std::random_device random;
  return text("0-", std::hex, random(), random());
}

/// "HOST-NAMESPACE-START-": the processes whose numbers this process can look up.
std::string reachable_processes() {
  static const std::string id = namespace_and_start();
  auto host = host_name();
  std::replace(host.begin(), host.end(), '/', '_');
  return text(host, "-", id, "-");
}

/// The paths in a folder; another machine may be removing it.
std::vector<fs::path> paths_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator each(folder, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    paths.push_back(each->path());
  }
  return paths;
}

/// True if neither a folder nor a file in it has changed for a day.
bool is_abandoned(const fs::path& folder) {
  constexpr std::chrono::hours kDay{24};  // clocks of machines differ by less
  const auto latest = fs::file_time_type::clock::now() - kDay;
  auto paths = paths_in(folder);
  paths.push_back(folder);
  return std::all_of(paths.begin(), paths.end(), [latest](const fs::path& each) {
    std::error_code error;
    const auto changed = fs::last_write_time(each, error);
    return !error && changed < latest;
  });
}

}  // namespace

std::string new_writer_mark() {
  std::random_device random;
  return text(reachable_processes(), ::getpid(), "-", std::hex, random());
}

bool has_writer_ended(const std::string& mark) {
  const auto reachable = reachable_processes();
  if (!mark.starts_with(reachable)) return false;
  int process = 0;
  const char* const end = mark.data() + mark.size();
  const auto [stop, error] = std::from_chars(mark.data() + reachable.size(), end, process);
  if (error != std::errc() || process <= 0 || stop == end || *stop != '-') return false;
  return process == ::getpid() || (::kill(process, 0) != 0 && errno == ESRCH);
}

void remove_leftovers(const fs::path& target) {
  const auto prefix = target.filename().string() + kPart;
  for (const auto& each : paths_in(target.parent_path())) {
    const auto name = each.filename().string();
    if (!name.starts_with(prefix)) continue;
    std::error_code none;
    // Version 0.1 wrote only the number of the process, which no process can look up.
    const bool is_left = has_writer_ended(name.substr(prefix.size())) || is_abandoned(each);
    if (is_left) fs::remove_all(each, none);
  }
}

PartFolder::PartFolder(const fs::path& target) : path_(target) {
  path_ += text(kPart, new_writer_mark());
}

PartFolder::~PartFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

}  // namespace evenkeel::data
