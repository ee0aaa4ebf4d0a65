// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "evenkeel/base/file.h"

namespace evenkeel::data {

/// A fresh folder for the files of one test.
class TemporaryFolder : public ::testing::Test {
 protected:
  TemporaryFolder()
      : folder_(std::filesystem::path(::testing::TempDir()) / "data_test" /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes a file, whose folder is made if it is missing, and gives its path.
  std::string file(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, content);
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace evenkeel::data
