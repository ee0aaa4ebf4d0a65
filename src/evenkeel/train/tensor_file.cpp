// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/tensor_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "evenkeel/base/error.h"

namespace evenkeel::train {

namespace {

using store::Dtype;

constexpr std::pair<Dtype, at::ScalarType> kDtypes[] = {
    {Dtype::f64, at::kDouble},  {Dtype::f32, at::kFloat}, {Dtype::bf16, at::kBFloat16},
    {Dtype::f16, at::kHalf},    {Dtype::i64, at::kLong},  {Dtype::i32, at::kInt},
    {Dtype::i16, at::kShort},   {Dtype::i8, at::kChar},   {Dtype::u8, at::kByte},
    {Dtype::boolean, at::kBool}};

Dtype safetensors_dtype(at::ScalarType dtype) {
  for (const auto& [file_dtype, torch_dtype] : kDtypes) {
    if (torch_dtype == dtype) return file_dtype;
  }
  EK_ASSERT(!"a dtype that is never stored");
  return Dtype::f32;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const auto size : shape) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return "[" + out + "]";
}

/// \throws Error (no_checkpoint) unless the file has the tensor with this dtype and shape
/// \param file  Safetensors or SafetensorsStream
template <typename File>
void check_entry(const File& file, const std::string& name, at::ScalarType dtype,
                 const std::vector<std::int64_t>& shape, CastDtype cast) {
  const auto wanted_dtype = safetensors_dtype(dtype);
  const auto wanted = text(store::name_of(wanted_dtype), " ", shape_text(shape));
  const auto found = file.entries().find(name);
  if (found == file.entries().end()) {
    throw Error(Exit::no_checkpoint, text(file.path(), ": wants a tensor ", name, " ", wanted,
                                          ", but has none; it is of another model"));
  }
  const auto& entry = found->second;
  const bool fits = entry.dtype == wanted_dtype || cast == CastDtype::yes;
  if (fits && entry.shape == shape) return;
  throw Error(Exit::no_checkpoint, text(file.path(), ": ", name, " must be ", wanted, ", but is ",
                                        store::name_of(entry.dtype), " ", shape_text(entry.shape),
                                        "; it is of another model or precision"));
}

/// \throws Error (data) for a dtype that LibTorch does not compute with
at::ScalarType torch_dtype_of(const std::string& path, const std::string& name, Dtype dtype) {
  for (const auto& [file_dtype, torch_dtype] : kDtypes) {
    if (file_dtype == dtype) return torch_dtype;
  }
  throw Error(Exit::data, text(path, ": ", name, " is ", store::name_of(dtype),
                               ", which cannot be computed with"));
}

/// Overwrites `to`, which is contiguous and has the shape of the tensor in the file; in pieces if
/// the dtype differs or `to` is on a GPU.
void read_tensor(const store::SafetensorsStream& file, const std::string& name,
                 const at::Tensor& to) {
  const auto& entry = file.entries().at(name);
  const auto dtype = torch_dtype_of(file.path(), name, entry.dtype);
  const at::NoGradGuard no_grad;
  const auto flat = to.detach().view(-1);
  if (flat.is_cpu() && flat.scalar_type() == dtype) {
    return file.read(entry, 0, flat.mutable_data_ptr(), flat.nbytes());
  }
  constexpr std::int64_t kPiece = 1 << 21;  // values
  const auto host = at::empty({std::min(kPiece, flat.numel())}, dtype);
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    const auto part = host.narrow(0, 0, std::min(kPiece, flat.numel() - begin));
    file.read(entry, static_cast<std::uint64_t>(begin) * part.element_size(),
              part.mutable_data_ptr(), part.nbytes());
    flat.narrow(0, begin, part.numel()).copy_(part);
  }
}

}  // namespace

store::TensorView view_of(const std::string& name, const at::Tensor& tensor) {
  EK_ASSERT(tensor.is_contiguous());
  const auto dtype = safetensors_dtype(tensor.scalar_type());
  if (tensor.is_cpu()) return {name, dtype, tensor.sizes().vec(), tensor.const_data_ptr(), {}};
  const auto copy = std::make_shared<const at::Tensor>(tensor.cpu());
  return {name, dtype, tensor.sizes().vec(), copy->const_data_ptr(), copy};
}

void check_tensor(const store::SafetensorsStream& file, const std::string& name,
                  at::ScalarType dtype, const std::vector<std::int64_t>& shape) {
  check_entry(file, name, dtype, shape, CastDtype::no);
}

void check_tensors(const store::SafetensorsStream& file,
                   const std::vector<nn::ParameterSpec>& specs, nn::Precision precision) {
  for (const auto& spec : specs) {
    check_entry(file, spec.name, nn::master_dtype(precision), spec.shape, CastDtype::yes);
  }
}

void copy_weights(const store::SafetensorsStream& file, nn::Parameters& parameters,
                  CastDtype cast) {
  const auto masters = nn::master_dtype(parameters.precision());
  const auto read = [&](const std::string& name, const at::Tensor& to) {
    check_entry(file, name, masters, to.sizes().vec(), cast);
    read_tensor(file, name, to);
  };
  for (const auto& each : parameters.all()) {
    read(each.name, each.master.defined() ? each.master : each.value);
  }
  for (const auto& [name, state] : parameters.states()) read(name, state);
  for (const auto& [name, entry] : file.entries()) {
    if (parameters.find(name).defined() || parameters.find_state(name).defined()) continue;
    throw Error(Exit::no_checkpoint,
                text(file.path(), ": holds ", name, " ", shape_text(entry.shape),
                     ", which the model does not have; it is of another scheme or model"));
  }
  parameters.copy_masters_to_values();
}

at::Tensor tensor_of(const store::Safetensors& file, const std::string& name) {
  const auto& entry = file.entry(name);
  auto tensor = at::empty(entry.shape, torch_dtype_of(file.path(), name, entry.dtype));
  if (tensor.nbytes() > 0) {
    std::memcpy(tensor.mutable_data_ptr(), file.data(entry), tensor.nbytes());
  }
  return tensor;
}

}  // namespace evenkeel::train
