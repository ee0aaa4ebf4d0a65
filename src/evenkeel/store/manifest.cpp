// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/manifest.h"

#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint_pieces.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/input_file.h"
#include "evenkeel/store/json_text.h"

namespace evenkeel::store {

namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kDigits = 32;

std::string digest_of(const std::string& content) {
  return digest(content.data(), content.size());
}

/// The only valid text of a manifest, byte for byte: any flipped bit is a defect.
std::string text_with_root_digest(json manifest) {
  manifest["root_digest"] = std::string(kDigits, '0');
  manifest["root_digest"] = digest_of(json_text(manifest));
  return json_text(manifest);
}

/// The reason why `name` cannot be read as a regular file; "" if it can.
std::string defect_of_entry(const Directory& folder, const std::string& name) {
  if (!folder.has(name)) return name + " is missing";
  if (!folder.has_file(name)) return name + " is not a regular file";
  return "";
}

std::string read_json_file(const Directory& folder, const std::string& name) {
  InputFile file(folder, name);
  std::string content(file.size() <= kMaxJsonBytes ? file.size() : 0, '\0');
  file.read(content.data(), content.size());
  return content;
}

/// An integer of a manifest. The conversion of a float that int64 cannot hold would be undefined.
std::int64_t integer(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  throw Error(Exit::data, "MANIFEST.json has a number that is no integer");
}

std::string defect_of_manifest(const std::string& content, const json& manifest,
                               std::int64_t step) {
  if (!manifest.is_object() || text_with_root_digest(manifest) != content)
    return "MANIFEST.json is damaged";
  const auto format = integer(manifest.at("format"));
  if (format != kFormat) {
    return text("MANIFEST.json is of format ", format, ", but this program reads ", kFormat);
  }
  const auto written = integer(manifest.at("step"));
  if (written != step) return text("MANIFEST.json is of step ", written);
  return "";
}

std::string defect_of_file(const Directory& folder, const std::string& name, const json& wanted,
                           CheckLevel level) {
  if (auto defect = defect_of_entry(folder, name); !defect.empty()) return defect;
  InputFile file(folder, name);
  const auto size = static_cast<std::uint64_t>(integer(wanted.at("size")));
  if (file.size() != size) {
    return text(name, " must have ", size, " bytes, but has ", file.size());
  }
  if (level == CheckLevel::digests &&
      file.digest_of_rest() != wanted.at("digest").get<std::string>()) {
    return name + " does not match its digest";
  }
  return "";
}

/// The folder of a checkpoint; nullopt if a file or a link has its name.
std::optional<Directory> folder_of(const Directory& checkpoints, std::int64_t step) {
  const auto name = step_name(step);
  try {
    return checkpoints.folder(name);
  } catch (const Error&) {
    if (!checkpoints.has_folder(name)) return std::nullopt;
    throw;
  }
}

/// The names of all files of a checkpoint. A name that the manifest does not have is kept: the
/// manifest is invalid then.
std::vector<std::string> checkpoint_files(const json& files) {
  std::vector<std::string> all;
  for (const auto& [stem, whole] :
       {std::pair(kModelStem, kModelName), std::pair(kOptimizerStem, kOptimizerName)}) {
    const auto names = tensor_files(files, stem);
    all.insert(all.end(), names.begin(), names.end());
    if (names.empty()) all.emplace_back(whole);
  }
  all.emplace_back(kStateName);
  return all;
}

std::string defect_of_folder(const Directory& checkpoints, std::int64_t step, CheckLevel level,
                             CheckReport& found) {
  const auto opened = folder_of(checkpoints.with(kernel_calls()), step);  // reading needs no table
  if (!opened) return "is not a folder";
  const auto& folder = *opened;
  if (auto defect = defect_of_entry(folder, kManifestName); !defect.empty()) return defect;
  const auto content = read_json_file(folder, kManifestName);
  found.manifest = parse_json(content);
  if (auto defect = defect_of_manifest(content, found.manifest, step); !defect.empty()) {
    return defect;
  }
  const auto& files = found.manifest.at("files");
  for (const auto& name : checkpoint_files(files)) {
    auto defect = defect_of_file(folder, name, files.at(name), level);
    if (!defect.empty()) return defect;
  }
  if (level == CheckLevel::sizes) return "";
  found.state = parse_json(read_json_file(folder, kStateName));
  return found.state.is_discarded() ? "state.json is not JSON" : "";
}

}  // namespace

std::string manifest_text(const json& extra, std::int64_t step, const json& files) {
  auto manifest = extra.is_null() ? json::object() : extra;
  EK_ASSERT(manifest.is_object());
  for (const auto* reserved : {"digest_kind", "files", "format", "root_digest", "step"}) {
    EK_ASSERT(!manifest.contains(reserved));
  }
  manifest["format"] = kFormat;
  manifest["step"] = step;
  manifest["digest_kind"] = "xxh3_128";
  manifest["files"] = files;
  const auto content = text_with_root_digest(std::move(manifest));
  EK_ASSERT(content.size() <= kMaxJsonBytes);
  EK_ASSERT(defect_of_manifest(content, parse_json(content), step).empty());
  return content;
}

CheckReport check_checkpoint(const Directory& checkpoints, std::int64_t step, CheckLevel level) {
  CheckReport found;
  try {
    found.defect = defect_of_folder(checkpoints, step, level, found);
  } catch (const Error& error) {  // a file that cannot be read is a defect
    if (error.exit() == Exit::busy) throw;
    found.defect = error.what();
  } catch (const json::exception&) {  // valid JSON that another program wrote
    found.defect = "MANIFEST.json does not say what a manifest says";
  }
  return found;
}

}  // namespace evenkeel::store
