// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/imported_files.h"

namespace evenkeel::store {

void copy_imported_files(const std::filesystem::path& from, const Directory& run) {
  const auto other = Directory::find(from);
  if (!other || !other->has_folder(kImportedName)) return;
  const auto source = other->folder(kImportedName);
  run.make_folder(kImportedName);
  const auto target = run.folder(kImportedName);
  for (const auto& name : source.entries()) {
    if (source.has_file(name)) target.write(name, source.read(name));
  }
}

}  // namespace evenkeel::store
