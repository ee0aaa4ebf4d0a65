// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_text.h"

#include "evenkeel/base/json_dump.h"

namespace evenkeel::store {

std::string json_text(const nlohmann::json& value) {
  return json_dump(value, 1) + "\n";
}

}  // namespace evenkeel::store
