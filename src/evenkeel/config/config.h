// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/length.h"
#include "evenkeel/config/scheme/scheme.h"

/// The resolved configuration of a run: preset, then files, then --set. docs/configuration.md
/// explains every key; a field has the name of its key, and its default is the preset tiny's.
namespace evenkeel::config {

/// [model]: the shape of the transformer. `inner` is the FFN width, `context` the tokens of a
/// sequence.
struct Model {
  std::int64_t layers = 4, width = 128, heads = 4, kv_heads = 2, inner = 352, context = 256;
  std::int64_t vocabulary = 0;          // 0: the tokenizer's; else a number >= the tokenizer's
  std::int64_t pad_vocabulary_to = 64;  // the embedding has a multiple of so many rows
  double rope_theta = 10000;            // base of the rotary embedding
  bool tied = true;                     // the head is the embedding matrix
  std::string init = "scheme";          // or a distribution: parse_init()
  std::string recompute = "none";       // activation checkpointing: "none", "norms", "block"
};

/// [model.experts]: a mixture of experts in place of every feed-forward sublayer.
struct Experts {
  std::int64_t count = 0;                                 // 0: dense
  std::int64_t active = 2, shared = 0, dense_layers = 0;  // `active` is top-k
  bool renormalize = false;  // the weights of a token's experts add up to 1
  double balance = 0.01;     // coefficient of the load-balancing loss
  double router_z = 0.001;   // coefficient of the router z-loss
  double bias_rate = 0;      // step size of the bias that balances the load; 0: no bias
};

/// [data]: the text.
struct Data {
  std::vector<std::string> train = {"builtin:sentences"};
  std::vector<std::string> validation = {"auto"};
  std::vector<std::string> ood;  // out-of-distribution text for a second validation loss
  double validation_fraction = 0.1;
  bool mask_documents = false;    // attention stays within a document
  std::string format = "auto";    // "auto", "text", "jsonl"
  std::string text_key = "text";  // the JSON field with the text of a line
};

/// [train]: how long a run is, and how a step is computed.
struct Train {
  std::int64_t steps = 400;        // 0: `tokens` decides
  std::int64_t tokens = 0;         // 0: `steps` decides
  std::int64_t batch = 8;          // sequences of an optimizer step
  std::int64_t micro_batch = 0;    // sequences of one forward pass; 0: "auto"
  std::string precision = "auto";  // "auto", "float32", "bfloat16", "float64"
  std::int64_t threads = 0;        // 0: "auto"
  std::string from;                // a run folder with the initial weights; empty: random ones
};

/// [optimizer]: AdamW (arXiv:1711.05101).
struct Optimizer {
  std::string kind = "adamw";
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  bool decay_gains = true, decay_embedding = false;
  double clip = 1.0;  // max gradient norm; 0: no clipping
};

/// [schedule]: the learning rate over the run.
struct Schedule {
  std::string kind = "cosine";  // "cosine", "linear", "constant", "wsd"
  std::int64_t steps = 0;       // length of the schedule; 0: "auto", the steps of the run
  double peak = 4e-3;           // largest learning rate
  double floor = 0.1;           // final learning rate over peak
  double start = 0;             // first learning rate of the warm-up over peak
  Length warmup = {60, Length::Unit::steps};
  Length decay = {20, Length::Unit::percent};  // wsd: the last part
};

/// [evaluate]: the validation loss.
struct Evaluate {
  std::int64_t every = 100;     // steps; 0: only at the end
  std::int64_t sequences = 64;  // 0: all
};

/// [checkpoint]: what a stopped run continues from.
struct Checkpoint {
  std::int64_t every = 200;  // steps; 0: only at the end and on a signal
  std::int64_t keep = 2;     // newest checkpoints that stay on disk
  double seconds = 0;        // also after so much time; 0: not by time
};

/// [probe]: measures of activations and gradients by layer, during a run.
struct Probe {
  std::vector<std::int64_t> steps;          // optimizer steps at which to measure, from 1
  std::int64_t every = 0;                   // also every so many steps; 0: none
  std::vector<std::string> what = {"all"};  // names of measures()
};

/// [health]: the reaction to a bad step.
struct Health {
  std::string on_spike = "warn";      // "warn", "skip", "stop"
  std::string on_nonfinite = "skip";  // "skip", "stop"; such a step never changes weights
  std::int64_t budget = 20;           // skipped steps, in a row or in total, before exit 76
};

/// [log]: lines of metrics.
struct Log {
  std::int64_t every = 10;  // steps
};

/// [kernels]: how operators are computed.
struct Kernels {
  bool fused = true;               // false: formulas of plain tensor operations
  std::string attention = "auto";  // "auto", "flash", "explicit"
};

/// All keys. Equal configurations on equal data and hardware give equal bits.
struct Config {
  std::string preset = "tiny";
  SchemeSource scheme;  // default "hybrid_norm_star"
  std::int64_t seed = 1;
  Model model;
  Experts experts;  // [model.experts]
  Data data;
  Train train;
  Optimizer optimizer;
  Schedule schedule;
  Evaluate evaluate;
  Checkpoint checkpoint;
  Probe probe;
  Health health;
  Log log;
  Kernels kernels;
};

/// Where the values of a run come from, in rising order of precedence.
struct Sources {
  std::optional<std::string> preset;         // --preset
  std::vector<std::filesystem::path> files;  // --config, later wins
  std::optional<std::string> scheme;         // --scheme NAME|FILE
  std::vector<std::string> sets;             // --set KEY=VALUE, later wins
};

/// Names of the embedded presets: tiny, nano, 151m, ...
std::vector<std::string> presets();

/// Merges, reads and checks a configuration, without reading data.
/// \throws Error (usage) at the first unknown key, wrong type or value out of range, with file,
///         line, key, the known keys of that table and the nearest name; SchemeError
Config resolve(const Sources& sources);

/// The configuration that to_toml() wrote.
/// \param name  of the file or place, for messages
/// \throws as resolve()
Config read_back(const std::string& toml, const std::string& name);

/// The text of run.toml: every key. resolve() of it gives an equal Config. A catalogue scheme is
/// written by name, any other as a table that needs no further file.
std::string to_toml(const Config& config);

/// A key whose value differs between two configurations.
struct KeyDifference {
  std::string key;            // "model.width"; "scheme" for a scheme that differs anywhere
  std::string before, after;  // as TOML; "unset" for the absent one of train.steps and train.tokens
};
/// The keys that differ, in the order of run.toml. `preset`, a name only, is not compared.
std::vector<KeyDifference> differences(const Config& before, const Config& after);

/// True if `names` has `key` or a table above it: "train" names "train.steps".
bool is_named(const std::string& key, const std::vector<std::string>& names);

/// The shape of the configuration's model; its vocabulary is without the rows of pad_vocabulary_to.
/// \param tokens  the vocabulary of the tokenizer
/// \throws Error (usage) for impossible shapes
norm::Shape shape_of(const Config& config, std::int64_t tokens);

}  // namespace evenkeel::config
