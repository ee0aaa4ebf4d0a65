// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_corpus.h"

#include <cstdlib>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

using Ids = std::vector<std::int64_t>;

class TokenCorpus : public TemporaryFolder {
 protected:
  std::string ids_file(const std::string& name, const std::vector<std::uint16_t>& ids) {
    return file(name, bytes_of(ids));
  }
};

TEST_F(TokenCorpus, IsSplitAtTheLastEndOfTextBeforeTheCut) {
  const auto a = ids_file("a.bin", {5, 6, 99, 7, 8, 99, 1, 2, 3, 4});
  const auto corpora =
      load_corpora({.train = {a}, .validation_fraction = 0.3, .end_of_text = "99"}, 2, 100);
  const auto& train = corpora.train.front().corpus;
  const auto& validation = corpora.validation.front().corpus;
  EXPECT_EQ(train.tokens.range(0, 6), (Ids{5, 6, 99, 7, 8, 99}));
  EXPECT_EQ(validation.tokens.range(0, 4), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(train.description, a + " (1 token file, tokens, uint16), 6 tokens");
  EXPECT_EQ(validation.description,
            "the last 40 % of " + a + " (1 token file, tokens, uint16), 4 tokens");
}

TEST_F(TokenCorpus, IsSplitInADocumentWhoseBeginningIsFar) {
  std::vector<std::uint16_t> ids(100, 7);
  ids[0] = 99;  // as llm.c writes it, before the document
  const auto a = ids_file("a.bin", ids);
  const config::Data data = {.train = {a}, .validation_fraction = 0.1, .end_of_text = "99"};
  const auto corpora = load_corpora(data, 2, 100);
  EXPECT_EQ(corpora.train.front().corpus.tokens.size(), 90);
  EXPECT_EQ(corpora.validation.front().corpus.tokens.size(), 10);
}

TEST_F(TokenCorpus, OfAPatternIsTheTokenFilesAmongItsMatches) {
  const auto folder = std::filesystem::path(ids_file("part-1.bin", {1, 2})).parent_path();
  ids_file("part-2.bin", {3, 4});
  const std::string pattern = folder / "part-*";
  const auto corpus =
      load_corpora({.train = {pattern}, .validation = {pattern}}, 2, 300).train.front().corpus;
  EXPECT_EQ(corpus.tokens.range(0, 4), (Ids{1, 2, 3, 4}));
  EXPECT_FALSE(are_token_files({folder / "none-*"}, {}));
}

TEST_F(TokenCorpus, IsFoundInTheHomeFolder) {
  const auto folder = std::filesystem::path(ids_file("a.bin", {1, 2})).parent_path();
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ::setenv("HOME", folder.parent_path().c_str(), /*replace=*/1);
  const auto home = "~/" + folder.filename().string();
  EXPECT_TRUE(are_token_files({home}, {}));
  file("a.txt", "a text");
  EXPECT_NE(refusal([&] { refuse_mixed_folder(home, {}); }), "no refusal");
  ::setenv("HOME", before.c_str(), /*replace=*/1);
}

// The files of a trained model may be gone, or be named from another folder.
TEST_F(TokenCorpus, IsKnownByTheRecordOfTheRun) {
  const auto a = ids_file("a.bin", {1, 2, 300});
  const config::Data here = {.train = {a}}, gone = {.train = {path("gone")}};
  const auto record = record_of(training_of(here, TextEncoding(here), 301));
  const auto known = trained_on({{"data", record}});
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->token_files);
  EXPECT_FALSE(known->knows_tokenizer);
  const TextEncoding encoding(gone, known);
  EXPECT_FALSE(encoding.prompt_begins_with_end_of_text());
  EXPECT_TRUE(is_tokenizer_unknown(gone, encoding, 301));
  EXPECT_TRUE(TextEncoding(gone).prompt_begins_with_end_of_text());
  EXPECT_FALSE(trained_on({{"data", {{"train", "text"}}}}));
}

TEST_F(TokenCorpus, OfTheOrderOfOlmoNeedsAFileOfOneChunk) {
  const auto a = ids_file("a.npy", {1, 2, 3}), b = ids_file("b.npy", {4, 5, 6, 7});
  const config::Data data = {.train = {a, b}, .validation = {a}, .order = "olmo"};
  EXPECT_EQ(load_corpora(data, 4, 257).train.size(), 1U);
  EXPECT_EQ(refusal([&] { load_corpora(data, 5, 257); }),
            "data.train: a file must have a chunk of model.context = 5 tokens with data.order = "
            "\"olmo\", but the longest has 4; lower model.context or set another order");
}

/// The refusal of shards by a tokenizer.json. \param change  of the one that made them
template <typename Change>
std::string refusal_by(const std::string& shards, const std::string& tokenizer,
                       const Change& change) {
  auto content = parse_json(read_file(text(EK_TESTS, "/golden/tokenizers/gpt2.json")));
  change(content);
  write_file(tokenizer, content.dump());
  const config::Data data = {.train = {shards}, .tokenizer = tokenizer};
  return refusal([&] { check_ids_are_known(data.train, TextEncoding(data), false); });
}

// The tokenizer.json of an exported model has another post-processor and other white space.
TEST_F(TokenCorpus, IsThatOfEachTokenizerThatGivesItsIds) {
  const auto own = tokenizer::Tokenizer::load(text(EK_TESTS, "/golden/tokenizers/gpt2.json"));
  const auto shards = path("shards"), other = path("tokenizer.json");
  TokenWriter writer({.folder = shards,
                      .vocabulary = own.vocabulary(),
                      .tokenizer = own.digest(),
                      .tokenizer_encoding = own.encoding_digest()});
  writer.append(std::vector<std::uint32_t>{1, 2, 3});
  writer.finish();
  const auto refused = shards +
                       ": the tokens were made with another tokenizer than data.tokenizer; name "
                       "that tokenizer, or tokenize the text again";
  const auto begin = [](nlohmann::json& content) {
    content["post_processor"] = {{"type", "ByteLevel"}};
  };
  const auto merge = [](nlohmann::json& content) { content["model"]["merges"].erase(0); };
  EXPECT_EQ(refusal_by(shards, other, begin), "no refusal");
  EXPECT_EQ(refusal_by(shards, other, merge), refused);
  auto manifest = read_shard_manifest(shards);
  manifest.tokenizer_encoding = "";  // as earlier versions wrote it
  std::filesystem::remove(path("shards/manifest.json"));
  write_shard_manifest(shards, manifest);
  EXPECT_EQ(refusal_by(shards, other, begin), refused);
  EXPECT_EQ(refusal([&] {
              const config::Data data = {.train = {shards}, .tokenizer = own.path()};
              check_ids_are_known(data.train, TextEncoding(data), false);
            }),
            "no refusal");
}

TEST_F(TokenCorpus, OfAFolderIsTheFilesInTheOrderOfTheirNames) {
  ids_file("b.bin", {3, 4});
  ids_file("a.bin", {1, 2});
  const auto folder = std::filesystem::path(file("note.png", "no tokens")).parent_path().string();
  const auto corpus =
      load_corpora({.train = {folder}, .validation = {folder}}, 2, 300).train.front().corpus;
  EXPECT_EQ(corpus.tokens.range(0, 4), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(corpus.tokens.files().size(), 2U);
}

TEST_F(TokenCorpus, HasNoKnownTextWithoutATokenizer) {
  const auto a = ids_file("a.bin", {1, 2, 3});
  const auto known = [&](std::int64_t vocabulary) {
    return load_corpora({.train = {a}, .validation = {a}}, 2, vocabulary).train.front().corpus;
  };
  EXPECT_EQ(known(50304).token_lengths, nullptr);
  EXPECT_EQ(known(50304).end_of_text, std::nullopt);
  EXPECT_NE(known(257).token_lengths, nullptr);
  EXPECT_EQ(known(257).end_of_text, kEndOfText);
}

TEST_F(TokenCorpus, MayHaveFewerIdsThanBytesWithoutATokenizer) {
  const auto a = ids_file("a.bin", {1, 2, 64});
  const auto corpus = load_corpora({.train = {a}, .validation = {a}}, 2, 65).train.front().corpus;
  EXPECT_EQ(corpus.token_lengths, nullptr);
  EXPECT_EQ(corpus.end_of_text, std::nullopt);
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .end_of_text = "65"}, 2, 65); }),
            "data.end_of_text must be a token id from 0 to 64, but is 65");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {file("a.txt", "a text")}}, 2, 65); }),
            "exit code 64: model.vocabulary must be at least 257, the tokenizer's, but is 65");
}

TEST_F(TokenCorpus, WithoutATokenizerHasNoTextsBesideIt) {
  const auto a = ids_file("a.bin", {1, 2, 300});
  const auto note = file("note.txt", "a text");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .validation = {note}}, 2, 301); }),
            "data.validation: text needs the tokenizer that made the token files of data.train; "
            "set data.tokenizer");
  EXPECT_TRUE(is_tokenizer_unknown({.train = {a}}, TextEncoding({}), 301));
  EXPECT_FALSE(is_tokenizer_unknown({.train = {a}}, TextEncoding({}), 257));
  EXPECT_FALSE(is_tokenizer_unknown({.train = {note}}, TextEncoding({}), 301));
  EXPECT_FALSE(is_tokenizer_unknown({.train = {a}, .format = "text"}, TextEncoding({}), 301));
  EXPECT_TRUE(is_tokenizer_unknown({.train = {note, a}, .weights = {1, 1}}, TextEncoding({}), 301));
}

TEST_F(TokenCorpus, RefusesATypeWhereAHeaderNamesIt) {
  const auto a =
      file("a.npy", npy_of(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }",
                           bytes_of<std::uint16_t>({1, 2, 3})));
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .token_type = "uint16"}, 2, 257); }),
            "exit code 64: data.token_type has no effect without token files that have no header; "
            "leave it out");
  const auto b = ids_file("b.bin", {1, 2, 3});
  const config::Data both = {.train = {a}, .validation = {b}, .token_type = "uint16"};
  EXPECT_EQ(load_corpora(both, 2, 257).validation.front().corpus.tokens.size(), 3);
}

TEST_F(TokenCorpus, RefusesIdsOfWhichNothingSaysWhatTheyAre) {
  const auto a = ids_file("a.bin", {1, 2, 3});
  const auto note = file("note.txt", "a text, and more");
  const auto refused = a +
                       ": token ids need the tokenizer that made them or the number of ids; "
                       "set data.tokenizer or model.vocabulary (257 for bytes)";
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}}, 2); }), refused);
  EXPECT_EQ(refusal([&] { load_corpora({.train = {note}, .validation = {a}}, 2); }), refused);
  EXPECT_EQ(refusal([&] { load_corpora({.train = {note}, .ood = {a}}, 2); }), refused);
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .validation = {a}}, 2, 257); }),
            "no refusal");
}

TEST_F(TokenCorpus, RefusesAnIdOutsideOfTheVocabulary) {
  const auto a = ids_file("a.bin", {1, 2, 300});
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}}, 2, 257); }),
            a + ": token ids must be 0 to 256, but token 2 is 300; set model.vocabulary, or "
                "data.token_type if the type is not uint16");
}

TEST_F(TokenCorpus, RefusesAnotherFormatThanTheOneThatIsNamed) {
  const auto a = ids_file("a.bin", {1, 2, 3});
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .format = "llm_c"}, 2, 257); }),
            a + ": data.format is \"llm_c\", but the file has the format \"tokens\"; set "
                "data.format to that, or leave it out");
}

TEST_F(TokenCorpus, RefusesAFolderWithoutTokenFiles) {
  const auto folder = std::filesystem::path(file("note.md", "text")).parent_path().string();
  EXPECT_EQ(refusal([&] { load_corpora({.train = {folder}, .format = "tokens"}, 2, 257); }),
            folder + ": must have token files (.bin, .npy), but has none; name a file");
}

TEST_F(TokenCorpus, RefusesAFolderWithTextsAndTokenFiles) {
  ids_file("a.bin", {1, 2, 3, 4});
  const auto note = file("note.md", "a text");
  const auto folder = std::filesystem::path(note).parent_path().string();
  EXPECT_EQ(refusal([&] { load_corpora({.train = {folder}}, 2); }),
            folder + ": must have text or token files, but has both: " + note + " and " +
                path("a.bin") + "; name a pattern, or set data.format to text or tokens");
  const config::Data tokens = {.train = {folder}, .validation = {folder}, .format = "tokens"};
  EXPECT_EQ(load_corpora(tokens, 2, 257).train.front().corpus.tokens.size(), 4);
}

TEST_F(TokenCorpus, RefusesTextsAndTokenFilesInOneList) {
  const auto tokens = ids_file("tokens/a.bin", {1, 2, 3, 4});
  const auto note = file("note.txt", "a text, and more");
  const auto advice =
      text("; a list holds texts or token files; tokenize the texts, or give each input a weight");
  const auto refused = note + ": must be token files as " + tokens + ", but is text" + advice;
  EXPECT_EQ(refusal([&] { load_corpora({.train = {tokens, note}}, 2, 257); }), refused);
  EXPECT_EQ(refusal([&] { token_count({tokens, note}, {.train = {tokens, note}}, 257); }), refused);
  const config::Data other = {.train = {tokens}, .validation = {tokens, note}};
  EXPECT_EQ(refusal([&] { load_corpora(other, 2, 257); }),
            note + ": must be token files as " + tokens + ", but is text; name token files only");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {note, path("tokens")}}, 2, 257); }),
            path("tokens") + ": must hold texts, but holds token files (a.bin)" + advice);
}

// A file of exactly this name is no pattern.
TEST_F(TokenCorpus, IsNotThatOfATextWithAWildcardInItsName) {
  for (const auto* name : {"book[1].txt", "star*.txt", "q?.txt"}) {
    const auto book = file(name, "a text, and more");
    EXPECT_FALSE(are_token_files({book}, {})) << name;
    EXPECT_EQ(refusal([&] { load_corpora({.train = {book}, .validation = {book}}, 2); }),
              "no refusal");
  }
  const auto ids = ids_file("ids[1].bin", {1, 2, 3, 4});
  EXPECT_EQ(refusal([&] { load_corpora({.train = {ids}, .validation = {ids}}, 2, 257); }),
            "no refusal");
}

TEST_F(TokenCorpus, RefusesAnIndexThatIsNoIndex) {
  const auto a = ids_file("a.bin", {1, 2, 3, 4});
  const auto index = file("a.idx", "garbage");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}}, 2, 257); }),
            index + ": must be the index of " + a +
                " and begin with MMIDIDX, as Megatron's does, "
                "but does not; write it again, or give it another name");
}

TEST_F(TokenCorpus, RefusesAnEndOfTextOutsideOfTheVocabulary) {
  const auto a = ids_file("a.bin", {1, 2, 3, 4});
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .end_of_text = "60000"}, 2, 50304); }),
            "data.end_of_text must be a token id from 0 to 50303, but is 60000");
}

TEST_F(TokenCorpus, RefusesAnEndOfTextOutsideOfTheTokenizerForAText) {
  const auto note = file("note.txt", "a text, and more");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {note}, .end_of_text = "500"}, 2, 600); }),
            "data.end_of_text must be a token of the tokenizer, from 0 to 256, but is 500");
}

TEST_F(TokenCorpus, RefusesToMaskDocumentsWithoutAnEndOfText) {
  const auto a = ids_file("a.bin", {1, 2, 3});
  EXPECT_EQ(refusal([&] {
              load_corpora({.train = {a}, .validation = {a}, .mask_documents = true}, 2, 50304);
            }),
            "data.mask_documents needs the end-of-text token of the token files; set "
            "data.end_of_text");
}

TEST_F(TokenCorpus, IsASourceOfAMixture) {
  const auto a = ids_file("a.bin", {1, 2, 3, 4, 5, 6}), b = file("b.txt", "a text of its own");
  const auto corpora =
      load_corpora({.train = {a, b}, .weights = {3, 1}, .validation_fraction = 0.5}, 2, 257);
  ASSERT_EQ(corpora.train.size(), 2U);
  EXPECT_EQ(corpora.train[0].share, 0.75);
  EXPECT_EQ(corpora.train[1].name, b);
  EXPECT_EQ(corpora.validation.size(), 2U);
  EXPECT_EQ(corpora.train[1].corpus.tokens.range(0, 2), (Ids{256, 'a'}));
}

}  // namespace
}  // namespace evenkeel::data
