// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/failure.h"

#include <c10/util/Exception.h>

#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include "evenkeel/ops/common/compute_device.h"

namespace evenkeel::cli {

namespace {

/// The message of LibTorch's error; with LibTorch's own for a GPU, which says which one and what
/// uses its memory.
std::string out_of_memory(const c10::OutOfMemoryError& error) {
  if (!ops::compute_device().is_cuda()) return kOutOfMemory;
  const std::string whole = error.what_without_backtrace();
  return text(kOutOfMemory, "; ", whole.substr(0, whole.find('\n')));
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.exit(), error.what()};
  } catch (const std::filesystem::filesystem_error& error) {
    return {Exit::io, text(error.path1().string(), ": ", error.code().message())};
  } catch (const std::bad_alloc&) {
    return {Exit::busy, kOutOfMemory};
  } catch (const c10::OutOfMemoryError& error) {
    return {Exit::busy, out_of_memory(error)};
  } catch (const std::system_error& error) {  // a thread or process could not be created
    return {Exit::busy, error.what()};
  } catch (const c10::Error& error) {
    return {Exit::internal, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {Exit::internal, error.what()};
  }
}

}  // namespace evenkeel::cli
