// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/hf_folder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::convert {

namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kOneFile = "model.safetensors";

/// The JSON object of a file.
nlohmann::json read_object(const std::filesystem::path& path) {
  auto json = parse_json(read_file(path), path.string());
  if (json.is_object()) return json;
  throw Error(Exit::data, text(path.string(), ": must be a JSON object, but is not"));
}

/// A value for a message: at most 60 characters.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  auto out = json_dump(value, -1, /*ensure_ascii=*/true);
  if (out.size() > kLongest) out = out.substr(0, kLongest) + "...";
  return out;
}

/// "weight_map" of an index: tensor -> file.
std::map<std::string, std::string> weight_map(const std::filesystem::path& path) {
  const auto index = read_object(path);
  const auto found = index.find("weight_map");
  const auto refuse = [&](const std::string& what) {
    throw Error(Exit::data, text(path.string(), ": ", what));
  };
  if (found == index.end() || !found->is_object() || found->empty()) {
    refuse("weight_map must name the file of each tensor, but does not");
  }
  std::map<std::string, std::string> places;
  for (const auto& [tensor, file] : found->items()) {
    const auto name = file.is_string() ? file.get<std::string>() : "";
    const bool is_plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
    if (!is_plain)
      refuse(text("weight_map of ", shown(tensor), " must be a file name, but is ", shown(file)));
    places[tensor] = name;
  }
  return places;
}

/// Compares the tensors of one file with those that the index has for it.
void check_shard(const store::SafetensorsStream& file, const std::string& name,
                 const std::map<std::string, std::string>& places) {
  for (const auto& [tensor, info] : file.entries()) {
    const auto found = places.find(tensor);
    if (found != places.end() && found->second == name) continue;
    throw Error(Exit::data, text(file.path(), ": has tensor ", shown(tensor), ", but ", kIndexName,
                                 found == places.end() ? std::string(" does not name it")
                                                       : " puts it in " + found->second));
  }
  for (const auto& [tensor, place] : places) {
    if (place != name || file.entries().contains(tensor)) continue;
    throw Error(Exit::data, text(file.path(), ": must hold tensor ", shown(tensor), ", as ",
                                 kIndexName, " says, but does not"));
  }
}

}  // namespace

HfConfig::HfConfig(const std::filesystem::path& folder) : path_((folder / "config.json").string()) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) {
    throw Error(Exit::data,
                text(folder.string(), ": must be a folder with a Hugging Face model, but is none"));
  }
  if (!std::filesystem::exists(path_, none)) {
    throw Error(Exit::data, text(folder.string(),
                                 ": has no config.json, so it is no Hugging Face "
                                 "model"));
  }
  json_ = read_object(path_);
}

bool HfConfig::has(const char* key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

bool HfConfig::is_absent(const char* key) const {
  return !json_.contains(key);
}

const nlohmann::json& HfConfig::value(const char* key) const {
  const auto found = json_.find(key);
  if (found != json_.end() && !found->is_null()) return *found;
  throw Error(Exit::data, text(path_, ": has no ", key));
}

void HfConfig::refuse(const char* key, const std::string& wanted, const std::string& what) const {
  const auto found = json_.find(key);
  throw Error(Exit::data, text(path_, ": ", key, " must be ", wanted, ", but is ",
                               found == json_.end() ? "missing" : shown(*found),
                               what.empty() ? "" : "; ", what));
}

std::int64_t HfConfig::integer(const char* key) const {
  const auto& found = value(key);
  const bool fits = found.is_number_integer() &&
                    (!found.is_number_unsigned() ||
                     found.get<std::uint64_t>() <=
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits) refuse(key, "an integer");
  return found.get<std::int64_t>();
}

double HfConfig::number(const char* key) const {
  const auto& found = value(key);
  if (!found.is_number()) refuse(key, "a number");
  return found.get<double>();
}

std::string HfConfig::string(const char* key) const {
  const auto& found = value(key);
  if (!found.is_string()) refuse(key, "a string");
  return found.get<std::string>();
}

std::int64_t HfConfig::integer(const char* key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}

double HfConfig::number(const char* key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

bool HfConfig::flag(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_boolean()) refuse(key, "true or false");
  return json_.at(key).get<bool>();
}

std::string HfConfig::string(const char* key, const std::string& fallback) const {
  return has(key) ? string(key) : fallback;
}

Weights open_hf_weights(const std::filesystem::path& folder) {
  std::error_code none;
  Weights weights;
  if (std::filesystem::exists(folder / kIndexName, none)) {
    const auto places = weight_map(folder / kIndexName);
    std::set<std::string> names;
    for (const auto& [tensor, name] : places) names.insert(name);
    for (const auto& name : names) {
      if (!std::filesystem::exists(folder / name, none)) {
        throw Error(Exit::data,
                    text((folder / name).string(), ": is missing, but ", kIndexName, " names it"));
      }
      const store::SafetensorsStream file(folder / name);
      check_shard(file, name, places);
      weights.add(file);
    }
    return weights;
  }
  if (!std::filesystem::exists(folder / kOneFile, none)) {
    throw Error(Exit::data, text(folder.string(), ": has neither ", kOneFile, " nor ", kIndexName,
                                 "; convert the weights to safetensors"));
  }
  weights.add(store::SafetensorsStream(folder / kOneFile));
  return weights;
}

}  // namespace evenkeel::convert
