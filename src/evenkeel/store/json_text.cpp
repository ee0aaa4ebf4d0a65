// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_text.h"

namespace evenkeel::store {

std::string json_text(const nlohmann::json& value) {
  return value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace evenkeel::store
