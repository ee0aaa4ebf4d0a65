// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace evenkeel::tracking {

/// An event of a file. The texts are parts of the file.
struct ReadEvent {
  struct Value {
    std::string_view tag;
    std::string_view bytes;  // the serialized value, with its tag
  };
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  bool is_start = false;      // SessionLog START
  std::vector<Value> values;  // of its summary
};

/// The events of a file, up to the first record that is incomplete or whose checksum differs: a
/// crash cuts the last record off.
std::vector<ReadEvent> read_events(std::string_view file);

}  // namespace evenkeel::tracking
