// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/run_provenance.h"
#include "evenkeel/train/trainer.h"

/// Checkpoints whose digests match, but which this program did not write.
namespace evenkeel::train {
namespace {

using nlohmann::json;

class ForgedCheckpoint : public ::testing::Test {
 protected:
  ForgedCheckpoint() {
    text_.train.resize(1);
    text_.train[0].corpus.append("The old baker sees the moon. The old baker sees the moon.");
    std::filesystem::create_directories(run_);
    lock_.emplace(run_);
    trainer_ = std::make_unique<Trainer>(config_, shape_, nn::Precision::float32, text_);
    other_ = std::make_unique<Trainer>(config_, shape_, nn::Precision::float32, text_);
    for (int step = 0; step < 2; ++step) trainer_->step();
  }
  ~ForgedCheckpoint() override {
    lock_.reset();
    std::error_code none;
    std::filesystem::remove_all(run_, none);
  }
  ForgedCheckpoint(const ForgedCheckpoint&) = delete;
  ForgedCheckpoint& operator=(const ForgedCheckpoint&) = delete;

  /// What a trainer says that restores the checkpoint after a change of its content.
  std::string restored_from(const std::function<void(store::CheckpointContent&)>& forge) {
    auto content = trainer_->checkpoint_content();
    forge(content);
    store::save_checkpoint(*lock_, content, 1);
    const auto newest = store::newest_checkpoint(run_);
    if (!newest.found) return "no valid checkpoint";
    try {
      other_->restore(*newest.found);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::no_checkpoint) << error.what();
      return error.what();
    }
    return "no error";
  }
  std::string restored_with(const char* key, const json& value) {
    return restored_from([&](store::CheckpointContent& content) { content.state[key] = value; });
  }

  std::filesystem::path run_ =
      std::filesystem::path(::testing::TempDir()) / text("trainer_restore-", ::getpid());
  config::Config config_ = config::resolve(
      {.preset = "tiny",
       .files = {},
       .scheme = "pre_norm",
       .sets = {"model.layers=1", "model.width=16", "model.heads=2", "model.kv_heads=1",
                "model.inner=24", "model.context=8", "train.batch=2", "train.steps=10"}});
  norm::Shape shape_ = config::shape_of(config_, data::kByteVocabulary);
  data::Corpora text_;
  std::optional<store::Lock> lock_;
  std::unique_ptr<Trainer> trainer_, other_;
};

TEST_F(ForgedCheckpoint, IsRestoredIfNothingWasForged) {
  EXPECT_EQ(restored_from([](store::CheckpointContent&) {}), "no error");
}

TEST_F(ForgedCheckpoint, WithImpossibleCountersIsRefused) {
  const auto file = (run_ / "checkpoints/step-00000002/state.json").string();
  EXPECT_EQ(restored_with("step", 3), file +
                                          ": step must be an integer from 2 to 2, but is 3; "
                                          "restore the run from a copy");
  EXPECT_EQ(restored_with("skipped", "none"),
            file +
                ": skipped must be an integer from 0 to 2, but is \"none\"; restore the run from "
                "a copy");
  EXPECT_EQ(restored_with("sequences", -1),
            file +
                ": sequences must be an integer from 0 to 9007199254740992, but is -1; restore "
                "the run from a copy");
  for (const auto* key : {"step", "updates", "skipped", "sequences", "tokens"}) {
    for (const auto* value : {"null", "1.5", "1e300", "18446744073709551615", "[]", "{}", "true"}) {
      EXPECT_TRUE(restored_with(key, json::parse(value)).starts_with(file + ": " + key)) << value;
    }
  }
}

TEST_F(ForgedCheckpoint, WithoutStateIsRefused) {
  for (const auto* state : {"null", "[]", "7", "{}"}) {
    EXPECT_NE(restored_from([&](auto& content) { content.state = json::parse(state); }),
              "no error");
  }
}

TEST_F(ForgedCheckpoint, WithAnImpossibleHealthMonitorIsRefused) {
  const auto wanted = (run_ / "checkpoints/step-00000002/state.json").string() +
                      ": health must be the state of the health monitor, but is not; restore the "
                      "run from a copy";
  for (const auto* health : {"null", "7", "{}", "[1]"}) {
    EXPECT_EQ(restored_with("health", json::parse(health)), wanted) << health;
  }
  const auto whole = trainer_->checkpoint_content().state.at("health");
  for (const auto& [key, value] : whole.items()) {
    auto forged = whole;
    forged[key] = json::array({json::object()});
    EXPECT_EQ(restored_with("health", forged), wanted) << key;
  }
}

/// The largest difference of a row's length from 1.
double deviation_from_unit_rows(const at::Tensor& rows) {
  return (rows.to(at::kDouble).norm(2, -1) - 1).abs().max().item<double>();
}

// docs/schemes.md: unit_norm acts at the start and after every step, whatever the start is.
TEST_F(ForgedCheckpoint, IsNormalizedByUnitNormAsInitialWeightsOnly) {
  store::save_checkpoint(*lock_, trainer_->checkpoint_content(), 1);
  const auto newest = store::newest_checkpoint(run_);
  ASSERT_TRUE(newest.found);
  auto config = config_;
  config.scheme = config::inline_scheme(
      "extends = 'pre_norm'\n"
      "hooks = [{ kind = 'unit_norm', axis = 'in', weights = ['embedding'] }]",
      ".");
  Trainer unit(config, shape_, nn::Precision::float32, text_);
  const auto& embedding = unit.parameters().at("embedding.weight");
  const auto& saved = trainer_->parameters().at("embedding.weight").master;
  ASSERT_GT(deviation_from_unit_rows(saved), 0.1);
  unit.load_weights(*newest.found);
  EXPECT_LT(deviation_from_unit_rows(embedding.master), 1e-6);
  EXPECT_TRUE(embedding.value.detach().equal(embedding.master));
  unit.restore(*newest.found);
  EXPECT_TRUE(embedding.master.equal(saved));
}

TEST_F(ForgedCheckpoint, WithAManifestOfOtherTypesIsRefused) {
  const auto resumed = [&](const json& manifest) {
    const store::VerifiedCheckpoint checkpoint{store::Directory(run_), 2, manifest, {}};
    try {
      config_text_of(checkpoint);
      return std::string("no error");
    } catch (const Error& error) {
      return text(static_cast<int>(error.exit()), " ", error.what());
    }
  };
  const auto wanted = "77 " + run_.string() + ": its manifest does not say what it was made with";
  EXPECT_EQ(resumed({{"config", 7}}), wanted);
  EXPECT_EQ(resumed(json::object()), wanted);
  EXPECT_EQ(resumed({{"config", "seed = 1"}}), "no error");
}

}  // namespace
}  // namespace evenkeel::train
