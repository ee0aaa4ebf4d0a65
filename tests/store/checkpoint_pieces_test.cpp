// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint_pieces.h"

#include <gtest/gtest.h>

#include <numeric>

#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/lock.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

/// The values 0, 1, 2, ... of a tensor [4, 3].
std::array<float, 12> counted() {
  std::array<float, 12> values{};
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

/// A checkpoint of two shards: tensor "w" is cut at value `cut`, "a" is in the first piece, "b" in
/// the second one.
CheckpointContent content_in_pieces(std::int64_t cut = 5, std::int64_t begin_of_second = 5) {
  static const auto kValues = counted();
  static const std::array<double, 1> kScalar = {0.25};
  const auto first = static_cast<std::size_t>(begin_of_second);
  CheckpointContent content;
  content.step = 7;
  content.state = {{"mark", 3}};
  for (const auto stem : {kModelStem, kOptimizerStem}) {
    content.pieces.push_back(
        {piece_name(stem, 0, 2),
         {{"w", Dtype::f32, {cut}, kValues.data()}, {"a", Dtype::f64, {1}, kScalar.data()}},
         {{"w", range_text({.begin = 0, .end = cut, .shape = {4, 3}})}}});
    content.pieces.push_back(
        {piece_name(stem, 1, 2),
         {{"w", Dtype::f32, {12 - begin_of_second}, kValues.data() + first},
          {"b", Dtype::f32, {2, 2}, kValues.data()}},
         {{"w", range_text({.begin = begin_of_second, .end = 12, .shape = {4, 3}})}}});
  }
  return content;
}

class CheckpointPieces : public ::testing::Test {
 protected:
  std::filesystem::path run_ = fresh_folder();
  Lock lock_{run_};
};

TEST_F(CheckpointPieces, AreJoined) {
  save_checkpoint(lock_, content_in_pieces(), 2);
  const auto found = newest_checkpoint(run_).found;
  ASSERT_TRUE(found);
  EXPECT_EQ(tensor_files(found->manifest.at("files"), kModelStem),
            (std::vector<std::string>{"model-00001-of-00002.safetensors",
                                      "model-00002-of-00002.safetensors"}));
  const auto file = open_tensors(*found, kModelStem);
  EXPECT_EQ(file.entries().size(), 3U);
  const auto& w = file.entries().at("w");
  EXPECT_EQ(w.shape, (std::vector<std::int64_t>{4, 3}));
  std::array<float, 12> joined{};
  file.read(w, 0, joined.data(), sizeof joined);
  EXPECT_EQ(joined, counted());
  EXPECT_EQ(file.entries().at("a").dtype, Dtype::f64);
  EXPECT_EQ(file.entries().at("b").shape, (std::vector<std::int64_t>{2, 2}));
}

TEST_F(CheckpointPieces, AreReadAcrossTheirBorders) {
  save_checkpoint(lock_, content_in_pieces(), 2);
  const auto stream = open_tensors(*newest_checkpoint(run_).found, kOptimizerStem);
  std::array<float, 4> middle{};
  stream.read(stream.entries().at("w"), 3 * sizeof(float), middle.data(), sizeof middle);
  EXPECT_EQ(middle, (std::array<float, 4>{3, 4, 5, 6}));
}

TEST_F(CheckpointPieces, MustBeWholeTensors) {
  save_checkpoint(lock_, content_in_pieces(5, 6), 2);
  const auto found = newest_checkpoint(run_).found;
  ASSERT_TRUE(found);
  EXPECT_EQ(error_of([&] { open_tensors(*found, kModelStem); }),
            text("65 ", (found->folder.path() / "model-00002-of-00002.safetensors").string(),
                 ": the pieces of tensor \"w\" must be a whole tensor, but are not"));
}

TEST_F(CheckpointPieces, AreAllNeeded) {
  save_checkpoint(lock_, content_in_pieces(), 2);
  std::filesystem::remove(run_ / "checkpoints/step-00000007/optimizer-00002-of-00002.safetensors");
  const auto search = newest_checkpoint(run_);
  EXPECT_FALSE(search.found);
  EXPECT_EQ(search.skipped, std::vector<std::string>{
                                "checkpoints/step-00000007: optimizer-00002-of-00002.safetensors "
                                "is missing; skipped"});
}

TEST(PieceName, CountsFromOne) {
  EXPECT_EQ(piece_name("model", 2, 8), "model-00003-of-00008.safetensors");
}

TEST(TensorFiles, AreNoneIfAPieceIsMissing) {
  nlohmann::json files;
  files["model-00001-of-00002.safetensors"] = {};
  EXPECT_TRUE(tensor_files(files, "model").empty());
  files["model-00002-of-00002.safetensors"] = {};
  EXPECT_EQ(tensor_files(files, "model").size(), 2U);
  EXPECT_TRUE(tensor_files(files, "optimizer").empty());
}

TEST(TensorRange, IsOneText) {
  const TensorRange range{.begin = 3, .end = 9, .shape = {4, 3}};
  EXPECT_EQ(range_text(range), "3 9 4 3");
  EXPECT_EQ(parse_range("3 9 4 3")->shape, range.shape);
  for (const char* const wrong : {"", "3", "9 3 4 3", "-1 3 4", "3 9 4 x", " 3 9 4", "3 9 4 3 "}) {
    EXPECT_FALSE(parse_range(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace evenkeel::store
