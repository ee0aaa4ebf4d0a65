// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/data/display_text.h"

namespace evenkeel::generate {

/// A generated text that is written while it grows, up to the first stop string.
class GeneratedText {
 public:
  /// \param stops  strings that end the text; they are not part of it
  /// \param write  receives the pieces of the text: UTF-8, or with `raw` the bytes of the tokens
  GeneratedText(std::vector<std::string> stops, bool raw,
                std::function<void(std::string_view)> write)
      : stops_(std::move(stops)), raw_(raw), write_(std::move(write)) {}

  /// Adds the bytes of a token. A part that may begin a stop string waits for the next bytes.
  /// \return false: a stop string is complete, and the text ends before it
  bool add(std::string_view bytes);

  /// Writes what waits.
  void finish();

 private:
  void emit(std::string_view bytes);
  std::size_t waiting_size() const;

  std::vector<std::string> stops_;
  bool raw_;
  std::function<void(std::string_view)> write_;
  std::string pending_;  // bytes that may begin a stop string
  data::DisplayStream display_;
};

}  // namespace evenkeel::generate
