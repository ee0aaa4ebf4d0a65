// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/hf_folder.h"

#include <gtest/gtest.h>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

TEST(HfFolder, ShardsMustAgreeWithTheIndex) {
  const TestFolder folder;
  const auto place = folder.path().string();
  const std::string index = place + "/model.safetensors.index.json";
  folder.write_tensors("a.safetensors", {{"x", {3}}, {"y", {2}}});
  folder.write_tensors("b.safetensors", {{"z", {1}}});
  const auto opened = [&](const std::string& map) {
    folder.write("model.safetensors.index.json", "{\"weight_map\": " + map + "}");
    return message_of([&] { open_hf_weights(folder.path()); });
  };
  EXPECT_EQ(opened(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})"), "");
  EXPECT_EQ(opened(R"({"x": "a.safetensors"})"),
            place +
                "/a.safetensors: has tensor \"y\", but model.safetensors.index.json does not "
                "name it");
  EXPECT_EQ(opened(R"({"x": "a.safetensors", "y": "b.safetensors"})"),
            place +
                "/a.safetensors: has tensor \"y\", but model.safetensors.index.json puts it in "
                "b.safetensors");
  EXPECT_EQ(opened(R"({"x": "a.safetensors", "y": "a.safetensors", "w": "a.safetensors"})"),
            place +
                "/a.safetensors: must hold tensor \"w\", as model.safetensors.index.json says, "
                "but does not");
  EXPECT_EQ(opened(R"({"x": "c.safetensors"})"),
            place + "/c.safetensors: is missing, but model.safetensors.index.json names it");
  EXPECT_EQ(opened(R"({"x": "../a.safetensors"})"),
            index + ": weight_map of \"x\" must be a file name, but is \"../a.safetensors\"");
  EXPECT_EQ(opened("{}"), index + ": weight_map must name the file of each tensor, but does not");
  EXPECT_EQ(opened("[["), index + ": must be JSON, but is not at column 18");
}

TEST(HfFolder, MayHaveOneFile) {
  const TestFolder folder;
  EXPECT_EQ(message_of([&] { open_hf_weights(folder.path()); }),
            folder.path().string() +
                ": has neither model.safetensors nor "
                "model.safetensors.index.json; convert the weights to "
                "safetensors");
  folder.write_tensors("model.safetensors", {{"x", {3}}});
  EXPECT_EQ(open_hf_weights(folder.path()).shapes().size(), 1U);
}

TEST(HfFolder, ConfigIsReadByType) {
  const TestFolder folder;
  const auto path = folder.path().string() + "/config.json";
  EXPECT_EQ(message_of([&] { HfConfig config(folder.path()); }),
            folder.path().string() + ": has no config.json, so it is no Hugging Face model");
  folder.write("config.json", R"({"a": 1.5, "b": "x", "c": null, "d": 18446744073709551615})");
  const HfConfig config(folder.path());
  EXPECT_EQ(config.number("a"), 1.5);
  EXPECT_EQ(config.integer("c", 3), 3);
  EXPECT_EQ(message_of([&] { config.integer("a"); }), path + ": a must be an integer, but is 1.5");
  EXPECT_EQ(message_of([&] { config.integer("d"); }),
            path + ": d must be an integer, but is 18446744073709551615");
  EXPECT_EQ(message_of([&] { config.flag("b", true); }),
            path + ": b must be true or false, but is \"x\"");
  EXPECT_EQ(message_of([&] { config.string("c"); }), path + ": has no c");
  folder.write("config.json", std::string(100, '[') + std::string(100, ']'));
  EXPECT_NE(message_of([&] { HfConfig deep(folder.path()); }), "");
  folder.write("config.json", "[]");
  EXPECT_EQ(message_of([&] { HfConfig list(folder.path()); }),
            path + ": must be a JSON object, but is not");
}

}  // namespace
}  // namespace evenkeel::convert
