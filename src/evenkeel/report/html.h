// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::report {

/// Plain text as HTML: & < > " ' become entities, CR LF becomes LF. Invalid UTF-8 and control
/// characters that HTML forbids (all except tab and line feed) become U+FFFD.
std::string escaped(std::string_view text);

/// `<tag class="name">content</tag>`.
/// \param content  HTML, not escaped
/// \param name     CSS class; "": no attribute
std::string element(std::string_view tag, std::string_view content, std::string_view name = "");

/// A number with this many decimals, "1.0230"; "–" for NaN and infinity.
std::string fixed(double value, int decimals);

/// The whole page: document type, head with the style sheet, body.
/// \param title  plain text
/// \param body   HTML
/// \param events  address of the events of `evenkeel watch`, at which the page is renewed; "": none
std::string page(std::string_view title, std::string_view body, std::string_view events = "");

}  // namespace evenkeel::report
