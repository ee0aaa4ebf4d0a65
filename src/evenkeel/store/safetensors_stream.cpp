// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/safetensors_header.h"
#include "evenkeel/store/safetensors_writer.h"

namespace evenkeel::store {

namespace {

/// Reads bytes at a position of a file.
void read_at(int descriptor, const std::string& path, std::uint64_t position, void* to,
             std::size_t size) {
  auto* next = static_cast<char*>(to);
  while (size > 0) {
    const auto got = ::pread(descriptor, next, size, static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error(path, "read", errno);
    if (got == 0) throw Error(Exit::io, text(path, ": became shorter while it was read"));
    next += got;
    size -= static_cast<std::size_t>(got);
    position += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

SafetensorsStream::SafetensorsStream(const Directory& folder, const std::string& name)
    : SafetensorsStream(open_input(folder.descriptor(), name, folder.path() / name),
                        (folder.path() / name).string()) {}

SafetensorsStream::SafetensorsStream(const std::filesystem::path& path)
    : SafetensorsStream(open_input(path), path.string()) {}

SafetensorsStream::SafetensorsStream(int descriptor, std::string path)
    : descriptor_(new int(descriptor),
                  [](const int* open) {
                    ::close(*open);
                    delete open;
                  }),
      path_(std::move(path)) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) throw_system_error(path_, "examine", errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t header_bytes = 0;
  const auto reader = [&](std::uint64_t position, void* to, std::size_t bytes) {
    read_at(descriptor, path_, position, to, bytes);
  };
  if (size >= sizeof header_bytes) reader(0, &header_bytes, sizeof header_bytes);
  const auto json = read_header(size, header_bytes, path_, reader);
  data_begin_ = sizeof header_bytes + json.size();
  entries_ = parse_header(json, size - data_begin_, path_).entries;
}

void SafetensorsStream::read(const TensorInfo& tensor, std::uint64_t offset, void* to,
                             std::size_t size) const {
  EK_ASSERT(offset <= tensor.end - tensor.begin && size <= tensor.end - tensor.begin - offset);
  read_at(*descriptor_, path_, data_begin_ + tensor.begin + offset, to, size);
}

WrittenFile write_safetensors_stream(
    const Directory& folder, const std::string& name, std::vector<TensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content) {
  const SafetensorsWriter writer(std::move(tensors), metadata);
  return writer.write(OutputFile(folder, name, writer.size()), content);
}

}  // namespace evenkeel::store
