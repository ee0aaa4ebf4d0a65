// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors_writer.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/safetensors_header.h"

namespace evenkeel::store {

namespace {

constexpr std::size_t kHeaderAlignment = 8;  // the size of the header is a multiple of it

bool is_before(const TensorView& one, const TensorView& other) {
  return std::tuple(-bytes_of(one.dtype), std::string_view(one.name)) <
         std::tuple(-bytes_of(other.dtype), std::string_view(other.name));
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::vector<TensorView> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), is_before);
  EK_ASSERT(tensors_.size() <= kMaxTensors);
  auto header = nlohmann::json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::uint64_t end = 0;
  for (const auto& each : tensors_) {
    EK_ASSERT(each.shape.size() <= kMaxDimensions && each.name.size() <= kMaxNameBytes);
    EK_ASSERT(each.name != kMetadataKey && !header.contains(each.name));
    const auto begin = std::exchange(end, end + bytes_of(each));
    header[each.name] = {
        {"dtype", name_of(each.dtype)}, {"shape", each.shape}, {"data_offsets", {begin, end}}};
  }
  header_ = header.dump();
  header_.resize((header_.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment,
                 ' ');
  EK_ASSERT(header_.size() <= kMaxHeaderBytes);
  size_ = sizeof(std::uint64_t) + header_.size() + end;
}

WrittenFile SafetensorsWriter::write(OutputFile file) const {
  return write_to(file, [](const TensorView& tensor, const ByteSink& sink) {
    sink(tensor.data, bytes_of(tensor));
  });
}

WrittenFile SafetensorsWriter::write_to(
    OutputFile& file,
    const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content) const {
  const std::uint64_t header_bytes = header_.size();
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header_.data(), header_.size());
  const ByteSink sink = [&](const void* data, std::size_t size) { file.write(data, size); };
  for (const auto& each : tensors_) content(each, sink);
  return file.finish();
}

nlohmann::json SafetensorsWriter::tensors() const {
  auto all = nlohmann::json::object();
  for (const auto& each : tensors_) {
    all[each.name] = {{"dtype", name_of(each.dtype)}, {"shape", each.shape}};
  }
  return all;
}

void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const SafetensorsWriter writer(std::move(tensors), metadata);
  const Directory folder(std::filesystem::absolute(path).parent_path());
  const auto name = path.filename().string();
  const auto temporary = text(name, ".new-", ::getpid());
  folder.remove(temporary);  // left by an earlier process with the same process id
  try {
    writer.write(OutputFile(folder, temporary, writer.size()));
    folder.rename(temporary, name);
  } catch (...) {
    folder.remove(temporary);
    throw;
  }
  folder.flush();
}

}  // namespace evenkeel::store
