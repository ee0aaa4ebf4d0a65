// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_text.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
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

constexpr std::string_view kNull = {};  // in the place of a text; strings have a pointer

/// The string in a value that simdjson has parsed, or kNull; nullopt if there is none.
std::optional<std::string_view> string_in_dom(const simdjson::dom::element& root,
                                              std::string_view key, bool is_element) {
  std::string_view string;
  if (is_element && root.get(string) == simdjson::SUCCESS) return string;
  if (is_element && root.is_null()) return kNull;
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return std::nullopt;
  std::optional<simdjson::dom::element> found;
  for (const auto field : object) {
    if (field.key == key) found = field.value;
  }
  if (found && found->is_null()) return kNull;
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

/// The code unit of an escape as "\ud83d" at `at`; 0 for another text.
std::uint32_t escaped_unit(std::string_view value, std::size_t at) {
  constexpr std::size_t kDigits = 4;
  if (!value.substr(at).starts_with("\\u")) return 0;
  const auto digits = value.substr(std::min(at + 2, value.size())).substr(0, kDigits);
  std::uint32_t unit = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), unit, /*base=*/16);
  const bool is_whole = error == std::errc() && end == digits.data() + kDigits;
  return digits.size() == kDigits && is_whole ? unit : 0;
}

constexpr std::size_t kEscape = 6;  // characters of "\\ud83d"

/// The first escape of a lone surrogate from `at` on; npos if there is none.
std::size_t find_lone_surrogate(std::string_view value, std::size_t at) {
  constexpr std::uint32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000;
  for (at = value.find('\\', at); at != std::string_view::npos; at = value.find('\\', at)) {
    const auto unit = escaped_unit(value, at);
    if (unit < kHigh || unit >= kEnd) {
      at += 2;  // an escape of two or more characters
      continue;
    }
    const auto next = at + kEscape < value.size() ? escaped_unit(value, at + kEscape) : 0;
    const bool is_pair = unit < kLow && next >= kLow && next < kEnd;
    if (!is_pair) return at;
    at += 2 * kEscape;
  }
  return at;
}

/// The value with each escape of a lone surrogate as that of U+FFFD, in as many bytes.
/// \param count  receives how many there are
std::string without_lone_surrogates(std::string_view value, std::int64_t& count) {
  std::string out(value);
  for (auto at = find_lone_surrogate(out, 0); at != std::string::npos;
       at = find_lone_surrogate(out, at + kEscape)) {
    out.replace(at, kEscape, "\\ufffd");
    ++count;
  }
  return out;
}

/// The string in a value; nullopt for null.
std::optional<std::string> string_in(const nlohmann::json& value, const std::string& key,
                                     const JsonPlace& place) {
  const auto refuse = [&](const auto&... what) {
    throw Error(Exit::data, text(place.name(), ": ", what...));
  };
  if (place.is_element && value.is_string()) return value.get<std::string>();
  if (place.is_element && value.is_null()) return std::nullopt;
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
  if (found->is_null()) return std::nullopt;
  if (!found->is_string()) {
    refuse("\"", key, "\" must be a string, but is of type ", found->type_name(),
           "; mend it, or set data.text_key");
  }
  return found->get<std::string>();
}

std::string counted(std::int64_t count, const char* what) {
  return text(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace

JsonCounts& JsonCounts::operator+=(const JsonCounts& other) {
  nulls += other.nulls;
  empties += other.empties;
  lone_surrogates += other.lone_surrogates;
  if (invalid_lines == 0) first_invalid = other.first_invalid;
  invalid_lines += other.invalid_lines;
  for (const auto& each : other.first_invalid_lines) {
    if (first_invalid_lines.size() < kMostListed) first_invalid_lines.push_back(each);
  }
  return *this;
}

std::string JsonCounts::description() const {
  std::string out;
  const auto add = [&](const std::string& part) { out += text(out.empty() ? "" : ", ", part); };
  if (nulls > 0) add(counted(nulls, "null text") + " left out");
  if (empties > 0) add(counted(empties, "empty text") + " left out");
  if (lone_surrogates > 0) add(counted(lone_surrogates, "lone surrogate") + " read as U+FFFD");
  if (invalid_lines == 0) return out;
  add(text(counted(invalid_lines, "invalid line"), " left out (",
           invalid_lines == 1 ? "" : "the first: ", first_invalid, ")"));
  return out;
}

std::optional<std::size_t> lone_surrogate_in(std::string_view value) {
  const auto at = find_lone_surrogate(value, 0);
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

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
    if (const auto string = string_in_dom(root, key_, place.is_element)) {
      const bool is_null = string->data() == nullptr;
      counts_.nulls += is_null ? 1 : 0;
      counts_.empties += !is_null && string->empty() ? 1 : 0;
      return *string;
    }
  }
  return find_slowly(value, place);
}

std::string_view JsonText::find_or_skip(std::string_view value, const JsonPlace& place) {
  const auto lone_surrogates = counts_.lone_surrogates;
  try {
    return find(value, place);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    counts_.lone_surrogates = lone_surrogates;  // those of the value are left out with it
    if (counts_.invalid_lines++ == 0) counts_.first_invalid = error.what();
    if (counts_.first_invalid_lines.size() < JsonCounts::kMostListed) {
      counts_.first_invalid_lines.push_back({std::string(place.path), place.number});
    }
    return {};
  }
}

/// Refuses the value with a reason, or finds the string in what simdjson does not take: integers of
/// more than 64 bits, lone surrogates, and very large values.
std::string_view JsonText::find_slowly(std::string_view value, const JsonPlace& place) {
  check_utf8(value, place.name(), place.offset);
  const auto mended = without_lone_surrogates(value, counts_.lone_surrogates);
  auto string = string_in(parsed(mended, place), key_, place);
  counts_.nulls += string ? 0 : 1;
  counts_.empties += string && string->empty() ? 1 : 0;
  found_ = std::move(string).value_or(std::string());
  return found_;
}

}  // namespace evenkeel::data
