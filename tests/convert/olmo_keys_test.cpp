// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_keys.h"

#include <gtest/gtest.h>

#include "convert/support.h"
#include "evenkeel/convert/olmo_yaml.h"

namespace evenkeel::convert {
namespace {

/// The uses of the keys of a small configuration with these arguments.
std::map<std::string, KeyUse> uses_of(std::vector<std::string> arguments) {
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
  const auto imported =
      import_yaml({.file = folder.path() / "x.yaml", .arguments = std::move(arguments)});
  std::map<std::string, KeyUse> uses;
  for (const auto& key : imported.keys) uses[key.key] = key.use;
  return uses;
}

TEST(OlmoKeys, AMultiplierHasTheUseOfItsLoss) {
  EXPECT_EQ(uses_of({}).at("auxiliary_loss_multiplier"), KeyUse::no_effect);
  for (const bool is_on : {false, true}) {
    const auto uses =
        uses_of({is_on ? "softmax_auxiliary_loss=true" : "softmax_auxiliary_loss=false"});
    EXPECT_EQ(uses.at("softmax_auxiliary_loss"), is_on ? KeyUse::differs : KeyUse::equal);
    EXPECT_EQ(uses.at("auxiliary_loss_multiplier"), is_on ? KeyUse::differs : KeyUse::no_effect);
  }
}

// OLMo's init_fn mitchell takes 1/sqrt(fan-in) for each matrix.
TEST(OlmoKeys, MitchellHasDeviationsOfItsOwn) {
  EXPECT_EQ(uses_of({"model.init_fn=normal"}).at("model.init_std"), KeyUse::taken);
  EXPECT_EQ(uses_of({"model.init_fn=full_megatron"}).at("model.init_std"), KeyUse::taken);
  EXPECT_EQ(uses_of({"model.init_fn=mitchell"}).at("model.init_std"), KeyUse::no_effect);
}

}  // namespace
}  // namespace evenkeel::convert
