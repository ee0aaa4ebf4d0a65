// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/block_reader.h"

#include "data/temporary_folder.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::data {
namespace {

constexpr std::size_t kPiece = 4096;  // bytes

class BlockReaderFiles : public TemporaryFolder {
 protected:
  std::string lines() const {
    std::string out;
    for (int i = 0; out.size() < 3 * kPiece; ++i) out += text("The ship sees line ", i, ".\n");
    return out;
  }
  TextBlock block_of(const std::vector<TextFile>& files) const {
    TextBlock block;
    BlockReader reader(files, "text", tokenizer::LineCut::unknown, kPiece);
    while (reader.read(block)) {
    }
    return block;
  }
};

TEST_F(BlockReaderFiles, SayWhichPiecesContinueADocument) {
  const auto files = find_text_files({file("a.txt", "\xef\xbb\xbf" + lines())}, {}).files;
  const auto block = block_of(files);
  ASSERT_GE(block.parts.size(), 4U);
  EXPECT_EQ(block.parts.back().form, TextBlock::Form::end_of_file);
  for (std::size_t i = 0; i + 1 < block.parts.size(); ++i) {
    EXPECT_EQ(block.parts[i].continues, i > 0) << i;
    EXPECT_EQ(block.parts[i].is_end, i + 2 == block.parts.size()) << i;
  }
}

// A prefix belongs to the text, not to each of its pieces.
TEST_F(BlockReaderFiles, GivePiecesWithTheIdsOfTheWhole) {
  const auto files = find_text_files({file("a.txt", lines())}, {}).files;
  const auto block = block_of(files);
  for (const auto* name :
       {"llama2.json", "metaspace.json", "prefix.json", "words.json", "sentencepiece.model"}) {
    const auto loaded = tokenizer::Tokenizer::load(text(EK_TESTS, "/golden/tokenizers/", name));
    tokenizer::Encoder encoder(loaded);
    std::vector<TokenId> whole, pieces;
    encoder.encode(lines(), whole);
    for (const auto& part : block.parts) {
      if (part.form == TextBlock::Form::end_of_file) continue;
      encoder.encode(block.view(part), pieces, part.continues);
    }
    EXPECT_TRUE(pieces == whole) << name;
  }
}

}  // namespace
}  // namespace evenkeel::data
