// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "evenkeel/base/error.h"

namespace evenkeel {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(::testing::TempDir()) / "file_test";

TEST(File, HoldsWhatWasWritten) {
  std::filesystem::create_directories(kFolder);
  write_file(kFolder / "a", "first");
  write_file(kFolder / "a", std::string_view("a\0b", 3));
  EXPECT_EQ(read_file(kFolder / "a"), std::string("a\0b", 3));
}

TEST(File, NamesTheFileThatIsMissing) {
  try {
    read_file(kFolder / "none");
    FAIL() << "a missing file was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::io);
    EXPECT_EQ(std::string(error.what()),
              (kFolder / "none").string() + ": cannot open: No such file or directory");
  }
}

TEST(File, RefusesAFolder) {
  EXPECT_THROW(read_file(kFolder), Error);
  try {
    write_file(kFolder, "text");
    FAIL() << "a folder was written";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), kFolder.string() + ": cannot write: Is a directory");
  }
}

TEST(File, ReplacesWhatALinkPointsToAndKeepsTheLink) {
  const auto folder = kFolder / "links";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "deep");
  std::filesystem::create_symlink("second", folder / "first");
  std::filesystem::create_symlink("deep/target", folder / "second");
  for (const auto* const content : {"made", "replaced"}) {
    write_file(folder / "first", content);
    EXPECT_EQ(std::filesystem::read_symlink(folder / "first"), "second");
    EXPECT_EQ(std::filesystem::read_symlink(folder / "second"), "deep/target");
    EXPECT_EQ(read_file(folder / "deep" / "target"), content);
  }
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_THROW(write_file(folder / "circle", "text"), Error);
}

TEST(File, WritesIntoAPipeThatStaysAPipe) {
  const auto pipe = kFolder / "pipe";
  std::filesystem::create_directories(kFolder);
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file(pipe, "text");
  std::array<char, 8> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 4);
  ::close(reader);
  EXPECT_EQ(std::string(got.data()), "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

/// The message of read_file(), which must refuse with exit code 74.
std::string refused_file(const std::filesystem::path& path,
                         std::uint64_t max_bytes = kMaxTextBytes) {
  try {
    read_file(path, max_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::io);
    return error.what();
  }
  return "no refusal";
}

TEST(File, ReadsRegularFilesOnly) {
  const auto pipe = kFolder / "input_pipe";
  std::filesystem::create_directories(kFolder);
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refused_file(pipe), pipe.string() + ": must be a regular file, but is a pipe");
  EXPECT_EQ(refused_file("/dev/zero"), "/dev/zero: must be a regular file, but is a device");
  EXPECT_EQ(refused_file(kFolder), kFolder.string() + ": cannot read: Is a directory");
}

TEST(File, RefusesMoreThanTheLimit) {
  std::filesystem::create_directories(kFolder);
  const auto file = kFolder / "large";
  write_file(file, "12345");
  EXPECT_EQ(read_file(file, 5), "12345");
  EXPECT_EQ(refused_file(file, 4),
            file.string() + ": must have at most 4 bytes, but has 5; name a smaller file");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);  // no block is written
  EXPECT_EQ(refused_file(file),
            file.string() +
                ": must have at most 16777216 bytes, but has 1099511627776; name a "
                "smaller file");
  EXPECT_EQ(refused_file("/proc/self/stat", 4),  // its size is 0
            "/proc/self/stat: must have at most 4 bytes, but has more; name a smaller file");
}

/// A pipe with a text and without a writer.
std::filesystem::path pipe_with(std::string_view content) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::write(ends[1], content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::close(ends[1]);
  return text("/dev/fd/", ends[0]);
}

TEST(KeepPipe, LetsThePipeOfAShellBeReadTwice) {
  const auto pipe = pipe_with("seed = 2\n");
  keep_pipe(pipe);
  keep_pipe(pipe);
  EXPECT_EQ(read_file(pipe), "seed = 2\n");
  EXPECT_EQ(read_file(pipe), "seed = 2\n");
  const int number = std::stoi(pipe.filename().string());
  EXPECT_EQ(::fcntl(number, F_GETFD), 0);  // processes that this one starts have it, too
  ::close(number);
}

TEST(KeepPipe, RefusesMoreThanTheLimit) {
  const auto pipe = pipe_with("12345");
  try {
    keep_pipe(pipe, 4);
    FAIL() << "5 bytes were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::io);
    EXPECT_EQ(std::string(error.what()),
              pipe.string() + ": must have at most 4 bytes, but has more; name a smaller file");
  }
  ::close(std::stoi(pipe.filename().string()));
}

/// The message of keep_pipe(), which must refuse with exit code 74.
std::string refused_pipe(const std::filesystem::path& pipe, std::chrono::milliseconds limit) {
  try {
    keep_pipe(pipe, kMaxTextBytes, limit);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::io);
    return error.what();
  }
  return "no refusal";
}

TEST(KeepPipe, RefusesAnEmptyPipe) {
  const auto pipe = pipe_with("");
  EXPECT_EQ(refused_pipe(pipe, std::chrono::minutes(1)),
            pipe.string() +
                ": must have a text, but this pipe is empty; check the command that writes to it");
  ::close(std::stoi(pipe.filename().string()));
}

TEST(KeepPipe, LimitsTheTimeUntilTheEndNotThatBetweenTwoBytes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::filesystem::path pipe = text("/dev/fd/", ends[0]);
  std::thread writer([&ends] {
    constexpr int kBytes = 200;  // 2 s
    for (int byte = 0; byte < kBytes; ++byte) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(::write(ends[1], "#", 1), 1);
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(refused_pipe(pipe, std::chrono::milliseconds(500)),
            pipe.string() +
                ": this pipe must end within 0.5 s, but has not; write the text to a file, and "
                "name that");
  writer.join();
  ::close(ends[0]);
}

TEST(KeepPipe, LeavesOtherPathsAlone) {
  const auto pipe = kFolder / "named_pipe";  // opening it would wait for a writer
  std::filesystem::create_directories(kFolder);
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& each : {pipe, kFolder / "none", std::filesystem::path("/dev/fd/63x")}) {
    EXPECT_NO_THROW(keep_pipe(each));
  }
  EXPECT_EQ(refused_file(pipe), pipe.string() + ": must be a regular file, but is a pipe");
}

TEST(File, FollowsALinkOfAPathButNotOneInAFolder) {
  std::filesystem::create_directories(kFolder);
  write_file(kFolder / "target", "text");
  const auto link = kFolder / "input_link";
  std::filesystem::remove(link);
  std::filesystem::create_symlink("target", link);
  EXPECT_EQ(read_file(link), "text");
  const int folder = ::open(kFolder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_THROW(open_input(folder, "input_link", link), Error);
  ::close(open_input(folder, "target", kFolder / "target"));
  ::close(folder);
}

}  // namespace
}  // namespace evenkeel
