// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/output_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "convert/support.h"
#include "evenkeel/data/part_folder.h"

namespace evenkeel::convert {
namespace {

namespace fs = std::filesystem;

/// The mark of a process that has ended.
std::string mark_of_a_dead_process() {
  const auto own = data::new_writer_mark();
  const auto process = ::fork();
  if (process == 0) ::_exit(0);
  ::waitpid(process, nullptr, 0);
  const auto number = text("-", ::getpid(), "-");
  return text(own.substr(0, own.rfind(number)), "-", process, "-0");
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) {
    names.push_back(each.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Writes a complete folder.
void write_whole(const fs::path& path) {
  OutputFolder output(path, /*overwrite=*/true, "mark", {});
  output.write("mark", "");
  output.finish();
}

TEST(OutputFolder, RemovesWhatDeadProcessesLeft) {
  const TestFolder folder;
  const auto dead = mark_of_a_dead_process();
  for (const auto& name : {"model.new-" + dead, "model.old-" + dead}) {
    fs::create_directory(folder.path() / name);
    folder.write(name + "/model.safetensors", "x");
  }
  write_whole(folder.path() / "model");
  // The older folder is not removed before another one has its name.
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"model", "model.old-" + dead}));
  write_whole(folder.path() / "model");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

TEST(OutputFolder, RemovesNothingElse) {
  const TestFolder folder;
  const auto dead = mark_of_a_dead_process();
  auto other = dead;
  other[0] = other[0] == 'x' ? 'y' : 'x';  // another machine
  std::vector<std::string> wanted = {"model",        "model.new-1",         "model.old-1",
                                     "model.new-",   "model.new-" + other,  "mode.new-" + dead,
                                     "model.newest", "model.x.new-" + dead, "other"};
  for (const auto& name : wanted) {
    if (name != "model") fs::create_directory(folder.path() / name);
  }
  fs::create_directory_symlink("other", folder.path() / ("model.new-" + dead));  // a link
  folder.write("other/file", "x");
  wanted.push_back("model.new-" + dead);
  write_whole(folder.path() / "model");
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(names_in(folder.path()), wanted);
  EXPECT_EQ(names_in(folder.path() / "other"), std::vector<std::string>{"file"});
}

TEST(OutputFolder, IsRemovedWhenASignalStops) {
  const TestFolder folder;
  const auto path = folder.path() / "model";
  bool stops = false;
  const auto message = message_of([&] {
    const OutputFolder output(path, /*overwrite=*/false, "mark", [&] { return stops; });
    output.write("mark", "");
    output.check_stop();
    EXPECT_EQ(names_in(folder.path()).size(), 1U);
    stops = true;
    output.check_stop();
  });
  EXPECT_EQ(message, "--output " + path.string() + ": stopped by a signal; nothing was written");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace evenkeel::convert
