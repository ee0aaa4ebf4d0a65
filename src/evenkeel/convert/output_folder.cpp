// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/output_folder.h"

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/part_folder.h"
#include "evenkeel/store/output_file.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::convert {

namespace {

constexpr const char* kNew = ".new-";
constexpr const char* kOld = ".old-";

}  // namespace

OutputFolder::OutputFolder(std::filesystem::path path, bool overwrite, std::string mark,
                           std::function<bool()> stop)
    : path_(std::move(path)),
      mark_(std::move(mark)),
      overwrite_(overwrite),
      stop_(std::move(stop)) {
  const auto whole = std::filesystem::absolute(path_).lexically_normal();
  const auto own = whole.has_filename() ? whole : whole.parent_path();
  name_ = own.filename().string();
  if (name_.empty()) {
    throw Error(Exit::usage, text("--output must name a folder, but is \"", path_.string(), "\""));
  }
  check_replaceable();
  store::make_run_folder(own.parent_path());
  parent_.emplace(own.parent_path());
  remove_leftovers();
  temporary_ = text(name_, kNew, data::new_writer_mark());
  parent_->make_folder(temporary_);
  folder_.emplace(parent_->folder(temporary_));
}

/// Removes what killed processes of this machine left: incomplete folders, and older folders that
/// were replaced. An older folder stays as long as no folder has its name.
void OutputFolder::remove_leftovers() const {
  for (const auto& each : parent_->entries()) {
    const bool is_old = each.starts_with(name_ + kOld);
    if (!is_old && !each.starts_with(name_ + kNew)) continue;
    const auto mark = each.substr(name_.size() + std::string_view(kNew).size());
    if (!data::has_writer_ended(mark) || !parent_->has_folder(each)) continue;
    if (!is_old || parent_->has_folder(name_)) parent_->remove(each);
  }
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

void OutputFolder::check_stop() const {
  if (!stop_ || !stop_()) return;
  throw Error(Exit::stopped,
              text("--output ", path_.string(), ": stopped by a signal; nothing was written"));
}

void OutputFolder::finish() {
  folder_->flush();
  const auto old = text(name_, kOld, data::new_writer_mark());
  const bool replaces = parent_->has(name_);
  if (replaces) {
    check_replaceable();  // it may be new since the start
    parent_->rename(name_, old);
  }
  try {
    parent_->rename(temporary_, name_);
  } catch (...) {
    if (replaces) parent_->rename(old, name_);
    throw;
  }
  folder_.reset();
  parent_->flush();
  if (replaces) parent_->remove(old);
}

}  // namespace evenkeel::convert
