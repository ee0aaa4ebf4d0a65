// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/tracking/crc32c.h"
#include "evenkeel/tracking/event_reader.h"
#include "evenkeel/tracking/protobuf_message.h"

namespace evenkeel::tracking {
namespace {

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::vector<double> doubles(std::string_view bytes) {
  std::vector<double> out(bytes.size() / sizeof(double));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

TEST(Crc32c, HasTheCheckValue) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
}

// Bytes that TensorBoard 2.21 reads.
TEST(EventRecord, HasTheBytesOfTensorBoard) {
  EXPECT_EQ(hexadecimal(version_record(1)),
            "1800000000000000a37f4b22"
            "09000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
  EXPECT_EQ(hexadecimal(summary_record(2, 7, {scalar_value("loss", 1.5F)})),
            "1a00000000000000129bd82d"
            "09000000000000004010072a0d0a0b0a046c6f7373150000c03f1b484874");
  const auto start = start_record(200, 21);
  EXPECT_NE(hexadecimal(start).find("10153a020801"), std::string::npos);
}

TEST(EventReader, ReturnsWhatWasWritten) {
  const auto file = version_record(1) + start_record(2, 300) +
                    summary_record(3, 300, {scalar_value("a", 1), scalar_value("b", NAN)});
  const auto events = read_events(file);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(events[1].is_start);
  EXPECT_EQ(events[2].step, 300);
  EXPECT_EQ(events[2].wall_time, 3);
  ASSERT_EQ(events[2].values.size(), 2U);
  EXPECT_EQ(events[2].values[1].tag, "b");
  EXPECT_EQ(events[2].values[0].bytes, scalar_value("a", 1));
}

TEST(EventReader, EndsAtATornOrDamagedRecord) {
  const auto first = version_record(1);
  const auto file = first + summary_record(3, 5, {scalar_value("a", 1)});
  for (std::size_t size = first.size(); size < file.size(); ++size) {
    EXPECT_EQ(read_events(std::string_view(file).substr(0, size)).size(), 1U) << size;
  }
  for (std::size_t at = first.size(); at < file.size(); ++at) {
    auto damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_EQ(read_events(damaged).size(), 1U) << at;
  }
  EXPECT_TRUE(read_events("").empty());
}

TEST(Histogram, CountsEachFiniteNumberOnce) {
  const auto value = histogram_value("h", {1, 2, 2.5, NAN, 4, INFINITY});
  const auto histo = protobuf_field(value, 5)->bytes;
  const auto limits = doubles(protobuf_field(histo, 6)->bytes);
  const auto sizes = doubles(protobuf_field(histo, 7)->bytes);
  ASSERT_EQ(limits.size(), 30U);
  ASSERT_EQ(sizes.size(), 30U);
  EXPECT_EQ(limits.back(), 4);
  EXPECT_EQ(sizes.front(), 1);
  EXPECT_EQ(sizes.back(), 1);
  double all = 0;
  for (const double size : sizes) all += size;
  EXPECT_EQ(all, 4);
  EXPECT_EQ(doubles(protobuf_field(histo, 5)->bytes).at(0), 1 + 4 + 6.25 + 16);
}

TEST(Histogram, OfEqualNumbersHasOneBucket) {
  const auto histo = std::string(protobuf_field(histogram_value("h", {3, 3}), 5)->bytes);
  EXPECT_EQ(doubles(protobuf_field(histo, 6)->bytes), std::vector<double>{3});
  EXPECT_EQ(doubles(protobuf_field(histo, 7)->bytes), std::vector<double>{2});
}

TEST(ProtobufMessage, WritesVarintsOfAllLengths) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    ProtobufMessage message;
    message.varint(1, std::uint64_t{1} << bits);
    EXPECT_EQ(protobuf_field(message.text(), 1)->number, std::uint64_t{1} << bits);
  }
}

}  // namespace
}  // namespace evenkeel::tracking
