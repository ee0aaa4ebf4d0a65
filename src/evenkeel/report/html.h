// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::report {

/// Text from a file as HTML text: & < > " ' become entities; bytes that are not UTF-8, and control
/// characters that HTML forbids (all but tab and line feed), become U+FFFD. CR LF becomes LF.
std::string escaped(std::string_view text);

/// `<tag class="name">content</tag>`; `content` is HTML already.
std::string element(std::string_view tag, std::string_view content, std::string_view name = "");

/// A number as text with a fixed count of decimals: 1.0230; "–" where there is none (NaN).
std::string fixed(double value, int decimals);

/// The whole page: document type, head with the style sheet, body.
std::string page(std::string_view title, std::string_view body);

}  // namespace evenkeel::report
