// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/cuda_emulated/vectors.h"

struct CUstream_st;

/// Launches of kernels on an emulated card: the limits of a real one are checked, then blocks run
/// one after the other, each with its threads as fibers (block.h).
namespace evenkeel::emulated {

/// A line of a source.
struct Place {
  const char* file = "";
  unsigned line = 0;
};

/// What is between <<< and >>>.
struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  CUstream_st* stream;
  Place place;
  Configuration(dim3 of_grid, dim3 of_block, std::size_t of_shared = 0,
                CUstream_st* of_stream = nullptr, const char* file = __builtin_FILE(),
                unsigned line = __builtin_LINE())
      : grid(of_grid), block(of_block), shared(of_shared), stream(of_stream), place{file, line} {}
};

// The limits of an H100 (CUDA C++ Programming Guide, table of compute capabilities).
constexpr unsigned kMostThreads = 1024, kMostBlockZ = 64;
constexpr unsigned kMostGridX = 0x7FFFFFFF, kMostGridYz = 65535;
constexpr std::size_t kStaticBytes = std::size_t{48} << 10;
constexpr std::size_t kMostSharedBytes = std::size_t{227} << 10;
constexpr std::size_t kReservedOfBlock = std::size_t{1} << 10;
constexpr std::size_t kSharedOfMultiprocessor = std::size_t{228} << 10;
constexpr int kThreadsOfMultiprocessor = 2048, kBlocksOfMultiprocessor = 32;

/// The emulated card. Few multiprocessors: loops over a grid of a few blocks each go round.
struct Card {
  bool is_absent = false;  // launches are counted, and fail
  int multiprocessors = 3;
  std::size_t shared_bytes = kMostSharedBytes;  // of a block, at most
  /// How blocks, and the threads of a block between two barriers, follow each other in the next
  /// launch: 1 first to last, 2 last to first, from 3 on shuffled by this number.
  int (*order)() = [] { return 1; };
};
Card& card();

/// The one stream that adapters may launch on.
CUstream_st* current_stream();

/// A kernel by its file and name.
using KernelName = std::pair<std::string, std::string>;

/// Registers the kernels that a file defines.
struct KernelNames {
  KernelNames(std::initializer_list<KernelName> names);
};
const std::set<KernelName>& defined_kernels();

/// The kernels that have run until now, and the number of launches.
const std::set<KernelName>& launched_kernels();
std::size_t launch_count();

/// At the top of each kernel.
/// \param bounds  first argument of its __launch_bounds__; 0: it has none
void enter_kernel(const char* file, const char* kernel, unsigned bounds);

/// Why the last launch failed, until cudaGetLastError() returns it; or empty.
std::string& failure();

/// The most dynamic shared memory that a kernel may have.
std::size_t shared_limit(const void* kernel);
void set_shared_limit(const void* kernel, std::size_t bytes);

/// body(arguments) by each thread of the grid.
void run(const void* kernel, const Configuration& configuration, void (*body)(const void*),
         const void* arguments, std::size_t bytes);

template <typename... Parameters>
class Launcher {
 public:
  using Kernel = void (*)(Parameters...);
  Launcher(Kernel kernel, const Configuration& configuration)
      : kernel_(kernel), configuration_(configuration) {}

  void operator()(std::type_identity_t<Parameters>... arguments) const {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...));
    const Call call{kernel_, {arguments...}};
    run(reinterpret_cast<const void*>(kernel_), configuration_, &Launcher::call, &call,
        sizeof(call));
  }

 private:
  struct Call {
    Kernel kernel;
    std::tuple<Parameters...> arguments;
  };
  static void call(const void* of) {
    const auto& call = *static_cast<const Call*>(of);
    std::apply(call.kernel, call.arguments);
  }

  Kernel kernel_;
  Configuration configuration_;
};

template <typename... Parameters>
Launcher<Parameters...> launch(void (*kernel)(Parameters...), const Configuration& configuration) {
  return {kernel, configuration};
}

}  // namespace evenkeel::emulated
