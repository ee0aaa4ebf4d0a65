// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/tasks/flatbuffer.h"

namespace evenkeel::tasks {

/// The types of columns that are read.
enum class ArrowType { utf8, boolean, int32, int64, list, structure };

const char* name_of(ArrowType type);

/// A column, or a part of one: the elements of a list, a field of a struct.
struct ArrowField {
  std::string name;
  ArrowType type = ArrowType::utf8;
  std::vector<ArrowField> children;
};

/// The columns of a file.
/// \param schema  table Schema of Arrow's format/Schema.fbs
/// \throws Error (data, exit code 65) for a broken schema, more than 1000 fields, and, by its name,
///         for a type that is not read, a dictionary and big-endian numbers
std::vector<ArrowField> arrow_fields(const FlatbufferTable& schema, const std::string& file);

}  // namespace evenkeel::tasks
