// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/config/config.h"

namespace evenkeel::config {

/// A test in a folder of its own, so that messages name files as a user would: "mine.toml".
class TemporaryFolderTest : public ::testing::Test {
 protected:
  TemporaryFolderTest() : before_(std::filesystem::current_path()) {
    auto name = (std::filesystem::temp_directory_path() / "evenkeel-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::current_path(folder_);
  }
  TemporaryFolderTest(const TemporaryFolderTest&) = delete;
  TemporaryFolderTest& operator=(const TemporaryFolderTest&) = delete;
  TemporaryFolderTest(TemporaryFolderTest&&) = delete;
  TemporaryFolderTest& operator=(TemporaryFolderTest&&) = delete;
  ~TemporaryFolderTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path before_, folder_;
};

/// The configuration of a file "mine.toml" with this text.
inline Config config_of_file(const std::string& toml) {
  std::ofstream("mine.toml") << toml;
  return resolve({.preset = {}, .files = {"mine.toml"}, .scheme = {}, .sets = {}});
}

/// The configuration of a command line with these --set.
inline Config config_of_sets(const std::vector<std::string>& sets) {
  return resolve({.preset = {}, .files = {}, .scheme = {}, .sets = sets});
}

/// The message of the user's mistake that `make` meets.
template <typename Make>
std::string message_of(Make make) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage) << error.what();
    return error.what();
  }
  return "no error";
}

inline std::string file_error(const std::string& toml) {
  return message_of([&] { config_of_file(toml); });
}

inline std::string set_error(const std::vector<std::string>& sets) {
  return message_of([&] { config_of_sets(sets); });
}

}  // namespace evenkeel::config
