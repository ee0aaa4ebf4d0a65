// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/study/definition/definition.h"

/// Study files as texts, and what is said about them.
namespace evenkeel::study {

inline constexpr const char* kGrid = "[grid]\nscheme = [\"pre_norm\", \"hybrid_norm\"]\n";

inline Study read(const std::string& toml, const std::string& size = "") {
  return parse_study(toml, "my.toml", size);
}

inline std::string error_of(const std::string& toml, const std::string& size = "") {
  try {
    read(toml, size);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "no error";
}

inline std::string with_claim(const std::string& lines) {
  return std::string(kGrid) + "model.layers = [2, 4]\n[[claims]]\nsays = \"It does\"\n" + lines;
}

}  // namespace evenkeel::study
