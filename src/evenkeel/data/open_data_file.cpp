// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/open_data_file.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::data {

int open_data_file(const std::string& path) {
  try {
    return open_input(path);
  } catch (const Error& error) {
    throw Error(error.exit() == Exit::io ? Exit::data : error.exit(), error.what());
  }
}

}  // namespace evenkeel::data
