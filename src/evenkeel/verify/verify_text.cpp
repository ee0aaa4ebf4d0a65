// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/verify_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"

namespace evenkeel::verify {

namespace {

template <typename... Values>
std::string print(const char* format, Values... values) {
  std::array<char, 256> out{};
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}

const char* verdict(const Check& check) {
  return check.passed() ? "held" : "refuted";
}

std::string row_of(const Check& check) {
  return print("  %-58s %8.1e  %8.1e  %s\n", printable_line(check.quantity).c_str(), check.error,
               check.tolerance, verdict(check));
}

std::size_t failure_count(const std::vector<Check>& checks) {
  return static_cast<std::size_t>(std::count_if(
      checks.begin(), checks.end(), [](const Check& check) { return !check.passed(); }));
}

std::string verdict_of(const Verification& verification) {
  if (verification.passed()) return "held";
  const auto& worst = verification.worst();
  const auto count = failure_count(verification.totals) + failure_count(verification.tensors);
  auto line = print("refuted: %s off by %.1e where %.1e is allowed", worst.quantity.c_str(),
                    worst.error, worst.tolerance);
  if (count > 1) line += text("; ", count - 1, count == 2 ? " other" : " others", " too");
  return line;
}

}  // namespace

std::string table_of(const Verification& verification) {
  const auto& [file, scheme, precision, totals, tensors] = verification;
  auto table =
      text(printable_line(file), ": scheme ", scheme, ", computed again in ", precision, "\n");
  table += print("  %-58s %8s  %8s\n", "quantity", "error", "allowed");
  for (const auto& check : totals) table += row_of(check);
  for (const auto& check : tensors) table += row_of(check);
  table += text("  parameters: ", tensors.size(), " compared, ",
                tensors.size() - failure_count(tensors), " held\n");
  return table + verdict_of(verification) + "\n";
}

std::string line_of(const Verification& verification) {
  if (!verification.passed()) return text(verification.file, ": ", verdict_of(verification));
  const auto& worst = verification.worst();
  return text(verification.file, ": held; ", worst.quantity,
              print(" off by %.1e where %.1e is allowed", worst.error, worst.tolerance));
}

nlohmann::json json_of(const Verification& verification) {
  const auto& [file, scheme, precision, totals, tensors] = verification;
  auto checks = nlohmann::json::array();
  for (const auto* const list : {&totals, &tensors}) {
    for (const auto& check : *list) {
      checks.push_back({{"quantity", check.quantity},
                        {"error", check.error},
                        {"tolerance", check.tolerance},
                        {"held", check.passed()}});
    }
  }
  return {{"file", file},
          {"scheme", scheme},
          {"precision", precision},
          {"held", verification.passed()},
          {"checks", checks}};
}

}  // namespace evenkeel::verify
