// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/system_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace evenkeel {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public ::testing::Test {
 protected:
  ~ControlGroups() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& content) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content;
  }
  double left(const std::string& group) const { return control_group_bytes(root_, group); }

 private:
  fs::path root_ = fs::temp_directory_path() / ("evenkeel-groups-" + std::to_string(::getpid()));
};

TEST_F(ControlGroups, LeaveTheLimitLessWhatIsUsed) {
  write("memory.max", "max\n");
  write("memory.current", "700\n");
  EXPECT_TRUE(std::isinf(left("0::/\n")));
  write("memory.max", "1000\n");
  EXPECT_EQ(left("0::/\n"), 300);
  write("memory.stat", "anon 500\ninactive_file 200\n");  // can be dropped
  EXPECT_EQ(left("0::/\n"), 500);
  write("memory.current", "5000\n");
  EXPECT_EQ(left("0::/\n"), 0);
}

TEST_F(ControlGroups, LeaveTheLeastOfTheAncestors) {
  write("jobs/memory.max", "400\n");
  write("jobs/memory.current", "100\n");
  write("jobs/7/memory.max", "1000\n");
  write("jobs/7/memory.current", "50\n");
  EXPECT_EQ(left("0::/jobs/7\n"), 300);
  EXPECT_TRUE(std::isinf(left("0::/other\n")));
}

TEST_F(ControlGroups, HaveOtherNamesInVersion1) {
  write("memory/docker/1f/memory.limit_in_bytes", "800\n");
  write("memory/docker/1f/memory.usage_in_bytes", "300\n");
  EXPECT_EQ(left("5:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n"), 500);
  EXPECT_TRUE(std::isinf(left("no group\n")));
}

TEST(SystemMemory, IsKnownOnLinux) {
  EXPECT_GT(available_bytes(), 0);
  EXPECT_LE(available_bytes(), total_bytes());
}

}  // namespace
}  // namespace evenkeel
