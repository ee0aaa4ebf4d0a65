// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/failure.h"

#include <c10/util/Exception.h>

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace evenkeel::cli {

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.exit(), error.what()};
  } catch (const std::filesystem::filesystem_error& error) {
    return {Exit::io, text(error.path1().string(), ": ", error.code().message())};
  } catch (const std::bad_alloc&) {
    return {Exit::busy, kOutOfMemory};
  } catch (const c10::OutOfMemoryError&) {
    return {Exit::busy, kOutOfMemory};
  } catch (const std::system_error& error) {  // a thread or process could not be created
    return {Exit::busy, error.what()};
  } catch (const c10::Error& error) {
    return {Exit::internal, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {Exit::internal, error.what()};
  }
}

}  // namespace evenkeel::cli
