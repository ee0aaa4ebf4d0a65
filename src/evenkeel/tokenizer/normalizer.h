// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::tokenizer {

/// The normalizers of a tokenizer, in their order.
class Normalizer {
 public:
  struct Step {
    enum class Kind { nfc, nfkc, replace, prepend };
    Kind kind = Kind::nfc;
    std::string from;  // replace: a text; not empty
    std::string to;    // replace: its replacement; prepend: what is put before a text
  };

  void add(const Step& step) { steps_.push_back(step); }
  bool empty() const { return steps_.empty(); }
  /// True if all steps are of Unicode, which change nothing across a line end.
  bool is_of_unicode() const;

  /// The normalized text.
  /// \param hold      receives the text if it differs
  /// \param prepends  false: nothing is put before the text, the rest of a text that was cut
  /// \return `text` itself, or `hold`
  std::string_view apply(std::string_view text, std::string& hold, bool prepends = true) const;

 private:
  std::vector<Step> steps_;
};

/// Normalization forms C and KC as Hugging Face's, which know the characters of Unicode 9: later
/// characters are unchanged.
/// \return `text` itself, or `hold`
std::string_view nfc(std::string_view text, std::string& hold);
std::string_view nfkc(std::string_view text, std::string& hold);

}  // namespace evenkeel::tokenizer
