// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_yaml.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "convert/small_olmo.h"
#include "convert/support.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/config.h"
#include "evenkeel/norm/scheme_relation.h"
#include "support/golden_files.h"
#include "support/sanitizers.h"

namespace evenkeel::convert {
namespace {

using nlohmann::json;
using testing::golden_folder;

class OlmoYaml : public ::testing::Test {
 protected:
  YamlImport import_text(const std::string& yaml, std::vector<std::string> arguments = {}) const {
    return import_in(folder_, yaml, std::move(arguments));
  }
  YamlImport small(std::vector<std::string> arguments = {}) const {
    return import_text(kSmallOlmo, std::move(arguments));
  }
  /// The refusal of an argument, without the folder.
  std::string refusal(const std::string& argument) const {
    return refusal_in(folder_, kSmallOlmo, {argument});
  }
  config::Config config_of(const YamlImport& imported) const {
    return config::read_back(imported.toml, "x.toml");
  }
  static norm::Scheme bound_scheme(const config::Config& config) {
    return config::bind(config.scheme, config::shape_of(config, 1));
  }

 private:
  TestFolder folder_;
};

/// The uses and notes by key.
std::map<std::string, ImportedKey> by_name(const std::vector<ImportedKey>& keys) {
  std::map<std::string, ImportedKey> out;
  for (const auto& key : keys) out[key.key] = key;
  return out;
}

/// The text of a golden configuration file.
std::string golden_yaml(const std::string& name) {
  return read_file(golden_folder() / "olmo" / name);
}

// The preset 1.2b_code has the sizes and the recipe of the authors' published file.
TEST_F(OlmoYaml, OfTheAuthorsIsThePresetOfTheirCode) {
  const auto imported = import_text(golden_yaml("dense.yaml"));
  EXPECT_EQ(imported.scheme, "hybrid_norm");
  config::Sources sources;
  sources.preset = "1.2b_code";
  std::vector<std::string> keys;
  for (const auto& each : config::differences(config::resolve(sources), config_of(imported))) {
    keys.push_back(each.key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "scheme", "data.train", "data.tokenizer", "data.end_of_text",
                      "data.token_type", "data.order", "train.micro_batch", "train.precision",
                      "evaluate.sequences", "evaluate.tasks", "evaluate.task_every"}));
  const auto uses = by_name(imported.keys);
  EXPECT_EQ(std::count_if(uses.begin(), uses.end(),
                          [](const auto& each) { return each.second.use == KeyUse::unknown; }),
            0);
  EXPECT_EQ(uses.at("model.d_model").note, "model.width");
  EXPECT_EQ(uses.at("model.alibi").use, KeyUse::equal);
  EXPECT_EQ(uses.at("data.instance_filter.repetition_max_period").use, KeyUse::differs);
  EXPECT_EQ(uses.at("device_eval_batch_size").value, "4");
}

// HybridNorm* is the published file with an argument of the command line.
TEST_F(OlmoYaml, TakesArgumentsOfTheCommandLine) {
  const auto yaml = golden_yaml("dense.yaml");
  const auto star = import_text(
      yaml, {"--model.norm_pos_special_config=_{0:{'attn_norm':True,'ffn_residual':False}}_"});
  EXPECT_EQ(star.scheme, "hybrid_norm_star");
  const auto config =
      config_of(import_text(yaml, {"model.n_layers=2", "optimizer.betas=[0.8, 0.9]"}));
  EXPECT_EQ(config.model.layers, 2);
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_EQ(message_of([&] { import_text(yaml, {"model.n_layers"}); }),
            "--argument model.n_layers: must be KEY=VALUE, such as model.n_layers=4, but is not");
  EXPECT_EQ(message_of([&] { import_text(yaml, {"model.n_layers=x"}); }),
            "--argument model.n_layers must be an integer, but is \"x\"");
}

TEST_F(OlmoYaml, OfTheAuthorsMixtureHasItsHeadAndNoFullWidthNorm) {
  const auto imported = import_text(golden_yaml("mixture.yaml"));
  const auto config = config_of(imported);
  EXPECT_EQ(config.experts.count, 64);
  EXPECT_EQ(config.experts.active, 8);
  EXPECT_EQ(config.model.inner, 1024);
  EXPECT_EQ(config.model.kv_heads, 16);
  EXPECT_EQ(config.schedule.start, 0.1);  // warmup_min_lr is missing: a tenth of the peak
  EXPECT_EQ(config.schedule.warmup, (config::Length{2500, config::Length::Unit::steps}));
  EXPECT_EQ(config.train.tokens, 5'000'000'000'000);
  EXPECT_EQ(config.evaluate.texts.size(), 2U);
  EXPECT_EQ(config.data.validation, std::vector<std::string>{"eval/c4_en/part-0-00000.npy"});
  const auto scheme = bound_scheme(config);
  const auto hybrid = config::bind(config::find_scheme("hybrid_norm"), scheme.shape);
  EXPECT_EQ(norm::fingerprint(scheme).function, norm::fingerprint(hybrid).function);
  EXPECT_EQ(scheme.base_init, "default");  // so that the untied head starts with 1/sqrt(d)
  const auto uses = by_name(imported.keys);
  EXPECT_EQ(uses.at("model.attention_layer_norm").use, KeyUse::differs);
  EXPECT_EQ(uses.at("max_duration").use, KeyUse::differs);
  EXPECT_NE(uses.at("model.eos_token_id").note.find("IP_ADDRESS"), std::string::npos);
}

/// The YAML of a golden file of the authors: their flags.
std::string yaml_of_golden(const json& golden) {
  const auto& config = golden.at("config");
  std::string yaml = kSmallOlmo;
  const auto at = yaml.find("  d_model");
  std::string flags =
      text("  init_fn: full_megatron\n  init_std: ", shortest(1 / std::sqrt(2.5 * 32)),
           "\n  init_cutoff_factor: 3\n  n_kv_heads: ", config.at("n_kv_heads"), "\n");
  for (const auto& [flag, value] : config.at("official_flags").items()) {
    flags +=
        text("  ", flag, ": ", value.is_string() ? value.get<std::string>() : value.dump(), "\n");
  }
  return yaml.insert(at, flags);
}

// Every placement that the authors' code computed for us.
TEST_F(OlmoYaml, FlagsOfTheGoldenFilesAreTheSchemesOfTheCatalogue) {
  std::set<std::filesystem::path> files;
  const auto* const more = std::getenv("EVENKEEL_GOLDEN");
  for (const auto& folder :
       {golden_folder() / "authors", std::filesystem::path(more ? more : "/none") / "authors"}) {
    for (const auto& file : testing::golden_files_in(folder)) files.insert(file);
  }
  int count = 0;
  for (auto file : files) {
    if (!file.stem().string().starts_with("dense_")) continue;
    auto name = file.stem().string().substr(std::string("dense_").size());
    if (name == "post_norm") name = "post_norm_entry";
    const auto golden = json::parse(read_file(file.replace_extension(".json")));
    const auto imported = import_text(yaml_of_golden(golden));
    EXPECT_EQ(imported.scheme, name);
    const auto scheme = bound_scheme(config_of(imported));
    const auto& layers = golden.at("config").at("layers");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto& block = scheme.blocks.at(i);
      EXPECT_EQ(block.attention.input.has_value(), layers[i].at("attn_norm").get<bool>()) << name;
      EXPECT_EQ(block.feed_forward.input.has_value(), layers[i].at("ffn_norm").get<bool>()) << name;
    }
    ++count;
  }
  EXPECT_GE(count, more ? 17 : 5);
}

TEST_F(OlmoYaml, OfOlmo2HasNormsOnTheOutputs) {
  const auto imported = small({"model.norm_after=true", "model.attention_layer_norm=true",
                               "model.init_std=0.02", "model.init_cutoff_factor=3"});
  EXPECT_EQ(imported.scheme, "olmo2");
  EXPECT_EQ(config_of(imported).model.init, "trunc_normal(0.02, 3)");  // of the embedding as well
}

TEST_F(OlmoYaml, NamesOfSchemesComeFromTheirFunction) {
  EXPECT_EQ(small().scheme, "pre_norm");
  EXPECT_EQ(config_of(small()).model.init, "normal(0.02)");  // OLMo's default
  const auto layer_norm =
      small({"model.layer_norm_type=default", "model.bias_for_layer_norm=true"});
  EXPECT_EQ(layer_norm.scheme, "pre_norm_layer_norm");
  const auto bare = small({"model.layer_norm_with_affine=false"});
  EXPECT_EQ(bare.scheme, "imported");
  const auto epsilon = small({"model.layer_norm_eps=1e-6"});
  EXPECT_EQ(epsilon.scheme, "imported");
  const auto scheme = bound_scheme(config_of(epsilon));
  EXPECT_EQ(scheme.final->epsilon, 1e-6);
  EXPECT_EQ(scheme.blocks.front().attention.input->epsilon, 1e-6);
}

TEST_F(OlmoYaml, InitialWeightsOfMitchell) {
  const auto config = config_of(small({"model.init_fn=mitchell"}));
  const auto scheme = bound_scheme(config);
  EXPECT_EQ(scheme.base_init, "trunc_normal(1/sqrt(d), 3)");
  EXPECT_EQ(scheme.embedding_init, scheme.base_init);
  const auto factor = [&](std::size_t i) {
    return scheme.init.at(i).factor.value(scheme.shape.variables_of_block(2));
  };
  EXPECT_DOUBLE_EQ(factor(0), 1 / std::sqrt(2 * 2));  // 1/sqrt(2 d l), times sqrt(d)
  EXPECT_DOUBLE_EQ(factor(1),
                   std::sqrt(32 / 24.0) / std::sqrt(2 * 2));  // 1/sqrt(2 f l), times sqrt(d)
}

// emb_init_std, else as the matrices; full_megatron and scale_emb_init: times sqrt(d_model)
TEST_F(OlmoYaml, TheEmbeddingStartsAsInOlmo) {
  const auto init_of = [&](std::vector<std::string> arguments) {
    const auto config = config_of(small(std::move(arguments)));
    return config.model.init == "scheme" ? bound_scheme(config).embedding_init : config.model.init;
  };
  const std::string megatron = "model.init_fn=full_megatron", scaled = "model.scale_emb_init=true";
  EXPECT_EQ(init_of({"model.layer_norm_eps=1e-6"}), "normal(0.02)");
  EXPECT_EQ(init_of({megatron}), "trunc_normal(0.02, 3)");
  EXPECT_EQ(init_of({"model.emb_init_std=0.5"}), "normal(0.5)");
  EXPECT_EQ(init_of({megatron, scaled, "model.d_model=64"}), "trunc_normal(0.16, 3)");
  EXPECT_EQ(init_of({scaled}), "normal(0.02)");
}

TEST_F(OlmoYaml, LengthsAreStepsOrTokens) {
  const auto config =
      config_of(small({"global_train_batch_size=10", "max_duration=20", "scheduler.t_max=40",
                       "scheduler.t_warmup=3", "scheduler.name=linear_with_warmup"}));
  EXPECT_EQ(config.train.steps, 20);
  EXPECT_EQ(config.schedule.steps, 40);
  EXPECT_EQ(config.schedule.kind, "linear");
  EXPECT_EQ(config.schedule.warmup, (config::Length{3, config::Length::Unit::steps}));
  const auto tokens =
      config_of(small({"global_train_batch_size=10", "max_duration=2400T", "scheduler.units=tokens",
                       "scheduler.t_max=2400", "scheduler.t_warmup=100"}));
  EXPECT_EQ(tokens.train.tokens, 2400);
  EXPECT_EQ(tokens.schedule.steps, 0);  // the steps of the run
  EXPECT_EQ(tokens.schedule.warmup, (config::Length{100, config::Length::Unit::tokens}));
}

TEST_F(OlmoYaml, NamesEveryKeyThatItDoesNotTake) {
  const auto imported = small({"model.new_switch=true", "my_table.x=1", "early_stopping_factor=2",
                               "fsdp.precision=mixed", "tokenizer.identifier=gpt2"});
  const auto uses = by_name(imported.keys);
  EXPECT_EQ(uses.at("model.new_switch").use, KeyUse::unknown);
  EXPECT_EQ(uses.at("my_table.x").use, KeyUse::unknown);
  EXPECT_EQ(uses.at("early_stopping_factor").use, KeyUse::differs);
  EXPECT_EQ(uses.at("fsdp.precision").use, KeyUse::no_effect);
  EXPECT_EQ(uses.at("tokenizer.identifier").use, KeyUse::differs);
  EXPECT_NE(imported.toml.find("# Not taken, because this program does not know them:\n"
                               "#   model.new_switch = true\n#   my_table.x = 1\n"),
            std::string::npos);
}

TEST_F(OlmoYaml, CommentsHaveNoControlCharacters) {
  const auto imported = import_text(std::string(kSmallOlmo) + "\"a\\nseed = 7\\x01\": \"b\\nc\"\n");
  EXPECT_NE(imported.toml.find("#   line 18: a?seed = 7? = \"b\\nc\"\n"), std::string::npos)
      << imported.toml;
}

// Whatever a key is set to, the answer is a configuration or one line about the file.
TEST_F(OlmoYaml, IsReadOrRefusedWithAnyValueOfAnyKey) {
  const auto yaml = golden_yaml("mixture.yaml");
  const std::vector<std::string> values = {
      "null",     "-1",          "1e300",   "x",
      "[1, [2]]", "{a: {b: 1}}", "${seed}", "[{label: a, data: {datasets: [1], paths: 2}}]"};
  const std::size_t each = is_sanitized() ? 1 : 3;  // of the values for one key, in turn
  int read = 0, refused = 0;
  std::size_t turn = 0;
  for (const auto& key : import_text(yaml).keys) {
    const bool is_list = key.key == "evaluators";
    for (std::size_t i = 0; i < (is_list ? values.size() : each); ++i) {
      const auto& value = values[turn++ % values.size()];
      try {
        import_text(yaml, {"model.n_layers=1", key.key + "=" + value});
        ++read;
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::data) << key.key << " " << value << ": " << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        ++refused;
      }
    }
  }
  const int least = is_sanitized() ? 15 : 50;
  EXPECT_GT(read, least);
  EXPECT_GT(refused, least);
}

TEST_F(OlmoYaml, RefusesWhatOurModelsDoNotHave) {
  EXPECT_EQ(refusal("model.alibi=true"),
            "--argument model.alibi must be false, but is true; all models have rotary embeddings");
  EXPECT_EQ(refusal("model.rope=null"),
            "--argument model.rope must be true, but is null; OLMo's default is the opposite; all "
            "models have rotary embeddings");
  EXPECT_EQ(refusal("model.include_bias=true"),
            "--argument model.include_bias must be false, but is true; matrices have no biases");
  EXPECT_EQ(refusal("model.clip_qkv=8.0"),
            "--argument model.clip_qkv must be null, but is 8.0; no scheme clips q, k, v");
  EXPECT_EQ(refusal("model.activation_type=gelu"),
            "--argument model.activation_type must be \"swiglu\", but is \"gelu\"");
  EXPECT_EQ(refusal("model.block_type=parallel"),
            "--argument model.block_type must be \"sequential\", \"llama\" or \"moe\", but is "
            "\"parallel\"");
  EXPECT_EQ(refusal("optimizer.name=lionw"),
            "--argument optimizer.name must be \"adamw\", but is \"lionw\"");
  EXPECT_EQ(refusal("scheduler.name=max_scheduler"),
            "--argument scheduler.name must be \"cosine_with_warmup\", \"linear_with_warmup\", "
            "\"constant_with_warmup\" or \"constant\", but is \"max_scheduler\"");
  EXPECT_EQ(
      refusal("model.init_fn=fan_in"),
      "--argument model.init_fn must be \"normal\", \"full_megatron\" or \"mitchell\", but is "
      "\"fan_in\"");
  EXPECT_EQ(refusal("model.embedding_size=50"),
            "--argument model.embedding_size must be at least model.vocab_size (300), but is 50");
  EXPECT_EQ(refusal("model.mlp_hidden_size=47"),
            "--argument model.mlp_hidden_size must be even, but is 47; SwiGLU has two halves");
  EXPECT_EQ(refusal("model.d_model=${oc.env:WIDTH}"),
            "--argument model.d_model must be a value, but is \"${oc.env:WIDTH}\"; only OLMo's "
            "program resolves ${...}; write the value itself");
  EXPECT_EQ(
      refusal("model.n_heads=5"),
      "x.yaml: as a configuration of this program: model.heads must divide model.width, but 5 "
      "does not divide 32");
  EXPECT_EQ(refusal("model.n_layers=0"),
            "--argument model.n_layers must be from 1 to 4096, but is 0");
  EXPECT_EQ(refusal("max_duration=1ep"),
            "--argument max_duration must be steps or tokens, but is \"1ep\"; without "
            "scheduler.t_max the length is unknown");
  EXPECT_EQ(refusal("data.paths=[]"), "--argument data.paths must be a list of paths, but is not");
}

}  // namespace
}  // namespace evenkeel::convert
