// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/checkpoint.h"

namespace evenkeel::store {

/// The folder in which the tests of this process write; removed at its end. In memory if possible:
/// thousands of small files are written, and none is worth a wait for a disk.
class TestRoot {
 public:
  TestRoot() {
    const std::filesystem::path memory = "/dev/shm";
    const auto base = std::filesystem::is_directory(memory)
                          ? memory
                          : std::filesystem::path(::testing::TempDir());
    folder_ = base / text("store_test-", ::getpid());
  }
  TestRoot(const TestRoot&) = delete;
  TestRoot& operator=(const TestRoot&) = delete;
  TestRoot(TestRoot&&) = delete;
  TestRoot& operator=(TestRoot&&) = delete;
  ~TestRoot() {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// An empty folder for the test that runs.
inline std::filesystem::path fresh_folder() {
  static const TestRoot test_root;
  const auto& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = test_root.folder() / test.test_suite_name() / test.name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

/// The message and exit code of the Error that `act` throws: "65 a.txt: ..."; or "no error".
template <typename Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), " ", error.what());
  }
  return "no error";
}

/// Replaces a file in place, without the care of write_file.
inline void put(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

/// The names in RUN/checkpoints, each with a space after it.
inline std::string checkpoint_entries(const std::filesystem::path& run) {
  std::string names;
  for (const auto& each : directory_entries(run / "checkpoints")) {
    names += each.filename().string() + " ";
  }
  return names;
}

/// A checkpoint of a few small tensors; `mark` distinguishes two of the same step.
inline CheckpointContent small_content(std::int64_t step, int mark = 0) {
  static const std::array<float, 6> kBlockMatrices = {1.5F, -2, 0, 3e-30F, 4, 5};
  static const std::array<std::uint16_t, 2> kHalves = {0x3f80, 0xc000};
  static const std::array<double, 1> kMoment = {0.1};
  CheckpointContent content;
  content.step = step;
  content.model = {{"b.weight", Dtype::f32, {2, 3}, kBlockMatrices.data()},
                   {"a.gain", Dtype::bf16, {2}, kHalves.data()}};
  content.optimizer = {{"moment", Dtype::f64, {}, kMoment.data()}};
  content.state = {{"mark", mark}, {"cursor", 12345}, {"scale", 0.1}};
  content.manifest = {{"program", "evenkeel"}, {"threads", 2}};
  return content;
}

}  // namespace evenkeel::store
