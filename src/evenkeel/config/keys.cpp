// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/keys.h"

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/measures.h"
#include "evenkeel/config/section_builder.h"

namespace evenkeel::config {

namespace {

using std::int64_t;

constexpr IntegerRange kLayers = {1, 4096};  // 7 matrices of 2^24 x 2^24 per layer: below 2^63
constexpr IntegerRange kContext = {2, kSize.most};
constexpr IntegerRange kThreads = {1, 4096};
constexpr IntegerRange kCheckpoints = {2, kCount.most};  // the newest checkpoint may be damaged

Section keys_top() {
  return {"",
          "",
          {{"seed",
            [](Config& config, TableReader& table) {
              config.seed = table.integer("seed", config.seed, {0});
            },
            [](const Config& config) { return std::to_string(config.seed); }}}};
}

Section model() {
  SectionBuilder<Model> keys("model", "The shape of the transformer.", &Config::model);
  keys.integer("layers", &Model::layers, kLayers);
  keys.integer("width", &Model::width, kSize);
  keys.integer("heads", &Model::heads, kSize);
  keys.integer("kv_heads", &Model::kv_heads, kSize);
  keys.integer("inner", &Model::inner, kSize);
  keys.integer("context", &Model::context, kContext);
  keys.integer_or("tokenizer", "vocabulary", &Model::vocabulary);
  keys.integer("pad_vocabulary_to", &Model::pad_vocabulary_to, kSize);
  keys.number("rope_theta", &Model::rope_theta, kPositive);
  keys.flag("tied", &Model::tied);
  keys.string("init", &Model::init);
  keys.word("recompute", &Model::recompute, {"none", "norms", "block", "auto"});
  return keys.section();
}

Section experts() {
  SectionBuilder<Experts> keys("model.experts", "A mixture of experts; count = 0 is a dense model.",
                               &Config::experts);
  keys.integer("count", &Experts::count, {0, 1 << 16});
  keys.integer("active", &Experts::active, kSize);
  keys.integer("shared", &Experts::shared, {0, 1 << 16});
  keys.integer("dense_layers", &Experts::dense_layers, {0, kLayers.most});
  keys.flag("renormalize", &Experts::renormalize);
  keys.number("balance", &Experts::balance, kNotNegative);
  keys.number("router_z", &Experts::router_z, kNotNegative);
  keys.number("bias_rate", &Experts::bias_rate, kNotNegative);
  return keys.section();
}

/// `steps` and `tokens` exclude each other: merge_sources() leaves one of them.
void add_run_length(SectionBuilder<Train>& keys) {
  keys.custom({"steps",
               [](Config& config, TableReader& table) {
                 auto& steps = config.train.steps;
                 steps = table.node("tokens") ? 0 : table.integer("steps", steps, kAtLeastOne);
               },
               [](const Config& config) {
                 return config.train.steps == 0 ? std::string()
                                                : std::to_string(config.train.steps);
               }});
  keys.custom({"tokens",
               [](Config& config, TableReader& table) {
                 config.train.tokens = table.tokens("tokens", config.train.tokens);
               },
               [](const Config& config) {
                 return config.train.tokens == 0 ? std::string()
                                                 : std::to_string(config.train.tokens);
               }});
}

Section train() {
  SectionBuilder<Train> keys("train", "How long and how.", &Config::train);
  add_run_length(keys);
  keys.integer("batch", &Train::batch, kSize);
  keys.integer_or("auto", "micro_batch", &Train::micro_batch);
  keys.integer_or("auto", "gradient_shards", &Train::gradient_shards);
  keys.word("precision", &Train::precision, {"auto", "float32", "bfloat16", "float64"});
  keys.integer_or("auto", "threads", &Train::threads, kThreads);
  keys.number("z_loss", &Train::z_loss, kNotNegative);
  keys.flag("deterministic", &Train::deterministic);
  keys.flag("cuda_graphs", &Train::cuda_graphs);
  keys.string("from", &Train::from);
  return keys.section();
}

Section optimizer() {
  SectionBuilder<Optimizer> keys("optimizer", "The rule of each update.", &Config::optimizer);
  keys.word("kind", &Optimizer::kind, {"adamw"});
  keys.custom({"betas",
               [](Config& config, TableReader& table) {
                 auto& at = config.optimizer;
                 const auto betas = table.pair("betas", {at.beta1, at.beta2}, kBelowOne);
                 at.beta1 = betas[0];
                 at.beta2 = betas[1];
               },
               [](const Config& config) {
                 return text("[", shortest(config.optimizer.beta1), ", ",
                             shortest(config.optimizer.beta2), "]");
               }});
  keys.number("epsilon", &Optimizer::epsilon, kPositive);
  keys.number("weight_decay", &Optimizer::weight_decay, kNotNegative);
  keys.flag("decay_gains", &Optimizer::decay_gains);
  keys.flag("decay_embedding", &Optimizer::decay_embedding);
  keys.number("clip", &Optimizer::clip, kNotNegative);
  return keys.section();
}

Section schedule() {
  SectionBuilder<Schedule> keys("schedule", "The learning rate over the run.", &Config::schedule);
  keys.word("kind", &Schedule::kind, {"cosine", "linear", "constant", "wsd"});
  keys.integer_or("auto", "steps", &Schedule::steps, kAtLeastOne);
  keys.number("peak", &Schedule::peak, kPositive);
  keys.number("floor", &Schedule::floor, kFromZeroToOne);
  keys.number("start", &Schedule::start, kFromZeroToOne);
  keys.length("warmup", &Schedule::warmup);
  keys.length("decay", &Schedule::decay);
  return keys.section();
}

Section checkpoint() {
  SectionBuilder<Checkpoint> keys("checkpoint", "What a stopped run goes on from.",
                                  &Config::checkpoint);
  keys.integer("every", &Checkpoint::every, kCount);
  keys.integer("keep", &Checkpoint::keep, kCheckpoints);
  keys.number("seconds", &Checkpoint::seconds, kNotNegative);
  keys.flag("background", &Checkpoint::background);
  return keys.section();
}

Section probe() {
  SectionBuilder<Probe> keys("probe", "A look inside: measures by layer.", &Config::probe);
  keys.integers("steps", &Probe::steps, kAtLeastOne);
  keys.integer("every", &Probe::every, kCount);
  keys.words("what", &Probe::what, measure_names());
  return keys.section();
}

Section health() {
  SectionBuilder<Health> keys("health", "What to do about a bad step.", &Config::health);
  keys.word("on_spike", &Health::on_spike, {"warn", "skip", "stop"});
  keys.word("on_nonfinite", &Health::on_nonfinite, {"skip", "stop"});
  keys.integer("budget", &Health::budget, kAtLeastOne);
  return keys.section();
}

Section log() {
  SectionBuilder<Log> keys("log", "Lines of metrics.", &Config::log);
  keys.integer("every", &Log::every, kAtLeastOne);
  keys.flag("tensorboard", &Log::tensorboard);
  keys.flag("csv", &Log::csv);
  return keys.section();
}

Section kernels() {
  SectionBuilder<Kernels> keys("kernels", "How the operators are computed.", &Config::kernels);
  keys.flag("fused", &Kernels::fused);
  keys.word("attention", &Kernels::attention, {"auto", "flash", "explicit"});
  return keys.section();
}

Section distributed() {
  constexpr IntegerRange kHeartbeats = {2, kCount.most};
  constexpr IntegerRange kCollective = {10, kCount.most};
  SectionBuilder<Distributed> keys("distributed", "Several processes that train one model.",
                                   &Config::distributed);
  keys.word("shard", &Distributed::shard, {"none", "optimizer", "gradients"});
  keys.word("exchange", &Distributed::exchange, {"exact", "fast"});
  keys.integer("connect_timeout", &Distributed::connect_timeout, kAtLeastOne);
  keys.integer("heartbeat_timeout", &Distributed::heartbeat_timeout, kHeartbeats);
  keys.integer("collective_timeout", &Distributed::collective_timeout, kCollective);
  keys.string("interface", &Distributed::interface);
  keys.word("backend", &Distributed::backend, {"auto", "gloo", "nccl"});
  return keys.section();
}

}  // namespace

std::string full_name(const Section& section, const Key& key) {
  return section.name.empty() ? std::string(key.name) : text(section.name, ".", key.name);
}

const std::vector<Section>& sections() {
  static const std::vector<Section> sections = {
      keys_top(),  model(),    experts(),          data_section(), train(),
      optimizer(), schedule(), evaluate_section(), checkpoint(),   probe(),
      health(),    log(),      kernels(),          distributed()};
  return sections;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const auto& section : sections()) {
    for (const auto& key : section.keys) names.push_back(full_name(section, key));
  }
  return names;
}

}  // namespace evenkeel::config
