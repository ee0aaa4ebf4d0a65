// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/open_data_file.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kFileBlock = std::size_t{1} << 18;
constexpr std::uint64_t kUnlimitedSize = std::uint64_t{64} << 20;  // below: any compression ratio
constexpr std::uint64_t kMaxRatio = 1000;

}  // namespace

Decoded TextStream::PlainDecoder::decode(std::string_view& in, char* to, std::size_t size) {
  const auto some = in.copy(to, size);
  in.remove_prefix(some);
  return {.written = some};
}

TextStream::TextStream(std::string path)
    : path_(std::move(path)), descriptor_(open_data_file(path_)), block_(kFileBlock) {
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0) file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  try {
    fill();
    const auto compression = compression_of(in_);
    if (compression == Compression::gzip) decoder_.emplace<GzipDecoder>();
    if (compression == Compression::zstd) decoder_.emplace<ZstdDecoder>();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

TextStream::~TextStream() {
  ::close(descriptor_);
}

Compression TextStream::compression() const {
  return static_cast<Compression>(decoder_.index());
}

/// Copies the next `size` bytes of the file to `to`. \return less than `size` only at its end
std::size_t TextStream::read_file_bytes(char* to, std::size_t size) {
  std::size_t filled = 0;
  while (filled < size && !is_at_end_) {
    const auto got = ::read(descriptor_, to + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(text("cannot read: ", std::strerror(errno)));
    is_at_end_ = got == 0;  // not the size: files of /proc have size 0
    filled += static_cast<std::size_t>(got);
  }
  taken_ += filled;
  return filled;
}

/// Reads the next block of the file.
void TextStream::fill() {
  in_ = {block_.data(), read_file_bytes(block_.data(), block_.size())};
}

Decoded TextStream::decode(char* to, std::size_t size) {
  return std::visit([&](auto& decoder) { return decoder.decode(in_, to, size); }, decoder_);
}

bool TextStream::may_end() const {
  return std::visit([](const auto& decoder) { return decoder.may_end(); }, decoder_);
}

std::size_t TextStream::read(char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    if (compression() == Compression::none && in_.empty()) {
      return done + read_file_bytes(to + done, size - done);  // no copy
    }
    if (in_.empty() && !is_at_end_) fill();
    const bool has_input = !in_.empty();
    const auto some = decode(to + done, std::min(size - done, kFileBlock));
    done += some.written;
    given_ += some.written;
    check(some.failure);
    check_ratio();
    if (some.written > 0 || has_input) continue;
    if (may_end()) break;
    refuse(text("the ", name_of(compression()), " data end too early, after ", taken_,
                " bytes; copy or download the file again"));
  }
  return done;
}

void TextStream::check(DecodeFailure failure) const {
  if (failure == DecodeFailure::broken) {
    refuse(text("the ", name_of(compression()), " data are broken near byte ", taken_ - in_.size(),
                "; copy or download the file again"));
  }
  if (failure == DecodeFailure::large_window) {
    refuse(
        "must need at most 128 MiB to unpack, but its zstd window is larger; compress it again "
        "without --long");
  }
}

void TextStream::check_ratio() const {
  const auto consumed = taken_ - in_.size();
  if (compression() == Compression::none || given_ <= kUnlimitedSize) return;
  if (given_ > kMaxRatio * consumed) {
    refuse(text("the first ", consumed, " bytes unpack to more than ", kMaxRatio,
                " times as many; no text does; unpack it yourself if it is one"));
  }
}

void TextStream::refuse(const std::string& reason) const {
  throw Error(Exit::data, text(path_, ": ", reason));
}

}  // namespace evenkeel::data
