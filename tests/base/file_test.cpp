// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/file.h"

#include <gtest/gtest.h>

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
}

}  // namespace
}  // namespace evenkeel
