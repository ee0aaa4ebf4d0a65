// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/scheme/scheme.h"

/// The resolved configuration of a run: preset, then files, then --set (docs/configuration.md).
namespace evenkeel::config {

/// A length in optimizer steps, or with a unit: 60, "100Mt" (tokens), "5%" (of the run).
struct Length {
  enum class Unit { steps, tokens, percent };
  double amount = 0;
  Unit unit = Unit::steps;
  bool operator==(const Length&) const = default;
};

struct Model {
  std::int64_t layers = 4, width = 128, heads = 4, kv_heads = 2, inner = 352, context = 256;
  std::int64_t vocabulary = 0;  // 0: the tokenizer's; else a number >= the tokenizer's
  std::int64_t pad_vocabulary_to = 64;
  double rope_theta = 10000;
  bool tied = true;
  std::string init = "scheme";
  std::string recompute = "none";  // "none", "norms", "block"
};

/// model.experts: a mixture of experts in place of every feed-forward.
struct Experts {
  std::int64_t count = 0;  // 0: dense
  std::int64_t active = 2, shared = 0, dense_layers = 0;
  bool renormalize = false;
  double balance = 0.01;    // weight of the loss that balances the load
  double router_z = 0.001;  // weight of the loss that keeps router logits small
  double bias_rate = 0;     // how far a step moves the bias that balances the choice; 0: no bias
};

struct Data {
  std::vector<std::string> train = {"builtin:sentences"};
  std::vector<std::string> validation = {"auto"};
  std::vector<std::string> ood;  // text of another distribution, to measure on too; may be empty
  double validation_fraction = 0.1;
  bool mask_documents = false;  // attention stays within a document
  std::string format = "auto";  // "auto", "text", "jsonl"
  std::string text_key = "text";
};

struct Train {
  std::int64_t steps = 400;  // 0: `tokens` decides
  std::int64_t tokens = 0;
  std::int64_t batch = 8;
  std::int64_t micro_batch = 0;    // 0: "auto"
  std::string precision = "auto";  // "auto", "float32", "bfloat16", "float64"
  std::int64_t threads = 0;        // 0: "auto"
  std::string from;                // another run whose weights this one starts from
};

struct Optimizer {
  std::string kind = "adamw";
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  bool decay_gains = true, decay_embedding = false;
  double clip = 1.0;  // 0: no clipping
};

struct Schedule {
  std::string kind = "cosine";  // "cosine", "linear", "constant", "wsd"
  std::int64_t steps = 0;       // that it is laid out for; 0: "auto", those of the run
  double peak = 4e-3;
  double floor = 0.1;  // fraction of peak
  double start = 0;    // of the warm-up: fraction of peak
  Length warmup = {60, Length::Unit::steps};
  Length decay = {20, Length::Unit::percent};  // wsd: the last part
};

struct Evaluate {
  std::int64_t every = 100;     // steps; 0: only at the end
  std::int64_t sequences = 64;  // 0: all
};

struct Checkpoint {
  std::int64_t every = 200;  // steps; 0: only at the end and on a signal
  std::int64_t keep = 2;
  double seconds = 0;  // 0: not by time
};

struct Probe {
  std::vector<std::int64_t> steps;          // optimizer steps, from 1
  std::int64_t every = 0;                   // and every so many; 0: none
  std::vector<std::string> what = {"all"};  // measures
};

struct Health {
  std::string on_spike = "warn";      // "warn", "skip", "stop"
  std::string on_nonfinite = "skip";  // "skip", "stop"; a bad step never touches weights
  std::int64_t budget = 20;           // skipped steps in a row or in all before exit 76
};

struct Log {
  std::int64_t every = 10;
};

struct Kernels {
  bool fused = true;
  std::string attention = "auto";  // "auto", "flash", "explicit"
};

/// Everything. Two equal configurations on equal data and hardware give equal bits.
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

/// Reads and checks everything that does not need the data.
/// \throws Error (usage) at the first unknown key, wrong type or value out of range, with file,
///         line, key, the known keys of that table and the nearest name; SchemeError
Config resolve(const Sources& sources);

/// The configuration that to_toml() wrote. \param name  of its place, for messages
/// \throws as resolve()
Config read_back(const std::string& toml, const std::string& name);

/// The complete tree, as run.toml keeps it; resolve() of it gives an equal Config. The scheme
/// stands by name if it is the catalogue's, else as a table that needs no other file.
std::string to_toml(const Config& config);

/// One key whose value differs between two configurations.
struct KeyDifference {
  std::string key;            // "model.width"; "scheme" for a scheme that differs anywhere
  std::string before, after;  // as TOML; "unset" for the one of train.steps and train.tokens
};
/// The keys that differ, in the order of run.toml. `preset` is only a name and is not compared.
std::vector<KeyDifference> differences(const Config& before, const Config& after);

/// True if `names` has `key` or a table above it: "train" names "train.steps".
bool is_named(const std::string& key, const std::vector<std::string>& names);

/// The shape that the model of this configuration has; `tokens` is the tokenizer's vocabulary. The
/// shape's vocabulary is without the rows of pad_vocabulary_to.
/// \throws Error (usage) for impossible shapes
norm::Shape shape_of(const Config& config, std::int64_t tokens);

}  // namespace evenkeel::config
