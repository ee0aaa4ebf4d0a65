// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/nccl_library.h"

#include <dlfcn.h>

#include <optional>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

namespace {

/// Sets a function from its symbol. \return false: there is no such symbol
template <typename Function>
bool find_function(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));  // NOLINT: POSIX
  return function != nullptr;
}

std::optional<NcclLibrary> find_nccl() {
  NcclLibrary all;
  const bool has_all = find_function(all.get_version, "ncclGetVersion") &&
                       find_function(all.get_unique_id, "ncclGetUniqueId") &&
                       find_function(all.init_rank, "ncclCommInitRank") &&
                       find_function(all.abort, "ncclCommAbort") &&
                       find_function(all.async_error, "ncclCommGetAsyncError") &&
                       find_function(all.error_text, "ncclGetErrorString") &&
                       find_function(all.group_start, "ncclGroupStart") &&
                       find_function(all.group_end, "ncclGroupEnd") &&
                       find_function(all.send, "ncclSend") &&
                       find_function(all.receive, "ncclRecv");
  return has_all ? std::optional(all) : std::nullopt;
}

}  // namespace

const NcclLibrary* nccl_library() {
  static const auto found = find_nccl();
  return found ? &*found : nullptr;
}

std::string nccl_version() {
  int number = 0;  // 22907 for 2.29.7
  const auto* const library = nccl_library();
  if (library == nullptr || library->get_version(&number) != NcclLibrary::kSuccess) return "";
  constexpr int kMajor = 10000, kMinor = 100;
  return text(number / kMajor, ".", number % kMajor / kMinor, ".", number % kMinor);
}

}  // namespace evenkeel::comm
