// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_yaml.h"

#include <optional>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/convert/olmo_sections.h"

namespace evenkeel::convert {

namespace {

constexpr std::size_t kColumns = 100;

/// A list of strings with one of them on each line.
std::string list_lines(const std::vector<std::string>& list) {
  std::string out = "[\n";
  for (const auto& each : list) out += text("  ", config::in_quotes(each), ",\n");
  return out + "]";
}

/// The value of a key as TOML. Long lists have several lines.
std::string value_lines(const std::string& key, const std::string& value,
                        const config::Config& config) {
  if (value.size() < kColumns) return value;
  if (key == "data.train") return list_lines(config.data.train);
  if (key == "data.validation") return list_lines(config.data.validation);
  if (key == "evaluate.tasks") return list_lines(config.evaluate.tasks);
  return value;
}

/// The scheme: its name, or the table at the end of `complete`.
std::string scheme_line(const config::Config& config) {
  if (!config::is_of_catalogue(config.scheme)) return "";
  return text("scheme = ", config::in_quotes(config.scheme.name), "\n");
}

std::string scheme_section(const config::Config& config) {
  if (config::is_of_catalogue(config.scheme)) return "";
  const auto complete = config::to_toml(config);
  const auto at = complete.find("\n# The normalization scheme.\n");
  EK_ASSERT(at != std::string::npos);
  return complete.substr(at);
}

/// The text without control characters, which end a comment or are forbidden in it.
std::string in_one_line(std::string words) {
  constexpr char kSpace = ' ', kDelete = 127;
  for (auto& c : words) {
    if ((c >= 0 && c < kSpace) || c == kDelete) c = '?';
  }
  return words;
}

/// The keys of this use as comments under a title.
std::string comments(const std::vector<ImportedKey>& keys, KeyUse use, const char* title) {
  std::string out;
  for (const auto& key : keys) {
    if (key.use != use) continue;
    const auto line = key.line > 0 ? text("line ", key.line, ": ") : std::string();
    const auto words =
        text(line, key.key, " = ", key.value, key.note.empty() ? "" : ": ", key.note);
    out += text("#   ", in_one_line(words), "\n");
  }
  return out.empty() ? out : text("\n# ", title, "\n", out);
}

std::string import_toml(const YamlImportRequest& request, const OlmoKeys& keys,
                        const std::vector<ImportedKey>& report, const config::Config& config) {
  std::string out = text("# Imported by `evenkeel import` from ",
                         config::in_quotes(request.file.filename().string()),
                         ". The keys that it does not take are at the end.\n");
  for (const auto& argument : request.arguments) {
    out += text("# --argument ", config::in_quotes(argument), "\n");
  }
  out += scheme_line(config);
  for (const auto& section : config::sections()) {
    std::string lines;
    for (const auto& key : section.keys) {
      const auto name = config::full_name(section, key);
      const auto value = keys.written().contains(name) ? key.write(config) : std::string();
      if (!value.empty()) lines += text(key.name, " = ", value_lines(name, value, config), "\n");
    }
    const bool has_title = !lines.empty() && !section.name.empty();
    out += (has_title ? text("\n[", section.name, "]\n") : std::string()) + lines;
  }
  out += scheme_section(config);
  out += comments(report, KeyUse::differs, "Not taken; training differs from OLMo's:");
  out += comments(report, KeyUse::unknown, "Not taken, because this program does not know them:");
  out += comments(report, KeyUse::no_effect, "Not taken; without effect on the results:");
  return out;
}

/// A key that only configurations of OLMo-core have: the class of a table, which OLMo-core writes
/// as _CLASS_, or a key of a table that OLMo's TrainConfig does not have; nullopt if there is none.
/// Classes are searched first: they are in every file that OLMo-core has written.
std::optional<std::string> key_of_olmo_core(const OlmoKeys& keys) {
  if (auto key = keys.find_word("_CLASS_", "olmo_core.")) return key;
  for (const auto* const table :
       {"model.block", "model.lm_head", "train_module", "data_loader", "trainer"}) {
    const auto names = keys.names_in(table);
    if (!names.empty()) return names.front();
  }
  return std::nullopt;
}

/// Refuses a configuration of OLMo-core. Most keys have other names there, such as
/// model.block.attention.n_heads for model.n_heads, so OLMo's defaults would replace the values.
void refuse_olmo_core(const OlmoKeys& keys) {
  const auto key = key_of_olmo_core(keys);
  if (!key) return;
  throw Error(Exit::data, text(keys.place(*key),
                               " is a key of OLMo-core, but `import` reads configurations of OLMo "
                               "(TrainConfig); write its values into a TOML file for --config"));
}

}  // namespace

const char* name_of(KeyUse use) {
  switch (use) {
    case KeyUse::taken:
      return "taken";
    case KeyUse::equal:
      return "equal";
    case KeyUse::no_effect:
      return "no effect";
    case KeyUse::differs:
      return "differs";
    case KeyUse::unknown:
      return "unknown";
  }
  EK_ASSERT(false && "every use has a name");
}

YamlImport import_yaml(const YamlImportRequest& request) {
  const auto file = request.file.string();
  OlmoKeys keys(parse_yaml(read_file(request.file), file), file);
  for (const auto& argument : request.arguments) keys.set(argument);
  refuse_olmo_core(keys);
  config::Config config;
  YamlImport out;
  try {
    take_olmo_model(keys, config);
    take_olmo_training(keys, config);
    take_olmo_data(keys, config);
    out.keys = keys.report();
    out.toml = import_toml(request, keys, out.keys, config);
    config::read_back(out.toml, file);  // checks the ranges of all keys
  } catch (const Error& error) {
    if (error.exit() != Exit::usage) throw;
    throw Error(Exit::data, text(file, ": as a configuration of this program: ", error.what()));
  }
  out.scheme = config.scheme.name;
  return out;
}

}  // namespace evenkeel::convert
