// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/input_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

InputFile::InputFile(const std::filesystem::path& path)
    : InputFile(path.string(), open_input(path)) {}

InputFile::InputFile(const Directory& folder, const std::string& name)
    : InputFile((folder.path() / name).string(),
                open_input(folder.descriptor(), name, folder.path() / name)) {}

InputFile::InputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    ::close(descriptor_);
    throw_system_error(path_, "examine", error);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(void* to, std::size_t size) {
  auto* next = static_cast<char*>(to);
  while (size > 0) {
    const auto got = ::read(descriptor_, next, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error(path_, "read", errno);
    if (got == 0) throw Error(Exit::io, text(path_, ": became shorter while it was read"));
    next += got;
    size -= static_cast<std::size_t>(got);
    at_ += static_cast<std::uint64_t>(got);
  }
}

std::string InputFile::digest_of_rest() {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<char> buffer(std::min<std::uint64_t>(kPiece, size_ - at_));
  Digest digest;
  while (at_ < size_) {
    const auto piece = std::min<std::uint64_t>(buffer.size(), size_ - at_);
    read(buffer.data(), piece);
    digest.update(buffer.data(), piece);
  }
  return digest.hex();
}

}  // namespace evenkeel::store
