// SPDX-License-Identifier: Apache-2.0
// Schemes that have a meaning, but rarely a good one.
#include <gtest/gtest.h>

#include "config/scheme/scheme_of.h"
#include "evenkeel/norm/warnings.h"

namespace evenkeel::config {
namespace {

using Codes = std::vector<std::string>;

constexpr const char* kPost = "attention.residual = 'norm'\nfeed_forward.residual = 'norm'\n";
constexpr const char* kPre = "attention.input = 'norm'\nfeed_forward.input = 'norm'\n";

std::string with(const char* sublayers, const char* more) {
  return std::string(sublayers) + more;
}

TEST(Warning, DoubleFinalNormAfterALastResidualNorm) {
  EXPECT_EQ(warnings(scheme_of(with(kPost, "final = 'norm'"))), Codes({"double_final_norm"}));
  EXPECT_EQ(warnings(scheme_of(kPost)), Codes());
}

TEST(Warning, BareValuePathWhenNothingNormsTheValues) {
  const std::string qk = "attention = { q = 'norm', k = 'norm' }\nfeed_forward.input = 'norm'\n";
  EXPECT_EQ(warnings(scheme_of(qk)), Codes({"bare_value_path"}));
  EXPECT_EQ(warnings(scheme_of(qk, 1)), Codes()) << "block 1 reads the embedding";
  for (const auto* const mended :
       {"attention.v = 'norm'", "attention.context = 'norm'", "attention.output = 'norm'",
        "attention.branch_scale = { learned = 'scalar', init = 0 }", "attention.input = 'norm'"}) {
    EXPECT_EQ(warnings(scheme_of(with("feed_forward.input = 'norm'\n", mended))), Codes())
        << mended;
  }
}

TEST(Warning, DepthScaledTwiceByANormAndByInitialWeights) {
  const std::string scaled = "attention.input = { out_scale = '1/sqrt(l)' }\n";
  const auto init = [&](const char* factor) {
    return scaled + "init = [{ weights = ['attention.output'], factor = " + factor + " }]";
  };
  EXPECT_EQ(warnings(scheme_of(init("'1/sqrt(2*N)'"))), Codes({"depth_scaled_twice"}));
  EXPECT_EQ(warnings(scheme_of(init("0.5"))), Codes());
  EXPECT_EQ(warnings(scheme_of(scaled)), Codes());
}

TEST(Warning, DepthScaledTwiceByInitialGainsAndByInitialWeights) {
  const std::string init = "init = [{ weights = ['attention.output'], factor = '1/sqrt(2*N)' }]\n";
  for (const auto* const norms :
       {"attention.input = { gain_init = '1/sqrt(l)' }",
        "attention.input = 'norm'\nfeed_forward.input = { gain_init = '1/sqrt(l)' }"}) {
    EXPECT_EQ(warnings(scheme_of(init + norms)), Codes({"depth_scaled_twice"})) << norms;
    EXPECT_EQ(warnings(scheme_of(norms)), Codes()) << norms;
  }
  EXPECT_EQ(warnings(scheme_of(init + "attention.input = { gain_init = '1/sqrt(N)' }")), Codes());
}

TEST(Warning, BoundedKindsWithoutAnEmbeddingScale) {
  EXPECT_EQ(warnings(scheme_of(with(kPre, "norm = 'dyt'"))),
            Codes({"bounded_without_embedding_scale"}));
  EXPECT_EQ(warnings(scheme_of(with(kPre, "norm = 'derf'\nembedding.scale = 'sqrt(d)'"))), Codes());
  // Norms of queries, of keys and of a branch do not read the stream.
  for (const auto* const inside : {"attention.q = 'dyt'", "attention.k = 'dyt'",
                                   "feed_forward.hidden = 'dyt'", "feed_forward.output = 'dyt'"}) {
    EXPECT_EQ(warnings(scheme_of(with(kPre, inside))), Codes()) << inside;
  }
}

TEST(Warning, DeepPostNormBeyondSixteenBlocks) {
  EXPECT_EQ(warnings(scheme_of(kPost, 24)), Codes({"deep_post_norm"}));
  EXPECT_EQ(warnings(scheme_of(kPost, 16)), Codes());
  EXPECT_EQ(warnings(bind(find_scheme("deep_norm"), tiny_shape(24))), Codes());
}

TEST(Warning, ClipWithQkNorm) {
  const auto* const hook = "hooks = [{ kind = 'qk_clip', threshold = 100 }]";
  const auto normed = with(kPre, "attention.q = 'norm'\nattention.k = 'norm'\n");
  EXPECT_EQ(warnings(scheme_of(normed + hook)), Codes({"clip_with_qk_norm"}));
  EXPECT_EQ(warnings(scheme_of(with(kPre, hook))), Codes());
}

TEST(Warning, ComesWithAnExplanation) {
  const auto found = norm::validate(scheme_of(with(kPost, "final = 'norm'")));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].explanation,
            "the last block already ends in a norm, so `final` norms a normed stream; drop one of "
            "them");
}

TEST(Warning, CodesStandInAlphabeticalOrder) {
  const auto codes = norm::warning_codes();
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end()));
  EXPECT_EQ(codes.size(), 6u);
}

}  // namespace
}  // namespace evenkeel::config
