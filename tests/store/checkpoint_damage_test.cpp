// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "evenkeel/base/digest.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/json_text.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/manifest.h"
#include "store/faulty_system_calls.h"
#include "store/support.h"

/// Any damage of the newest checkpoint on the disk is detected, and the older one is found.
namespace evenkeel::store {
namespace {

using std::filesystem::path;

class DamagedCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    fault_plan = {};
    const Lock lock(run_);
    save_checkpoint(faulty_system(), lock, small_content(100, 1), 2);
    save_checkpoint(faulty_system(), lock, small_content(120, 2), 2);
  }

  /// Why step 120 is skipped; "" if it is not, or if step 100 is not found in its place.
  std::string reason() const {
    const auto newest = newest_checkpoint(run_);
    if (!newest.found || newest.found->step != 100 || newest.skipped.size() != 1) return "";
    return newest.skipped.front();
  }
  std::string manifest() const { return read_file(folder_ / "MANIFEST.json"); }

  path run_ = fresh_folder();
  path folder_ = run_ / "checkpoints" / "step-00000120";
};

TEST_F(DamagedCheckpoint, IsDetectedAtEveryFlippedBit) {
  const Directory checkpoints(run_ / "checkpoints");
  for (const auto* name : {kManifestName, kModelName, kOptimizerName, kStateName}) {
    const auto whole = read_file(folder_ / name);
    std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
    const auto put_byte = [&](std::size_t at, char byte) {
      file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
    };
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      put_byte(bit / 8, static_cast<char>(whole[bit / 8] ^ (1 << (bit % 8))));
      const auto defect = check_checkpoint(checkpoints, 120, CheckLevel::digests).defect;
      ASSERT_NE(defect, "") << name << ", bit " << bit;
      ASSERT_EQ(defect.find('\n'), std::string::npos) << name << ", bit " << bit;
      if (bit % 8 == 0) {
        ASSERT_NE(reason(), "") << name << ", bit " << bit;
      }
      put_byte(bit / 8, whole[bit / 8]);
    }
  }
  EXPECT_EQ(newest_checkpoint(run_).found->step, 120);  // all is as before
}

TEST_F(DamagedCheckpoint, IsDetectedAtEveryTruncation) {
  for (const auto* name : {kManifestName, kModelName, kOptimizerName, kStateName}) {
    const auto whole = read_file(folder_ / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      put(folder_ / name, whole.substr(0, size));
      ASSERT_NE(reason(), "") << name << ", " << size << " bytes";
    }
    put(folder_ / name, whole + "\n");
    EXPECT_NE(reason(), "") << name;
    put(folder_ / name, whole);
  }
}

TEST_F(DamagedCheckpoint, IsDetectedWhenAFileIsMissing) {
  for (const auto* name : {kManifestName, kModelName, kOptimizerName, kStateName}) {
    std::filesystem::rename(folder_ / name, run_ / "away");
    EXPECT_EQ(reason(), text("checkpoints/step-00000120: ", name, " is missing; skipped"));
    std::filesystem::rename(run_ / "away", folder_ / name);
  }
}

TEST_F(DamagedCheckpoint, IsDetectedWhenFilesAreSwapped) {
  const auto older = run_ / "checkpoints" / "step-00000100";
  std::filesystem::copy_file(older / kStateName, folder_ / kStateName,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(reason(), "checkpoints/step-00000120: state.json does not match its digest; skipped");
  std::filesystem::copy_file(older / kManifestName, folder_ / kManifestName,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(reason(), "checkpoints/step-00000120: MANIFEST.json is of step 100; skipped");
  std::filesystem::rename(folder_ / kModelName, run_ / "away");
  std::filesystem::rename(folder_ / kOptimizerName, folder_ / kModelName);
  std::filesystem::rename(run_ / "away", folder_ / kOptimizerName);
  EXPECT_NE(reason(), "");
}

TEST_F(DamagedCheckpoint, NamesTheDefect) {
  const auto model = read_file(folder_ / kModelName);
  auto flipped = model;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  put(folder_ / kModelName, flipped);
  EXPECT_EQ(reason(),
            "checkpoints/step-00000120: model.safetensors does not match its digest; skipped");
  put(folder_ / kModelName, model.substr(1));
  EXPECT_EQ(reason(), text("checkpoints/step-00000120: model.safetensors must have ", model.size(),
                           " bytes, but has ", model.size() - 1, "; skipped"));
  put(folder_ / kManifestName, manifest() + " ");
  EXPECT_EQ(reason(), "checkpoints/step-00000120: MANIFEST.json is damaged; skipped");
}

TEST_F(DamagedCheckpoint, IsNotReadThroughLinks) {
  std::filesystem::rename(folder_ / kModelName, run_ / "elsewhere");
  std::filesystem::create_symlink(run_ / "elsewhere", folder_ / kModelName);
  EXPECT_EQ(reason(),
            "checkpoints/step-00000120: model.safetensors is not a regular file; skipped");
  std::filesystem::rename(folder_, run_ / "moved");
  std::filesystem::create_directory_symlink(run_ / "moved", folder_);
  EXPECT_EQ(reason(), "checkpoints/step-00000120: is not a folder; skipped");
}

/// Writes a manifest that was changed, with a root digest that fits.
void rewrite_manifest(const path& file, const std::function<void(nlohmann::json&)>& change) {
  auto manifest = nlohmann::json::parse(read_file(file));
  change(manifest);
  manifest["root_digest"] = std::string(32, '0');
  const auto zeros = json_text(manifest);
  manifest["root_digest"] = digest(zeros.data(), zeros.size());
  put(file, json_text(manifest));
}

TEST_F(DamagedCheckpoint, IsDetectedWhenAnotherProgramWroteTheManifest) {
  const auto file = folder_ / kManifestName;
  const auto whole = manifest();
  rewrite_manifest(file, [](nlohmann::json& manifest) { manifest["format"] = 2; });
  EXPECT_EQ(reason(),
            "checkpoints/step-00000120: MANIFEST.json is of format 2, but this program "
            "reads 1; skipped");
  put(file, whole);
  rewrite_manifest(file, [](nlohmann::json& manifest) { manifest["format"] = 1e300; });
  EXPECT_EQ(reason(),
            "checkpoints/step-00000120: MANIFEST.json has a number that is no integer; skipped");
  put(file, whole);
  rewrite_manifest(file, [](nlohmann::json& manifest) { manifest.erase("files"); });
  EXPECT_EQ(reason(),
            "checkpoints/step-00000120: MANIFEST.json does not say what a manifest says; "
            "skipped");
  put(file, std::string(1 << 20, '['));
  EXPECT_EQ(reason(), "checkpoints/step-00000120: MANIFEST.json is damaged; skipped");
}

TEST_F(DamagedCheckpoint, LeavesNothingWhenAllAreDamaged) {
  for (const auto step : listed_steps(Directory(run_ / "checkpoints"))) {
    std::filesystem::remove(run_ / "checkpoints" / step_name(step) / kStateName);
  }
  const auto newest = newest_checkpoint(run_);
  EXPECT_FALSE(newest.found);
  EXPECT_EQ(newest.skipped.size(), 2U);
  EXPECT_EQ(checkpoint_steps(run_).size(), 2U);
}

}  // namespace
}  // namespace evenkeel::store
