// SPDX-License-Identifier: Apache-2.0
// Model::at_step(): the layers are built once, and only numbers follow the optimizer step.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "evenkeel/nn/block.h"
#include "evenkeel/nn/model.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::fixed_token_ids;
using testing::tiny_shape;
using testing::TinyModel;

constexpr norm::Steps kLater = {.done = 7, .planned = TinyModel::kPlannedSteps};

at::Tensor training_logits(const nn::Model& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model.hidden(fixed_token_ids(2, 8), {.mode = nn::Mode::training}));
}

/// The options of a TinyModel.
nn::ModelOptions options_of(const norm::Scheme& scheme) {
  nn::ModelOptions options;
  options.tied = scheme.tied.value_or(options.tied);
  options.vocabulary = scheme.shape.vocabulary;
  return options;
}

// A mark that no build would set shows that a block is the same object.
TEST(Model, KeepsItsBlocksFromStepToStep) {
  for (const std::string name : {"pre_norm", "prores"}) {
    const TinyModel tiny(name);
    const auto* const first = &tiny.model->blocks().front();
    auto& marked = const_cast<nn::Block&>(tiny.model->blocks()[1]);
    marked.attention.path = nn::AttentionPath::flash;
    tiny.model->at_step(kLater);
    EXPECT_EQ(&tiny.model->blocks().front(), first) << name;
    EXPECT_EQ(tiny.model->blocks()[1].attention.path, nn::AttentionPath::flash) << name;
  }
}

// A number that is set by hand stays: no formula is evaluated.
TEST(Model, DoesNothingAtAStepWhereNoFormulaNamesIt) {
  const TinyModel fixed("pre_norm"), stepped("prores");
  for (const auto* const tiny : {&fixed, &stepped}) {
    auto& block = const_cast<nn::Block&>(tiny->model->blocks()[1]);
    block.feed_forward_connection.write_y.value = 3;
    tiny->model->at_step(kLater);
    EXPECT_EQ(block.feed_forward_connection.write_y.value, tiny == &fixed ? 3 : 1);
  }
}

struct StepCase {
  const char* name;
  const char* toml;
};

// Each place of a scheme that may name t, alone.
const std::vector<StepCase> kStepCases = {
    {"EmbeddingScale", "embedding = { scale = '1 + t' }"},
    {"EmbeddingNorm", "embedding = { norm = { kind = 'rms_norm', out_scale = '1 + t' } }"},
    {"LogitsScale", "logits = { scale = '1 + t' }"},
    {"LogitsSoftCap", "logits = { softcap = '1 + t' }"},
    {"FinalNorm", "final = { kind = 'rms_norm', out_scale = '1 + t' }"},
    {"SkipScale", "attention = { skip_scale = '1 + t' }"},
    {"BranchScale", "feed_forward = { branch_scale = '1 + t' }"},
    {"ScoreScale", "attention = { score_scale = '1 + t' }"},
    {"ScoreSoftCap", "attention = { softcap = '1 + t' }"},
    {"StoredGain",
     "attention = { input = { kind = 'rms_norm', gain_init = '1 + t', stored_at = 2 } }"},
    {"OutScale", "feed_forward = { input = { kind = 'rms_norm', out_scale = '1 + t' } }"},
    {"OutScaleOfHeads",
     "attention = { q = { kind = 'rms_norm', scope = 'head', out_scale = 'width*t' } }"},
    {"HiddenNorm", "feed_forward = { hidden = { kind = 'rms_norm', out_scale = '1 + t' } }"},
    {"Groups", "attention = { input = { kind = 'group_norm', groups = '1 + min(t, 1)' } }"},
    {"ProductScale", "feed_forward = { up_gate_scale = '1 + t' }"},
    {"AtMost", R"([attention.branch_scale]
                  learned = "scalar"
                  init = 0.1
                  at_most = "0.3 - t/10")"},
    {"Damp", "damp = '1/(2 + t)'"},
    {"AngleDecay", "extends = 'geo_norm'\nattention = { angle_decay = '1/(1 + t)' }"},
    {"SecondStream", "extends = 'resi_dual'\ndual = { write_y = '1 + t' }"},
    {"SecondStreamAtStart", "extends = 'resi_dual'\ndual = { y_init = '1 + t' }"},
    {"RenormLimits", R"(extends = "batch_renorm"
                        [norm]
                        kind = "batch_renorm"
                        allow_leakage = true
                        rate_max = "1 + t"
                        shift_max = "t")"},
};

void PrintTo(const StepCase& each, std::ostream* out) {
  *out << each.name;
}

class StepFormula : public ::testing::TestWithParam<StepCase> {};

// at_step() and the constructor agree bit by bit.
TEST_P(StepFormula, GivesAtAStepWhatAModelGivesThatIsBuiltForIt) {
  const auto source = config::inline_scheme(GetParam().toml, ".");
  const TinyModel stepped(source, Precision::float64, {}, tiny_shape(3));
  const TinyModel same(source, Precision::float64, {}, tiny_shape(3));
  const TinyModel other(source, Precision::float64, {}, tiny_shape(3));
  const auto& scheme = other.model->scheme();
  const nn::Model built(scheme, options_of(scheme), *other.parameters, kLater);
  stepped.model->at_step(kLater);
  const auto after = training_logits(*stepped.model);
  EXPECT_TRUE(after.equal(training_logits(built)));
  EXPECT_FALSE(after.equal(training_logits(*same.model))) << "the formula does not matter";
}

INSTANTIATE_TEST_SUITE_P(All, StepFormula, ::testing::ValuesIn(kStepCases),
                         [](const auto& each) { return std::string(each.param.name); });

// A mixture of experts has layers of its own.
TEST(Model, FollowsTheStepInTheNormsOfExperts) {
  auto shape = tiny_shape(2);
  shape.experts = {.count = 4, .active = 2, .shared = 1, .dense_layers = 1};
  const auto source = config::inline_scheme(
      "feed_forward = { hidden = { kind = 'rms_norm', out_scale = '1 + t' } }\n", ".");
  const TinyModel stepped(source, Precision::float64, {}, shape);
  const auto& scheme = stepped.model->scheme();
  const nn::Model built(scheme, options_of(scheme), *stepped.parameters, kLater);
  const auto before = training_logits(*stepped.model);
  stepped.model->at_step(kLater);
  EXPECT_TRUE(training_logits(*stepped.model).equal(training_logits(built)));
  EXPECT_FALSE(training_logits(*stepped.model).equal(before));
}

}  // namespace
}  // namespace evenkeel
