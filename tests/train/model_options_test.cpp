// SPDX-License-Identifier: Apache-2.0
// The settings of [kernels] in training: the operators that a step calls, with equal results.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {
namespace {

/// Records the names of the operators that this thread calls.
class OperatorRecorder {
 public:
  OperatorRecorder() {
    recorded().clear();
    const auto start = [](const at::RecordFunction& function) {
      recorded().insert(function.name());
      return std::unique_ptr<at::ObserverContext>();
    };
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(start).scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorRecorder() { at::removeCallback(handle_); }
  OperatorRecorder(const OperatorRecorder&) = delete;
  OperatorRecorder& operator=(const OperatorRecorder&) = delete;

  static std::set<std::string>& recorded() {
    static std::set<std::string> names;
    return names;
  }

 private:
  at::CallbackHandle handle_ = 0;
};

/// The first step of a run, and the operators that it calls.
struct ObservedStep {
  StepResult result;
  std::set<std::string> operators;

  bool calls(const std::string& name) const { return operators.contains(name); }
};

/// \param fused, attention  kernels.fused and kernels.attention
ObservedStep observed_step(const std::string& fused, const std::string& attention) {
  const auto config = config::resolve(
      {.preset = "tiny",
       .files = {},
       .scheme = "pre_norm",
       .sets = {"model.layers=2", "model.width=16", "model.heads=2", "model.kv_heads=2",
                "model.inner=24", "model.context=8", "train.batch=2", "train.steps=10",
                "kernels.fused=" + fused, "kernels.attention=" + attention}});
  data::Corpora text;
  text.train.resize(1);
  text.train[0].corpus.append("The old baker sees the moon. The old baker sees the moon.");
  Trainer trainer(config, config::shape_of(config, data::kByteVocabulary), nn::Precision::float64,
                  text);
  const OperatorRecorder recorder;
  const auto result = trainer.step().result;
  return {result, OperatorRecorder::recorded()};
}

void expect_equal_results(const ObservedStep& step, const ObservedStep& other) {
  constexpr double kRounding = 1e-12;  // relative, of float64
  EXPECT_GT(step.result.gradient_norm, 0);
  EXPECT_NEAR(step.result.loss, other.result.loss, kRounding * other.result.loss);
  EXPECT_NEAR(step.result.gradient_norm, other.result.gradient_norm,
              10 * kRounding * other.result.gradient_norm);
}

const std::string kOwnAttention = "evenkeel::causal_attention";
const std::string kFlashAttention = "aten::_scaled_dot_product_flash_attention_for_cpu";

TEST(KernelsKeys, ChooseTheOperatorOfAttention) {
  const auto automatic = observed_step("true", "auto");
  EXPECT_TRUE(automatic.calls(kOwnAttention));
  EXPECT_FALSE(automatic.calls(kFlashAttention));
  const auto flash = observed_step("true", "flash");
  EXPECT_TRUE(flash.calls(kFlashAttention));
  EXPECT_FALSE(flash.calls(kOwnAttention));
  const auto materialized = observed_step("true", "explicit");
  EXPECT_FALSE(materialized.calls(kOwnAttention));
  EXPECT_FALSE(materialized.calls(kFlashAttention));
  expect_equal_results(flash, automatic);
  expect_equal_results(materialized, automatic);
}

TEST(KernelsKeys, ChooseFusedOperatorsOrTheirFormulas) {
  const auto fused = observed_step("true", "auto"), formulas = observed_step("false", "auto");
  for (const std::string name : {"rms_norm", "qkv_norm_rope", "causal_attention"}) {
    EXPECT_TRUE(fused.calls("evenkeel::" + name)) << name;
    EXPECT_FALSE(formulas.calls("evenkeel::" + name)) << name;
  }
  expect_equal_results(formulas, fused);
}

// The settings are independent: an attention path of LibTorch leaves the other operators fused.
TEST(KernelsKeys, AreIndependent) {
  EXPECT_TRUE(observed_step("true", "flash").calls("evenkeel::rms_norm"));
  const auto formulas = observed_step("false", "flash");
  EXPECT_FALSE(formulas.calls("evenkeel::rms_norm"));
  EXPECT_TRUE(formulas.calls(kFlashAttention));
}

}  // namespace
}  // namespace evenkeel::train
