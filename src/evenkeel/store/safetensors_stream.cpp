// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/checkpoint_pieces.h"
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

/// The elements of one tensor that one file holds.
struct SafetensorsStream::Piece {
  std::size_t file = 0;
  TensorInfo info;    // in the file
  TensorRange range;  // in the whole tensor
};

SafetensorsStream::SafetensorsStream(const Directory& folder, const std::string& name)
    : SafetensorsStream(folder, std::vector<std::string>{name}) {}

SafetensorsStream::SafetensorsStream(const Directory& folder,
                                     const std::vector<std::string>& names) {
  Pieces pieces;
  for (const auto& name : names) {
    const auto path = folder.path() / name;
    add_file(open_input(folder.descriptor(), name, path), path.string(), names.size() > 1, pieces);
  }
  join(pieces);
}

SafetensorsStream::SafetensorsStream(const std::filesystem::path& path) {
  Pieces pieces;
  add_file(open_input(path), path.string(), /*has_ranges=*/false, pieces);
  join(pieces);
}

/// Opens a file, and adds what its header says to `pieces`.
/// \param has_ranges  __metadata__ has the ranges of tensors
void SafetensorsStream::add_file(int descriptor, std::string path, bool has_ranges,
                                 Pieces& pieces) {
  const std::shared_ptr<const int> owned(new int(descriptor), [](const int* open) {
    ::close(*open);
    delete open;
  });
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) throw_system_error(path, "examine", errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t header_bytes = 0;
  const auto reader = [&](std::uint64_t position, void* to, std::size_t bytes) {
    read_at(descriptor, path, position, to, bytes);
  };
  if (size >= sizeof header_bytes) reader(0, &header_bytes, sizeof header_bytes);
  const auto json = read_header(size, header_bytes, path, reader);
  const auto data_begin = sizeof header_bytes + json.size();
  const auto header = parse_header(json, size - data_begin, path);
  for (const auto& [name, info] : header.entries) {
    TensorRange range{0, info.numel(), info.shape};
    const auto said = header.metadata.find(name);
    if (has_ranges && said != header.metadata.end()) {
      const auto part = parse_range(said->second);
      if (!part || part->end - part->begin != info.numel()) {
        throw Error(Exit::data, text(path, ": tensor \"", name, "\" has no valid range"));
      }
      range = *part;
    }
    pieces[name].push_back({files_.size(), info, std::move(range)});
  }
  files_.push_back({owned, std::move(path), data_begin});
}

/// Lays out the bytes of all tensors one after another.
/// \throws Error (data) unless the pieces of each tensor are the whole tensor
void SafetensorsStream::join(Pieces& pieces) {
  for (auto& [name, parts] : pieces) {
    std::sort(parts.begin(), parts.end(), [](const Piece& one, const Piece& other) {
      return one.range.begin < other.range.begin;
    });
    auto& whole = entries_[name];
    whole = {parts.front().info.dtype, parts.front().range.shape, size_, size_};
    std::int64_t next = 0;
    for (const auto& [file, info, range] : parts) {
      if (range.begin != std::exchange(next, range.end) || info.dtype != whole.dtype ||
          range.shape != whole.shape) {
        throw Error(Exit::data, text(files_[file].path, ": the pieces of tensor \"", name,
                                     "\" must be a whole tensor, but are not"));
      }
      const auto bytes = info.end - info.begin;
      if (bytes > 0) segments_.push_back({size_, file, files_[file].data_begin + info.begin});
      size_ += bytes;
    }
    whole.end = size_;
    if (next == whole.numel()) continue;
    throw Error(Exit::data, text(path(), ": tensor \"", name, "\" must have ", whole.numel(),
                                 " values, but has ", next));
  }
}

void SafetensorsStream::read(const TensorInfo& tensor, std::uint64_t offset, void* to,
                             std::size_t size) const {
  EK_ASSERT(offset <= tensor.end - tensor.begin && size <= tensor.end - tensor.begin - offset);
  auto at = tensor.begin + offset;
  auto segment =
      std::upper_bound(segments_.begin(), segments_.end(), at,
                       [](std::uint64_t value, const Segment& each) { return value < each.begin; });
  for (auto* next = static_cast<char*>(to); size > 0; ++segment) {
    const auto end = segment == segments_.end() ? size_ : segment->begin;
    const auto& [begin, file, position] = *(segment - 1);
    const auto bytes = std::min<std::uint64_t>(size, end - at);
    read_at(*files_[file].descriptor, files_[file].path, position + (at - begin), next, bytes);
    next += bytes;
    at += bytes;
    size -= bytes;
  }
}

WrittenFile write_safetensors_stream(
    const Directory& folder, const std::string& name, std::vector<TensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content) {
  const SafetensorsWriter writer(std::move(tensors), metadata);
  return writer.write(OutputFile(folder, name, writer.size()), content);
}

}  // namespace evenkeel::store
