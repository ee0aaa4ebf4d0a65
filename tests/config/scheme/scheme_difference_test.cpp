// SPDX-License-Identifier: Apache-2.0
// The differences of two schemes, and spellings of one function.
#include "evenkeel/norm/scheme_difference.h"

#include <gtest/gtest.h>

#include "config/scheme/scheme_of.h"
#include "evenkeel/norm/canonical_form.h"
#include "evenkeel/norm/scheme_relation.h"

namespace evenkeel::config {
namespace {

using norm::SchemeRelation;

/// "blocks 2-4: attention.input: rms_norm | -", a line each.
std::string lines(std::string_view left, std::string_view right) {
  std::string out;
  for (const auto& each : norm::differences(scheme_of(left), scheme_of(right))) {
    if (each.first > 0) out += text(each.first, "-", each.last, " ");
    out +=
        text(each.place, ": ", each.left, " | ", each.right, each.at_start ? " (start)\n" : "\n");
  }
  return out;
}

SchemeRelation relation(std::string_view left, std::string_view right) {
  return norm::relation(scheme_of(left), scheme_of(right));
}

TEST(Difference, GroupsEqualBlocks) {
  EXPECT_EQ(lines("extends = 'hybrid_norm'", "extends = 'hybrid_norm_star'"),
            "1-1 attention.input: - | rms_norm\n"
            "1-1 feed_forward.skip: normed | stream\n");
  EXPECT_EQ(lines("attention.q = 'norm'", "attention.q = 'layer_norm'\nfinal = 'norm'"),
            "1-4 attention.q: rms_norm | layer_norm\n"
            "final: - | rms_norm\n");
}

// What moves is decided by what is computed, not by how it is spelt: of each block another norm,
// which is one number there.
TEST(Difference, MovesFormulasOfTheBlock) {
  const auto post = [](const char* gain) {
    return text("extends = 'post_norm'\nnorm = { kind = 'rms_norm', gain_init = ", gain, " }");
  };
  EXPECT_EQ(lines(post("'1/sqrt(l)'"), post("'l^(-1/2)'")), "");
  EXPECT_EQ(relation(post("'1/sqrt(l)'"), post("'l^(-1/2)'")), SchemeRelation::same);
}

// n on the sum is the input norm of the sublayer that reads it: only block 1 reads the bare
// embedding.
TEST(Difference, ComparesInTheFormInWhichAPatchStaysInItsBlock) {
  EXPECT_EQ(lines("extends = 'post_norm'", "extends = 'post_norm_entry'"),
            "1-1 attention.input: - | rms_norm\n"
            "1-1 attention.skip: stream | normed\n");
}

TEST(Difference, SplitsGroupsWhereTheWordsDiffer) {
  EXPECT_EQ(lines("", "layers = [{ where = [1, 3], damp = 0.1 }]"),
            "1-1 damp: - | 0.1\n"
            "3-3 damp: - | 0.1\n");
}

TEST(Difference, PutsWhatOnlyMattersAtTheStartLast) {
  EXPECT_EQ(lines("logits.softcap = 30\nbase_init = 'normal(0.02)'",
                  "init = [{ weights = ['attention.v', 'attention.q'], factor = 0.5 }]"),
            "logits.softcap: 30 | -\n"
            "base_init: normal(0.02) | default (start)\n"
            "init of attention.q, attention.v: 1 | 0.5 (start)\n");
}

TEST(Difference, SeesEveryRuleOfASublayer) {
  EXPECT_EQ(lines("", R"([attention]
                         skip = ['stream', 'block_input']
                         skip_scale = 'S'
                         branch_scale = { learned = 'vector', init = 0.05, through = 'abs' }
                         softcap = 50
                         [feed_forward]
                         update = 'geodesic'
                         angle_decay = 0.5
                         up_gate_scale = 2)"),
            "1-4 attention.softcap: - | 50\n"
            "1-4 attention.skip: stream | stream + block_input\n"
            "1-4 attention.skip_scale: 1 | S\n"
            "1-4 attention.branch_scale: 1 | learned vector from 0.05, through abs\n"
            "1-4 feed_forward.up_gate_scale: - | 2\n"
            "1-4 feed_forward.update: add | geodesic\n"
            "1-4 feed_forward.angle_decay: - | 0.5\n");
}

TEST(Difference, SeesTheWholeModelAndItsMatrices) {
  EXPECT_EQ(lines("", R"(head = 'tied'
                         embedding = { norm = 'norm', scale = 2 }
                         dual = { read = 'x', output = 'x + norm(y)' }
                         reparameterize = [{ rule = 'weight_norm', weights = ['attention.q'] }]
                         hooks = [{ kind = 'qk_clip', threshold = 100 },
                                  { kind = 'unit_norm', axis = 'in', weights = ['head'] }])"),
            "embedding.norm: - | rms_norm\n"
            "embedding.scale: 1 | 2\n"
            "dual.read: - | x\n"
            "dual.output: - | x + norm(y)\n"
            "dual.norm: - | rms_norm\n"
            "dual.write_y: - | 1\n"
            "dual.y_init: - | 1\n"
            "head: - | tied\n"
            "reparameterize attention.q: - | weight_norm\n"
            "hooks: - | qk_clip at 100\n"
            "hooks on head: - | unit_norm along in\n");
}

TEST(Difference, TakesFormulasOfTheSameNumberAsEqual) {
  EXPECT_EQ(lines("attention.skip_scale = 'S'", "attention.skip_scale = '2*N'"), "");
  EXPECT_EQ(lines("attention.input = { gain_init = '1/sqrt(l)' }",
                  "attention.input = { gain_init = 'l^(-1/2)' }"),
            "");
  EXPECT_EQ(lines("base_init = 'normal(1/sqrt(d))'", "base_init = 'normal(0.25)'"), "");
  EXPECT_NE(lines("attention.branch_scale = 't/T'", "attention.branch_scale = 't*1/T'"), "")
      << "what changes from step to step is compared as it is written";
}

TEST(Evaluated, PutsTheRowsOwnWidthIntoANorm) {
  const auto gain = [](const char* toml) {
    return norm::evaluated(scheme_of(toml)).blocks[1].attention.k->gain_init.formula();
  };
  EXPECT_EQ(gain("attention.k = { kind = 'rms_norm', gain_init = 'width' }"), "8");
  EXPECT_EQ(gain("attention.k = { kind = 'rms_norm', scope = 'head', gain_init = 'width' }"), "4");
}

TEST(Relation, KnowsNamesOfOneScheme) {
  EXPECT_EQ(relation("extends = 'hybrid_norm'", "extends = 'qkv_post'"), SchemeRelation::same);
  EXPECT_EQ(relation("extends = 'qkv_norm'", "extends = 'qkv_pre'"), SchemeRelation::other_start);
  EXPECT_EQ(relation("extends = 'pre_norm'", "extends = 'post_norm'"), SchemeRelation::different);
  EXPECT_EQ(relation("extends = 'pre_norm'",
                     "extends = 'pre_norm'\nattention.score_scale = '1/sqrt(dk)'"),
            SchemeRelation::same);
}

// n on the sum is the input norm of the sublayer that reads it (docs/schemes.md, "Rules of a
// sublayer").
TEST(Relation, KnowsANormThatIsWrittenInAnotherPlace) {
  const std::string post = "attention.residual = 'norm'\nfeed_forward.residual = 'norm'\n";
  const std::string inputs =
      "attention = { input = 'norm', skip = 'normed' }\n"
      "feed_forward = { input = 'norm', skip = 'normed' }\nfinal = 'norm'\n";
  EXPECT_EQ(relation(post + "embedding.norm = 'norm'", inputs), SchemeRelation::moved);
  EXPECT_EQ(relation(post, inputs), SchemeRelation::different)
      << "block 1 reads the bare embedding";
  EXPECT_EQ(relation(post + "embedding = { norm = 'norm', scale = 2 }", inputs),
            SchemeRelation::different);
}

// The gain's gradient differs by the factor: one function, trained differently.
TEST(Relation, KnowsWhatIsOneFunctionUntilItIsTrained) {
  const std::string fixed = "norm = { kind = 'rms_norm', out_scale = 0.5 }\n";
  const std::string gain = "norm = { kind = 'rms_norm', gain_init = 0.5 }\n";
  const std::string bare = "norm = { kind = 'rms_norm', affine = 'none', out_scale = 0.5 }\n";
  const std::string parent = "extends = 'hybrid_norm'\n";
  EXPECT_EQ(relation(parent + fixed, parent + gain), SchemeRelation::same_before_training);
  EXPECT_EQ(relation(parent + fixed, parent + bare), SchemeRelation::same_before_training);
  EXPECT_EQ(relation(parent + fixed, parent), SchemeRelation::different);
  EXPECT_EQ(relation(parent + "attention.branch_scale = { learned = 'scalar', init = 2 }",
                     parent + "attention.branch_scale = 2"),
            SchemeRelation::same_before_training);
  EXPECT_EQ(relation(parent + "attention.branch_scale = { learned = 'scalar', init = 2 }", parent),
            SchemeRelation::different);
  EXPECT_EQ(relation(parent + "damp = { learned = 'scalar', init = 0.1 }", parent + "damp = 0.1"),
            SchemeRelation::same_before_training);
  EXPECT_EQ(relation(parent + "norm = { kind = 'rms_norm', out_scale = 0.1, gain_init = 3 }",
                     parent + "norm = { kind = 'rms_norm', out_scale = 0.3 }"),
            SchemeRelation::same_before_training);
  // seed_norm adds to its gain what beta makes of the row: a gain is not a factor there.
  const std::string seed = parent + "norm = { kind = 'seed_norm', beta_init = ";
  EXPECT_EQ(relation(seed + "0, gain_init = 3 }", seed + "0, out_scale = 3 }"),
            SchemeRelation::same_before_training);
  EXPECT_EQ(relation(seed + "0.1, gain_init = 3 }", seed + "0.1, out_scale = 3 }"),
            SchemeRelation::different);
  EXPECT_EQ(relation(parent + "norm = { kind = 'rms_norm', gain_init = '1/T' }", parent),
            SchemeRelation::different);
  EXPECT_EQ(relation(parent + fixed, parent + gain + "base_init = 'normal(0.02)'"),
            SchemeRelation::different);
}

TEST(Relation, LeavesANormThatMoreThanOneReads) {
  const auto stays = [](const std::string& toml) {
    const auto scheme = norm::canonical(norm::evaluated(scheme_of(toml)));
    return scheme.blocks[0].attention.residual.has_value();
  };
  EXPECT_FALSE(stays("attention.residual = 'norm'"));
  EXPECT_TRUE(stays("attention.residual = 'norm'\nfeed_forward.input = 'norm'"));
  EXPECT_TRUE(stays("attention.residual = 'norm'\ndamp = 0.1"));
  EXPECT_TRUE(stays("attention.residual = 'norm'\nlayout = 'parallel'"));
  const auto last = [](const std::string& toml) {
    const auto scheme = norm::canonical(norm::evaluated(scheme_of(toml)));
    return scheme.blocks[0].feed_forward.residual.has_value();
  };
  EXPECT_FALSE(last("feed_forward.residual = 'norm'"));
  EXPECT_TRUE(last("feed_forward = { residual = 'norm', skip = ['stream', 'block_input'] }"));
  EXPECT_TRUE(last("feed_forward.residual = { gain_init = 'l/T' }")) << "another in each block";
}

}  // namespace
}  // namespace evenkeel::config
