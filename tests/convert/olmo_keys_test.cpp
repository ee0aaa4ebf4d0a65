// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "convert/small_olmo.h"
#include "convert/support.h"
#include "evenkeel/base/error.h"
#include "evenkeel/convert/olmo_yaml.h"

namespace evenkeel::convert {
namespace {

/// A small configuration with these arguments.
YamlImport imported_with(std::vector<std::string> arguments) {
  const TestFolder folder;
  return import_in(folder, text(kSmallOlmo, "auxiliary_loss_multiplier: 1e-4\n"),
                   std::move(arguments));
}

/// The uses of its keys.
std::map<std::string, KeyUse> uses_of(std::vector<std::string> arguments) {
  const auto imported = imported_with(std::move(arguments));
  std::map<std::string, KeyUse> uses;
  for (const auto& key : imported.keys) uses[key.key] = key.use;
  return uses;
}

TEST(OlmoKeys, AMultiplierHasTheUseOfItsLoss) {
  EXPECT_EQ(uses_of({}).at("auxiliary_loss_multiplier"), KeyUse::no_effect);
  for (const bool is_on : {false, true}) {
    const auto uses =
        uses_of({is_on ? "softmax_auxiliary_loss=true" : "softmax_auxiliary_loss=false"});
    EXPECT_EQ(uses.at("softmax_auxiliary_loss"), is_on ? KeyUse::taken : KeyUse::equal);
    EXPECT_EQ(uses.at("auxiliary_loss_multiplier"), is_on ? KeyUse::taken : KeyUse::no_effect);
  }
}

TEST(OlmoKeys, TheZLossOfTheLogitsIsTaken) {
  const auto toml_of = [](const std::string& multiplier) {
    return imported_with({"softmax_auxiliary_loss=true", multiplier}).toml;
  };
  EXPECT_NE(toml_of("auxiliary_loss_multiplier=1e-5").find("\nz_loss = 1e-05\n"), std::string::npos)
      << toml_of("auxiliary_loss_multiplier=1e-5");
  EXPECT_NE(toml_of("auxiliary_loss_multiplier=null").find("\nz_loss = 1e-04\n"),
            std::string::npos);
  EXPECT_EQ(imported_with({}).toml.find("z_loss"), std::string::npos);
}

TEST(OlmoKeys, RefusesAZLossThatIsNone) {
  const TestFolder folder;
  const auto refused = [&](const std::string& multiplier) {
    return refusal_in(folder, kSmallOlmo, {"softmax_auxiliary_loss=true", multiplier});
  };
  EXPECT_EQ(refused("auxiliary_loss_multiplier=-1"),
            "--argument auxiliary_loss_multiplier must be >= 0, but is -1");
  EXPECT_EQ(refused("auxiliary_loss_multiplier=x"),
            "--argument auxiliary_loss_multiplier must be a number, but is \"x\"");
}

// OLMo-core has other names for most keys, so OLMo's defaults would replace the values.
TEST(OlmoKeys, RefusesConfigurationsOfOlmoCore) {
  const TestFolder folder;
  const std::string what =
      " is a key of OLMo-core, but `import` reads configurations of OLMo (TrainConfig); write its "
      "values into a TOML file for --config";
  EXPECT_EQ(refusal_in(folder,
                       "model:\n  d_model: 64\n  block:\n    attention: {n_heads: 4}\n"
                       "train_module:\n  max_grad_norm: 1\n"),
            "x.yaml:4: model.block.attention.n_heads" + what);
  EXPECT_EQ(refusal_in(folder, kSmallOlmo, {"model.lm_head.bias=false"}),
            "--argument model.lm_head.bias" + what);
  EXPECT_EQ(refusal_in(folder, kSmallOlmo, {"train_module.optim.lr=1e-3"}),
            "--argument train_module.optim.lr" + what);
  EXPECT_EQ(refusal_in(folder, "trainer:\n  max_duration: {value: 1, unit: epochs}\n"),
            "x.yaml:2: trainer.max_duration.value" + what);
  EXPECT_EQ(refusal_in(folder, kSmallOlmo, {"data_loader.global_batch_size=8"}),
            "--argument data_loader.global_batch_size" + what);
}

// OLMo-core writes the class of each table. A value of OLMo may have its name.
TEST(OlmoKeys, FindsOlmoCoreByItsClasses) {
  const TestFolder folder;
  const auto refused = [&](const std::string& more) {
    return refusal_in(folder, text(kSmallOlmo, more)).substr(0, 32);
  };
  EXPECT_EQ(refused("tokenizer: {_CLASS_: olmo_core.data.TokenizerConfig}\n"),
            "x.yaml:18: tokenizer._CLASS_ is ");
  EXPECT_EQ(refused("_CLASS_: olmo_core.internal.experiment.ExperimentConfig\n"),
            "x.yaml:18: _CLASS_ is a key of O");
  EXPECT_EQ(refused("sharded_checkpointer: olmo_core\n"), "");
  EXPECT_EQ(refused("_CLASS_: other.Config\n"), "");
}

// OLMo's init_fn mitchell takes 1/sqrt(fan-in) for each matrix.
TEST(OlmoKeys, MitchellHasDeviationsOfItsOwn) {
  const auto use_of_deviation = [](const std::string& function) {
    return uses_of({"model.init_std=0.02", "model.init_fn=" + function}).at("model.init_std");
  };
  EXPECT_EQ(use_of_deviation("normal"), KeyUse::taken);
  EXPECT_EQ(use_of_deviation("full_megatron"), KeyUse::taken);
  EXPECT_EQ(use_of_deviation("mitchell"), KeyUse::no_effect);
}

}  // namespace
}  // namespace evenkeel::convert
