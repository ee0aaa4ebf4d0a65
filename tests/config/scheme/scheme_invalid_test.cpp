// SPDX-License-Identifier: Apache-2.0
// Schemes without meaning: each error of docs/schemes.md at least once.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "config/scheme/scheme_of.h"
#include "evenkeel/base/file.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kinds.h"

namespace evenkeel::config {
namespace {

struct Invalid {
  const char* code;
  const char* toml;
};

const std::vector<Invalid> kInvalid = {
    {"normed_without_input", "feed_forward.skip = 'normed'"},
    {"normed_without_input", "attention.skip = ['stream', 'normed']"},
    {"normed_without_input", R"(feed_forward = { input = 'norm', skip = 'normed' }
                                layers = [{ where = 'last(1)', feed_forward.input = 'none' }])"},
    {"l2_without_score_scale", "attention = { input = 'norm', q = 'l2 per head' }"},
    {"l2_without_score_scale", "attention = { k = 'l2 per head', score_scale = '1/sqrt(dk)' }"},
    {"head_scope_outside_attention", "attention.input = 'norm per head'"},
    {"head_scope_outside_attention", "final = 'norm per head'"},
    {"head_scope_outside_attention", "feed_forward.hidden = { scope = 'head' }"},
    {"head_scope_outside_attention", "embedding.norm = 'layer_norm per head'"},
    {"leaky_statistics", "attention.input = 'batch_norm'"},
    {"leaky_statistics", "final = 'instance_norm'"},
    {"leaky_statistics", "norm = 'batch_renorm'\nfeed_forward.input = 'norm'"},
    {"update_with_residual_norm", "attention = { update = 'geodesic', residual = 'norm' }"},
    {"update_with_residual_norm", "feed_forward = { update = 'sphere', residual = 'norm' }"},
    {"shared_outside_parallel", "attention.input = 'norm'\nfeed_forward.input = 'shared'"},
    {"rule_in_parallel", "layout = 'parallel'\nfeed_forward = { input = 'norm', skip = 'normed' }"},
    {"rule_in_parallel", "layout = 'parallel'\nfeed_forward.skip_scale = 2"},
    {"rule_in_parallel", "layout = 'parallel'\nfeed_forward.residual = 'norm'"},
    {"rule_in_parallel", "layout = 'parallel'\nfeed_forward.update = 'sphere'"},
    {"rule_in_parallel", "layout = 'parallel'\nattention.update = 'geodesic'"},
    {"rule_in_parallel", "layout = 'parallel'\ndual = { read = 'x', output = 'x + norm(y)' }"},
    {"unknown_variable", "attention.skip_scale = 'sqrt(layers)'"},
    {"unknown_variable", "embedding.scale = '1/l'"},
    {"unknown_variable", "final = { out_scale = '1/sqrt(l)' }"},
    {"unknown_variable", "attention.skip_scale = '1/width'"},
    {"unknown_variable", "attention.input = { out_scale = '1/sqrt(depth)' }"},
    {"unknown_variable", "attention.input = { epsilon = '1e-5*t' }"},
    {"unknown_variable", "init = [{ weights = ['attention.output'], factor = '1/sqrt(2*L)' }]"},
    {"unknown_variable", "layers = [{ where = 'first(n)' }]"},
    {"unknown_variable", "layers = [{ where = 'first(t)' }]"},
    {"unknown_function", "attention.branch_scale = 'tanh(l)'"},
    {"bad_expression", "attention.branch_scale = '1/(2*N'"},
    {"bad_expression", "attention.branch_scale = '1/(l - 2)'"},
    {"bad_expression", "attention.branch_scale = '1/(t - 5)'"},
    {"bad_expression", "norm_parameters = '2 d'"},
    {"unknown_kind", "attention.input = 'rootnorm'"},
    {"unknown_kind", "norm = { kind = 'norm' }"},
    {"unknown_key", "finale = 'norm'"},
    {"unknown_key", "feed_forward.middle = 'norm'"},
    {"unknown_key", "feed_forward.score_scale = 1"},
    {"unknown_key", "attention.input = { kind = 'rms_norm', eps = 1e-6 }"},
    {"unknown_key", "attention.input = { kind = 'dyt', epsilon = 1e-6 }"},
    {"unknown_key", "embedding.rms = 'norm'"},
    {"unknown_key", "logits.cap = 30"},
    {"unknown_key", "equation.attn = 'y = x'"},
    {"unknown_key", "dual = { read = 'x', output = 'x + norm(y)', write = 1 }"},
    {"unknown_key", "hooks = [{ kind = 'qk_clip', threshold = 100, axis = 'in' }]"},
    {"unknown_key", "init = [{ weights = ['attention.q'], scale = 1 }]"},
    {"unknown_key", "reparameterize = [{ rule = 'weight_norm', weights = [], axis = 'in' }]"},
    {"unknown_key", "layers = [{ where = 'first(9)', attn = {} }]"},
    {"unknown_key", "layers = [{ where = 'first(0)', attention.inputs = 'norm' }]"},
    {"unknown_key", "attention.skip_scale = { learned = 'scalar', init = 1, decay = 0 }"},
    {"unknown_weights", "init = [{ weights = ['attention.qkv'], factor = 0.5 }]"},
    {"unknown_weights", "init = [{ weights = ['embedding'], factor = 0.5 }]"},
    {"unknown_weights", "hooks = [{ kind = 'unit_norm', weights = ['heads'], axis = 'in' }]"},
    {"unknown_weights", "reparameterize = [{ rule = 'weight_norm', weights = ['q'] }]"},
    {"bad_value", "attention.q = { kind = 'rms_norm', scope = 'heads' }"},
    {"bad_value", "layout = 'sideways'"},
    {"bad_value", "head = 'bound'"},
    {"bad_value", "norm = 'none'"},
    {"bad_value", "norm = 7"},
    {"bad_value", "title = 7"},
    {"bad_value", "attention = 'norm'"},
    {"bad_value", "warnings = ['bare_values']"},
    {"bad_value", "attention.input = { epsilon = 0 }"},
    {"bad_value", "attention.input = { partial = 1.5 }"},
    {"bad_value", "attention.q = { heads_share = 'no' }"},
    {"bad_value", "attention.input = { stored_at = 0 }"},
    {"bad_value", "attention.softcap = 0"},
    {"bad_value", "attention.skip_scale = true"},
    {"bad_value", "attention.skip_scale = inf"},
    {"bad_value", "attention.skip_scale = { learned = 'scalar' }"},
    {"bad_value", "attention.skip_scale = { init = 1 }"},
    {"bad_value", "attention.skip_scale = { learned = 'per_head', init = 1 }"},
    {"bad_value", "attention.skip_scale = { learned = 'scalar', init = 0, through = 'exp' }"},
    {"bad_value", "dual = { read = 'y', output = 'x + norm(y)' }"},
    {"bad_value", "dual.output = 'x + norm(y)'"},
    {"bad_value", "norm = 'group_norm'\nfinal = 'norm'"},
    {"bad_value", "final = { kind = 'group_norm', groups = 3 }"},
    {"bad_value", "base_init = 'gauss(0.02)'"},
    {"bad_value", "init = { weights = [], factor = 1 }"},
    {"bad_value", "init = [{ weights = ['attention.q'] }]"},
    {"bad_value", "hooks = [{ kind = 'unit_norm', weights = ['head'], axis = 'rows' }]"},
    {"bad_value", "hooks = [{ kind = 'clip' }]"},
    {"bad_value", "hooks = [{ kind = 'profile' }]"},
    {"bad_value", R"(reparameterize = [{ rule = 'weight_norm', weights = ['attention.q'] },
                                       { rule = 'sigma_reparam', weights = ['attention.q'] }])"},
    {"unknown_key", "norm = { kind = 'batch_norm', epsilon_at = 'outside' }"},
    {"bad_value", R"(hooks = [{ kind = 'profile' }]
                     attention.skip_scale = { learned = 'vector', init = 1, through = 'exp' }
                     feed_forward.skip_scale = { learned = 'vector', init = 1 })"},
    {"bad_skip", "attention.skip = 'residual'"},
    {"bad_skip", "attention.skip = []"},
    {"bad_skip", "attention.skip = 1"},
    {"bad_update", "attention.update = 'multiply'"},
    {"bad_where", "layers = [{ where = 'middle(2)', attention.input = 'norm' }]"},
    {"bad_where", "layers = [{ where = 'first(1, 2)' }]"},
    {"bad_where", "layers = [{ where = 'every(0)' }]"},
    {"bad_where", "layers = [{ where = [0, 1] }]"},
    {"bad_where", "layers = [{ where = 1 }]"},
    {"bad_where", "layers = [{ attention.input = 'norm' }]"},
    {"unknown_parent", "extends = 'no_such_scheme'"},
    {"norm_parameters", "extends = 'pre_norm'\nnorm_parameters = '2*N*d'"},
};

TEST(InvalidScheme, IsRefusedWithTheCodeOfTheBrokenRule) {
  for (const auto& [code, toml] : kInvalid) EXPECT_EQ(refused_by(toml), code) << toml;
}

TEST(InvalidScheme, HasEveryCodeInTheDocumentation) {
  const auto page = read_file(EK_TESTS "/../docs/schemes.md");
  for (const auto& invalid : kInvalid) {
    EXPECT_NE(page.find(text("`", invalid.code, "`")), std::string::npos) << invalid.code;
  }
}

/// The codes in the first column of the table under "## Errors" of docs/schemes.md.
std::set<std::string> documented_codes() {
  const auto page = read_file(EK_TESTS "/../docs/schemes.md");
  const auto begin = page.find("\n## Errors\n");
  const auto end = page.find("\n## ", begin + 1);
  EXPECT_NE(end, std::string::npos);
  if (end == std::string::npos) return {};
  const auto section = page.substr(begin, end - begin);
  const std::regex code("`([a-z0-9_]+)`");
  std::set<std::string> codes;
  for (auto row = section.find("\n| `"); row != std::string::npos;
       row = section.find("\n| `", row + 1)) {
    const auto cell = section.substr(row + 2, section.find(" | ", row + 2) - row - 2);
    for (std::sregex_iterator each(cell.begin(), cell.end(), code), last; each != last; ++each) {
      codes.insert((*each)[1].str());
    }
  }
  return codes;
}

TEST(InvalidScheme, HasTheCodesOfTheErrorsInTheDocumentationAndNoOthers) {
  // scheme_find_test.cpp has files that extend each other.
  std::set<std::string> refusing = {"extends_cycle"};
  for (const auto& invalid : kInvalid) refusing.insert(invalid.code);
  EXPECT_EQ(documented_codes(), refusing);
}

TEST(InvalidScheme, IsRefusedByTheErrorsOfTheUser) {
  try {
    scheme_of("finale = 'norm'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
  }
}

TEST(InvalidScheme, NamesTheNearestKind) {
  std::set<std::string> words = {"none", "norm"};
  for (const auto& kind : norm::kinds()) words.insert(kind.name);
  std::string known;
  for (const auto& word : words) known = norm::joined(known, word, ", ");
  EXPECT_EQ(refusal("attention.input = 'rmsnorm'"),
            "scheme inline, attention.input: unknown_kind: no norm kind is named \"rmsnorm\"; did "
            "you mean \"rms_norm\"? known: " +
                known);
}

TEST(InvalidScheme, NamesTheNearestKey) {
  EXPECT_EQ(refusal("norm = { kind = 'dyt', alpha = 0.5 }"),
            "scheme inline, norm: unknown_key: there is no key \"alpha\" here; did you mean "
            "\"alpha_init\"? known: affine, "
            "alpha_init, gain_form, gain_init, heads_share, kind, out_scale, pre_scale, rope, "
            "scope, stored_at");
  EXPECT_EQ(refusal("layout = 'paralel'"),
            "scheme inline, layout: bad_value: \"paralel\" is not among the choices; did you mean "
            "\"parallel\"? known: parallel, sequential");
}

TEST(InvalidScheme, SaysInWhichBlockATapHasNoNorm) {
  EXPECT_EQ(refusal(R"(extends = 'hybrid_norm'
                       layers = [{ where = 'last(1)', feed_forward.input = 'none' }])"),
            "scheme hybrid_norm+own, block 4, feed_forward.skip: normed_without_input: \"normed\" "
            "is what "
            "the input norm gives, but feed_forward.input is empty here; fill it, or take "
            "\"stream\"");
}

TEST(InvalidScheme, SaysHowToAskForStatisticsOverOtherTokens) {
  EXPECT_EQ(refusal("extends = 'pre_norm'\nnorm = 'batch_norm'"),
            "scheme pre_norm+batch_norm, block 1, attention.input: leaky_statistics: a batch_norm "
            "makes a token depend on other tokens, also later ones; if that is intended, write { "
            "kind = \"batch_norm\", "
            "allow_leakage = true }");
  EXPECT_EQ(refusal("extends = 'pre_norm'\nnorm = { kind = 'batch_norm', allow_leakage = true }"),
            "accepted");
}

TEST(InvalidScheme, SaysBothCountsOfNormParameters) {
  EXPECT_EQ(
      refusal("extends = 'pre_norm'\nnorm_parameters = '2*N*d'"),
      "scheme pre_norm+own, norm_parameters: norm_parameters: the norms have 144 parameters, but "
      "\"2*N*d\" gives 128; a scheme that changes its parent's count states its own formula");
}

TEST(InvalidScheme, SaysWhatWasFoundInPlaceOfANumber) {
  EXPECT_EQ(refusal("attention.softcap = true"),
            "scheme inline, attention.softcap: bad_value: wanted a number or an expression in "
            "quotes, but found true");
  EXPECT_EQ(refusal("attention.softcap = '8 - 2*N'"),
            "scheme inline, block 1, attention.softcap: bad_value: must be > 0, but 8 - 2*N is 0");
  EXPECT_EQ(refusal("attention.softcap = '3 - t'"),
            "scheme inline, block 1, attention.softcap: bad_value: must be > 0, but 3 - t is -997 "
            "at t = 1000");
}

TEST(InvalidScheme, SaysWhatWasFoundInPlaceOfATapAnUpdateAndAPlace) {
  EXPECT_EQ(refusal("attention.skip = 'residual'"),
            "scheme inline, attention.skip: bad_skip: wanted stream, normed or block_input, but "
            "found the string \"residual\"");
  EXPECT_EQ(refusal("attention.update = 'multiply'"),
            "scheme inline, attention.update: bad_update: wanted add, sphere or geodesic, but "
            "found the string \"multiply\"");
  EXPECT_EQ(refusal("layers = [{ where = 'middle(2)' }]"),
            "scheme inline, layers[0].where: bad_where: wanted first(n), last(n), fraction(a, b), "
            "every(k), every(k, offset) with k >= 1, or a list of block numbers from 1, but found "
            "the string \"middle(2)\"");
}

}  // namespace
}  // namespace evenkeel::config
