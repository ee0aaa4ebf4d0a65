// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/base/version.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/init.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/merge_sources.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/synonyms.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {

namespace {

constexpr std::int64_t kByteTokens = 257;  // 256 bytes and end-of-text

/// "1.2.0 (4e4361a)"
std::string version_text(const std::string& version, const std::string& hash) {
  return hash.empty() ? version : text(version, " (", hash, ")");
}

/// The size of the tokenizer's vocabulary, as far as it is known before the tokenizer is read.
std::int64_t known_vocabulary(const Config& config) {
  if (config.data.tokenizer == "bytes" || config.model.vocabulary == 0) return kByteTokens;
  return config.model.vocabulary;
}

/// Refuses keys of [data] that have no effect together.
void check_data(const Data& data) {
  if (data.tokenizer == "bytes" && !data.special_in_text) {
    throw Error(
        Exit::usage,
        "data.special_in_text has no effect where data.tokenizer is \"bytes\", which has no "
        "special tokens in a text; leave it out");
  }
  if (data.order == "olmo" && !data.weights.empty()) {
    throw Error(Exit::usage,
                "data.order must be \"shuffled\" or \"file\" for sources with weights, but is "
                "\"olmo\"; list the files without weights");
  }
}

/// Refuses a key of PyTorch, Hugging Face or Megatron, and a key in the wrong table, with the name
/// of the right one. TableReader refuses all other unknown keys.
void refuse_synonyms(const toml::table& table, const std::string& prefix,
                     const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    const auto name = prefix + std::string(key.str());
    const auto is_above = [&](const std::string& each) { return each.starts_with(name + "."); };
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (std::none_of(known.begin(), known.end(), is_above)) {
      const auto meant = key_of_synonym(name);
      if (meant != name) {
        throw Error(Exit::usage,
                    text(place(node), prefix, key_text(key.str()), ": unknown key; did you mean ",
                         in_quotes(meant), "? docs/configuration.md lists all keys"));
      }
    }
    if (const auto* const inner = node.as_table()) refuse_synonyms(*inner, name + ".", known);
  }
}

/// Reads all keys except `scheme`, strictly.
Config config_resolve_read(const toml::table& tree) {
  Config config;
  auto known = key_names();
  known.insert(known.end(), {"preset", "scheme"});
  refuse_synonyms(tree, "", known);
  TableReader top(tree, "");
  top.node("scheme");
  top.node("preset");  // known, although merge_sources() has removed it from the tree
  for (const auto& section : sections()) {
    if (section.name.empty()) {
      for (const auto& key : section.keys) key.read(config, top);
      continue;
    }
    if (const auto dot = section.name.find('.'); dot != std::string_view::npos) {
      auto table = top.section(section.name.substr(0, dot)).section(section.name.substr(dot + 1));
      for (const auto& key : section.keys) key.read(config, table);
      table.refuse_unknown_keys();
      continue;
    }
    auto table = top.section(section.name);
    if (section.name == "model") table.node("experts");  // a separate section
    for (const auto& key : section.keys) key.read(config, table);
    table.refuse_unknown_keys();
  }
  top.refuse_unknown_keys();
  return config;
}

constexpr const char* kFits =
    "a string of at most 100 bytes of UTF-8 without / and control characters";

/// True if a scheme's name can be a part of the names of run folders and files.
bool fits_a_folder(const std::string& name) {
  constexpr std::size_t kMostBytes = 100;
  return name.size() <= kMostBytes && !first_invalid_utf8(name) &&
         std::none_of(name.begin(), name.end(), [](char letter) {
           return letter == '/' || std::iscntrl(static_cast<unsigned char>(letter)) != 0;
         });
}

/// Reads the key `scheme`: a name, a file, or a table, which may contain `name`.
SchemeSource scheme_of(toml::table& tree) {
  auto* const node = tree.get("scheme");
  EK_ASSERT(node != nullptr);  // every preset has this key
  if (const auto name = node->value_exact<std::string>()) {
    auto source = find_scheme(*name);
    if (fits_a_folder(source.name)) return source;
    throw Error(Exit::usage, text("scheme: the file's name without .toml must be ", kFits,
                                  ", since runs are named after it; rename it"));
  }
  auto* const table = node->as_table();
  if (table == nullptr) TableReader(tree, "").refuse("scheme", "a name, a file or a table", *node);
  TableReader reader(*table, "scheme");
  const auto name = reader.string("name", "");
  if (!fits_a_folder(name)) {
    reader.refuse("name", kFits, *reader.node("name"));
  }
  table->erase("name");
  const auto& path = node->source().path;
  const bool from_file = path && !path->starts_with("--");
  auto source = inline_scheme(*table, from_file ? std::filesystem::path(*path).parent_path() : "");
  if (!name.empty()) source.name = name;
  return source;
}

void check_batch(const Train& train) {
  if (train.gradient_shards > 0 && train.batch % train.gradient_shards != 0) {
    throw Error(Exit::usage, text("train.gradient_shards must divide train.batch, but ",
                                  train.gradient_shards, " does not divide ", train.batch));
  }
  if (train.micro_batch == 0 || train.batch % train.micro_batch == 0) return;
  throw Error(Exit::usage, text("train.micro_batch must divide train.batch, but ",
                                train.micro_batch, " does not divide ", train.batch));
}

/// Refuses a sum in the order of the backend. Devices are not known here.
void check_distributed(const Distributed& distributed) {
  if (distributed.exchange == "fast") {
    throw Error(Exit::usage,
                "distributed.exchange must be \"exact\", but is \"fast\": reduce_scatter of "
                "Gloo takes longer than the exact one; leave it out");
  }
}

/// Refuses keys of [schedule] that its kind does not read. Default values are accepted, because
/// run.toml has all keys.
void check_schedule(const Schedule& schedule, const toml::table& tree) {
  const Schedule defaults;
  const auto check = [&](std::string_view key, bool is_default) {
    const auto* const node = tree.at_path(text("schedule.", key)).node();
    if (node == nullptr || (is_default && !place(*node).starts_with("--set"))) return;
    throw Error(Exit::usage,
                text(place(*node), "schedule.", key, " has no effect where schedule.kind is ",
                     in_quotes(schedule.kind), "; leave it out"));
  };
  if (schedule.kind == "constant") check("floor", schedule.floor == defaults.floor);
  if (schedule.kind != "wsd") check("decay", schedule.decay == defaults.decay);
}

/// Applies the scheme's `head`. It overrides model.tied of a preset; a contradiction to the user's
/// model.tied is an error.
void resolve_head(Config& config, bool user_states_tied, const norm::Scheme& scheme) {
  if (!scheme.tied || *scheme.tied == config.model.tied) return;
  if (user_states_tied) {
    throw Error(Exit::usage, text("model.tied must be ", *scheme.tied ? "true" : "false",
                                  " or left out, because the scheme ", config.scheme.name,
                                  " says so, but is ", config.model.tied ? "true" : "false"));
  }
  config.model.tied = *scheme.tied;
}

/// Refuses keys of [model.experts] in a dense model. Values of a preset and default values are
/// accepted, because run.toml has all keys.
void check_dense(const Config& config, const toml::table& tree) {
  const auto section = std::find_if(sections().begin(), sections().end(),
                                    [](const auto& each) { return each.name == "model.experts"; });
  for (const auto& key : section->keys) {
    const auto* const node = tree.at_path(full_name(*section, key)).node();
    if (node == nullptr || key.write(config) == key.write(Config())) continue;
    if (place(*node).starts_with("preset ")) continue;
    throw Error(Exit::usage, text(place(*node), full_name(*section, key),
                                  " has no effect where model.experts.count is 0; state the number "
                                  "of experts, or leave it out"));
  }
}

void check_experts(const Config& config, const toml::table& tree) {
  const auto& experts = config.experts;
  const auto must = [](bool holds, const auto&... what) {
    if (!holds) throw Error(Exit::usage, text(what...));
  };
  if (experts.count == 0) return check_dense(config, tree);
  must(experts.active <= experts.count, "model.experts.active must be at most ",
       "model.experts.count, but ", experts.active, " experts of ", experts.count,
       " are asked for");
  must(experts.dense_layers < config.model.layers, "model.experts.dense_layers must be below ",
       "model.layers, ", config.model.layers, ", but is ", experts.dense_layers,
       "; without any mixture, set model.experts.count = 0");
  constexpr double kBeyondAllMachines = 1e18;  // parameters; fits into std::int64_t
  const auto& model = config.model;
  const double matrices = 3.0 * static_cast<double>(model.width) * static_cast<double>(model.inner);
  const auto all = static_cast<double>(experts.count + experts.shared) *
                   static_cast<double>(model.layers) * matrices;
  must(all < kBeyondAllMachines, "model.experts.count: ", experts.count, " experts of ",
       model.layers, " layers of this size are beyond all machines; take fewer or smaller ones");
}

/// The version and the commit that a file of a run names; "" if the file cannot be read.
std::string version_in(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, none))) return "";
  try {
    const auto json = parse_json(read_file(file));
    const auto field = [&json](const char* name) -> std::string {
      const bool has_text = json.is_object() && json.contains(name) && json[name].is_string();
      return has_text ? json[name].get<std::string>() : "";
    };
    return version_text(field("evenkeel"), field("commit"));
  } catch (const Error&) {  // the refusal of the configuration is the message
    return "";
  }
}

/// For a refusal of an unknown key: that another version wrote the file; else "".
/// \param file  run.toml, with provenance.json in its folder, or MANIFEST.json of a checkpoint
std::string version_hint(const std::string& refusal, const std::filesystem::path& file) {
  const bool is_run = file.filename() == "run.toml";
  if (!is_run && file.filename() != "MANIFEST.json") return "";
  if (!refusal.starts_with(file.string() + ":")) return "";
  if (refusal.find(": unknown key") == std::string::npos) return "";
  const auto writer = version_in(is_run ? file.parent_path() / "provenance.json" : file);
  const auto own = version_text(kVersion, commit());
  if (writer.empty() || writer == own) return "";
  return text(is_run ? "; unless you added the key: evenkeel " : "; evenkeel ", writer,
              " wrote this ", is_run ? "run" : "checkpoint", ", and this program is ", own,
              ": use that version",
              // Each checkpoint has the key, too.
              is_run ? " (for a new run with --config, remove the key)" : "");
}

Config resolved(MergedSources merged) {
  auto config = config_resolve_read(merged.tree);
  config.preset = merged.preset;
  config.scheme = scheme_of(merged.tree);
  check_batch(config.train);
  check_distributed(config.distributed);
  check_data(config.data);
  check_schedule(config.schedule, merged.tree);
  check_experts(config, merged.tree);
  const auto shape = shape_of(config, known_vocabulary(config));
  if (config.model.init != "scheme") {
    const auto* const init = merged.tree.at_path("model.init").node();
    parse_init(config.model.init, shape.variables(), place(*init) + "model.init");
  }
  resolve_head(config, merged.states_tied, bind(config.scheme, shape));
  return config;
}

}  // namespace

Config resolve(const Sources& sources) {
  try {
    return resolved(merge_sources(sources));
  } catch (const Error& error) {
    for (const auto& file : sources.files) {
      const auto hint = version_hint(error.what(), file);
      if (!hint.empty()) throw Error(error.exit(), error.what() + hint);
    }
    throw;
  }
}

Config read_back(const std::string& toml, const std::string& name) {
  try {
    return resolved(merge_text(toml, name));
  } catch (const Error& error) {
    const auto hint = version_hint(error.what(), name);
    if (hint.empty()) throw;
    throw Error(error.exit(), error.what() + hint);
  }
}

norm::Shape shape_of(const Config& config, std::int64_t tokens) {
  const auto& model = config.model;
  const auto must = [](bool holds, const auto&... what) {
    if (!holds) throw Error(Exit::usage, text(what...));
  };
  must(model.width % model.heads == 0, "model.heads must divide model.width, but ", model.heads,
       " does not divide ", model.width);
  must(model.heads % model.kv_heads == 0, "model.kv_heads must divide model.heads, but ",
       model.kv_heads, " does not divide ", model.heads);
  must(model.width / model.heads % 2 == 0, "model.width / model.heads must be even for the rotary ",
       "embedding, but ", model.width, " / ", model.heads, " is ", model.width / model.heads);
  // Ids of token files without a tokenizer may be fewer than bytes: data::vocabulary_of() checks.
  const bool holds_all = model.vocabulary >= tokens || config.data.tokenizer == "bytes";
  must(model.vocabulary == 0 || holds_all, "model.vocabulary must be at least ", tokens,
       ", the tokenizer's, but is ", model.vocabulary);
  const auto& experts = config.experts;
  norm::Shape shape = {.layers = model.layers,
                       .width = model.width,
                       .heads = model.heads,
                       .kv_heads = model.kv_heads,
                       .inner = model.inner,
                       .vocabulary = model.vocabulary == 0 ? tokens : model.vocabulary,
                       .context = model.context};
  if (experts.count > 0) {
    shape.experts = {.count = experts.count,
                     .active = experts.active,
                     .shared = experts.shared,
                     .dense_layers = experts.dense_layers,
                     .renormalize = experts.renormalize,
                     .has_bias = experts.bias_rate > 0};
  }
  return shape;
}

}  // namespace evenkeel::config
