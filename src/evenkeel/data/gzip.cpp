// SPDX-License-Identifier: Apache-2.0
#define ZLIB_CONST
#include "evenkeel/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kUnlimitedSize = std::size_t{64} << 20;  // below: any compression ratio
constexpr std::size_t kMaxRatio = 1000;
constexpr std::size_t kBlock = std::size_t{1} << 18;

/// Decompresses one gzip member with zlib; inflate() reports its end.
class Inflater {
 public:
  Inflater() { EK_ASSERT(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Consumes the front of `in` and appends to `out`. \return the result of inflate()
  int step(std::string_view& in, std::string& out) {
    const auto given = std::min(in.size(), kBlock);
    stream_.next_in = reinterpret_cast<const Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = block_.data();
    stream_.avail_out = static_cast<uInt>(block_.size());
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    in.remove_prefix(given - stream_.avail_in);
    out.append(block_.begin(), block_.end() - stream_.avail_out);
    return answer;
  }

 private:
  static constexpr int kGzipOnly = 16;
  z_stream stream_{};
  std::vector<Bytef> block_ = std::vector<Bytef>(kBlock);
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

std::string gunzipped(std::string_view bytes, const std::string& name) {
  const auto whole = bytes.size();
  std::string out;
  while (!bytes.empty()) {
    Inflater member;
    for (int answer = Z_OK; answer != Z_STREAM_END;) {
      const auto before = out.size();
      answer = member.step(bytes, out);
      if (answer == Z_BUF_ERROR || (answer == Z_OK && bytes.empty() && out.size() == before)) {
        throw Error(Exit::data, text(name, ": the gzip data end too early, after ", whole,
                                     " bytes; copy or download the file again"));
      }
      if (answer != Z_OK && answer != Z_STREAM_END) {
        throw Error(Exit::data, text(name, ": the gzip data are broken near byte ",
                                     whole - bytes.size(), "; copy or download the file again"));
      }
      if (out.size() > kUnlimitedSize && out.size() > kMaxRatio * whole) {
        throw Error(Exit::data, text(name, ": ", whole, " bytes unpack to more than ", kMaxRatio,
                                     " times as many; no text does; unpack it yourself if it is "
                                     "one"));
      }
    }
  }
  return out;
}

}  // namespace evenkeel::data
