// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/probe_claims.h"

#include <algorithm>

#include "evenkeel/base/number.h"

namespace evenkeel::cli {

namespace {

using probe::Claim;
using probe::Relation;

/// At most four significant digits.
std::string short_text(double value) {
  return with_digits(value, 4);
}

/// The word, padded with spaces to `width` characters.
std::string padded(const std::string& word, std::size_t width) {
  return word + std::string(width > word.size() ? width - word.size() : 0, ' ');
}

/// The last column of the table.
const char* probe_claims_verdict(const Claim& claim) {
  return claim.holds() ? "held" : "refuted";
}

}  // namespace

std::string expectation_text(const Claim& claim) {
  switch (claim.relation) {
    case Relation::at_most:
      return "<= " + short_text(claim.limit);
    case Relation::at_least:
      return ">= " + short_text(claim.limit);
    case Relation::near:
      break;
  }
  return short_text(claim.limit) + " +- " + short_text(claim.tolerance);
}

std::string claims_table(const probe::Claims& claims) {
  constexpr std::size_t kMeasured = 10, kGap = 2;
  std::size_t subject = 0, statement = 0, expected = std::string("expected").size();
  for (const auto& claim : claims) {
    subject = std::max(subject, claim.subject.size());
    statement = std::max(statement, claim.statement.size());
    expected = std::max(expected, expectation_text(claim).size());
  }
  const auto line = [&](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d, const std::string& e) {
    return padded(a, subject + kGap) + padded(b, statement + kGap) + padded(c, kMeasured + kGap) +
           padded(d, expected + kGap) + e + "\n";
  };
  auto table = line("claim", "", "measured", "expected", "verdict");
  for (const auto& claim : claims) {
    table += line(claim.subject, claim.statement, short_text(claim.measured),
                  expectation_text(claim), probe_claims_verdict(claim));
  }
  const auto refuted = probe::refuted_count(claims);
  return table + text(claims.size(), " claims: ", claims.size() - refuted, " held, ", refuted,
                      " refuted\n");
}

nlohmann::ordered_json claims_json(const probe::Claims& claims) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& claim : claims) {
    list.push_back({{"subject", claim.subject},
                    {"statement", claim.statement},
                    {"measured", claim.measured},
                    {"expected", expectation_text(claim)},
                    {"limit", claim.limit},
                    {"held", claim.holds()}});
  }
  return list;
}

Exit claims_exit(const probe::Claims& claims) {
  return probe::refuted_count(claims) == 0 ? Exit::success : Exit::check_failed;
}

}  // namespace evenkeel::cli
