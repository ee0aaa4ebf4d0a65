// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/request_field.h"

#include <algorithm>
#include <limits>

#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/serve/request_error.h"

namespace evenkeel::serve {

namespace {

/// A value in a message: numbers, strings and booleans as they are, others by their type.
std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return quoted(value.dump());
}

/// True for a JSON integer, and for 16.0, which some clients send.
bool is_integer(const nlohmann::json& value) {
  if (value.is_number_integer()) return true;
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!value.is_number_float()) return false;
  const auto number = value.get<double>();
  return number >= -kExact && number <= kExact &&
         number == static_cast<double>(static_cast<std::int64_t>(number));
}

bool is_between(const nlohmann::json& value, std::int64_t least, std::int64_t most) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return most >= 0 && number <= static_cast<std::uint64_t>(most) &&
           (least < 0 || number >= static_cast<std::uint64_t>(least));
  }
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= most;
}

}  // namespace

RequestFields::RequestFields(std::string_view body) : body_(parse_json(body)) {
  if (body_.is_discarded()) {
    throw RequestError(400, text("the body must be JSON in UTF-8, nested at most ", kMaxDepth,
                                 " deep, but is not"));
  }
  if (!body_.is_object()) {
    throw RequestError(400, text("the body must be a JSON object, but is ", shown(body_)));
  }
}

const nlohmann::json* RequestFields::find(const std::string& name) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.push_back(name);
  const auto found = body_.find(name);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

bool RequestFields::boolean(const std::string& name, bool otherwise) {
  const auto* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse_field(name, "true or false", *value);
  return value->get<bool>();
}

double RequestFields::number(const std::string& name, double otherwise, double least, double most) {
  const auto* const value = find(name);
  if (value == nullptr) return otherwise;
  const auto wanted = text("a number from ", shortest(least), " to ", shortest(most));
  if (!value->is_number()) refuse_field(name, wanted, *value);
  const auto number = value->get<double>();
  if (!(number >= least && number <= most)) refuse_field(name, wanted, *value);
  return number;
}

std::int64_t RequestFields::integer(const std::string& name, std::int64_t otherwise,
                                    std::int64_t least, std::int64_t most) {
  const auto* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!is_integer(*value) || !is_between(*value, least, most)) {
    refuse_field(name, text("an integer from ", least, " to ", most), *value);
  }
  return value->get<std::int64_t>();
}

std::string RequestFields::string(const std::string& name, const std::string& otherwise) {
  const auto* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) refuse_field(name, "a string", *value);
  return value->get<std::string>();
}

void RequestFields::require(const std::string& name, const nlohmann::json& neutral) {
  const auto* const value = find(name);
  if (value == nullptr || *value == neutral) return;
  refuse_field(name, neutral.dump() + ", because this server has nothing else", *value);
}

void RequestFields::check_all_known() const {
  for (const auto& [name, value] : body_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    throw RequestError(400,
                       text("unknown field \"", quoted(name), "\"",
                            name.size() < 64 ? did_you_mean(name, known_) : std::string()),
                       quoted(name));
  }
}

void refuse_field(const std::string& name, const std::string& wanted, const nlohmann::json& value) {
  throw RequestError(400, text(name, ": must be ", wanted, ", but is ", shown(value)), name);
}

std::vector<std::int64_t> token_ids(const std::string& name, const nlohmann::json& list) {
  if (!list.is_array()) refuse_field(name, "a list of token ids", list);
  std::vector<std::int64_t> ids;
  ids.reserve(list.size());
  for (const auto& value : list) {
    if (!value.is_number_integer() ||
        !is_between(value, 0, std::numeric_limits<std::int32_t>::max())) {
      refuse_field(text(name, "[", ids.size(), "]"), "a token id, 0 or more", value);
    }
    ids.push_back(value.get<std::int64_t>());
  }
  return ids;
}

}  // namespace evenkeel::serve
