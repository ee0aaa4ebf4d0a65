// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// What is wrong with a page or an element that must read as XML after its document type: a tag
/// that is not closed, or closed by another; an attribute without quotes; a bare `&`, `<` or `>`
/// outside of scripts and styles. "" if nothing.
std::string xml_error(const std::string& page);

/// The page without the name of SVG's namespace, which looks like an address but is none.
std::string without_namespaces(const std::string& page);

/// The contents of all elements with this start tag, e.g. `<td class="name">`, in their order.
std::vector<std::string> element_contents(const std::string& page, const std::string& start);

}  // namespace evenkeel::report
