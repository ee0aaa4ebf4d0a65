// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_keys.h"

#include <gtest/gtest.h>

#include "convert/support.h"
#include "evenkeel/convert/olmo_yaml.h"

namespace evenkeel::convert {
namespace {

/// A small configuration with these arguments.
YamlImport imported_with(std::vector<std::string> arguments) {
  const TestFolder folder;
  folder.write("x.yaml", R"(
model:
  d_model: 32
  n_heads: 4
  n_layers: 2
  mlp_hidden_size: 48
  max_sequence_length: 24
  vocab_size: 300
  embedding_size: 320
  rope: true
  include_bias: false
  init_std: 0.02
optimizer: {name: adamw}
data: {paths: [a.npy]}
auxiliary_loss_multiplier: 1e-4
)");
  return import_yaml({.file = folder.path() / "x.yaml", .arguments = std::move(arguments)});
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

// OLMo's init_fn mitchell takes 1/sqrt(fan-in) for each matrix.
TEST(OlmoKeys, MitchellHasDeviationsOfItsOwn) {
  EXPECT_EQ(uses_of({"model.init_fn=normal"}).at("model.init_std"), KeyUse::taken);
  EXPECT_EQ(uses_of({"model.init_fn=full_megatron"}).at("model.init_std"), KeyUse::taken);
  EXPECT_EQ(uses_of({"model.init_fn=mitchell"}).at("model.init_std"), KeyUse::no_effect);
}

}  // namespace
}  // namespace evenkeel::convert
