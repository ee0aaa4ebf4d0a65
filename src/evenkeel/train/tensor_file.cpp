// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/tensor_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

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

void copy_from(const store::Safetensors& file, const std::string& name, const at::Tensor& to,
               CastDtype cast) {
  check_entry(file, name, to.scalar_type(), to.sizes().vec(), cast);
  const at::NoGradGuard no_grad;
  to.copy_(tensor_of(file, name));
}

void check_tensors(const store::Safetensors& file, const std::vector<nn::ParameterSpec>& specs,
                   nn::Precision precision) {
  for (const auto& spec : specs) {
    check_entry(file, spec.name, nn::master_dtype(precision), spec.shape, CastDtype::yes);
  }
}

void copy_weights(const store::Safetensors& file, nn::Parameters& parameters, CastDtype cast) {
  for (const auto& parameter : parameters.all()) {
    copy_from(file, parameter.name, parameter.master, cast);
  }
  for (const auto& [name, state] : parameters.states()) copy_from(file, name, state, cast);
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
  for (const auto& [file_dtype, torch_dtype] : kDtypes) {
    if (file_dtype != entry.dtype) continue;
    auto tensor = at::empty(entry.shape, torch_dtype);
    if (tensor.nbytes() > 0) {
      std::memcpy(tensor.mutable_data_ptr(), file.data(entry), tensor.nbytes());
    }
    return tensor;
  }
  throw Error(Exit::data, text(file.path(), ": ", name, " is ", store::name_of(entry.dtype),
                               ", which cannot be computed with"));
}

}  // namespace evenkeel::train
