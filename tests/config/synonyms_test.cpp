// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/synonyms.h"

#include <algorithm>
#include <map>

#include "config_fixture.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/scheme/scheme.h"

namespace evenkeel::config {
namespace {

class Synonyms : public TemporaryFolderTest {};

TEST_F(Synonyms, OfKeysAreSuggested) {
  EXPECT_EQ(set_error({"optimizer.lr=1e-3"}),
            "--set optimizer.lr=1e-3: optimizer.lr: unknown key; did you mean \"schedule.peak\"? "
            "docs/configuration.md lists all keys");
  EXPECT_EQ(set_error({"lr=1e-3"}),
            "--set lr=1e-3: lr: unknown key; did you mean \"schedule.peak\"? "
            "docs/configuration.md lists all keys");
  EXPECT_EQ(file_error("seed = 2\n[train]\nbatch_size = 8\n"),
            "mine.toml:3: train.batch_size: unknown key; did you mean \"train.batch\"? "
            "docs/configuration.md lists all keys");
  EXPECT_EQ(file_error("[training]\nmax_steps = 8\n"),
            "mine.toml:2: training.max_steps: unknown key; did you mean \"train.steps\"? "
            "docs/configuration.md lists all keys");
  EXPECT_EQ(set_error({"distributed.start_timeout=3"}),
            "--set distributed.start_timeout=3: distributed.start_timeout: unknown key; did you "
            "mean \"distributed.connect_timeout\"? docs/configuration.md lists all keys");
  EXPECT_EQ(set_error({"scheme=keel", "evaluate.texts={ lr = 'a.txt' }"}), "no error");
}

TEST(KeyOfSynonym, IsTheKeyOfOurTables) {
  const std::map<std::string, std::string> wanted = {
      {"train.lr", "schedule.peak"},
      {"schedule.learning_rate", "schedule.peak"},
      {"train.micro_batch_size", "train.micro_batch"},
      {"train.gradient_accumulation_steps", "train.micro_batch"},
      {"model.hidden_size", "model.width"},
      {"model.d_model", "model.width"},
      {"model.seq_len", "model.context"},
      {"model.max_position_embeddings", "model.context"},
      {"model.n_layer", "model.layers"},
      {"model.num_heads", "model.heads"},
      {"model.num_key_value_heads", "model.kv_heads"},
      {"model.intermediate_size", "model.inner"},
      {"model.vocab_size", "model.vocabulary"},
      {"model.num_experts", "model.experts.count"},
      {"optimizer.grad_clip", "optimizer.clip"},
      {"optimizer.max_grad_norm", "optimizer.clip"},
      {"optimizer.clip-grad", "optimizer.clip"},
      {"schedule.min_lr", "schedule.floor"},
      {"schedule.warmup_steps", "schedule.warmup"},
      {"optimizer.warmup", "schedule.warmup"},  // our word in another table
      {"micro_batch", "train.micro_batch"},
      {"distributed.start_timeout", "distributed.connect_timeout"},
      {"distributed.rdzv_timeout", "distributed.connect_timeout"},
      {"train.ddp_timeout", "distributed.collective_timeout"},
      {"train.every", "train.every"},  // of several tables
      {"model.dropout", "model.dropout"}};
  const auto known = key_names();
  for (const auto& [name, key] : wanted) {
    EXPECT_EQ(key_of_synonym(name), key) << name;
    EXPECT_TRUE(key == name || std::count(known.begin(), known.end(), key) == 1) << key;
  }
}

TEST(SchemeOfSynonym, IsASchemeOfTheCatalogue) {
  const std::map<std::string, std::string> wanted = {
      {"rmsnorm", "pre_norm"},       {"RMSNorm", "pre_norm"},
      {"prenorm", "pre_norm"},       {"pre-norm", "pre_norm"},
      {"postnorm", "post_norm"},     {"layernorm", "pre_norm_layer_norm"},
      {"hybridnorm", "hybrid_norm"}, {"HybridNorm*", "hybrid_norm_star"},
      {"qknorm", "pre_qk"},          {"QK-Norm", "pre_qk"},
      {"peri-ln", "peri_ln"},        {"sandwichnorm", "sandwich"},
      {"deepnorm", "deep_norm"},     {"my_scheme", "my_scheme"}};
  for (const auto& [name, scheme] : wanted) EXPECT_EQ(scheme_of_synonym(name), scheme) << name;
  EXPECT_EQ(message_of([] { find_scheme("RMSNorm"); }),
            "the catalogue has no scheme \"RMSNorm\"; a file is named by its path, which ends in "
            ".toml; did you mean \"pre_norm\"? `evenkeel schemes` lists all");
}

}  // namespace
}  // namespace evenkeel::config
