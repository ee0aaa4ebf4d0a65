// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/open_data_file.h"

namespace evenkeel::data {

TokenBytes::TokenBytes(std::string path)
    : path_(std::move(path)), descriptor_(open_data_file(path_)) {
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0) size_ = status.st_size;
}

TokenBytes::TokenBytes(TokenBytes&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

TokenBytes::~TokenBytes() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TokenBytes::read(std::int64_t offset, std::int64_t count, void* out) const {
  EK_ASSERT(offset >= 0 && count >= 0 && offset <= size_ && count <= size_ - offset);
  auto* to = static_cast<char*>(out);
  while (count > 0) {
    const auto got = ::pread(descriptor_, to, static_cast<std::size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(text("cannot read: ", std::strerror(errno)));
    if (got == 0) {
      refuse(text("must keep its ", size_, " bytes during a run, but has ", offset,
                  " now; restore the file"));
    }
    to += got;
    offset += got;
    count -= got;
  }
}

void TokenBytes::refuse(const std::string& reason) const {
  throw Error(Exit::data, text(path_, ": ", reason));
}

}  // namespace evenkeel::data
