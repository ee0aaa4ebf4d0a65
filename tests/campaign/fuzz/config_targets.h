// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::campaign {

/// Writes a file of a target; its path.
std::filesystem::path put(const std::filesystem::path& path, const std::string& content);

// FuzzTarget::run for each file and argument that configures a run.

void fuzz_config(const std::string& input, const std::filesystem::path& folder);
void fuzz_setting(const std::string& input, const std::filesystem::path& folder);
void fuzz_scheme(const std::string& input, const std::filesystem::path& folder);
void fuzz_study(const std::string& input, const std::filesystem::path& folder);
/// A configuration of OLMo, and the configuration that is made from it.
void fuzz_yaml(const std::string& input, const std::filesystem::path& folder);

}  // namespace evenkeel::campaign
