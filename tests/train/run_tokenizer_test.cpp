// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/data/tokenizer_record.h"

namespace evenkeel::train {
namespace {

std::string golden_path(const std::string& name) {
  return text(EK_TESTS, "/golden/tokenizers/", name);
}

data::TextEncoding encoding_of(const std::string& path) {
  config::Data data;
  data.tokenizer = path;
  return data::TextEncoding(data);
}

/// A run folder with the copy of gpt2.json.
class RunTokenizerTest : public ::testing::Test {
 protected:
  RunTokenizerTest()
      : folder_(std::filesystem::path(::testing::TempDir()) / "run_tokenizer_test" /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::filesystem::copy_file(golden_path("gpt2.json"), folder_ / "tokenizer.json");
  }
  ~RunTokenizerTest() override { std::filesystem::remove_all(folder_); }

  store::Directory run() const { return store::Directory(folder_); }

  /// The golden file that the copy of this name is equal to; "none" if there is no such file.
  std::string copied(const std::string& name = "tokenizer.json") const {
    if (!run().has_file(name)) return "none";
    for (const auto* const golden : {"gpt2.json", "neox.json", "sentencepiece.model"}) {
      if (run().read(name) == read_file(golden_path(golden))) return golden;
    }
    return "another file";
  }

  /// The name that a replaced copy of this golden file has.
  static std::string earlier_name_of(const std::string& golden) {
    const auto digest = tokenizer::Tokenizer::load(golden_path(golden)).digest();
    return "earlier-tokenizer-" + digest.substr(0, 8) + ".json";
  }

  /// The newest checkpoint, of this tokenizer.
  store::CheckpointSearch checkpoint_of(const std::string& golden) const {
    const auto record = data::tokenizer_record(tokenizer::Tokenizer::load(golden_path(golden)));
    const nlohmann::json manifest = {{"data", nlohmann::json(record)}};
    return {.found =
                store::VerifiedCheckpoint{
                    .folder = run(), .step = 1, .manifest = manifest, .state = {}},
            .skipped = {}};
  }

  std::filesystem::path folder_;
  Console console_{/*quiet=*/true};
};

TEST_F(RunTokenizerTest, StaysUntilACheckpointIsOfAnotherTokenizer) {
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("neox.json")), checkpoint_of("gpt2.json"), run());
  EXPECT_EQ(copied(), "gpt2.json");
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "neox.json");
}

TEST_F(RunTokenizerTest, StaysUntilACheckpointIsOfAnotherKindOfTokenizer) {
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("sentencepiece.model")), checkpoint_of("gpt2.json"),
                  run());
  EXPECT_EQ(copied(), "gpt2.json");
  EXPECT_EQ(copied("tokenizer.model"), "none");
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "none");
  EXPECT_EQ(copied("tokenizer.model"), "sentencepiece.model");
}

TEST_F(RunTokenizerTest, IsKeptUnderAnotherNameWhenItIsReplaced) {
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("neox.json")), checkpoint_of("gpt2.json"), run());
  EXPECT_EQ(copied(earlier_name_of("gpt2.json")), "none");
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(earlier_name_of("gpt2.json")), "gpt2.json");
  RunTokenizer other;
  other.start(encoding_of(golden_path("sentencepiece.model")), checkpoint_of("neox.json"), run());
  other.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "none");
  EXPECT_EQ(copied(earlier_name_of("neox.json")), "neox.json");
  EXPECT_EQ(copied(earlier_name_of("gpt2.json")), "gpt2.json");
}

TEST_F(RunTokenizerTest, LeavesOtherTokenizersInTheRunFolder) {
  const auto user = folder_ / "tokenizer.model";
  std::filesystem::copy_file(golden_path("sentencepiece.model"), user);
  write_file(folder_ / "gpt2.tiktoken", "ranks");
  const auto expect_others = [&](const char* when) {
    EXPECT_EQ(copied("tokenizer.model"), "sentencepiece.model") << when;
    EXPECT_EQ(copied("gpt2.tiktoken"), "another file") << when;
  };
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("gpt2.json")), {}, run());
  expect_others("at the start of a run");
  tokenizer.start(encoding_of(golden_path("gpt2.json")), checkpoint_of("gpt2.json"), run());
  expect_others("at a resume");
  tokenizer.start(encoding_of(golden_path("neox.json")), checkpoint_of("gpt2.json"), run());
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "neox.json");
  expect_others("after the checkpoint of another tokenizer");
}

TEST_F(RunTokenizerTest, IsReplacedAtTheStartIfTheCheckpointIsOfTheFile) {
  RunTokenizer tokenizer;  // a kill between the checkpoint and the copy
  tokenizer.start(encoding_of(golden_path("neox.json")), checkpoint_of("neox.json"), run());
  EXPECT_EQ(copied(), "neox.json");
  EXPECT_EQ(copied(earlier_name_of("gpt2.json")), "gpt2.json");
}

TEST_F(RunTokenizerTest, MustBeTheFileThatTheTextWasReadWith) {
  const auto path = (folder_ / "source.json").string();
  std::filesystem::copy_file(golden_path("neox.json"), path);
  const auto encoding = encoding_of(path);
  std::filesystem::copy_file(golden_path("gpt2.json"), path,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(folder_ / "tokenizer.json");
  RunTokenizer tokenizer;
  std::string refused;
  try {
    tokenizer.start(encoding, {}, run());
  } catch (const Error& error) {
    refused = text(static_cast<int>(error.exit()), " ", error.what());
  }
  EXPECT_EQ(refused, text("78 ", path,
                          ": must be the tokenizer that the text was read with, but changed while "
                          "the text was read; start again"));
  EXPECT_EQ(copied(), "none");
}

TEST_F(RunTokenizerTest, IsReplacedAtTheStartWithoutACheckpoint) {
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("neox.json")), {}, run());
  EXPECT_EQ(copied(), "neox.json");
}

TEST_F(RunTokenizerTest, IsThatOfTheStartEvenIfTheFileChangesLater) {
  const auto path = (folder_ / "source.json").string();
  std::filesystem::copy_file(golden_path("neox.json"), path);
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(path), checkpoint_of("gpt2.json"), run());
  write_file(path, "edited");
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "neox.json");
}

TEST_F(RunTokenizerTest, IsTriedAgainAfterAFailure) {
  std::filesystem::remove(folder_ / "tokenizer.json");
  std::filesystem::create_directories(folder_ / "tokenizer.json/in the path");
  RunTokenizer tokenizer;
  tokenizer.start(encoding_of(golden_path("neox.json")), checkpoint_of("gpt2.json"), run());
  ::testing::internal::CaptureStderr();
  tokenizer.replace_after_save(run(), console_);
  const auto warning = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(warning.rfind("the copy of the tokenizer is not replaced; the next checkpoint, or the "
                          "next start, does it: ",
                          0),
            0U)
      << warning;
  std::filesystem::remove_all(folder_ / "tokenizer.json");
  tokenizer.replace_after_save(run(), console_);
  EXPECT_EQ(copied(), "neox.json");
}

}  // namespace
}  // namespace evenkeel::train
