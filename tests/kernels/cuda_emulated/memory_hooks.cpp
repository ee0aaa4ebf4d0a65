// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/checker.h"

// The compiler calls these functions before each access to memory in code that it compiles with
// -fsanitize=thread, and before accesses that are not aligned with -fsanitize=alignment. The
// program is linked without libtsan and libubsan, whose functions they replace.
namespace evenkeel::emulated {

namespace {

void check_access(const void* address, std::size_t bytes, bool is_write, const void* code) {
  if (!is_in_kernel) return;  // code that kernels and the rest of the program share
  if (checker().is_right(address, bytes, is_write, code)) [[likely]] {
    return;
  }
  const auto complaint = checker().complaint();
  fail_at(source_of(code), complaint);
}

/// What addr2line prints for an instruction of this program, one place a line.
std::string addr2line(std::uintptr_t offset) {
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0) return {};
  char command[4200];
  std::snprintf(command, sizeof(command), "addr2line -i -e '%s' %#zx 2>/dev/null", program, offset);
  FILE* const pipe = popen(command, "r");
  std::string text;
  if (pipe == nullptr) return text;
  for (char line[4096]; std::fgets(line, sizeof(line), pipe) != nullptr;) text += line;
  pclose(pipe);
  return text;
}

}  // namespace

std::string source_of(const void* code) {
  Dl_info of_program{};
  dladdr(code, &of_program);
  const auto text = addr2line(reinterpret_cast<std::uintptr_t>(code) -
                              reinterpret_cast<std::uintptr_t>(of_program.dli_fbase) - 1);
  std::string places;
  for (std::size_t begin = 0, last; (last = text.find('\n', begin)) != std::string::npos;
       begin = last + 1) {
    auto line = text.substr(begin, last - begin);
    if (const auto note = line.find(" ("); note != std::string::npos) line.erase(note);
    const auto slash = line.rfind('/');
    const bool is_ours = line.find(".cu") != std::string::npos;
    if (!is_ours) continue;
    if (!places.empty()) places += " < ";
    places += slash == std::string::npos ? line : line.substr(slash + 1);
  }
  return places.empty() ? "an unknown line" : places;
}

}  // namespace evenkeel::emulated

#define EK_HOOK(NAME, BYTES, IS_WRITE)                                                       \
  extern "C" void NAME(void* address) {                                                      \
    evenkeel::emulated::check_access(address, BYTES, IS_WRITE, __builtin_return_address(0)); \
  }
#define EK_HOOKS(BYTES)                               \
  EK_HOOK(__tsan_read##BYTES, BYTES, false)           \
  EK_HOOK(__tsan_write##BYTES, BYTES, true)           \
  EK_HOOK(__tsan_unaligned_read##BYTES, BYTES, false) \
  EK_HOOK(__tsan_unaligned_write##BYTES, BYTES, true)
EK_HOOKS(1)
EK_HOOKS(2)
EK_HOOKS(4)
EK_HOOKS(8)
EK_HOOKS(16)
#undef EK_HOOKS
#undef EK_HOOK

extern "C" {

void __tsan_read_range(void* address, std::size_t bytes) {
  evenkeel::emulated::check_access(address, bytes, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  evenkeel::emulated::check_access(address, bytes, true, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*object*/, void* /*table*/) {}
void __tsan_vptr_read(void** /*object*/) {}

/// The fields that are needed of what the compiler says of an access.
struct TypeMismatch {
  const char* file;
  std::uint32_t line, column;
  const void* type;
  unsigned char log_alignment, kind;
};

void __ubsan_handle_type_mismatch_v1(const TypeMismatch* of, std::uintptr_t address) {
  if (!evenkeel::emulated::is_in_kernel) return;
  const std::string file = of->file;
  evenkeel::emulated::fail_at(file.substr(file.rfind('/') + 1) + ':' + std::to_string(of->line),
                              "accesses memory that is aligned to " +
                                  std::to_string(address & -address) + " bytes with " +
                                  std::to_string(1U << of->log_alignment) + " bytes at once");
}

}  // extern "C"
