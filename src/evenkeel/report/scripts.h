// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The scripts of a page: page_script.js, save_script.js and watch_script.js, embedded by
/// CMakeLists.txt.
namespace evenkeel::report {

/// The text of a script. \param name  stem of its file
std::string_view script_text(std::string_view name);

/// The source expression of a Content-Security-Policy that allows an inline script:
/// 'sha256-BASE64'.
std::string script_hash(std::string_view name);

}  // namespace evenkeel::report
