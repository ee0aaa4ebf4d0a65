// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/output_folder.h"

#include <unistd.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/output_file.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::convert {

OutputFolder::OutputFolder(std::filesystem::path path, bool overwrite, std::string mark)
    : path_(std::move(path)), mark_(std::move(mark)), overwrite_(overwrite) {
  const auto whole = std::filesystem::absolute(path_).lexically_normal();
  const auto own = whole.has_filename() ? whole : whole.parent_path();
  name_ = own.filename().string();
  if (name_.empty()) {
    throw Error(Exit::usage, text("--output must name a folder, but is \"", path_.string(), "\""));
  }
  check_replaceable();
  store::make_run_folder(own.parent_path());
  parent_.emplace(own.parent_path());
  temporary_ = text(name_, ".new-", ::getpid());
  parent_->remove(temporary_);  // of an earlier process with the same process id
  parent_->make_folder(temporary_);
  folder_.emplace(parent_->folder(temporary_));
}

void OutputFolder::check_replaceable() const {
  std::error_code none;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path_, none))) return;
  if (!overwrite_) {
    throw Error(Exit::usage, text("--output ", path_.string(),
                                  ": exists; name another folder, or replace it with --overwrite"));
  }
  if (std::filesystem::exists(path_ / mark_, none)) return;
  throw Error(Exit::usage, text("--output ", path_.string(), ": has no ", mark_,
                                ", so --overwrite does not replace it; remove it yourself"));
}

OutputFolder::~OutputFolder() {
  if (!folder_) return;
  try {
    parent_->remove(temporary_);
  } catch (const std::exception&) {
    return;  // a folder stays; the error that ends the export is the one to show
  }
}

void OutputFolder::write(const std::string& name, std::string_view content) const {
  store::write_new_file(*folder_, name, content, path_ / name);
}

void OutputFolder::finish() {
  folder_->flush();
  const auto old = text(name_, ".old-", ::getpid());
  const bool replaces = parent_->has(name_);
  if (replaces) {
    check_replaceable();  // it may be new since the start
    parent_->rename(name_, old);
  }
  parent_->rename(temporary_, name_);
  folder_.reset();
  parent_->flush();
  if (replaces) parent_->remove(old);
}

}  // namespace evenkeel::convert
