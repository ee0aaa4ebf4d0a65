// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tokenizer_files.h"

#include <gtest/gtest.h>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

TEST(TokenizerFiles, BytesAreABpeThatOurReaderTakes) {
  const TestFolder folder;
  for (const bool begins : {false, true}) {
    const auto own = byte_tokenizer_json(begins);
    EXPECT_TRUE(is_byte_tokenizer(own));
    folder.write("tokenizer.json", own);
    config::Data data;
    data.tokenizer = folder.path().string();
    const data::TextEncoding encoding(data);
    EXPECT_EQ(encoding.vocabulary(), 257);
    EXPECT_EQ(encoding.end_of_text(), 256U);
    std::string text;
    for (int byte = 1; byte < 0x80; ++byte) text += static_cast<char>(byte);
    text += "é😀\xED\x9F\xBF";
    const auto ids = encoding.encode(text);
    ASSERT_EQ(ids.size(), text.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(ids[i], static_cast<unsigned char>(text[i]));
    }
  }
  EXPECT_FALSE(is_byte_tokenizer("{}"));
}

TEST(TokenizerFiles, NameTheEndOfText) {
  config::Data data;
  data.begin = false;
  const auto files = tokenizer_files(data::TextEncoding(data), 64);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].second, byte_tokenizer_json(false));
  EXPECT_EQ(files[1].first, "tokenizer_config.json");
  EXPECT_NE(files[1].second.find("\"add_bos_token\": false"), std::string::npos);
  EXPECT_NE(files[1].second.find("\"model_max_length\": 64"), std::string::npos);
  EXPECT_NE(files[2].second.find("\"eos_token\": \"<|endoftext|>\""), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::convert
