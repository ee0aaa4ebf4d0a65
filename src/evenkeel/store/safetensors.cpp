// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/input_file.h"
#include "evenkeel/store/safetensors_header.h"

namespace evenkeel::store {

static_assert(std::endian::native == std::endian::little, "data is written as it is in memory");

namespace {

struct DtypeInfo {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array kDtypes = {  // in the order of the enumerators
    DtypeInfo{"F64", 8}, DtypeInfo{"F32", 4}, DtypeInfo{"BF16", 2}, DtypeInfo{"F16", 2},
    DtypeInfo{"I64", 8}, DtypeInfo{"I32", 4}, DtypeInfo{"I16", 2},  DtypeInfo{"I8", 1},
    DtypeInfo{"U64", 8}, DtypeInfo{"U32", 4}, DtypeInfo{"U16", 2},  DtypeInfo{"U8", 1},
    DtypeInfo{"BOOL", 1}};

}  // namespace

std::string_view name_of(Dtype dtype) {
  return kDtypes.at(static_cast<std::size_t>(dtype)).name;
}

std::int64_t bytes_of(Dtype dtype) {
  return kDtypes.at(static_cast<std::size_t>(dtype)).bytes;
}

std::uint64_t bytes_of(const TensorView& tensor) {
  std::int64_t bytes = bytes_of(tensor.dtype);
  for (const auto size : tensor.shape) {
    EK_ASSERT(size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::optional<Dtype> dtype_named(std::string_view name) {
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const DtypeInfo& each) { return each.name == name; });
  if (found == kDtypes.end()) return std::nullopt;
  return static_cast<Dtype>(found - kDtypes.begin());
}

std::int64_t TensorInfo::numel() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

Safetensors Safetensors::read(const std::filesystem::path& path) {
  InputFile in(path);
  return parse(in, path.string());
}

Safetensors Safetensors::read(const Directory& folder, const std::string& name) {
  InputFile in(folder, name);
  return parse(in, (folder.path() / name).string());
}

Safetensors Safetensors::parse(InputFile& in, std::string path) {
  Safetensors file;
  file.path_ = std::move(path);
  std::uint64_t header_bytes = 0;
  const auto size = in.size();
  if (size >= sizeof header_bytes) in.read(&header_bytes, sizeof header_bytes);
  const auto json = read_header(size, header_bytes, file.path_,
                                [&](std::uint64_t, void* to, std::size_t n) { in.read(to, n); });
  const auto data_bytes = size - sizeof header_bytes - json.size();
  auto header = parse_header(json, data_bytes, file.path_);
  file.entries_ = std::move(header.entries);
  file.metadata_ = std::move(header.metadata);
  auto data = std::make_shared_for_overwrite<std::byte[]>(data_bytes);
  in.read(data.get(), data_bytes);
  file.data_ = std::move(data);
  return file;
}

const TensorInfo& Safetensors::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw Error(Exit::data, text(path_, ": must hold tensor \"", name, "\", but does not"));
  }
  return found->second;
}

const std::byte* Safetensors::data(const TensorInfo& entry) const {
  return data_.get() + entry.begin;
}

}  // namespace evenkeel::store
