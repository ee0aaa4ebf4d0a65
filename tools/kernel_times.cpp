// SPDX-License-Identifier: Apache-2.0
// Records every kernel and copy of a CUDA program with its time, by CUPTI. tools/kernel_times.py
// prints them.
//
//   cmake --build build/cuda --target kernel_times
//   export KERNEL_TIMES=times CUDA_INJECTION64_PATH=$PWD/build/cuda/libkernel_times.so
//   LD_PRELOAD=$CUDA_INJECTION64_PATH build/cuda/evenkeel bench step --device cuda --rounds 3 ...
//   tools/kernel_times.py times-PID
//
// CUDA loads the library and calls InitializeInjection(). It is preloaded, too, because evenkeel
// ends with _exit(). Writes KERNEL_TIMES-PID: a line `N number name` before the first use of a
// name, and a line `number start duration` per kernel or copy, in nanoseconds.
#include <cupti.h>
#include <cxxabi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

struct Record {
  std::string name;
  std::uint64_t start, end;
};
std::vector<Record> records;

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t kSize = 8 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kSize));
  *size = kSize;
  *most_records = 0;
}

template <typename Activity>
void add(const CUpti_Activity* activity, const std::string& name) {
  const auto* const one = reinterpret_cast<const Activity*>(activity);
  records.push_back({name, one->start, one->end});
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t size) {
  CUpti_Activity* one = nullptr;
  while (cuptiActivityGetNextRecord(buffer, size, &one) == CUPTI_SUCCESS) {
    if (one->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      add<CUpti_ActivityKernel9>(one, reinterpret_cast<const CUpti_ActivityKernel9*>(one)->name);
    } else if (one->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      add<CUpti_ActivityMemcpy5>(one, "memcpy");
    } else if (one->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      add<CUpti_ActivityMemset4>(one, "memset");
    }
  }
  std::free(buffer);
}

std::string readable(const std::string& name) {
  int status = 0;
  char* const demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string out = demangled == nullptr ? name : demangled;
  std::free(demangled);
  return out.substr(0, 400);
}

void write_records() {
  const char* const path = std::getenv("KERNEL_TIMES");
  cuptiActivityFlushAll(1);
  if (path == nullptr || records.empty()) return;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  std::FILE* const file =
      std::fopen((std::string(path) + "-" + std::to_string(getpid())).c_str(), "w");
  if (file == nullptr) return std::perror("kernel_times");
  std::map<std::string, std::size_t> numbers;
  for (const auto& each : records) {
    const auto [entry, is_new] = numbers.emplace(each.name, numbers.size());
    if (is_new) std::fprintf(file, "N %zu %s\n", entry->second, readable(each.name).c_str());
    std::fprintf(file, "%zu %llu %llu\n", entry->second,
                 static_cast<unsigned long long>(each.start - records.front().start),
                 static_cast<unsigned long long>(each.end - each.start));
  }
  std::fclose(file);
  records.clear();
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMSET})
    cuptiActivityEnable(kind);
  std::atexit(write_records);
  return 1;
}

extern "C" [[noreturn]] void _exit(int code) {
  write_records();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}
