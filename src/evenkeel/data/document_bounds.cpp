// SPDX-License-Identifier: Apache-2.0
#define ZLIB_CONST
#include "evenkeel/data/document_bounds.h"

#include <zlib.h>

#include <charconv>
#include <new>
#include <optional>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/data/text_window.h"

namespace evenkeel::data {

namespace {

std::string gzip_packed(std::string_view content) {
  constexpr int kGzip = 16, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int answer = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  EK_ASSERT(answer == Z_STREAM_END);
  return packed;
}

struct Bounds {
  std::int64_t start = 0, end = 0;
};

/// The numbers of a line "start,end[,...]"; nullopt for any other line.
std::optional<Bounds> bounds_in(std::string_view line) {
  Bounds bounds;
  const auto* const stop = line.end();
  const auto first = std::from_chars(line.begin(), stop, bounds.start);
  if (first.ec != std::errc() || first.ptr == stop || *first.ptr != ',') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, stop, bounds.end);
  const bool is_number =
      second.ec == std::errc() && (second.ptr == stop || *second.ptr == ',' || *second.ptr == '\r');
  if (!is_number) return std::nullopt;
  return bounds;
}

}  // namespace

std::string document_bounds_packed(const std::vector<std::int64_t>& ends) {
  std::string lines;
  std::int64_t start = 0;
  for (const auto end : ends) {
    lines += std::to_string(start) + ',' + std::to_string(end) + '\n';
    start = end;
  }
  return gzip_packed(lines);
}

void read_document_bounds(const std::string& path, std::int64_t tokens,
                          const std::function<void(std::int64_t start, std::int64_t end)>& use) {
  constexpr std::uint64_t kMaxLine = 1 << 16;
  TextWindow window(path, kMaxLine);
  std::int64_t last = 0;
  for (std::int64_t number = 1;; ++number) {
    const auto line = window.line();
    if (!line) return;
    const auto refuse = [&](const auto&... what) {
      throw Error(Exit::data, text(path, ":", number, ": ", what..., "; write the file again"));
    };
    const auto bounds = bounds_in(*line);
    if (!bounds) {
      refuse("must be the numbers start,end of a document, but is \"",
             printable_line(line->substr(0, 40)), "\"");
    }
    if (bounds->start < last || bounds->end <= bounds->start || bounds->end > tokens) {
      refuse("a document must lie within the tokens ", last, " to ", tokens, ", but goes from ",
             bounds->start, " to ", bounds->end);
    }
    use(bounds->start, bounds->end);
    last = bounds->end;
    window.consume_line(line->size());
  }
}

}  // namespace evenkeel::data
