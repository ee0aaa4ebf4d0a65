// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/request_line.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_window.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::tasks {

static_assert(data::TextWindow::kPadding >= simdjson::SIMDJSON_PADDING);

struct RequestParser::Parser {
  simdjson::dom::parser dom;
};

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 2> kScoredTypes = {"loglikelihood",
                                                          "generate_until_and_loglikelihood"};

bool is_scored_type(std::string_view type) {
  return std::find(kScoredTypes.begin(), kScoredTypes.end(), type) != kScoredTypes.end();
}

/// The type of a label that is not a choice; the value is of simdjson or nlohmann::json.
template <typename Value>
LabelType type_of_answers(const Value& value) {
  return value.is_string()  ? LabelType::string
         : value.is_array() ? LabelType::list
                            : LabelType::null;
}

/// Reads the label of a request; false if it is of another type than labels are.
bool take_label(const simdjson::dom::element& value, Request& request) {
  if (value.is<std::int64_t>()) {
    request.label = value.get<std::int64_t>().value();
    request.label_type = LabelType::choice;
    return *request.label >= 0;
  }
  request.label_type = type_of_answers(value);
  return request.label_type != LabelType::null || value.is_null();
}

using FoundElement = std::optional<simdjson::dom::element>;

/// The value under a key of an object: the last one if there are several, as Python takes it.
FoundElement last_value(const FoundElement& object, std::string_view key) {
  simdjson::dom::object fields;
  FoundElement found;
  if (!object || object->get(fields) != simdjson::SUCCESS) return found;
  for (const auto field : fields) {
    if (field.key == key) found = field.value;
  }
  return found;
}

/// Whether a value is there and of the type of `to`, which gets it.
template <typename T>
bool take_value(const FoundElement& value, T& to) {
  return value && value->get(to) == simdjson::SUCCESS;
}

/// The request that simdjson has parsed; nullopt if it is not a valid one.
std::optional<Request> request_in_dom(const simdjson::dom::element& root) {
  Request request;
  if (!take_value(last_value(root, "doc_id"), request.document)) return std::nullopt;
  if (request.document < 0) return std::nullopt;
  if (request.is_unconditional()) return request;
  const auto type = last_value(root, "request_type"), label = last_value(root, "label"),
             texts = last_value(root, "request");
  std::string_view type_name;
  const bool is_scored = !type || (take_value(type, type_name) && is_scored_type(type_name));
  const bool has_all = is_scored && take_value(last_value(root, "idx"), request.choice) && label &&
                       take_label(*label, request) &&
                       take_value(last_value(texts, "context"), request.context) &&
                       take_value(last_value(texts, "continuation"), request.continuation);
  if (!has_all || request.choice < 0 || request.continuation.empty()) return std::nullopt;
  return request;
}

/// Reads the keys of a request, and refuses it with the reason.
class RequestKeys {
 public:
  RequestKeys(const json& root, std::string where) : root_(root), where_(std::move(where)) {
    if (!root.is_object()) refuse_line("must be an object, but is of type ", root.type_name());
  }

  std::int64_t index(const char* key) const {
    constexpr const char* kWanted = "an integer of at least 0";
    return index_in(of(root_, key, kWanted), key, kWanted);
  }

  std::string string_of_request(const char* key) const {
    const auto& request = of(root_, "request", "an object");
    if (!request.is_object()) wrong("request", "an object", request);
    const auto& value = of(request, key, "a string");
    if (!value.is_string()) wrong(key, "a string", value);
    return value.get<std::string>();
  }

  /// Names the document in all further messages.
  void set_document(std::int64_t document) { where_ += text(": document ", document); }

  void check_type() const {
    const auto found = root_.find("request_type");
    if (found == root_.end()) return;
    const bool is_scored = found->is_string() && is_scored_type(found->get<std::string>());
    if (!is_scored) wrong("request_type", "\"loglikelihood\"", *found);
  }

  void read_label(Request& request) const {
    const auto& value = of(root_, "label", "the index of a choice");
    request.label_type = type_of_answers(value);
    if (request.label_type != LabelType::null || value.is_null()) return;
    request.label = index_in(value, "label", "the index of a choice");
    request.label_type = LabelType::choice;
  }

  template <typename... Parts>
  [[noreturn]] void refuse_line(const Parts&... parts) const {
    throw Error(Exit::data, text(where_, ": ", parts...));
  }

 private:
  const json& of(const json& object, const char* key, const char* wanted) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse_line("\"", key, "\" must be ", wanted, ", but is missing");
    return *found;
  }

  std::int64_t index_in(const json& value, const char* key, const char* wanted) const {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    // Integers of at least 0 are unsigned for the parser.
    if (!value.is_number_unsigned()) wrong(key, wanted, value);
    if (value.get<std::uint64_t>() > kMost) wrong(key, "below 2^63", value);
    return value.get<std::int64_t>();
  }

  [[noreturn]] void wrong(const char* key, const char* wanted, const json& value) const {
    constexpr std::size_t kMost = 60;
    const auto found = value.is_structured() || value.dump().size() > kMost
                           ? std::string("of type ") + value.type_name()
                           : printable_line(value.dump());
    refuse_line("\"", key, "\" must be ", wanted, ", but is ", found);
  }

  const json& root_;
  std::string where_;
};

}  // namespace

std::string RequestPlace::name() const {
  return text(path, ":", line);
}

RequestParser::RequestParser() : parser_(std::make_unique<Parser>()) {}

RequestParser::~RequestParser() = default;

Request RequestParser::parse(std::string_view line, const RequestPlace& place) {
  constexpr std::size_t kSmallest = std::size_t{1} << 16;
  auto& dom = parser_->dom;
  if (line.size() > dom.capacity()) {
    const auto capacity = std::max({kSmallest, line.size(), 2 * dom.capacity()});
    if (dom.allocate(capacity, kMaxDepth) != simdjson::SUCCESS) return parse_slowly(line, place);
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(line.data());
  simdjson::dom::element root;
  if (dom.parse(bytes, line.size(), /*realloc_if_needed=*/false).get(root) == simdjson::SUCCESS) {
    if (const auto request = request_in_dom(root)) return *request;
  }
  return parse_slowly(line, place);
}

/// Refuses the line with a reason, or reads what simdjson does not take: integers of more than 64
/// bits in other keys, and very large lines.
Request RequestParser::parse_slowly(std::string_view line, const RequestPlace& place) {
  data::check_utf8(line, place.name(), place.offset);
  if (const auto lone = data::lone_surrogate_in(line)) {
    throw Error(Exit::data,
                text(place.name(), ": must have no lone surrogate, but has one at column ",
                     *lone + 1, "; write \\ufffd in its place"));
  }
  const auto root = parse_json(line, place.name());
  RequestKeys keys(root, place.name());
  Request request;
  request.document = keys.index("doc_id");
  if (request.is_unconditional()) return request;
  keys.set_document(request.document);
  keys.check_type();
  request.choice = keys.index("idx");
  keys.read_label(request);
  context_ = keys.string_of_request("context");
  continuation_ = keys.string_of_request("continuation");
  if (continuation_.empty()) {
    keys.refuse_line("the continuation of choice ", request.choice,
                     " must be a text, but is empty");
  }
  request.context = context_;
  request.continuation = continuation_;
  return request;
}

}  // namespace evenkeel::tasks
