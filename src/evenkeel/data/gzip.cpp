// SPDX-License-Identifier: Apache-2.0
#define ZLIB_CONST
#include "evenkeel/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kUnlimitedSize = std::size_t{64} << 20;  // below: any compression ratio
constexpr std::size_t kMaxRatio = 1000;
constexpr std::size_t kBlock = std::size_t{1} << 18;

/// Decompresses gzip members with zlib, one after another; inflate() reports the end of each.
class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Begins the next member.
  void reset() { EK_ASSERT(inflateReset(&stream_) == Z_OK); }

  /// Consumes the front of `in`. \return the result of inflate()
  int step(std::string_view& in) {
    const auto given = std::min(in.size(), kBlock);
    stream_.next_in = reinterpret_cast<const Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = block_.data();
    stream_.avail_out = static_cast<uInt>(block_.size());
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    in.remove_prefix(given - stream_.avail_in);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    return answer;
  }

  /// The output of the last step.
  std::string_view output() const {
    return {reinterpret_cast<const char*>(block_.data()), block_.size() - stream_.avail_out};
  }

 private:
  static constexpr int kGzipOnly = 16;
  z_stream stream_{};
  std::vector<Bytef> block_ = std::vector<Bytef>(kBlock);
};

/// Decompresses all members and calls `use(output, consumed)` with each piece of output and the
/// number of bytes that were consumed so far.
/// \throws Error (data) for damaged or truncated data
template <typename Use>
void inflate_all(std::string_view bytes, const std::string& name, const Use& use) {
  const auto whole = bytes.size();
  Inflater member;
  while (!bytes.empty()) {
    member.reset();
    for (int answer = Z_OK; answer != Z_STREAM_END;) {
      answer = member.step(bytes);
      const auto output = member.output();
      if (answer == Z_BUF_ERROR || (answer == Z_OK && bytes.empty() && output.empty())) {
        throw Error(Exit::data, text(name, ": the gzip data end too early, after ", whole,
                                     " bytes; copy or download the file again"));
      }
      if (answer != Z_OK && answer != Z_STREAM_END) {
        throw Error(Exit::data, text(name, ": the gzip data are broken near byte ",
                                     whole - bytes.size(), "; copy or download the file again"));
      }
      use(output, whole - bytes.size());
    }
  }
}

/// The size of the content in bytes.
/// \throws Error (data) as gunzipped() does
std::size_t inflated_size(std::string_view bytes, const std::string& name,
                          std::uint64_t max_bytes) {
  std::size_t size = 0;
  inflate_all(bytes, name, [&](std::string_view output, std::size_t consumed) {
    size += output.size();
    if (size > max_bytes) {
      throw Error(Exit::data, text(name, ": must unpack to at most ", max_bytes,
                                   " bytes, but unpacks to more; name a smaller file"));
    }
    if (size > kUnlimitedSize && size > kMaxRatio * consumed) {
      throw Error(Exit::data,
                  text(name, ": the first ", consumed, " bytes unpack to more than ", kMaxRatio,
                       " times as many; no text does; unpack it yourself if it is "
                       "one"));
    }
  });
  return size;
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

std::string gunzipped(std::string_view bytes, const std::string& name, std::uint64_t max_bytes) {
  std::string out;
  out.reserve(inflated_size(bytes, name, max_bytes));
  inflate_all(bytes, name, [&](std::string_view output, std::size_t) { out += output; });
  return out;
}

}  // namespace evenkeel::data
