// SPDX-License-Identifier: Apache-2.0
// `evenkeel schemes check`: a scheme at several depths, widths and numbers of heads.
#include "evenkeel/config/scheme/scheme_check.h"

#include <gtest/gtest.h>

#include "config/config_fixture.h"
#include "config/scheme/scheme_of.h"
#include "evenkeel/norm/count_formula.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::config {
namespace {

class SchemeCheck : public TemporaryFolderTest {
 protected:
  /// What is found of a file "mine.toml" with this text.
  static Findings check(const std::string& toml, const std::vector<KnownScheme>& known = {}) {
    std::ofstream("mine.toml") << toml;
    return check_scheme(find_scheme("mine.toml"), known);
  }

  static std::string refused(const std::string& toml) {
    return message_of([&] { check(toml); });
  }
};

TEST_F(SchemeCheck, NamesTheShapeWhereOnlySomeAreWrong) {
  EXPECT_EQ(refused("norm = { kind = 'group_norm', groups = 4 }\nattention.q = 'norm per head'\n"
                    "layers = [{ where = 'last(2)', attention = { q = 'none' } }]\nfinal = 'norm'"),
            "no error");
  EXPECT_EQ(refused("attention.branch_scale = '1/(N - 1)'"),
            "scheme mine, block 1, attention.branch_scale: bad_expression: \"1/(N - 1)\" has no "
            "finite value at N = 1; in a model of 1 block of width 128, 4 heads and 2 key heads");
  EXPECT_EQ(refused("final = { kind = 'group_norm', groups = 'h' }\n"
                    "attention.k = { kind = 'group_norm', groups = 'h/2' }"),
            "scheme mine, block 1, attention.k.groups: bad_value: must divide the width 64, but is "
            "1.5; in a model of 1 block of width 192, 3 heads and 1 key head");
  EXPECT_EQ(refused("final = { kind = 'group_norm', groups = 7 }"),
            "scheme mine, final.groups: bad_value: must divide the width 128, but is 7");
}

TEST_F(SchemeCheck, NamesTheRightFormulaOfTheParameters) {
  EXPECT_EQ(refused("extends = 'hybrid_norm'\nattention.output = 'layer_norm'"),
            "scheme mine, norm_parameters: norm_parameters: the norms have 5888 parameters, but "
            "\"N*(3*dk + d) + d\" gives 2816; a scheme that changes its parent's count states its "
            "own formula; here that is norm_parameters = \"N*(3*d + 3*dk) + d\"");
  EXPECT_EQ(check("extends = 'hybrid_norm'\nattention.output = 'layer_norm'\n"
                  "norm_parameters = 'N*(3*d + 3*dk) + d'")
                .count,
            "N*(3*d + 3*dk) + d");
}

TEST_F(SchemeCheck, TakesNoFormulaIfTheFileDropsIt) {
  EXPECT_EQ(refused("extends = 'hybrid_norm'\nattention.output = 'layer_norm'\n"
                    "norm_parameters = 'none'"),
            "no error");
}

TEST_F(SchemeCheck, CatchesAFormulaThatMixesUpQueriesAndKeys) {
  const std::string toml = "attention.k = { kind = 'rms_norm' }\nnorm_parameters = ";
  EXPECT_EQ(refused(toml + "'N*kv*dk'"), "no error");
  EXPECT_EQ(refused(toml + "'N*d/2'"),  // right in the first model
            "scheme mine, norm_parameters: norm_parameters: the norms have 64 parameters, but "
            "\"N*d/2\" gives 96; a scheme that changes its parent's count states its own formula; "
            "here that is norm_parameters = \"N*kv*dk\"");
}

TEST_F(SchemeCheck, TellsAtWhichDepthsAWarningArises) {
  const auto found =
      check("title = 'Mine'\nextends = 'post_norm'\nwarnings = ['double_final_norm']");
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_EQ(found.warnings[0].warning.code, "deep_post_norm");
  EXPECT_EQ(found.warnings[0].depths, std::vector<std::int64_t>({29}));
  EXPECT_FALSE(found.warnings[0].is_expected);
  EXPECT_EQ(found.depths, std::vector<std::int64_t>({1, 2, 4, 12, 29}));
  EXPECT_EQ(found.never_raised, std::vector<std::string>({"double_final_norm"}));
}

TEST_F(SchemeCheck, NotesWhatHasNoEffectAndWhatLeavesNothing) {
  using Notes = std::vector<std::string>;
  EXPECT_EQ(check("extends = 'pre_norm'\nlayers = [{ where = 'first(1)', damp = 0.1 },"
                  "{ where = 'fraction(0.3, 0.31)', damp = 0.1 }]")
                .notes,
            Notes({"layers[1] names no block of a model of 1, 2, 4, 12 or 29"}));
  EXPECT_EQ(check("extends = 'pre_norm'\ndamp = 1").notes,
            Notes({"damp = 1 removes the whole stream, the token included"}));
  EXPECT_EQ(check("extends = 'pre_norm'\ndamp = 0.5").notes, Notes());
  EXPECT_EQ(check("extends = 'mix_ln'").notes, Notes());
}

TEST_F(SchemeCheck, KnowsExpectedWarnings) {
  const auto found = check_scheme(find_scheme("qk_post"), {});
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_TRUE(found.warnings[0].is_expected);
  EXPECT_EQ(found.warnings[0].depths, std::vector<std::int64_t>({2, 4, 12, 29}));
  EXPECT_EQ(found.never_raised, std::vector<std::string>());
}

TEST_F(SchemeCheck, NamesCatalogueSchemesOfTheSameFunction) {
  const auto known = known_schemes(catalogue_in_default_shape());
  using Names = std::vector<std::string>;
  EXPECT_EQ(check("extends = 'hybrid_norm'", known).same_as, Names({"hybrid_norm", "qkv_post"}));
  EXPECT_EQ(check("extends = 'qkv_norm'", known).same_as,
            Names({"qkv_norm", "qkv_pre (with other initial weights)"}));
  // Post-Norm with an entry norm, as it is usually drawn; the catalogue's has input norms.
  EXPECT_EQ(
      check("extends = 'post_norm'\nembedding.norm = 'norm'\nnorm_parameters = '2*N*d + d'", known)
          .same_as,
      Names({"post_norm_entry"}));
  EXPECT_EQ(check("extends = 'pre_norm'\nattention.softcap = 7", known).same_as, Names());
}

TEST_F(SchemeCheck, NamesNoSchemeThatIsEqualInTheDefaultShapeOnly) {
  const auto known = known_schemes(catalogue_in_default_shape());
  const auto scaled = [&](const std::string& scale) {
    return check("extends = 'pre_norm'\nattention.branch_scale = '" + scale + "'", known).same_as;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(scaled("N/N"), Names({"pre_norm"}));
  EXPECT_EQ(scaled("12/N"), Names());
  EXPECT_EQ(scaled("128/d"), Names());
}

TEST(CountFormula, GivesTheCountOfEveryCatalogueScheme) {
  for (const auto& name : catalogue()) {
    const auto source = find_scheme(name);
    std::vector<norm::Scheme> schemes;
    for (const std::int64_t layers : {1, 2, 4, 12}) {
      schemes.push_back(bind(source, default_shape(layers)));
    }
    const auto formula = norm::count_formula(schemes);
    ASSERT_TRUE(formula.has_value()) << name;
    for (const std::int64_t layers : {1, 3, 7}) {
      const auto scheme = bind(source, tiny_shape(layers));
      EXPECT_EQ(norm::Expression::parse(*formula).value(scheme.shape.variables()),
                static_cast<double>(norm::norm_parameter_count(scheme)))
          << name << ": " << *formula;
    }
  }
}

TEST(CountFormula, IsWrittenShort) {
  const auto formula = [](std::string_view toml) {
    return norm::count_formula({scheme_of(toml, 1), scheme_of(toml, 2), scheme_of(toml, 8)})
        .value_or("none");
  };
  EXPECT_EQ(formula(""), "0");
  EXPECT_EQ(formula("final = 'norm'"), "d");
  EXPECT_EQ(formula("attention.input = 'norm'"), "N*d");
  EXPECT_EQ(formula("attention.input = 'norm'\nlayers = [{ where = 'first(1)', attention = { input "
                    "= 'none' } }]"),
            "N*d - d");
  EXPECT_EQ(formula("attention = { q = 'norm', k = 'layer_norm', v = 'norm per head' }\n"
                    "feed_forward.hidden = 'norm'"),
            "N*(d + dk + f + 2*kv*dk)");
  EXPECT_EQ(formula("attention.k = { kind = 'rms_norm', scope = 'head', affine = 'scalar', "
                    "heads_share = false }\nfinal = 'dyt'"),
            "N*kv + 1 + 2*d");
  EXPECT_EQ(formula("layers = [{ where = 'fraction(0, 0.5)', attention = { q = 'norm' } }]"),
            "none");
}

}  // namespace
}  // namespace evenkeel::config
