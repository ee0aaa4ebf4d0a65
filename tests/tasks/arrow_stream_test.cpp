// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/arrow_stream.h"

#include <cstring>
#include <fstream>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "tasks/arrow_writer.h"

namespace evenkeel::tasks {
namespace {

using data::refusal;

class Arrow : public data::TemporaryFolder {
 protected:
  /// Writes a.arrow, without fsync.
  std::string put(const std::string& bytes) const {
    std::ofstream(path("a.arrow"), std::ios::binary | std::ios::trunc) << bytes;
    return path("a.arrow");
  }
  /// The message of the refusal of a stream, or of what `use` does with its rows.
  std::string refused(
      const std::string& bytes,
      const std::function<void(const ArrowRow&)>& use = [](const ArrowRow&) {}) const {
    const auto name = put(bytes);
    const auto found = refusal([&] { ArrowStream(name).each_row(use); });
    return found == "no refusal" ? found : found.substr(path("").size());
  }
};

constexpr const char* kBrokenMetadata =
    "a.arrow: must be an Arrow IPC stream, but its metadata are broken; copy or download the file "
    "again";
constexpr const char* kBrokenBatch =
    "a.arrow: must be an Arrow IPC stream, but a batch of its rows is broken; copy or download the "
    "file again";

TEST_F(Arrow, GivesEveryTypeOfEveryBatch) {
  const auto batch = [](const std::string& name, std::int64_t number, bool flag) {
    return std::vector<TestColumn>{
        utf8_column("name", {name, "h\xc3\xa9"}),
        int_column("small", 32, {-number, 7}),
        int_column("large", 64, {number << 33, 8}),
        bool_column("flag", {flag, !flag}),
        list_column("texts", {{"a", "bc"}, {}}),
        struct_column("choices", {list_column("label", {{"A"}, {"B"}}),
                                  list_column("text", {{name, "x"}, {"y"}})})};
  };
  const auto name = put(arrow_bytes({batch("one", 1, true), batch("two", 2, false)}));
  const ArrowStream stream(name);
  EXPECT_EQ(stream.rows(), 4);
  std::vector<std::string> found;
  stream.each_row([&](const ArrowRow& row) {
    found.push_back(text(row.string("name"), " ", row.integer("small"), " ", row.integer("large"),
                         " ", row.boolean("flag"), " ", row.strings("texts").size(), " ",
                         row.strings("choices.text").at(0), row.strings("choices.label").at(0)));
  });
  EXPECT_EQ(found, (Texts{"one -1 8589934592 1 2 oneA", "h\xc3\xa9 7 8 0 0 yB",
                          "two -2 17179869184 0 2 twoA", "h\xc3\xa9 7 8 1 0 yB"}));
}

TEST_F(Arrow, TrustsOffsetsNotTheSizeOfABuffer) {
  auto column = utf8_column("a", {"one", "two"});
  column.buffers[2] += "stray text";
  column.buffers[1] += "stray";
  const ArrowStream stream(put(arrow_bytes({{column}})));
  Texts found;
  stream.each_row([&](const ArrowRow& row) { found.push_back(row.string("a")); });
  EXPECT_EQ(found, (Texts{"one", "two"}));
}

TEST_F(Arrow, MayBeginAtALaterOffsetAndBeEmpty) {
  auto sliced = utf8_column("a", {"xx"});
  sliced.buffers[1] = le_bytes(std::int32_t{1}) + le_bytes(std::int32_t{2});
  auto empty = utf8_column("a", {});
  empty.buffers = {"", "", ""};
  const ArrowStream stream(put(arrow_bytes({{empty}, {sliced}})));
  EXPECT_EQ(stream.rows(), 1);
  stream.each_row([](const ArrowRow& row) { EXPECT_EQ(row.string("a"), "x"); });
}

TEST_F(Arrow, RefusesTheValueThatIsNull) {
  auto column = utf8_column("a", {"one", "two", "three"});
  column.buffers[0] = "\x05";
  Texts found;
  EXPECT_EQ(refused(arrow_bytes({{column}}),
                    [&](const ArrowRow& row) { found.push_back(row.string("a")); }),
            "a.arrow, row 2: column \"a\" must have a value, but is null");
  EXPECT_EQ(found, (Texts{"one"}));
}

TEST_F(Arrow, RefusesColumnsThatAreMissingOrOfAnotherType) {
  const auto bytes = arrow_bytes(
      {{utf8_column("goal", {"g"}), int_column("label", 64, {1}), list_column("list", {{"a"}}),
        struct_column("parts", {utf8_column("value", {"v"})})}});
  const auto why = [&](const std::function<void(const ArrowRow&)>& use) {
    return refused(bytes, use);
  };
  EXPECT_EQ(why([](const ArrowRow& row) { row.string("gaol"); }),
            "a.arrow, row 1: must have the column \"gaol\" of type utf8, but has none; did you "
            "mean \"goal\"? known: goal, label, list, parts");
  EXPECT_EQ(why([](const ArrowRow& row) { row.string("label"); }),
            "a.arrow, row 1: column \"label\" must be of type utf8, but is of type int64");
  EXPECT_EQ(why([](const ArrowRow& row) { row.integer("goal"); }),
            "a.arrow, row 1: column \"goal\" must be of type int64, but is of type utf8");
  EXPECT_EQ(why([](const ArrowRow& row) { row.boolean("label"); }),
            "a.arrow, row 1: column \"label\" must be of type bool, but is of type int64");
  EXPECT_EQ(why([](const ArrowRow& row) { row.strings("goal"); }),
            "a.arrow, row 1: column \"goal\" must be of type list of utf8, but is of type utf8");
  EXPECT_EQ(why([](const ArrowRow& row) { row.string("goal.value"); }),
            "a.arrow, row 1: column \"goal.value\" must be of type struct, but is of type utf8");
  EXPECT_EQ(why([](const ArrowRow& row) { row.string("parts.valeu"); }),
            "a.arrow, row 1: must have the column \"parts.valeu\" of type utf8, but has none; did "
            "you mean \"value\"? known: value");
  EXPECT_EQ(why([](const ArrowRow& row) { row.string("parts.value"); }), "no refusal");
}

TEST_F(Arrow, RefusesTextThatIsNotUtf8) {
  EXPECT_EQ(refused(arrow_bytes({{utf8_column("a", {"\xc3"})}}),
                    [](const ArrowRow& row) { row.string("a"); }),
            "a.arrow, row 1: column \"a\" must be UTF-8, but is not");
}

TEST_F(Arrow, RefusesOtherTypesByName) {
  const auto why = [&](const FlatNode& field) {
    return refused(arrow_message(1, test_schema({{.field = field}})) + kEndOfStream);
  };
  constexpr const char* kWanted =
      "must be of type utf8, bool, int32, int64, list or struct, but is of type ";
  constexpr const char* kAdvice = "; write the file again with one of these";
  EXPECT_EQ(why(test_field("x", 3)),
            text("a.arrow: column \"x\": ", kWanted, "floating point", kAdvice));
  EXPECT_EQ(why(test_field("x", 20)),
            text("a.arrow: column \"x\": ", kWanted, "large utf8", kAdvice));
  EXPECT_EQ(why(test_field("x", 26)),
            text("a.arrow: column \"x\": ", kWanted, "large list view", kAdvice));
  EXPECT_EQ(why(test_field("x", 99)),
            text("a.arrow: column \"x\": ", kWanted, "number 99", kAdvice));
  EXPECT_EQ(why(int_column("x", 16, {}).field),
            text("a.arrow: column \"x\": ", kWanted, "int16", kAdvice));
  auto unsigned_field = int_column("x", 64, {}).field;
  unsigned_field.parts[3].parts[1] = flat_number(std::uint8_t{0});
  EXPECT_EQ(why(unsigned_field), text("a.arrow: column \"x\": ", kWanted, "uint64", kAdvice));
  auto dictionary = test_field("x", 5);
  dictionary.parts[4] = flat_table({});
  EXPECT_EQ(why(dictionary), text("a.arrow: column \"x\": ", kWanted, "dictionary", kAdvice));
}

TEST_F(Arrow, RefusesOtherFeatures) {
  const auto column = utf8_column("a", {"x"});
  const auto schema = arrow_message(1, test_schema({column}));
  auto packed = flat_table({flat_number(std::int64_t{1}), FlatNode(), FlatNode(), flat_table({})});
  EXPECT_EQ(refused(schema + arrow_message(3, packed) + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but its batches are compressed, which is not "
            "read; copy or download the file again");
  EXPECT_EQ(refused(schema + arrow_message(2, flat_table({})) + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but it has a dictionary, which is not read; "
            "copy or download the file again");
  auto big_endian = test_schema({column});
  big_endian.parts[0] = flat_number(std::int16_t{1});
  EXPECT_EQ(refused(arrow_message(1, big_endian) + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but its numbers are big-endian; copy or "
            "download the file again");
  EXPECT_EQ(refused(batch_message({column}, 1) + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but its messages are not a schema and batches "
            "of rows; copy or download the file again");
  EXPECT_EQ(refused(schema + schema + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but its messages are not a schema and batches "
            "of rows; copy or download the file again");
  EXPECT_EQ(refused(kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but it has no schema; copy or download the file "
            "again");
  EXPECT_EQ(refused("ARROW1\0\0"),
            "a.arrow: must be an Arrow IPC stream, but a message does not begin with ff ff ff ff; "
            "copy or download the file again");
}

TEST_F(Arrow, RefusesEveryTruncatedFile) {
  const auto bytes = arrow_bytes({{utf8_column("a", {"one", "two"})}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(refused(bytes.substr(0, size)),
              "a.arrow: must be an Arrow IPC stream, but it ends too early; copy or download the "
              "file again")
        << size;
  }
}

TEST_F(Arrow, RefusesBrokenMetadata) {
  const auto column = utf8_column("a", {"x"});
  auto bytes = arrow_bytes({{column}});
  constexpr std::size_t kRoot = 8;  // the offset of the root table
  bytes.replace(kRoot, 4, le_bytes(std::uint32_t{0xfffffff0}));
  EXPECT_EQ(refused(bytes), kBrokenMetadata);
  auto list = list_column("a", {{"x"}});
  list.field.parts[5].parts.clear();  // a list without a type of its items
  EXPECT_EQ(refused(arrow_message(1, test_schema({list})) + kEndOfStream), kBrokenMetadata);
  auto none = struct_column("a", {column});
  none.field.parts[5].parts.clear();  // a struct without fields
  EXPECT_EQ(refused(arrow_message(1, test_schema({none})) + kEndOfStream), kBrokenMetadata);
  auto deep = utf8_column("a", {"x"});
  for (int level = 0; level < 20; ++level) deep = struct_column("a", {deep});
  EXPECT_EQ(refused(arrow_message(1, test_schema({deep})) + kEndOfStream),
            "a.arrow: must be an Arrow IPC stream, but its schema has more than 1000 fields or 16 "
            "levels; copy or download the file again");
}

TEST_F(Arrow, RefusesMetadataThatLeadOutsideOfTheirMessage) {
  const std::string name = "name of a column";
  const auto column = utf8_column(name, {"x"});
  auto bytes = arrow_message(1, test_schema({column})) + batch_message({column}, 1) + kEndOfStream;
  const auto at = bytes.find(name);
  constexpr std::size_t kHead = 8;
  std::int32_t metadata = 0;
  std::memcpy(&metadata, bytes.data() + 4, sizeof metadata);
  const auto most = static_cast<std::uint32_t>(kHead + static_cast<std::size_t>(metadata) - at);
  bytes.replace(at - 4, 4, le_bytes(most));
  EXPECT_EQ(refused(bytes), "no refusal");
  bytes.replace(at - 4, 4, le_bytes(most + 1));
  EXPECT_EQ(refused(bytes), kBrokenMetadata);
}

TEST_F(Arrow, RefusesBuffersThatDoNotFitTheirRows) {
  const auto why = [&](const TestColumn& column) { return refused(arrow_bytes({{column}})); };
  auto column = utf8_column("a", {"one", "two"});
  column.buffers[1].resize(8);  // offsets of one row
  EXPECT_EQ(why(column), kBrokenBatch);
  column = utf8_column("a", {"one", "two"});
  column.buffers[2].resize(5);  // characters
  EXPECT_EQ(why(column), kBrokenBatch);
  column.buffers = {"", le_bytes(0) + le_bytes(6) + le_bytes(3), "onetwo"};  // decreasing
  EXPECT_EQ(why(column), kBrokenBatch);
  column.buffers = {"", le_bytes(-1) + le_bytes(3) + le_bytes(6), "onetwo"};
  EXPECT_EQ(why(column), kBrokenBatch);
  column = int_column("a", 64, {1, 2});
  column.buffers[1].resize(15);
  EXPECT_EQ(why(column), kBrokenBatch);
  column = bool_column("a", std::vector<bool>(9));
  column.buffers[1].resize(1);
  EXPECT_EQ(why(column), kBrokenBatch);
  column = int_column("a", 64, std::vector<std::int64_t>(9));
  column.buffers[0] = "\xff";  // validity of 8 rows
  EXPECT_EQ(why(column), kBrokenBatch);
  column = list_column("a", {{"x", "y"}, {"z"}});
  column.lengths[1] = 2;  // fewer items than the last offset
  EXPECT_EQ(why(column), kBrokenBatch);
  column = struct_column("a", {utf8_column("b", {"x", "y"})});
  column.lengths[0] = 3;
  EXPECT_EQ(why(column), kBrokenBatch);
  column = utf8_column("a", {"one"});
  column.buffers.emplace_back("more");
  EXPECT_EQ(why(column), kBrokenBatch);
  column.buffers.resize(2);
  EXPECT_EQ(why(column), kBrokenBatch);
  column = utf8_column("a", {"one"});
  column.lengths[0] = -1;
  EXPECT_EQ(why(column), kBrokenBatch);
}

TEST_F(Arrow, RefusesAColumnOfAnotherLength) {
  EXPECT_EQ(refused(arrow_bytes({{utf8_column("a", {"x"}), utf8_column("b", {"x", "y"})}})),
            "a.arrow: must be an Arrow IPC stream, but a column of it has another number of rows "
            "than its batch; copy or download the file again");
}

TEST_F(Arrow, NeverReadsOutsideOfADamagedFile) {
  const auto bytes =
      arrow_bytes({{utf8_column("a", {"one", "two"}), list_column("b", {{"x"}, {}})}});
  int refusals = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char change : {'\x01', '\x40', '\xff'}) {
      auto damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto name = put(damaged);
      refusals += refusal([&] {
                    ArrowStream(name).each_row([](const ArrowRow& row) {
                      row.string("a");
                      row.strings("b");
                    });
                  }) != "no refusal";
    }
  }
  EXPECT_GT(refusals, static_cast<int>(bytes.size()) / 2);
}

}  // namespace
}  // namespace evenkeel::tasks
