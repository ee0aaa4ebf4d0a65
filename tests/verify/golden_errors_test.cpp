// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/train/tensor_file.h"
#include "evenkeel/verify/golden.h"
#include "evenkeel/verify/verify.h"
#include "support/golden_files.h"

namespace evenkeel::verify {
namespace {

using testing::golden_file;

namespace fs = std::filesystem;

/// What of a golden file a test changes.
struct Content {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
  std::string json;  // of the file with the same stem; empty: none
};

/// The error of x.safetensors and x.json, without their folder.
struct Refusal {
  Exit exit;
  std::string message;
};

class GoldenErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(::testing::TempDir()) / ("golden_errors_" + std::string(name));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "x.safetensors";
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A golden file that is written again with a change.
  void write(const std::string& name, const std::function<void(Content&)>& change) {
    const auto path = golden_file(name);
    const auto file = store::Safetensors::read(path);
    Content content{{}, file.metadata(), ""};
    for (const auto& [each, unused] : file.entries()) {
      content.tensors[each] = train::tensor_of(file, each);
    }
    auto json = path;
    json.replace_extension(".json");
    if (fs::exists(json)) content.json = read_file(json);
    change(content);
    std::vector<store::TensorView> views;
    for (const auto& [each, tensor] : content.tensors)
      views.push_back(train::view_of(each, tensor));
    store::write_safetensors(file_, views, content.metadata);
    if (!content.json.empty()) write_file(folder_ / "x.json", content.json);
  }

  Refusal refusal() const {
    try {
      verify(read_golden(file_), {});
    } catch (const Error& error) {
      std::string message = error.what();
      const auto prefix = folder_.string() + "/";
      for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix)) {
        message.erase(at, prefix.size());
      }
      return {error.exit(), message};
    }
    return {Exit::success, ""};
  }

  void expect(Exit exit, const std::string& message) const {
    const auto found = refusal();
    EXPECT_EQ(found.message, message);
    EXPECT_EQ(found.exit, exit);
  }

  fs::path folder_;
  fs::path file_;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

constexpr const char* kAuthors = "authors/dense_pre_norm";
constexpr const char* kSchemes = "schemes/post_norm";

TEST_F(GoldenErrors, NoneIfNothingWasChanged) {
  write(kAuthors, [](Content&) {});
  expect(Exit::success, "");
}

TEST_F(GoldenErrors, AFileOfTheAuthorsNeedsItsJson) {
  write(kAuthors, [](Content& content) { content.json.clear(); });
  expect(Exit::data,
         "x.safetensors: wants its configuration, as metadata \"config\" or in x.json in the same "
         "folder, "
         "but has neither");
}

TEST_F(GoldenErrors, AMissingFileIsNotOurFault) {
  EXPECT_EQ(refusal().exit, Exit::io);
}

TEST_F(GoldenErrors, TextIsNotSafetensors) {
  write_file(file_, "hello");
  expect(Exit::data, "x.safetensors: a safetensors file has at least 8 bytes, but this has 5");
}

TEST_F(GoldenErrors, AMissingParameterIsNamed) {
  write(kAuthors, [](Content& content) { content.tensors.erase("param.final_norm.gain"); });
  expect(Exit::data, "x.safetensors: parameter final_norm.gain [32] of scheme pre_norm is missing");
}

TEST_F(GoldenErrors, AMissingGradientIsNamed) {
  write(kSchemes, [](Content& content) { content.tensors.erase("grad.head.weight"); });
  expect(Exit::data,
         "x.safetensors: gradient of head.weight [31, 16] of scheme post_norm is missing");
}

TEST_F(GoldenErrors, AMissingFinalValueIsNamed) {
  write("authors/trajectory_pre_norm",
        [](Content& content) { content.tensors.erase("final.embedding.weight"); });
  expect(Exit::data,
         "x.safetensors: final value of embedding.weight [97, 32] of scheme pre_norm is missing");
}

TEST_F(GoldenErrors, AParameterOfAnotherShapeIsNamed) {
  write(kAuthors, [](Content& content) {
    auto& gain = content.tensors.at("param.final_norm.gain");
    gain = gain.narrow(0, 0, 31).contiguous();
  });
  expect(Exit::data, "x.safetensors: parameter final_norm.gain must be [32], but is [31]");
}

TEST_F(GoldenErrors, AParameterThatTheSchemeDoesNotHaveIsNamed) {
  write(kSchemes, [](Content& content) { content.tensors["final_norm.gain"] = at::ones({16}); });
  expect(Exit::data, "x.safetensors: parameter final_norm.gain [16] is not of scheme post_norm");
}

TEST_F(GoldenErrors, LogitsMustFitTheTokens) {
  write(kSchemes, [](Content& content) { content.tensors["logits"] = at::zeros({2, 9, 30}); });
  expect(Exit::data, "x.safetensors: logits must be [2, 9, 31], but is [2, 9, 30]");
}

TEST_F(GoldenErrors, LogitsInEvaluationMustFitTheTokens) {
  write("schemes/batch_renorm",
        [](Content& content) { content.tensors["logits_eval"] = at::zeros({1, 2, 9, 31}); });
  expect(Exit::data, "x.safetensors: logits_eval must be [2, 9, 31], but is [1, 2, 9, 31]");
  write("schemes/batch_renorm", [](Content& content) { content.tensors.erase("logits_eval"); });
  expect(Exit::data, "x.safetensors: must hold tensor \"logits_eval\", but does not");
}

TEST_F(GoldenErrors, TheJsonNamesEveryParameter) {
  const std::string one = R"("final_norm.gain": {)";
  write(kAuthors, [&](Content& content) { replace(content.json, one, R"("final_norm.gian": {)"); });
  expect(Exit::data,
         "x.json: wants \"parameters.final_norm.gain\", a parameter of the model, but has none");
  write(kAuthors, [&](Content& content) {
    replace(content.json, one, R"("other.gain": {"grad_l2_norm": 1}, )" + one);
  });
  expect(Exit::data,
         "x.json: \"parameters.other.gain\" must name a parameter of the model, but does not");
}

TEST_F(GoldenErrors, EveryWeightDecayIsThatOfTheOptimizer) {
  const std::string name = R"("blocks.1.attention.qkv.weight": )";
  write("authors/trajectory_pre_norm",
        [&](Content& content) { replace(content.json, name + "0.1", name + "0.2"); });
  expect(
      Exit::data,
      "x.json: \"optimizer.weight_decay_by_parameter.blocks.1.attention.qkv.weight\" must be 0.1, "
      "the decay of this kind of parameter, but is 0.2");
  write("authors/trajectory_pre_norm", [&](Content& content) {
    replace(content.json, name + "0.1", R"("blocks.9.attention.qkv.weight": 0.1)");
  });
  expect(Exit::data,
         "x.json: wants \"optimizer.weight_decay_by_parameter.blocks.1.attention.qkv.weight\", a "
         "parameter of the model, but has none");
}

TEST_F(GoldenErrors, MissingLogitsAreNamed) {
  write(kSchemes, [](Content& content) { content.tensors.erase("logits"); });
  expect(Exit::data, "x.safetensors: must hold tensor \"logits\", but does not");
}

TEST_F(GoldenErrors, TokensLieInTheVocabulary) {
  write(kSchemes, [](Content& content) { content.tensors.at("input_ids")[1][2] = 31; });
  expect(Exit::data, "x.safetensors: input_ids must be tokens 0 to 30, but go from 3 to 31");
}

TEST_F(GoldenErrors, TokensAreWholeNumbers) {
  write(kSchemes, [](Content& content) { content.tensors["input_ids"] = at::zeros({2, 9}); });
  expect(Exit::data,
         "x.safetensors: input_ids must be I64 with 2 dimensions, the last 2 or more, but is Float "
         "[2, 9]");
}

TEST_F(GoldenErrors, ATrajectoryHasABatchForEachStep) {
  write("authors/trajectory_pre_norm", [](Content& content) {
    auto& ids = content.tensors.at("input_ids");
    ids = ids.narrow(0, 0, 19).contiguous();
  });
  expect(Exit::data, "x.safetensors: input_ids must be [20, 2, 24], but is [19, 2, 24]");
}

TEST_F(GoldenErrors, JsonMustBeWhole) {
  write(kAuthors, [](Content& content) { content.json.resize(content.json.size() / 2); });
  expect(Exit::data, "x.json: must be a JSON object, but is not");
}

TEST_F(GoldenErrors, AMissingSizeIsNamed) {
  write(kAuthors, [](Content& content) { replace(content.json, "\"d_model\"", "\"width\""); });
  expect(Exit::data, "x.json: wants \"config.d_model\", a whole number, but has none");
}

TEST_F(GoldenErrors, AFlagOfAnotherTypeIsNamed) {
  write(kAuthors, [](Content& content) {
    replace(content.json, "\"weight_tying\": true", "\"weight_tying\": 1");
  });
  expect(Exit::data, "x.json: wants \"config.weight_tying\", true or false, but has 1");
}

TEST_F(GoldenErrors, ALayerThatIsNoObjectIsNamed) {
  write(kAuthors,
        [](Content& content) { replace(content.json, "\"layers\": [", "\"layers\": [ 7,"); });
  expect(Exit::data, "x.json: wants \"config.layers[0]\", an object, but has 7");
}

TEST_F(GoldenErrors, EachBlockHasItsFlags) {
  write(kAuthors,
        [](Content& content) { replace(content.json, "\"n_layers\": 4", "\"n_layers\": 5"); });
  expect(Exit::data, "x.json: wants 5 \"config.layers\", but has 4");
}

TEST_F(GoldenErrors, BetasAreTwo) {
  write("authors/trajectory_pre_norm",
        [](Content& content) { replace(content.json, "[ 0.9, 0.95 ]", "[ 0.9 ]"); });
  expect(Exit::data, "x.json: wants two \"optimizer.betas\", but has 1");
}

TEST_F(GoldenErrors, BetasAreNumbers) {
  write("authors/trajectory_pre_norm",
        [](Content& content) { replace(content.json, "[ 0.9, 0.95 ]", "[ 0.9, null ]"); });
  expect(Exit::data, "x.json: wants \"optimizer.betas\", a list of numbers, but one is null");
}

TEST_F(GoldenErrors, SizesArePositive) {
  write(kSchemes, [](Content& content) {
    replace(content.metadata.at("config"), "\"layers\": 3", "\"layers\": 0");
  });
  expect(Exit::data, "x.safetensors: config: \"layers\" must be at least 1, but is 0");
}

TEST_F(GoldenErrors, HeadsDivideTheWidth) {
  write(kSchemes, [](Content& content) {
    replace(content.metadata.at("config"), "\"heads\": 4", "\"heads\": 3");
  });
  expect(Exit::data, "x.safetensors: config: \"heads\" must divide \"d\", but is 3 of 16");
}

TEST_F(GoldenErrors, HeadsHavePairsToRotate) {
  write(kSchemes, [](Content& content) {
    replace(content.metadata.at("config"), "\"heads\": 4", "\"heads\": 16");
  });
  expect(Exit::data, "x.safetensors: config: the width of a head must be even, but is 1");
}

TEST_F(GoldenErrors, TheLossIsOneNumber) {
  write(kSchemes, [](Content& content) { content.tensors["loss"] = at::zeros({2}); });
  expect(Exit::data, "x.safetensors: config: the golden loss must be one number");
}

TEST_F(GoldenErrors, AMixtureHasNoMoreActiveExpertsThanExperts) {
  write("authors/moe_pre_norm",
        [](Content& content) { replace(content.json, "\"top_k\": 2", "\"top_k\": 9"); });
  expect(Exit::data, "x.json: \"top_k\" must be 1 to \"n_experts\", 8, but is 9");
}

TEST_F(GoldenErrors, TheRoutingOfAMixtureFitsItsShape) {
  write("authors/moe_pre_norm",
        [](Content& content) { content.tensors["router_logits"] = at::zeros({3, 48, 7}); });
  expect(Exit::data, "x.safetensors: router_logits must be [3, 48, 8], but is [3, 48, 7]");
}

TEST_F(GoldenErrors, AMissingStateIsNamed) {
  write("schemes/batch_renorm", [](Content& content) {
    content.tensors.erase("buffer.blocks.0.attention.input_norm.running_std");
  });
  expect(
      Exit::data,
      "x.safetensors: state blocks.0.attention.input_norm.running_std [16] of scheme batch_renorm "
      "is missing");
}

TEST_F(GoldenErrors, ASchemeThatIsNotInTheCatalogueIsNamed) {
  write(kSchemes, [](Content& content) {
    replace(content.metadata.at("config"), "\"post_norm\"", "\"./mine.toml\"");
  });
  expect(Exit::usage,
         "x.safetensors: config: this version has no scheme \"./mine.toml\"; "
         "`evenkeel schemes` lists those it runs");
}

}  // namespace
}  // namespace evenkeel::verify
