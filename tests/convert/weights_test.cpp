// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

std::vector<float> copied(const Weights& weights, const OutputTensor& tensor) {
  std::string bytes;
  weights.copy(tensor, [&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  });
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Weights, SlicesAreCopiedInOrderAndScaled) {
  const TestFolder folder;
  folder.write_tensors("a.safetensors", {{"x", {2, 3}}, {"y", {2}}});
  Weights weights;
  weights.add(store::SafetensorsStream(folder.path() / "a.safetensors"));
  OutputTensor tensor = {.name = "z", .shape = {4}, .slices = {{"x", 4, 2}, {"y", 0, 2}}};
  EXPECT_EQ(copied(weights, tensor), (std::vector<float>{4, 5, 0, 1}));
  tensor.factor = 2;
  tensor.offset = -1;
  EXPECT_EQ(copied(weights, tensor), (std::vector<float>{7, 9, -1, 1}));
  tensor.slices = {{"", 0, 4}};
  EXPECT_EQ(copied(weights, tensor), (std::vector<float>{-1, -1, -1, -1}));
}

TEST(Weights, ATensorOfSeveralFilesIsTheirMean) {
  const TestFolder folder;
  Weights weights;
  for (const float factor : {1.0F, 2.0F, 6.0F}) {
    folder.write_tensors("a.safetensors", {{"x", {3}}}, factor);
    weights.add(store::SafetensorsStream(folder.path() / "a.safetensors"));
    std::filesystem::remove(folder.path() / "a.safetensors");  // the open file stays
  }
  EXPECT_EQ(copied(weights, {.name = "x", .shape = {3}, .slices = {{"x", 0, 3}}}),
            (std::vector<float>{0, 3, 6}));
}

TEST(Weights, AreEqualInShapeAndEachValue) {
  constexpr std::int64_t kMany = 70000;  // more than a part
  const TestFolder folder;
  folder.write_tensors("a.safetensors", {{"a", {kMany}}, {"b", {kMany}}, {"c", {2, kMany / 2}}});
  folder.write_tensors("b.safetensors", {{"d", {kMany}}}, 2);
  Weights weights;
  for (const auto* const name : {"a.safetensors", "b.safetensors"}) {
    weights.add(store::SafetensorsStream(folder.path() / name));
  }
  int parts = 0;
  EXPECT_TRUE(weights.are_equal("a", "b", [&] { ++parts; }));
  EXPECT_EQ(parts, 2);
  EXPECT_FALSE(weights.are_equal("a", "c", [] {}));
  EXPECT_FALSE(weights.are_equal("a", "d", [] {}));
}

TEST(Weights, RefuseOtherShapesAndIntegers) {
  const TestFolder folder;
  folder.write_tensors("a.safetensors", {{"x", {3}}});
  folder.write_tensors("b.safetensors", {{"x", {4}}});
  const std::int64_t number = 1;
  store::write_safetensors(folder.path() / "c.safetensors",
                           {{"n", store::Dtype::i64, {1}, &number}});
  Weights weights;
  weights.add(store::SafetensorsStream(folder.path() / "a.safetensors"));
  const auto add = [&](const char* name) {
    return message_of([&] { weights.add(store::SafetensorsStream(folder.path() / name)); });
  };
  const auto place = folder.path().string();
  EXPECT_EQ(add("b.safetensors"), place + "/b.safetensors: tensor \"x\" must be [3], as in " +
                                      place + "/a.safetensors, but is [4]");
  EXPECT_EQ(add("c.safetensors"), place +
                                      "/c.safetensors: tensor \"n\" must be F64, F32, BF16 or "
                                      "F16, but is I64");
}

TEST(Weights, AStreamRefusesWhatTheReaderRefuses) {
  const TestFolder folder;
  folder.write("short.safetensors", "1234");
  folder.write("text.safetensors", "not a model at all");
  folder.write_tensors("a.safetensors", {{"x", {3}}});
  std::filesystem::resize_file(folder.path() / "a.safetensors",
                               std::filesystem::file_size(folder.path() / "a.safetensors") - 1);
  for (const auto* const name : {"short.safetensors", "text.safetensors", "a.safetensors"}) {
    const auto path = folder.path() / name;
    const auto streamed = message_of([&] { store::SafetensorsStream stream(path); });
    EXPECT_NE(streamed, "");
    EXPECT_EQ(streamed, message_of([&] { store::Safetensors::read(path); }));
  }
}

}  // namespace
}  // namespace evenkeel::convert
