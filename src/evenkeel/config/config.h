// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/length.h"
#include "evenkeel/config/scheme/scheme.h"

/// The resolved configuration of a run: preset, then files, then --set. docs/configuration.md
/// explains every key. Each field has the name of its key, and its default is the value of the
/// preset tiny.
namespace evenkeel::config {

/// [model]: the shape of the transformer. `inner` is the FFN width, `context` the sequence length.
struct Model {
  std::int64_t layers = 4, width = 128, heads = 4, kv_heads = 2, inner = 352, context = 256;
  std::int64_t vocabulary = 0;  // 0: size of the tokenizer's vocabulary; else at least that size
  std::int64_t pad_vocabulary_to = 64;  // the embedding has a multiple of this number of rows
  double rope_theta = 10000;            // base of the rotary embedding
  bool tied = true;                     // embedding and head share one matrix
  std::string init = "scheme";          // "scheme", or a distribution for parse_init()
  std::string recompute = "none";  // activation checkpointing: "none", "norms", "block", "auto"
};

/// [model.experts]: a mixture of experts, which replaces every feed-forward sublayer.
struct Experts {
  std::int64_t count = 0;                                 // routed experts; 0: a dense model
  std::int64_t active = 2, shared = 0, dense_layers = 0;  // active: top-k
  bool renormalize = false;  // the top-k router weights of a token are scaled to a sum of 1
  double balance = 0.01;     // coefficient of the load-balancing loss
  double router_z = 0.001;   // coefficient of the router z-loss
  double bias_rate = 0;  // step size of the router bias (auxiliary-loss-free balancing); 0: no bias
};

/// [data]: the texts and their tokens.
struct Data {
  std::vector<std::string> train = {"builtin:sentences"};  // files, folders, patterns, or a builtin
  /// Sampling weights of a mixture, one per element of `train`; empty: the inputs are concatenated.
  std::vector<double> weights;
  std::vector<std::string> validation = {"auto"};
  std::vector<std::string> ood;  // out-of-distribution text for a second validation loss
  double validation_fraction = 0.1;
  bool mask_documents = false;       // attention is restricted to one document
  std::string tokenizer = "bytes";   // "bytes", or the path of a tokenizer
  bool special_in_text = true;       // special tokens in a text become their ids
  std::string end_of_text = "auto";  // "auto", a token, or a token id
  std::optional<bool> begin;         // a text begins with end-of-text; nullopt: "auto"
  std::string format = "auto";      // "auto", "text", "jsonl", "json", "parquet", or of token files
  std::string text_key = "text";    // the JSON key or parquet column of a document's text
  std::string token_type = "auto";  // of ids in token files without a header
  std::string order = "shuffled";   // of the training windows: "shuffled", "olmo", "file"
};

/// [train]: the length of a run, and the computation of a step.
struct Train {
  std::int64_t steps = 400;      // 0: set by `tokens`
  std::int64_t tokens = 0;       // 0: set by `steps`
  std::int64_t batch = 8;        // sequences per optimizer step
  std::int64_t micro_batch = 0;  // sequences per forward pass; 0: "auto"
  /// Parts of the batch whose gradients are summed separately, then in a binary tree; 0: "auto".
  std::int64_t gradient_shards = 0;
  std::string precision = "auto";  // "auto", "float32", "bfloat16", "float64"
  std::int64_t threads = 0;        // 0: "auto"
  double z_loss = 0;               // coefficient of the z-loss of the logits; 0: none
  bool deterministic = true;       // a GPU computes the same bits in every run
  bool cuda_graphs = false;        // a GPU launches the kernels of a micro-batch at once
  std::string from;                // run folder with the initial weights; empty: random weights
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
  double floor = 0.1;           // final learning rate / peak (Megatron: min_lr / lr)
  double start = 0;             // first learning rate of the warm-up / peak
  Length warmup = {60, Length::Unit::steps};
  Length decay = {20, Length::Unit::percent};  // wsd: length of the decay at the end
};

/// A text by name, for its loss.
struct NamedText {
  std::string name;
  std::vector<std::string> inputs;  // as data.validation
  bool operator==(const NamedText&) const = default;
};

/// [evaluate]: the validation loss, the loss of other texts, and tasks (docs/evaluation.md).
struct Evaluate {
  std::int64_t every = 100;         // steps between evaluations; 0: only at the end
  std::int64_t sequences = 64;      // validation windows; 0: all
  std::vector<NamedText> texts;     // more texts, whose losses are reported by name
  std::vector<std::string> tasks;   // labels, groups or paths of request files
  std::int64_t task_every = 0;      // steps between evaluations of tasks; 0: only at the end
  std::int64_t task_documents = 0;  // first documents of each task; 0: all
  std::int64_t max_context = 0;     // tokens of a row; 0: "auto", min(2048, model.context)
  std::string rule = "olmo";        // "olmo", "olmo_v2", "lm_eval"
  std::string score_precision = "float32";  // of log-probabilities; "bfloat16"
  std::string task_folder = "auto";         // folder of the tasks' files
};

/// [checkpoint]: the states from which a stopped run is resumed.
struct Checkpoint {
  std::int64_t every = 200;  // steps between checkpoints; 0: only at the end and on a signal
  std::int64_t keep = 2;     // number of newest checkpoints on disk
  double seconds = 0;        // also after this time since the last one; 0: not by time
  bool background = false;   // a thread writes them, from a copy of the tensors
};

/// [probe]: layer statistics of activations and gradients during a run.
struct Probe {
  std::vector<std::int64_t> steps;          // optimizer steps with a probe, from 1
  std::int64_t every = 0;                   // also after every `every` steps; 0: never
  std::vector<std::string> what = {"all"};  // names of measures()
};

/// [health]: the reaction to a failed step.
struct Health {
  std::string on_spike = "warn";      // "warn", "skip", "stop"
  std::string on_nonfinite = "skip";  // "skip", "stop"; the update is always skipped
  std::int64_t budget = 20;           // skipped steps that a run may have; one more is exit code 76
};

/// [log]: the records of metrics (docs/tracking.md).
struct Log {
  std::int64_t every = 10;  // steps
  bool tensorboard = true;  // event files of TensorBoard
  bool csv = false;         // metrics.csv
};

/// [kernels]: the implementation of the operators.
struct Kernels {
  bool fused = true;               // false: reference implementations of plain tensor operations
  std::string attention = "auto";  // "auto", "flash", "explicit"
};

/// [distributed]: several processes that train one model (docs/distributed.md).
struct Distributed {
  std::string shard = "optimizer";        // what each rank has a part of: "optimizer" (ZeRO-1),
                                          // "gradients" too (ZeRO-2), "none"
  std::string exchange = "exact";         // sums over ranks in the order of a binary tree
  std::int64_t connect_timeout = 300;     // seconds, for all ranks to come
  std::int64_t heartbeat_timeout = 10;    // seconds without a heartbeat, then a rank is lost
  std::int64_t collective_timeout = 600;  // seconds that a rank waits in one collective call
  std::string interface = "auto";  // of the network; "auto": the one that leads to MASTER_ADDR
  std::string backend = "auto";    // "auto", "gloo", "nccl"
};

/// All keys. Equal configurations on equal data and hardware give bitwise equal results.
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
  Distributed distributed;
};

/// The sources of a run's configuration, in ascending precedence.
struct Sources {
  std::optional<std::string> preset;         // --preset
  std::vector<std::filesystem::path> files;  // --config; later files override earlier ones
  std::optional<std::string> scheme;         // --scheme NAME|FILE
  std::vector<std::string> sets;             // --set KEY=VALUE; later ones override earlier ones
};

/// The names of the built-in presets: tiny, nano, 151m, ...
std::vector<std::string> presets();

/// Merges, reads and checks a configuration. Reads no training data.
/// \throws Error (usage, exit code 64) for the first unknown key, wrong type or value out of range,
///         with file, line, key, the known keys of that table and the nearest name; SchemeError for
///         an invalid scheme
Config resolve(const Sources& sources);

/// True if a file or a --set of `sources` has this key, maybe with the value of another source. The
/// preset is not read.
/// \param key  "data.tokenizer"
/// \throws as resolve() does
bool sets_key(const Sources& sources, std::string_view key);

/// Reads the output of to_toml().
/// \param name  the file or place, for messages. Where the text is from MANIFEST.json of a
///              checkpoint, the path of that file: a refusal of an unknown key names the version
///              that wrote the checkpoint
/// \throws as resolve() does
Config read_back(const std::string& toml, const std::string& name);

/// The text of run.toml with every key; resolve() of this text gives an equal Config. A catalogue
/// scheme is written as its name. Any other scheme is written as a table that needs no other file.
std::string to_toml(const Config& config);

/// Whether a key is written: its dotted name, and its value as TOML.
using KeyFilter = std::function<bool(const std::string& name, const std::string& value)>;

/// The configuration without the keys that `is_written` rejects, and without tables that have no
/// key left, for keys of cached runs: its first line is that of version 0.1.0.
std::string to_toml(const Config& config, const KeyFilter& is_written);

/// A key whose value differs between two configurations.
struct KeyDifference {
  std::string key;            // "model.width"; "scheme" for any difference of the schemes
  std::string before, after;  // TOML; "unset": the missing one of train.steps and train.tokens
};
/// The keys with different values, in the order of run.toml. `preset` is a name only and is
/// ignored.
std::vector<KeyDifference> differences(const Config& before, const Config& after);

/// True if `names` contains `key` or a table that contains it: "train" matches "train.steps".
bool is_named(const std::string& key, const std::vector<std::string>& names);

/// The shape of the model. The vocabulary is that without the rows of pad_vocabulary_to.
/// \param tokens  size of the tokenizer's vocabulary
/// \throws Error (usage, exit code 64) for an invalid shape
norm::Shape shape_of(const Config& config, std::int64_t tokens);

}  // namespace evenkeel::config
