// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/peer_setup.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/data/corpus.h"

namespace evenkeel::bench {
namespace {

nlohmann::ordered_json setup_of(const std::string& scheme) {
  const auto config = config::resolve({.preset = "tiny", .scheme = scheme});
  const auto shape = config::shape_of(config, data::kByteVocabulary);
  return peer_setup(config, config::bind(config.scheme, shape), {.threads = 3});
}

TEST(PeerSetup, NamesTheNormsOfEachBlock) {
  const auto setup = setup_of("hybrid_norm_star");
  EXPECT_EQ(setup.at("outside_blocks").dump(), R"({"final":1e-05})");
  EXPECT_EQ(setup.at("blocks")[0].dump(),
            R"({"attention.input":1e-05,"attention.q":1e-05,"attention.k":1e-05,)"
            R"("attention.v":1e-05,"feed_forward.input":1e-05})");
  EXPECT_EQ(setup.at("blocks")[1].dump(),
            R"({"feed_forward.skip":0,"attention.q":1e-05,"attention.k":1e-05,)"
            R"("attention.v":1e-05,"feed_forward.input":1e-05})");
  EXPECT_EQ(setup.at("blocks").size(), 4U);
  EXPECT_EQ(setup.at("threads"), 3);
}

TEST(PeerSetup, RefusesWhatTheScriptDoesNotKnow) {
  const auto refused = [](const std::string& scheme) {
    try {
      setup_of(scheme);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      const std::string what = error.what();
      return what.substr(0, what.find(", which"));
    }
    return std::string("no error");
  };
  EXPECT_EQ(refused("pre_norm"), "no error");
  EXPECT_EQ(refused("post_norm"), "no error");
  EXPECT_EQ(refused("pre_norm_layer_norm"),
            "bench peers: scheme pre_norm_layer_norm has a layer_norm at attention.input");
  EXPECT_EQ(refused("ngpt"),
            "bench peers: scheme ngpt has a residual connection other than a plain sum");
  EXPECT_EQ(refused("peri_ln"), "bench peers: scheme peri_ln has a rms_norm at attention.output");
  EXPECT_EQ(refused("parallel"),
            "bench peers: scheme parallel has a layout other than attention, then feed-forward");
}

}  // namespace
}  // namespace evenkeel::bench
