// SPDX-License-Identifier: Apache-2.0
// The catalogue: every scheme binds at every depth, and its numbers are the golden ones.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "config/scheme/scheme_of.h"
#include "evenkeel/base/file.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/initial_values.h"

namespace evenkeel::config {
namespace {

using nlohmann::json;

const json& golden() {
  static const json numbers = json::parse(read_file(EK_TESTS "/golden/schemes_counts.json"));
  return numbers;
}

norm::Shape golden_shape(const json& sizes, std::int64_t layers) {
  return {.layers = layers,
          .width = sizes["width"],
          .heads = sizes["heads"],
          .kv_heads = sizes["kv_heads"],
          .inner = sizes["inner"],
          .vocabulary = sizes["vocabulary"],
          .context = sizes["context"]};
}

norm::Scheme large(const std::string& name) {
  return bind(find_scheme(name), golden_shape(golden()["large"], golden()["large"]["layers"]));
}

TEST(Catalogue, HoldsEverySchemeWithGoldenNumbersInOrder) {
  std::vector<std::string> names;
  for (const auto& [name, numbers] : golden()["schemes"].items()) names.push_back(name);
  EXPECT_EQ(catalogue(), names);
  EXPECT_EQ(names.size(), 91u);
}

TEST(Catalogue, DescribesEveryScheme) {
  const std::set<std::string> families = {"reference points",
                                          "post",
                                          "pre",
                                          "kinds",
                                          "inside attention",
                                          "hybrid",
                                          "hybrid ablations",
                                          "output",
                                          "peri",
                                          "inside the branch",
                                          "depth-aware",
                                          "beyond the sum",
                                          "no norm",
                                          "parallel",
                                          "reparameterized",
                                          "two streams"};
  for (const auto& name : catalogue()) {
    const auto source = find_scheme(name);
    const auto info = scheme_info(source);
    EXPECT_EQ(info.name, name);
    for (const auto& word :
         {info.title, info.source, info.equation_attention, info.equation_feed_forward}) {
      EXPECT_NE(word, "") << name;
    }
    EXPECT_TRUE(families.contains(info.family)) << name << ": " << info.family;
    EXPECT_TRUE(table_of(source).contains("norm_parameters")) << name;
  }
}

TEST(Catalogue, BindsAtEveryDepthWithTheExpectedWarningsOnly) {
  const std::set<std::string> post = {"post_norm", "b2t", "span_norm"};  // warn when deep
  for (const auto& name : catalogue()) {
    for (const std::int64_t layers : {1, 2, 3, 4, 12, 32}) {
      const auto scheme = bind(find_scheme(name), tiny_shape(layers));
      auto expected = layers > 1 ? scheme.info.warnings : std::vector<std::string>();
      if (layers > 16 && post.contains(name)) expected.emplace_back("deep_post_norm");
      EXPECT_EQ(warnings(scheme), expected) << name << ", " << layers << " blocks";
    }
  }
}

TEST(Catalogue, HasTheGoldenCountsOfNormParameters) {
  for (const auto& [name, numbers] : golden()["schemes"].items()) {
    const auto small = bind(find_scheme(name), golden_shape(golden()["small"], numbers["layers"]));
    EXPECT_EQ(norm::norm_parameter_count(small), numbers["small"].get<std::int64_t>()) << name;
    EXPECT_EQ(norm::norm_parameter_count(large(name)), numbers["large"].get<std::int64_t>())
        << name;
  }
}

TEST(Catalogue, HasTheGoldenDistributionsAndFactorsOfInitialWeights) {
  for (const auto& [name, numbers] : golden()["schemes"].items()) {
    const auto scheme = large(name);
    EXPECT_EQ(scheme.base_init, numbers.value("base_init", "default")) << name;
    EXPECT_EQ(scheme.embedding_init, numbers.value("embedding_init", "default")) << name;
    for (const auto* const weights : norm::kBlockMatrices) {
      double factor = 1;
      for (const auto& rule : scheme.init) {
        const auto names = std::count(rule.weights.begin(), rule.weights.end(), weights);
        if (names > 0) factor *= rule.factor.value(scheme.shape.variables_of_block(5));
      }
      EXPECT_DOUBLE_EQ(factor,
                       numbers.value("/factors"_json_pointer, json::object()).value(weights, 1.0))
          << name << " " << weights;
    }
  }
}

/// blocks.3.attention.input_norm.gain -> blocks.*.attention.input_norm.gain
std::string in_every_block(const std::string& name) {
  const std::string blocks = "blocks.";
  if (!name.starts_with(blocks)) return name;
  return blocks + "*" + name.substr(name.find('.', blocks.size()));
}

// Every gain, bias, alpha, shift, beta and learned value, as it is stored.
TEST(Catalogue, HasTheGoldenInitialValues) {
  for (const auto& [name, numbers] : golden()["schemes"].items()) {
    const auto scheme = large(name);
    auto unseen = numbers.value("initial", json::object());
    const auto stated = unseen;
    for (const auto& [tensor, value] :
         norm::initial_values(scheme, {.done = 0, .planned = 10000})) {
      if (tensor.find(".running_") != std::string::npos) continue;
      const double usual = tensor.ends_with(".bias") ? 0 : 1;
      const double expected = stated.value(tensor, stated.value(in_every_block(tensor), usual));
      EXPECT_DOUBLE_EQ(value, expected) << name << " " << tensor;
      unseen.erase(tensor);
      unseen.erase(in_every_block(tensor));
    }
    EXPECT_EQ(unseen, json::object()) << name;
  }
}

// The same against the reference's own file, which is too large to stand here.
TEST(Catalogue, HasTheInitialValuesOfTheReference) {
  const char* const folder = std::getenv("EVENKEEL_GOLDEN");
  if (folder == nullptr) GTEST_SKIP() << "EVENKEEL_GOLDEN is not set: schemes/init.json not read";
  const auto file = json::parse(read_file(std::filesystem::path(folder) / "schemes/init.json"));
  EXPECT_EQ(file["schemes"].size(), 91u);
  for (const auto& [name, numbers] : file["schemes"].items()) {
    const auto scheme = large(name);
    EXPECT_EQ(norm::norm_parameter_count(scheme), numbers["norm_parameters"].get<std::int64_t>());
    const std::set<std::string> zeros = numbers["initial_zero"];
    const std::map<std::string, double> others = numbers["initial_not_one"];
    std::size_t met = 0;
    for (const auto& [tensor, value] :
         norm::initial_values(scheme, {.done = 0, .planned = 10000})) {
      if (tensor.find(".running_") != std::string::npos) continue;
      const auto other = others.find(tensor);
      const bool zero = zeros.contains(tensor);
      met += zero || other != others.end() ? 1 : 0;
      const double usual = zero || tensor.ends_with(".bias") ? 0 : 1;
      EXPECT_DOUBLE_EQ(value, other != others.end() ? other->second : usual) << name << tensor;
    }
    EXPECT_EQ(met, zeros.size() + others.size()) << name;
  }
}

TEST(Catalogue, GivesAFileAsItStands) {
  EXPECT_EQ(catalogue_source("peri_ln"), read_file(EK_TESTS "/../schemes/peri_ln.toml"));
}

TEST(Documentation, ShowsAnExampleThatBinds) {
  const auto page = read_file(EK_TESTS "/../docs/schemes.md");
  const std::string open = "```toml\n";
  const auto begin = page.find(open) + open.size();
  const auto example = page.substr(begin, page.find("```", begin) - begin);
  for (const std::int64_t layers : {1, 2, 12}) {
    EXPECT_EQ(warnings(scheme_of(example, layers)), std::vector<std::string>());
  }
}

TEST(Diagram, GroupsEqualBlocks) {
  EXPECT_EQ(norm::diagram(large("hybrid_norm_star")),
            "embedding     -\n"
            "block 1       attention     rms_norm -> q, k, v: rms_norm per head -> attention -> + "
            "stream\n"
            "              feed-forward  rms_norm -> feed-forward -> + stream\n"
            "blocks 2-12   attention     q, k, v: rms_norm per head -> attention -> + stream\n"
            "              feed-forward  rms_norm -> feed-forward -> + normed\n"
            "final         rms_norm\n"
            "logits        -\n"
            "start         base_init trunc_normal(1/sqrt(2.5*d), 3)\n"
            "start         attention.output, feed_forward.down times 1/sqrt(2*N)\n");
}

TEST(Diagram, ShowsLearnedNumbersAndInitialWeights) {
  EXPECT_EQ(norm::diagram(large("gpas")),
            "embedding     -\n"
            "blocks 1-12   attention     rms_norm -> attention -> + stream\n"
            "              feed-forward  rms_norm -> feed-forward -> + stream\n"
            "              damp          learned scalar from 0, through silu\n"
            "final         rms_norm\n"
            "logits        -\n"
            "start         base_init normal(0.02)\n"
            "start         embedding_init normal(sqrt(2/5))\n");
  const auto shows = [](const char* name, const std::string& part) {
    const auto diagram = norm::diagram(large(name));
    EXPECT_NE(diagram.find(part), std::string::npos) << part << "\n" << diagram;
  };
  shows("swin_v2", "attention, scores times (learned per_head from 10, through exp, at most 100)");
  shows("ngpt",
        "feed-forward, up and gate times (learned vector from sqrt(d), stored at 1) -> "
        "times (learned vector from 0.05, through abs, stored at 1/sqrt(d)) -> sphere");
  shows("ngpt", "\nhead          untied\n");
  shows("gemma2", "\nhead          tied\n");
  shows("geo_norm", "geodesic step from stream, angle times 1/l\n");
}

TEST(Diagram, ShowsScalesCapsAndTaps) {
  const auto* const toml = R"(embedding = { norm = 'norm', scale = 'sqrt(d)' }
                              logits.softcap = 30
                              [attention]
                              q = 'norm'
                              k = 'norm'
                              v = 'layer_norm'
                              context = 'norm per head'
                              softcap = 50
                              score_scale = 1
                              branch_scale = 0.1
                              [feed_forward]
                              residual = 'norm'
                              skip_scale = '1 + l'
                              skip = ['stream', 'block_input'])";
  EXPECT_EQ(
      norm::diagram(scheme_of(toml, 1)),
      "embedding     rms_norm -> times sqrt(d)\n"
      "block 1       attention     q, k: rms_norm -> v: layer_norm -> attention, scores times "
      "1, capped at 50 -> context: rms_norm per head -> times 0.1 -> + stream\n"
      "              feed-forward  feed-forward -> + (1 + l) * (stream + block_input) -> "
      "rms_norm\n"
      "final         -\n"
      "logits        capped at 30\n");
}

}  // namespace
}  // namespace evenkeel::config
