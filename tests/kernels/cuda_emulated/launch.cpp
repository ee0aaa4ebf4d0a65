// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/launch.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/threads.h"

namespace evenkeel::emulated {

namespace {

/// What launches leave.
struct Past {
  std::set<KernelName> defined, launched;
  std::map<const void*, std::size_t> shared_limits;
  std::size_t launches = 0;
  bool has_entered = false;
  std::string failure;
};
Past& past() {
  static Past the;
  return the;
}

std::string text_of(const dim3& size) {
  return '(' + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " +
         std::to_string(size.z) + ')';
}

/// Why a real card would refuse the launch, or empty.
std::string refusal(const void* kernel, const Configuration& c) {
  const auto threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  if (threads == 0 || threads > kMostThreads || c.block.z > kMostBlockZ) {
    return "block " + text_of(c.block) + " must have 1 to 1024 threads, and z at most 64";
  }
  if (std::min({c.grid.x, c.grid.y, c.grid.z}) == 0 || c.grid.x > kMostGridX ||
      std::max(c.grid.y, c.grid.z) > kMostGridYz) {
    return "grid " + text_of(c.grid) + " must be at least 1, and y and z at most 65535";
  }
  if (const auto most = shared_limit(kernel); c.shared > most) {
    return std::to_string(c.shared) + " bytes of dynamic shared memory; " + std::to_string(most) +
           " at most, until cudaFuncSetAttribute() allows more";
  }
  if (c.stream != current_stream()) return "it is on another stream than the current one";
  return {};
}

}  // namespace

Card& card() {
  static Card the;
  return the;
}

CUstream_st* current_stream() {
  static char token;
  return reinterpret_cast<CUstream_st*>(&token);
}

KernelNames::KernelNames(std::initializer_list<KernelName> names) {
  past().defined.insert(names);
}

const std::set<KernelName>& defined_kernels() {
  return past().defined;
}

const std::set<KernelName>& launched_kernels() {
  return past().launched;
}

std::size_t launch_count() {
  return past().launches;
}

std::string& failure() {
  return past().failure;
}

std::size_t shared_limit(const void* kernel) {
  const auto found = past().shared_limits.find(kernel);
  return found == past().shared_limits.end() ? kStaticBytes : found->second;
}

void set_shared_limit(const void* kernel, std::size_t bytes) {
  past().shared_limits[kernel] = bytes;
}

void enter_kernel(const char* file, const char* kernel, unsigned bounds) {
  if (past().has_entered) return;
  past().has_entered = true;
  past().launched.insert({file, kernel});
  block().kernel_name = kernel;
  const unsigned threads = ::blockDim.x * ::blockDim.y * ::blockDim.z;
  if (bounds != 0 && threads > bounds) {
    fail_at(file, "has " + std::to_string(threads) +
                      " threads in its block, but __launch_bounds__(" + std::to_string(bounds) +
                      ')');
  }
}

void run(const void* kernel, const Configuration& configuration, void (*body)(const void*),
         const void* arguments, std::size_t bytes) {
  const auto place = file_and_line(configuration.place);
  if (const auto why = refusal(kernel, configuration); !why.empty()) {
    past().failure = place + ": the launch is refused: " + why;
    return;
  }
  ++past().launches;
  if (card().is_absent) {
    past().failure = place + ": no card";
    return;
  }
  past().has_entered = false;
  try {
    run_blocks({kernel, configuration, body, arguments, bytes});
  } catch (const std::runtime_error& error) {
    past().failure = error.what();
  }
}

}  // namespace evenkeel::emulated
