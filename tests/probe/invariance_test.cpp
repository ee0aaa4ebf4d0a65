// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/invariance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "evenkeel/norm/describe.h"

namespace evenkeel {
namespace {

using probe::InvarianceRow;

InvarianceRow row_named(const std::string& name) {
  for (const auto& row : probe::invariance_rows()) {
    if (row.name == name) return row;
  }
  throw std::logic_error("no row is named " + name);
}

/// '=' or 'x' where the claim held, the other one where it did not.
std::string verdicts(const probe::Claims& claims) {
  std::string letters;
  for (const auto& claim : claims) {
    letters += (claim.relation == probe::Relation::at_most) == claim.holds() ? '=' : 'x';
  }
  return letters;
}

TEST(Invariance, MatchesTheTable) {
  for (const auto& row : probe::invariance_rows()) {
    for (const bool fused : {true, false}) {
      const auto claims = probe::claims_for(row, {probe::norm_function(row, fused)});
      EXPECT_EQ(verdicts(claims), row.expected) << row.name << (fused ? ", fused" : ", formulas");
    }
  }
}

// docs/probes.md, the rows of the three kinds whose papers state them.
TEST(Invariance, TableHasTheKnownRows) {
  EXPECT_EQ(row_named("batch_norm").expected, "==x=x====xxxxxxx");
  EXPECT_EQ(row_named("layer_norm").expected, "x=====xx=====xx=");
  EXPECT_EQ(row_named("rms_norm").expected, "x=xxxxxx===x=xx=");
}

TEST(Invariance, TableHasEveryKind) {
  std::set<std::string> found;
  for (const auto& row : probe::invariance_rows()) found.emplace(norm::name_of(row.norm.kind));
  const auto names = norm::kind_names();
  EXPECT_EQ(found, std::set<std::string>(names.begin(), names.end()));
}

TEST(Invariance, RefutesARmsNormThatCentres) {
  const auto row = row_named("rms_norm");
  const auto rms = probe::norm_function(row, true);
  const auto centring = [&](const at::Tensor& z) { return rms(z - z.mean(-1, true)); };
  EXPECT_EQ(verdicts(probe::claims_for(row, {centring})), row_named("layer_norm").expected);
  // One wrong implementation of two is enough.
  EXPECT_GT(probe::refuted_count(probe::claims_for(row, {rms, centring})), 0U);
  EXPECT_GT(probe::refuted_count(probe::claims_for(row, {centring, rms})), 0U);
}

TEST(Invariance, DistinguishesEveryTwoRows) {
  for (const auto& row : probe::invariance_rows()) {
    for (const auto& other : probe::invariance_rows()) {
      const auto claims = probe::claims_for(row, {probe::norm_function(other, true)});
      EXPECT_EQ(verdicts(claims), other.expected) << row.name << " computed as " << other.name;
    }
  }
}

TEST(Invariance, RefutesAnEpsilonThatMatters) {
  auto row = row_named("rms_norm");
  row.norm.epsilon = 1;
  EXPECT_GT(probe::refuted_count(probe::claims_for(row, {probe::norm_function(row, true)})), 0U);
}

TEST(Equalities, OfKindsHold) {
  for (const auto& claim : probe::equality_claims()) {
    EXPECT_TRUE(claim.holds()) << claim.subject << " " << claim.statement << ": " << claim.measured;
  }
}

}  // namespace
}  // namespace evenkeel
