// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_text.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/data/text_window.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::data {

static_assert(TextWindow::kPadding >= simdjson::SIMDJSON_PADDING);

struct JsonText::Parser {
  simdjson::dom::parser dom;
};

namespace {

/// The string in a value that simdjson has parsed; nullopt if there is none.
std::optional<std::string_view> string_in_dom(const simdjson::dom::element& root,
                                              std::string_view key, bool is_element) {
  std::string_view string;
  if (is_element && root.get(string) == simdjson::SUCCESS) return string;
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return std::nullopt;
  std::optional<simdjson::dom::element> found;
  for (const auto field : object) {
    if (field.key == key) found = field.value;
  }
  if (!found || found->get(string) != simdjson::SUCCESS) return std::nullopt;
  return string;
}

nlohmann::json parsed(std::string_view value, const JsonPlace& place) {
  try {
    return parse_json(value, place.name());
  } catch (const Error& error) {
    throw Error(error.exit(), text(error.what(), "; mend or remove it"));
  }
}

std::string string_in(const nlohmann::json& value, const std::string& key, const JsonPlace& place) {
  const auto refuse = [&](const auto&... what) {
    throw Error(Exit::data, text(place.name(), ": ", what...));
  };
  if (place.is_element && value.is_string()) return value.get<std::string>();
  if (!value.is_object()) {
    refuse("must be ", place.is_element ? "a string or an object" : "an object",
           ", but is of type ", value.type_name(), "; mend or remove it");
  }
  const auto found = value.find(key);
  if (found == value.end()) {
    std::vector<std::string> keys;
    for (const auto& [each, ignored] : value.items()) keys.push_back(each);
    refuse("no key \"", key, "\"", did_you_mean(key, keys), "; set data.text_key");
  }
  if (!found->is_string()) {
    refuse("\"", key, "\" must be a string, but is of type ", found->type_name(),
           "; mend it, or set data.text_key");
  }
  return found->get<std::string>();
}

}  // namespace

std::string JsonPlace::name() const {
  return is_element ? text(path, ", element ", number) : text(path, ":", number);
}

JsonText::JsonText(std::string key) : key_(std::move(key)), parser_(std::make_unique<Parser>()) {}

JsonText::~JsonText() = default;

std::string_view JsonText::find(std::string_view value, const JsonPlace& place) {
  constexpr std::size_t kSmallest = std::size_t{1} << 16;
  auto& dom = parser_->dom;
  if (value.size() > dom.capacity()) {
    const auto capacity = std::max({kSmallest, value.size(), 2 * dom.capacity()});
    // Fails for 4 GB, or where address space for 15 times the value is refused.
    if (dom.allocate(capacity, kMaxDepth) != simdjson::SUCCESS) return find_slowly(value, place);
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(value.data());
  simdjson::dom::element root;
  if (dom.parse(bytes, value.size(), /*realloc_if_needed=*/false).get(root) == simdjson::SUCCESS) {
    if (const auto string = string_in_dom(root, key_, place.is_element)) return *string;
  }
  return find_slowly(value, place);
}

/// Refuses the value with a reason, or finds the string in what simdjson does not take: integers of
/// more than 64 bits, and very large values.
std::string_view JsonText::find_slowly(std::string_view value, const JsonPlace& place) {
  check_utf8(value, std::string(place.path), place.offset);
  found_ = string_in(parsed(value, place), key_, place);
  return found_;
}

}  // namespace evenkeel::data
