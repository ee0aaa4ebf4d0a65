// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"

namespace evenkeel::data {
namespace {

using Ids = std::vector<std::int64_t>;

class TokenFiles : public TemporaryFolder {
 protected:
  static Ids ids_of(const TokenFile& file) {
    Ids ids(static_cast<std::size_t>(file.count()));
    file.read(0, file.count(), ids.data());
    return ids;
  }
  Ids ids_in(const std::string& name, const std::string& content, std::int64_t vocabulary) const {
    return ids_of(TokenFile(file(name, content), nullptr, vocabulary));
  }
  /// The message that a file is refused with, without its folder.
  std::string refused(const std::string& name, const std::string& content,
                      std::int64_t vocabulary = 1000) const {
    const auto path = file(name, content);
    auto message = refusal([&] { TokenFile(path, nullptr, vocabulary); });
    const auto folder = path.substr(0, path.size() - name.size());
    for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
      message.erase(at, folder.size());
    }
    return message;
  }
};

TEST_F(TokenFiles, ReadsRawBinAsUint16) {
  const TokenFile file(this->file("a.bin", bytes_of<std::uint16_t>({1, 50256, 65535})), nullptr,
                       100000);
  EXPECT_EQ(file.layout().format, TokenFormat::tokens);
  EXPECT_EQ(ids_of(file), (Ids{1, 50256, 65535}));
}

TEST_F(TokenFiles, ReadsRawNpyInTheSmallestTypeThatHoldsTheVocabulary) {
  EXPECT_EQ(ids_in("a.npy", bytes_of<std::uint8_t>({7, 255}), 256), (Ids{7, 255}));
  EXPECT_EQ(ids_in("a.npy", bytes_of<std::uint16_t>({7, 65535}), 257), (Ids{7, 65535}));
  EXPECT_EQ(ids_in("a.npy", bytes_of<std::uint16_t>({7, 65535}), 65536), (Ids{7, 65535}));
  EXPECT_EQ(ids_in("a.npy", bytes_of<std::uint32_t>({7, 100277}), 100278), (Ids{7, 100277}));
}

TEST_F(TokenFiles, ReadsTheTypeThatIsGiven) {
  const auto path = file("a.bin", bytes_of<std::uint32_t>({1, 100277}));
  const auto type = TokenType::uint32;
  EXPECT_EQ(ids_of(TokenFile(path, &type, 200000)), (Ids{1, 100277}));
}

/// 16 ids, as many as are needed to guess their type.
template <typename T>
std::string ids_from(T first) {
  std::vector<T> ids(16);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<T>(first + i);
  return bytes_of(ids);
}

TEST_F(TokenFiles, RefusesIdsWithoutAHeaderThatSeemToHaveALargerType) {
  EXPECT_EQ(refused("a.npy", ids_from<std::uint32_t>(1)),
            "a.npy: has no header and is read as uint16, but every second one of its ids would be "
            "0 or nearly so, as if they were uint32; set data.token_type to uint32, or to uint16 "
            "if that is right");
  EXPECT_EQ(refused("a.npy", ids_from<std::uint64_t>(1)),
            "a.npy: has no header and is read as uint16, but 3 of 4 of its ids would be 0 or "
            "nearly so, as if they were uint64; set data.token_type to uint64, or to uint16 if "
            "that is right");
  EXPECT_NE(refused("a.npy", ids_from<std::uint16_t>(1), 200).find("is read as uint8"),
            std::string::npos);
  // The upper halves of ids below 100,278 are 0 or 1.
  EXPECT_NE(refused("a.bin", ids_from<std::uint32_t>(65530), 100278).find("as if they were uint32"),
            std::string::npos);
}

TEST_F(TokenFiles, TakesIdsWhoseTypeIsNamedOrRight) {
  for (const auto type : {TokenType::uint16, TokenType::uint32}) {
    const TokenFile named(file("a.npy", ids_from<std::uint32_t>(1)), &type, 1000);
    EXPECT_EQ(named.count(), type == TokenType::uint32 ? 16 : 32);
  }
  EXPECT_EQ(refused("a.npy", ids_from<std::uint16_t>(0)), "no refusal");
  EXPECT_EQ(refused("a.bin", ids_from<std::uint16_t>(65500), 65536), "no refusal");
  EXPECT_EQ(refused("a.npy", std::string(64, '\0')), "no refusal");  // all ids are 0
  EXPECT_EQ(refused("a.npy", bytes_of<std::uint16_t>({1, 0, 2, 0})), "no refusal");  // too few
}

TEST_F(TokenFiles, ReadsNumPyFilesOfAllVersionsAndTypes) {
  const std::string shape = "'fortran_order': False, 'shape': (2,), }";
  for (const int version : {1, 2, 3}) {
    const auto content =
        npy_of(version, "{'descr': '<u2', " + shape, bytes_of<std::uint16_t>({3, 60000}));
    EXPECT_EQ(ids_in("a.npy", content, 70000), (Ids{3, 60000}));
    EXPECT_EQ(ids_in("a.bin", content, 70000), (Ids{3, 60000}));
  }
  EXPECT_EQ(
      ids_in("a.npy", npy_of(1, "{'descr': '<i4', " + shape, bytes_of<std::int32_t>({3, 4})), 9),
      (Ids{3, 4}));
  EXPECT_EQ(
      ids_in("a.npy", npy_of(1, "{'descr': '<u8', " + shape, bytes_of<std::uint64_t>({3, 4})), 9),
      (Ids{3, 4}));
  EXPECT_EQ(ids_in("a.npy", npy_of(1, "{'descr': '|u1', " + shape, std::string("\x03\xff", 2)), 9),
            (Ids{3, 255}));
}

TEST_F(TokenFiles, RefusesNumPyFilesThatAreNoRowOfIntegers) {
  const auto refused_npy = [&](const std::string& dictionary, int version = 1) {
    return refused("a.npy", npy_of(version, dictionary, std::string(8, '\0')));
  };
  EXPECT_EQ(refused_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"),
            "a.npy: token ids must be little-endian integers, but are '<f8'; convert them with "
            "astype(\"uint32\")");
  EXPECT_EQ(refused_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
            "a.npy: token ids must be little-endian integers, but are '|O'; convert them with "
            "astype(\"uint32\")");
  EXPECT_EQ(refused_npy("{'descr': '<u4', 'fortran_order': True, 'shape': (2,), }"),
            "a.npy: must be in C order, but is in Fortran order; write numpy.ascontiguousarray");
  EXPECT_EQ(refused_npy("{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }"),
            "a.npy: must have one dimension, but its shape is (1, 2); write reshape(-1)");
  EXPECT_EQ(refused_npy("{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }"),
            "a.npy: the header says 3 ids of type uint32, but 8 bytes follow; copy or download the "
            "file again");
  EXPECT_EQ(refused_npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }", 4),
            "a.npy: versions 1 to 3 of NumPy's format are known, but the file has 4; write it "
            "again with numpy.save");
  for (const char* const damaged :
       {"", "{", "{'descr'", "{'descr': '<u4', 'fortran_order': False", "{'descr': '<u4"}) {
    EXPECT_EQ(refused_npy(damaged),
              "a.npy: NumPy's header is damaged; write the file again with numpy.save");
  }
}

TEST_F(TokenFiles, ReadsBothFormatsOfLlmC) {
  EXPECT_EQ(ids_in("a.bin", llm_c_of(20240520, 1, 2, bytes_of<std::uint16_t>({5, 50256})), 50257),
            (Ids{5, 50256}));
  EXPECT_EQ(ids_in("a.bin", llm_c_of(20240801, 7, 1, bytes_of<std::uint32_t>({128000})), 128256),
            (Ids{128000}));
}

TEST_F(TokenFiles, RefusesOtherFilesOfLlmC) {
  EXPECT_EQ(refused("a.bin", llm_c_of(20240520, 1, 3, "1234")),
            "a.bin: the header says 3 tokens, which take 1030 bytes, but the file has 1028; copy "
            "or download it again");
  EXPECT_EQ(refused("a.bin", llm_c_of(20240520, 1, -1, "")),
            "a.bin: the header says -1 tokens, which take 1022 bytes, but the file has 1024; copy "
            "or download it again");
  EXPECT_EQ(refused("a.bin", llm_c_of(20240520, 2, 0, "")),
            "a.bin: version 1 of llm.c's format is known, but the file has 2; write it again");
  EXPECT_EQ(refused("a.bin", llm_c_of(20240520, 1, 0, "").substr(0, 100)),
            "a.bin: llm.c's header has 1024 bytes, but the file has 100; copy or download the file "
            "again");
  EXPECT_EQ(refused("a.bin", llm_c_of(20240522, 1, 0, "")),
            "a.bin: must hold tokens, but is an evaluation of llm.c; name a file of tokens");
}

TEST_F(TokenFiles, ReadsMegatronFilesByTheirIndex) {
  const MegatronIndex index = {.lengths = {2, 1}, .pointers = {0, 4}, .documents = {0, 1, 2}};
  file("a.idx", index.bytes());
  const TokenFile file(this->file("a.bin", bytes_of<std::uint16_t>({5, 6, 7})), nullptr, 10);
  EXPECT_EQ(file.layout().format, TokenFormat::megatron);
  EXPECT_EQ(file.layout().documents, 2);
  EXPECT_EQ(ids_of(file), (Ids{5, 6, 7}));
  const MegatronIndex wide = {.type = 4, .lengths = {2}, .pointers = {0}, .documents = {0, 1}};
  this->file("b.idx", wide.bytes());
  EXPECT_EQ(ids_in("b.bin", bytes_of<std::int32_t>({70000, 1}), 80000), (Ids{70000, 1}));
}

TEST_F(TokenFiles, RefusesAnIndexThatDoesNotFitItsFile) {
  const auto refused_index = [&](const std::string& index) {
    file("a.idx", index);
    return refused("a.bin", bytes_of<std::uint16_t>({5, 6, 7}));
  };
  const MegatronIndex good = {.lengths = {2, 1}, .pointers = {0, 4}, .documents = {0, 1, 2}};
  auto index = good;
  index.version = 2;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: version 1 of Megatron's index is known, but it has 2; write the index again");
  index = good;
  index.type = 7;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: token ids must be integers, but are floating-point numbers; write the index "
            "again");
  index.type = 9;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: codes 1 to 8 of types are known, but the index has 9; write the index again");
  index = good;
  index.pointers[1] = 2;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: sequence 1 must begin at byte 4, after the one before it, but begins at 2; "
            "write the index again");
  index = good;
  index.lengths[1] = 2;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: sequence 1 must end within the 6 bytes of the .bin file, but has 2 tokens from "
            "byte 4 on; write the index again");
  index.lengths[1] = -1;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: sequence 1 must end within the 6 bytes of the .bin file, but has -1 tokens "
            "from byte 4 on; write the index again");
  index.lengths[1] = 0;
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: its sequences take 4 bytes, but the .bin file has 6; write the index again");
  index = good;
  index.documents = {0, 2, 1};
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: the first sequence of document 2 must be 2 to 2, but is 1; write the index "
            "again");
  index.documents = {1, 1, 2};
  EXPECT_EQ(refused_index(index.bytes()),
            "a.idx: the first sequence of document 0 must be 0, but is 1; write the index again");
  EXPECT_EQ(refused_index(good.bytes().substr(0, 50)),
            "a.idx: must hold 2 sequences and 2 documents, but has 50 bytes; write the index "
            "again");
  EXPECT_EQ(refused_index(good.bytes().substr(0, 20)),
            "a.idx: the header has 34 bytes, but the index has 20; write the index again");
}

TEST_F(TokenFiles, RefusesAnIndexOfAnotherProgram) {
  const auto index = file("a.idx", "something else");
  EXPECT_EQ(refusal([&] { ids_in("a.bin", bytes_of<std::uint16_t>({5, 6}), 10); }),
            index + ": must be the index of " + path("a.bin") +
                " and begin with MMIDIDX, as Megatron's does, but does not; write it again, or "
                "give it another name");
}

TEST_F(TokenFiles, RefusesFilesThatAreNoTokens) {
  EXPECT_EQ(refused("a.bin", ""), "a.bin: must hold tokens, but is empty");
  EXPECT_EQ(refused("a.bin", "123"),
            "a.bin: ids of type uint16 take 2 bytes each, but the file has 3 bytes; set "
            "data.token_type, or copy the file again");
  EXPECT_EQ(refusal([&] { TokenFile(path("none.bin"), nullptr, 10); }),
            path("none.bin") + ": cannot open: No such file or directory");
}

TEST_F(TokenFiles, ReadsAnyRange) {
  std::vector<std::uint32_t> all(100000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i * 7919);
  const TokenFile file(this->file("a.npy", bytes_of(all)), nullptr, std::int64_t{1} << 31);
  Ids some(50000);
  file.read(1234, 50000, some.data());
  for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], all[i + 1234]);
}

TEST_F(TokenFiles, FindsTheFirstIdOutsideTheVocabulary) {
  std::vector<std::uint16_t> all(3000000, 9);
  all[2500000] = 10;
  all[2500001] = 11;
  const TokenFile file(this->file("a.bin", bytes_of(all)), nullptr, 11);
  file.check_ids(12);
  EXPECT_EQ(refusal([&] { file.check_ids(10); }),
            file.path() +
                ": token ids must be 0 to 9, but token 2500000 is 10; set model.vocabulary, or "
                "data.token_type if the type is not uint16");
  const auto type = TokenType::int16;
  const TokenFile negative(this->file("b.bin", bytes_of<std::int16_t>({1, -2})), &type, 11);
  EXPECT_EQ(
      refusal([&] { negative.check_ids(10); }),
      negative.path() +
          ": token ids must be 0 to 9, but token 1 is -2; remove it, and write the file again");
}

TEST_F(TokenFiles, RefusesTextsAndCompressedFilesInPlaceOfIds) {
  const std::string prose = "A text is no list of ids, although its bytes can be read as numbers.";
  EXPECT_EQ(refused("a.npy", prose, 65536),
            "a.npy: must be token ids, but its first 68 bytes are text; name it .txt, or set "
            "data.token_type if they are ids");
  const auto type = TokenType::uint16;
  EXPECT_EQ(TokenFile(file("a.npy", prose), &type, 65536).count(), 34);
  EXPECT_EQ(refused("a.bin", "\x1f\x8b\x08"),
            "a.bin: must be token ids, but is of the kind gzip; unpack it");
  EXPECT_EQ(refused("a.bin", "\x28\xb5\x2f\xfd"),
            "a.bin: must be token ids, but is of the kind zstd; unpack it");
  EXPECT_EQ(refused("a.npy", "PK\x03\x04"),
            "a.npy: must be token ids, but is of the kind zip, as numpy.savez writes it; use "
            "numpy.save");
}

TEST_F(TokenFiles, NamesWhatCanBeDoneAboutAnIdInEachFormat) {
  const auto too_large = [&](const std::string& name, const std::string& content) {
    const TokenFile file(this->file(name, content), nullptr, 300);
    const auto message = refusal([&] { file.check_ids(10); });
    return message.substr(message.find("; ") + 2);
  };
  EXPECT_EQ(
      too_large("a.npy", npy_of(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }",
                                bytes_of<std::int32_t>({70}))),
      "set model.vocabulary, or data.tokenizer to the tokenizer that made the ids");
  EXPECT_EQ(too_large("a.npy", "text"),
            "set model.vocabulary, or data.token_type if the type is not uint16; a file of "
            "numpy.save would begin with a header, and this one does not");
}

TEST_F(TokenFiles, RefusesAFileThatBecomesShorter) {
  const TokenFile file(this->file("a.bin", bytes_of<std::uint16_t>({1, 2, 3})), nullptr, 11);
  std::filesystem::resize_file(file.path(), 2);
  Ids ids(3);
  EXPECT_EQ(refusal([&] { file.read(0, 3, ids.data()); }),
            file.path() + ": must keep its 6 bytes during a run, but has 2 now; restore the file");
}

}  // namespace
}  // namespace evenkeel::data
