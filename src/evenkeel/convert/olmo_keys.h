// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/convert/yaml_document.h"

/// The keys of an OLMo configuration, and what the import does with each of them.
namespace evenkeel::convert {

enum class KeyUse {
  taken,      // its value is in the configuration
  equal,      // our models are always so
  no_effect,  // it does not change the results of a run
  differs,    // it changes the results, and this program has nothing like it
  unknown,    // neither this program nor the reader of OLMo's keys knows it
};

/// One key of the file.
struct ImportedKey {
  std::string key;
  std::size_t line = 0;  // 0: of an argument
  std::string value;     // as JSON
  KeyUse use = KeyUse::unknown;
  std::string note;  // taken: the key of this program; else why the value is not taken
};

/// Reads keys by name and notes their use. A key that is missing or null has OLMo's default.
class OlmoKeys {
 public:
  /// \param entries  of the file; ${key} in a string becomes the value of that key
  /// \param file  for messages
  OlmoKeys(std::vector<YamlEntry> entries, std::string file);

  /// Sets a key as an argument of OLMo's program does: "--model.d_model=64".
  /// \throws Error (usage, exit code 64) for another form
  void set(const std::string& argument);

  /// True if the key is there and not null.
  bool has(std::string_view key) const;
  /// The value, whose use is noted as `taken` for the key `as` of this program; nullopt if the key
  /// is missing or null. An integer may be written as a float, such as 5e12.
  /// \throws Error (data, exit code 65) for another type
  std::optional<std::int64_t> integer(std::string_view key, std::string_view as);
  std::optional<double> number(std::string_view key, std::string_view as);
  std::optional<bool> flag(std::string_view key, std::string_view as);
  std::optional<std::string> word(std::string_view key, std::string_view as);
  /// Any value; nullptr if the key is missing or null.
  const nlohmann::ordered_json* value(std::string_view key, std::string_view as);

  /// The keys in a table, in their order: "data.datasets.wiki" of "data.datasets".
  std::vector<std::string> names_in(std::string_view table) const;

  /// The first key whose last part is `name` and whose value is a string that begins with
  /// `beginning`; nullopt if there is none.
  std::optional<std::string> find_word(std::string_view name, std::string_view beginning) const;

  /// Notes that our models are always as the key says.
  void note_equal(std::string_view key) { note(key, KeyUse::equal, ""); }
  void note(std::string_view key, KeyUse use, std::string_view why);
  /// Notes a difference to OLMo's training that no single key of the file causes, or a missing key.
  void note_missing(std::string_view key, std::string_view value, std::string_view why);
  /// A key of this program that the configuration has.
  void write(std::string_view own_key) { written_.emplace(own_key); }

  /// \throws Error (data, exit code 65): "x.yaml:3: model.rope must be true, but is false; why"
  [[noreturn]] void refuse(std::string_view key, std::string_view wanted,
                           std::string_view why) const;
  /// "x.yaml:3: model.rope"
  std::string place(std::string_view key) const;

  /// Our keys that the configuration has.
  const std::set<std::string, std::less<>>& written() const { return written_; }
  /// All keys in the order of the file; keys without a note are in the table of keys without
  /// effect, or unknown.
  std::vector<ImportedKey> report() const;

 private:
  struct Entry {
    YamlEntry yaml;
    std::optional<KeyUse> use;
    std::string why;
  };
  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
  const nlohmann::ordered_json* take(std::string_view key, std::string_view as);
  std::string substituted(std::string word) const;
  void substitute_all();
  void index();

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> places_;  // key -> index of entries_
  std::string file_;
  std::set<std::string, std::less<>> written_;
  std::vector<ImportedKey> missing_;
};

}  // namespace evenkeel::convert
