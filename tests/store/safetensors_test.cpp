// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "store/support.h"

namespace evenkeel::store {
namespace {

/// A file of this header and this many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t size = header.size();
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + header + std::string(data_bytes, '\1');
}

/// What the reader says about some bytes, without the file's name.
std::string verdict(const std::string& bytes) {
  const auto path = fresh_folder() / "a.safetensors";
  put(path, bytes);
  auto said = error_of([&] { Safetensors::read(path); });
  const auto name = path.string() + ": ";
  if (const auto at = said.find(name); at != std::string::npos) said.erase(at, name.size());
  return said;
}

std::string verdict(const std::string& header, std::size_t data_bytes) {
  return verdict(file_of(header, data_bytes));
}

std::vector<TensorView> mixed_tensors() {
  static const std::array<std::uint64_t, 4> kData = {1, 2, 3, 4};
  const auto* data = kData.data();
  return {{"z", Dtype::u8, {3}, data},        {"b", Dtype::f32, {2, 1}, data},
          {"a", Dtype::f32, {1}, data},       {"none", Dtype::i16, {0, 7}, data},
          {"long", Dtype::i64, {2}, data},    {"scalar", Dtype::f64, {}, data},
          {"flag", Dtype::boolean, {1}, data}};
}

TEST(WriteSafetensors, SortsByDescendingWidthThenNameAndPadsTheHeader) {
  const auto path = fresh_folder() / "a.safetensors";
  const std::array<float, 2> b = {1.0F, -2.0F};
  const std::array<unsigned char, 1> a = {7};
  const std::array<float, 1> c = {0.5F};
  write_safetensors(path,
                    {{"c", Dtype::f32, {1}, c.data()},
                     {"a", Dtype::u8, {1, 1}, a.data()},
                     {"b", Dtype::f32, {2}, b.data()}},
                    {{"format", "pt"}});
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"data_offsets":[12,13],"dtype":"U8","shape":[1,1]},)"
                             R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},)"
                             R"("c":{"data_offsets":[8,12],"dtype":"F32","shape":[1]}})";
  ASSERT_EQ(header.size() % 8, 3U);
  const auto wanted =
      file_of(header + "     ", 0) + std::string("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\7", 13);
  EXPECT_EQ(read_file(path), wanted);
}

TEST(WriteSafetensors, GivesTheSameBytesAfterALoad) {
  const auto folder = fresh_folder();
  write_safetensors(folder / "one", mixed_tensors(), {{"b", "\"\n"}, {"a", "é"}});
  const auto file = Safetensors::read(folder / "one");
  std::vector<TensorView> again;
  for (const auto& [name, entry] : file.entries()) {
    again.push_back({name, entry.dtype, entry.shape, file.data(entry)});
  }
  write_safetensors(folder / "two", again, file.metadata());
  EXPECT_EQ(read_file(folder / "one"), read_file(folder / "two"));
}

TEST(WriteSafetensors, ReplacesAFileAndLeavesNoOther) {
  const auto folder = fresh_folder();
  put(folder / "a", "old");
  write_safetensors(folder / "a", mixed_tensors());
  EXPECT_EQ(Safetensors::read(folder / "a").entries().size(), mixed_tensors().size());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(WriteSafetensors, NamesTheFileThatItCannotWrite) {
  const auto path = fresh_folder() / "missing" / "a";
  EXPECT_EQ(error_of([&] { write_safetensors(path, {}); }),
            "74 " + path.parent_path().string() + ": cannot open: No such file or directory");
}

TEST(WriteSafetensors, RequiresUniqueNames) {
  auto twice = mixed_tensors();
  twice.push_back(twice.front());
  EXPECT_THROW(write_safetensors(fresh_folder() / "a", twice), std::logic_error);
}

TEST(Safetensors, ReadsWhatWasWritten) {
  const auto path = fresh_folder() / "a.safetensors";
  write_safetensors(path, mixed_tensors(), {{"k", "v"}});
  const auto file = Safetensors::read(path);
  EXPECT_EQ(file.metadata().at("k"), "v");
  for (const auto& each : mixed_tensors()) {
    const auto& entry = file.entry(each.name);
    EXPECT_EQ(entry.dtype, each.dtype);
    EXPECT_EQ(entry.shape, each.shape);
    const auto bytes = static_cast<std::size_t>(entry.numel() * bytes_of(entry.dtype));
    EXPECT_EQ(entry.end - entry.begin, bytes);
    EXPECT_EQ(std::memcmp(file.data(entry), each.data, bytes), 0);
  }
}

// The order of keys of the format's own library, which writes dtype first.
TEST(Safetensors, ReadsFilesOfOtherPrograms) {
  const std::string header =
      R"({"__metadata__":{},"w":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},)"
      R"("e":{"shape":[],"dtype":"F16","data_offsets":[8,10]}}   )";
  const auto path = fresh_folder() / "a";
  put(path, file_of(header, 10));
  const auto file = Safetensors::read(path);
  EXPECT_EQ(file.entry("w").numel(), 4);
  EXPECT_EQ(file.entry("e").numel(), 1);
  EXPECT_EQ(verdict("{}", 0), "no error");
}

TEST(Safetensors, NamesTheTensorThatIsMissing) {
  const auto path = fresh_folder() / "a";
  write_safetensors(path, mixed_tensors());
  const auto file = Safetensors::read(path);
  EXPECT_TRUE(file.has("b"));
  EXPECT_FALSE(file.has("head.weight"));
  EXPECT_EQ(error_of([&] { file.entry("head.weight"); }),
            "65 " + path.string() + ": must hold tensor \"head.weight\", but does not");
}

TEST(Safetensors, RefusesAnythingButAPlainFile) {
  const auto folder = fresh_folder();
  EXPECT_EQ(error_of([&] { Safetensors::read(folder / "none"); }),
            "74 " + (folder / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { Safetensors::read(folder); }),
            "74 " + folder.string() + ": cannot read: Is a directory");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { Safetensors::read(folder / "pipe"); }),
            "74 " + (folder / "pipe").string() + ": must be a regular file, but is a pipe");
}

TEST(Safetensors, RefusesAHeaderThatDoesNotFit) {
  EXPECT_EQ(verdict("abc"), "65 a safetensors file has at least 8 bytes, but this has 3");
  auto bytes = file_of("{}", 1);
  bytes[0] = 4;
  EXPECT_EQ(verdict(bytes), "65 header must have 4 bytes, but only 3 follow");
  const auto* const other =
      "65 must be a .safetensors file, but does not begin with the size of its header";
  bytes[7] = '\xff';  // a length that would wrap when 8 is added
  EXPECT_EQ(verdict(bytes), other);
  EXPECT_EQ(verdict("{\"config\": {\"layers\": 4}}"), other);
  EXPECT_EQ(verdict(std::string(size_t{16 << 20} + 1, ' '), 0),
            "65 at most 16777216 bytes of header are read, but it has 16777217");
}

TEST(Safetensors, RefusesInvalidJson) {
  EXPECT_EQ(verdict(" {}", 0), "65 header must begin with \"{\"");
  EXPECT_EQ(verdict("{} {", 0), "65 header must be JSON in UTF-8, but is not at byte 4");
  EXPECT_EQ(verdict("{\"\xff\":1}", 0), "65 header must be JSON in UTF-8, but is not at byte 3");
  EXPECT_EQ(verdict(std::string("{}\0{", 4), 0),
            "65 header must be JSON in UTF-8, but is not at byte 3");
}

TEST(Safetensors, RefusesAnEntryOfAnotherForm) {
  const auto entry = [](const std::string& inside) {
    return verdict(text("{\"a\":", inside, "}"), 4);
  };
  EXPECT_EQ(entry("[]"), "65 tensor \"a\": must be an object, but is an array");
  EXPECT_EQ(entry("{}"), "65 tensor \"a\": has no dtype");
  EXPECT_EQ(entry(R"({"dtype":"U8"})"), "65 tensor \"a\": has no shape");
  EXPECT_EQ(entry(R"({"dtype":"U8","shape":[4]})"), "65 tensor \"a\": has no data_offsets");
  EXPECT_EQ(entry(R"({"dtype":1})"), "65 tensor \"a\": dtype must be a string, but is a number");
  EXPECT_EQ(
      entry(R"({"dtype":"F99"})"),
      "65 tensor \"a\": unknown dtype \"F99\"; known: F64, F32, BF16, F16, I64, I32, I16, I8, "
      "U64, U32, U16, U8, BOOL");
  EXPECT_EQ(entry(R"({"shape":4})"), "65 tensor \"a\": shape must be an array, but is a number");
  EXPECT_EQ(entry(R"({"shape":[-1]})"),
            "65 tensor \"a\": shape must hold integers >= 0, but one is a negative number");
  EXPECT_EQ(entry(R"({"shape":[1.0]})"),
            "65 tensor \"a\": shape must hold integers >= 0, but one is not an integer");
  EXPECT_EQ(entry(R"({"shape":[[1]]})"),
            "65 tensor \"a\": shape must hold integers >= 0, but one is an array");
  EXPECT_EQ(entry(R"({"shape":[1,1,1,1,1,1,1,1,1]})"),
            "65 tensor \"a\": at most 8 dimensions are read");
  EXPECT_EQ(entry(R"({"data_offsets":{}})"),
            "65 tensor \"a\": data_offsets must be an array, but is an object");
  EXPECT_EQ(entry(R"({"data_offsets":[null,1]})"),
            "65 tensor \"a\": data_offsets must hold integers >= 0, but one is null");
  EXPECT_EQ(entry(R"({"data_offsets":[0]})"),
            "65 tensor \"a\": data_offsets must be two numbers, but are 1");
  EXPECT_EQ(entry(R"({"data_offsets":[0,1,2]})"),
            "65 tensor \"a\": data_offsets must be two numbers, but are more");
  EXPECT_EQ(entry(R"({"offsets":[0,4]})"),
            "65 tensor \"a\": unknown key \"offsets\"; known: data_offsets, dtype, shape");
  EXPECT_EQ(verdict(R"({"__metadata__":{"a":1}})", 0),
            "65 __metadata__ must map strings to strings, but holds a number");
  EXPECT_EQ(verdict(R"({"__metadata__":true})", 0),
            "65 __metadata__ must map strings to strings, but holds a boolean");
}

TEST(Safetensors, RefusesDuplicateKeys) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_EQ(verdict(text("{", a, ",", a, "}"), 2),
            "65 key \"a\" must be there once, but is there twice");
  EXPECT_EQ(verdict(R"({"a":{"dtype":"U8","dtype":"U8"}})", 2),
            "65 tensor \"a\": key \"dtype\" is there twice");
  EXPECT_EQ(verdict(R"({"__metadata__":{},"__metadata__":{}})", 0),
            "65 key \"__metadata__\" must be there once, but is there twice");
  EXPECT_EQ(verdict(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
            "65 key \"k\" must be there once, but is there twice");
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return text("\"", name, R"(":{"dtype":"F32","shape":)", shape, R"(,"data_offsets":)", offsets,
              "}");
}

// "e-b equals product(shape) x itemsize with overflow-checked products".
TEST(Safetensors, RefusesARangeThatDoesNotFitTheShape) {
  EXPECT_EQ(verdict(text("{", tensor("a", "[2]", "[0,4]"), "}"), 4),
            "65 tensor \"a\": shape and dtype want 8 bytes, but data_offsets span 4");
  EXPECT_EQ(verdict(text("{", tensor("a", "[1]", "[4,0]"), "}"), 4),
            "65 tensor \"a\": data_offsets must not run backwards");
  // 2^32 * 2^32 * 4 is 0 modulo 2^64
  EXPECT_EQ(verdict(text("{", tensor("a", "[4294967296,4294967296]", "[0,0]"), "}"), 0),
            "65 tensor \"a\": shape is too large");
  EXPECT_EQ(verdict(text("{", tensor("a", "[18446744073709551615]", "[0,0]"), "}"), 0),
            "65 tensor \"a\": shape is too large");
}

// "ranges cover the data area contiguously without overlap, hole or trailing byte".
TEST(Safetensors, RefusesHolesOverlapsAndTrailingBytes) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data_bytes) {
    return verdict(text("{", tensor("a", "[1]", a), ",", tensor("b", "[1]", b), "}"), data_bytes);
  };
  EXPECT_EQ(two("[4,8]", "[0,4]", 8), "no error");
  EXPECT_EQ(two("[0,4]", "[5,9]", 9), "65 tensor \"b\": must begin at byte 4, but begins at 5");
  EXPECT_EQ(two("[0,4]", "[0,4]", 4), "65 tensor \"b\": must begin at byte 4, but begins at 0");
  EXPECT_EQ(two("[0,4]", "[4,8]", 9), "65 tensors must cover 9 bytes of data, but cover 8");
  EXPECT_EQ(two("[0,4]", "[4,8]", 7), "65 tensors must cover 7 bytes of data, but cover 8");
}

TEST(Safetensors, HasLimits) {
  const std::string name(4097, 'n');
  EXPECT_EQ(
      verdict(text("{", tensor(name, "[0]", "[0,0]"), "}"), 0),
      "65 tensor \"" + name.substr(0, 79) + "...\": a name may have 4096 bytes, but has 4097");
  std::string header = "{";
  for (int i = 0; i <= 100'000; ++i) {
    header += text(i == 0 ? "" : ",", tensor(std::to_string(i), "[0]", "[0,0]"));
  }
  EXPECT_EQ(verdict(header + "}", 0), "65 at most 100000 tensors are read, but there are more");
  EXPECT_EQ(verdict(text(R"({"a":)", std::string(1 << 20, '[')), 0),
            "65 tensor \"a\": must be an object, but is an array");
}

TEST(Safetensors, NeverCrashesOnATruncatedFile) {
  const auto path = fresh_folder() / "whole";
  write_safetensors(path, mixed_tensors(), {{"format", "pt"}});
  const auto bytes = read_file(path);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(verdict(bytes.substr(0, size)).substr(0, 3), "65 ") << size;
  }
}

TEST(Safetensors, ReadsOrRefusesEveryFlippedBitOfTheHeader) {
  const auto path = fresh_folder() / "whole";
  write_safetensors(path, mixed_tensors(), {{"format", "pt"}});
  const auto bytes = read_file(path);
  const auto header_end = bytes.rfind("}}") + 2;
  int read = 0;
  for (std::size_t bit = 0; bit < 8 * header_end; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto said = verdict(damaged);
    if (said == "no error") {
      ++read;  // a letter of a name, say
    } else {
      EXPECT_EQ(said.substr(0, 3), "65 ") << bit;
      EXPECT_EQ(said.find('\n'), std::string::npos) << bit;
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace evenkeel::store
