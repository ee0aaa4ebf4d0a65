// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/agreement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::comm {

namespace {

/// Opens a folder: the client of NFS then asks the server what is in it, instead of remembering
/// that a file was not there.
void refresh_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::directory_iterator opened(folder.empty() ? "." : folder, ignored);
}

/// Reads a word that another machine wrote; a network file system may show it late.
bool finds_word(const std::filesystem::path& file, const std::string& word) {
  constexpr int kAttempts = 50;
  constexpr std::chrono::milliseconds kPause{100};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string found;
    refresh_folder(file.parent_path().parent_path());
    refresh_folder(file.parent_path());
    try {
      found = read_file(file);
    } catch (const Error&) {
      found.clear();  // not there
    }
    if (found == word) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

}  // namespace

void check_equal(Group& group, const Facts& facts) {
  std::vector<Facts> all;
  std::vector<std::string> names;
  for (const auto& each : group.all_gather_texts(facts_text(facts))) {
    names.push_back(group.name(static_cast<int>(all.size())));
    all.push_back(parse_facts(each));
  }
  const auto difference = difference_of(all, names);
  if (!difference.empty()) throw Error(Exit::differs, difference);
}

void check_shared_folder(Group& group, const std::filesystem::path& folder) {
  if (group.ranks() == 1) return;
  std::string word;
  const auto file = folder / ".ranks";
  if (group.is_first()) {
    std::random_device random;
    word = text(random(), "-", random());
    std::error_code none;
    std::filesystem::remove(file, none);  // a link: write_file() would follow it
    write_file(file, word);
  }
  word = group.broadcast_text(word, 0);
  const bool sees = group.is_first() || finds_word(file, word);
  const auto answers = group.all_gather_texts(
      sees ? "" : group.placement().hosts[static_cast<std::size_t>(group.rank())]);
  if (group.is_first()) {
    std::error_code none;
    std::filesystem::remove(file, none);
  }
  const auto blind =
      std::find_if(answers.begin(), answers.end(), [](const auto& each) { return !each.empty(); });
  if (blind == answers.end()) return;
  throw Error(Exit::usage,
              text(folder.string(), ": rank ", blind - answers.begin(), " (", *blind,
                   ") does not see what rank 0 wrote; the run folder must be on a file "
                   "system that all machines share"));
}

}  // namespace evenkeel::comm
