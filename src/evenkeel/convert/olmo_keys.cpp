// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_keys.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/convert/olmo_other_keys.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;

/// The value in a message; long lists are cut.
std::string shown_value(const Json& value) {
  constexpr std::size_t kMost = 60;
  if (value.is_array() && value.size() > 3) {
    return text("[", json_dump(value.front()), ", ... ", value.size(), " values]");
  }
  auto out = json_dump(value);
  if (out.size() > kMost) out = out.substr(0, kMost) + "...";
  return out;
}

/// The text of a scalar that ${key} stands for; nullopt for another value.
std::optional<std::string> plain_text(const Json& value) {
  constexpr std::size_t kMost = 1000;
  if (!value.is_primitive() || value.is_null()) return std::nullopt;
  auto out = value.is_string() ? value.get<std::string>() : value.dump();
  if (out.size() > kMost || out.find("${") != std::string::npos) return std::nullopt;
  return out;
}

}  // namespace

OlmoKeys::OlmoKeys(std::vector<YamlEntry> entries, std::string file) : file_(std::move(file)) {
  for (auto& each : entries) entries_.push_back({std::move(each), std::nullopt, ""});
  index();
  substitute_all();
}

void OlmoKeys::index() {
  places_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (places_.emplace(entries_[i].yaml.key, i).second) continue;
    throw Error(Exit::data, text(file_, ":", entries_[i].yaml.line, ": key \"",
                                 entries_[i].yaml.key, "\" is there twice"));
  }
}

const OlmoKeys::Entry* OlmoKeys::find(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &entries_[found->second];
}

OlmoKeys::Entry* OlmoKeys::find(std::string_view key) {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &entries_[found->second];
}

std::string OlmoKeys::substituted(std::string word) const {
  std::size_t at = 0;
  while ((at = word.find("${", at)) != std::string::npos) {
    const auto end = word.find('}', at);
    if (end == std::string::npos) break;
    const auto* const other = find(std::string_view(word).substr(at + 2, end - at - 2));
    const auto plain = other == nullptr ? std::nullopt : plain_text(other->yaml.value);
    if (!plain) {
      at = end;
      continue;
    }
    word.replace(at, end + 1 - at, *plain);
    at += plain->size();
  }
  return word;
}

void OlmoKeys::substitute_all() {
  const auto change = [&](Json& value) {
    if (!value.is_string()) return;
    const auto word = value.get<std::string>();
    if (word.find("${") == std::string::npos) return;
    const bool is_whole = word.starts_with("${") && word.find('}') == word.size() - 1;
    const auto* const other =
        is_whole ? find(std::string_view(word).substr(2, word.size() - 3)) : nullptr;
    if (other != nullptr && other->yaml.value.is_primitive() && !other->yaml.value.is_string()) {
      value = Json(other->yaml.value);
    } else {
      value = substituted(word);
    }
  };
  for (auto& each : entries_) {
    change(each.yaml.value);
    if (!each.yaml.value.is_array()) continue;
    for (auto& part : each.yaml.value) change(part);
  }
}

void OlmoKeys::set(const std::string& argument) {
  const auto begin = argument.find_first_not_of('-');
  const auto equal = argument.find('=');
  if (begin == std::string::npos || equal == std::string::npos || equal <= begin) {
    throw Error(Exit::usage, text("--argument ", argument,
                                  ": must be KEY=VALUE, such as model.n_layers=4, but is not"));
  }
  const auto key = argument.substr(begin, equal - begin);
  const auto value = parse_yaml_value(argument.substr(equal + 1), text("--argument ", key));
  std::erase_if(entries_, [&](const Entry& each) {
    return each.yaml.key.starts_with(key + ".") || key.starts_with(each.yaml.key + ".");
  });
  index();
  if (auto* const old = find(key)) {
    old->yaml.value = value;
    old->yaml.line = 0;
  } else {
    entries_.push_back({{key, 0, value}, std::nullopt, ""});
  }
  index();
  substitute_all();
}

bool OlmoKeys::has(std::string_view key) const {
  const auto* const entry = find(key);
  return entry != nullptr && !entry->yaml.value.is_null();
}

std::string OlmoKeys::place(std::string_view key) const {
  const auto* const entry = find(key);
  if (entry == nullptr) return text(file_, ": ", key);
  if (entry->yaml.line == 0) return text("--argument ", key);
  return text(file_, ":", entry->yaml.line, ": ", key);
}

void OlmoKeys::refuse(std::string_view key, std::string_view wanted, std::string_view why) const {
  const auto* const entry = find(key);
  const auto found = entry == nullptr ? std::string("missing") : shown_value(entry->yaml.value);
  throw Error(Exit::data, text(place(key), " must be ", wanted, ", but is ", found,
                               why.empty() ? "" : "; ", why));
}

const Json* OlmoKeys::take(std::string_view key, std::string_view as) {
  if (!as.empty()) write(as);
  auto* const entry = find(key);
  if (entry == nullptr) return nullptr;
  entry->use = KeyUse::taken;
  entry->why = as;
  if (entry->yaml.value.is_null()) return nullptr;
  const auto& value = entry->yaml.value;
  if (value.is_string() && value.get<std::string>().find("${") != std::string::npos) {
    refuse(key, "a value", "only OLMo's program resolves ${...}; write the value itself");
  }
  return &value;
}

std::optional<std::int64_t> OlmoKeys::integer(std::string_view key, std::string_view as) {
  const auto* const value = take(key, as);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  constexpr double kMost = 9e15;  // below 2^53, where float64 has all integers
  const double number = value->is_number() ? value->get<double>() : kMost + 1;
  if (std::fabs(number) > kMost || number != std::floor(number)) refuse(key, "an integer", "");
  return static_cast<std::int64_t>(number);
}

std::optional<double> OlmoKeys::number(std::string_view key, std::string_view as) {
  const auto* const value = take(key, as);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(key, "a number", "");
  return value->get<double>();
}

std::optional<bool> OlmoKeys::flag(std::string_view key, std::string_view as) {
  const auto* const value = take(key, as);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(key, "true or false", "");
  return value->get<bool>();
}

std::optional<std::string> OlmoKeys::word(std::string_view key, std::string_view as) {
  const auto* const value = take(key, as);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string", "");
  return value->get<std::string>();
}

const Json* OlmoKeys::value(std::string_view key, std::string_view as) {
  return take(key, as);
}

std::vector<std::string> OlmoKeys::names_in(std::string_view table) const {
  std::vector<std::string> out;
  for (const auto& each : entries_) {
    const auto& key = each.yaml.key;
    const bool is_in_table =
        key.size() > table.size() && key.starts_with(table) && key[table.size()] == '.';
    if (is_in_table) out.push_back(key);
  }
  return out;
}

std::optional<std::string> OlmoKeys::find_word(std::string_view name,
                                               std::string_view beginning) const {
  for (const auto& each : entries_) {
    const std::string_view key = each.yaml.key;
    const auto& value = each.yaml.value;
    const bool is_named = key.substr(key.rfind('.') + 1) == name;
    if (!is_named || !value.is_string()) continue;
    if (value.get<std::string>().starts_with(beginning)) return each.yaml.key;
  }
  return std::nullopt;
}

void OlmoKeys::note(std::string_view key, KeyUse use, std::string_view why) {
  auto* const entry = find(key);
  if (entry == nullptr) return;
  entry->use = use;
  entry->why = why;
}

void OlmoKeys::note_missing(std::string_view key, std::string_view value, std::string_view why) {
  missing_.push_back({std::string(key), 0, std::string(value), KeyUse::differs, std::string(why)});
}

std::vector<ImportedKey> OlmoKeys::report() const {
  std::vector<ImportedKey> out;
  for (const auto& [yaml, use, why] : entries_) {
    ImportedKey key = {yaml.key, yaml.line, shown_value(yaml.value), KeyUse::unknown, ""};
    if (use) {
      key.use = *use;
      key.note = why;
    } else if (const auto* const other = note_of_other_key(yaml.key); other != nullptr) {
      key.use = KeyUse::no_effect;
      key.note = other;
    }
    out.push_back(std::move(key));
  }
  out.insert(out.end(), missing_.begin(), missing_.end());
  return out;
}

}  // namespace evenkeel::convert
