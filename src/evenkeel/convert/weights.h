// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "evenkeel/store/safetensors_stream.h"

/// Tensors that move from file to file in parts of bounded size.
namespace evenkeel::convert {

/// Elements [first, first + count) of a tensor, in row-major order.
struct Slice {
  std::string tensor;  // "": `count` zeros
  std::int64_t first = 0, count = 0;
};

/// A tensor to be written: the elements of its slices in order, each as factor * x + offset.
struct OutputTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  store::Dtype dtype = store::Dtype::f32;
  std::vector<Slice> slices;
  double factor = 1, offset = 0;

  /// The number of elements: the product of `shape`.
  std::int64_t numel() const;
  /// The size in bytes.
  std::uint64_t bytes() const;
};

/// The tensors of one or more files. A tensor that several files have is the mean of theirs, with
/// sums in float64.
class Weights {
 public:
  /// Adds all tensors of a file.
  /// \throws Error (data, exit code 65) for a tensor of integers, or one whose shape differs from
  ///         that of an earlier file
  void add(const store::SafetensorsStream& file);

  /// The shape of each tensor.
  std::map<std::string, std::vector<std::int64_t>> shapes() const;

  /// Reads `to.size()` elements of a tensor that exists, beginning with element `first`.
  void read(const std::string& tensor, std::int64_t first, std::span<double> to) const;

  /// True if two tensors that exist have one shape and equal values: NaN equals NaN, -0 is not 0.
  /// \param check_stop  called for each part; throws to stop
  bool are_equal(const std::string& one, const std::string& other,
                 const std::function<void()>& check_stop) const;

  /// Writes all bytes of a tensor. At most a megabyte of it is in memory.
  void copy(const OutputTensor& tensor, const store::ByteSink& sink) const;

 private:
  struct Place {
    std::size_t file = 0;
    store::TensorInfo info;
  };
  bool copy_unchanged(const OutputTensor& tensor, const store::ByteSink& sink) const;

  std::vector<store::SafetensorsStream> files_;
  std::map<std::string, std::vector<Place>> places_;
};

}  // namespace evenkeel::convert
