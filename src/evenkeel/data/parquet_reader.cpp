// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/parquet_reader.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/data/open_data_file.h"
#include "evenkeel/data/parquet_plugin.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPluginName = "libevenkeel_parquet.so";

std::string plugin_path() {
  if (const auto* const named = std::getenv("EVENKEEL_PARQUET_PLUGIN"); named != nullptr) {
    return named;
  }
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path() / kPluginName).string();
}

[[noreturn]] void refuse_parquet(const std::string& path, const std::string& reason) {
  throw Error(Exit::data, text(path, ": ", reason));
}

/// The functions of the plug-in, which stays loaded.
const EvenkeelParquet& plugin_for(const std::string& path) {
  const auto library = plugin_path();
  std::error_code error;
  if (!fs::exists(library, error)) {
    refuse_parquet(path, text("parquet needs ", library,
                              ", which is missing; build it with ./ek parquet, or convert the file "
                              "to .jsonl, for example with pandas"));
  }
  auto* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    refuse_parquet(path, text("cannot load the reader of parquet: ", printable_line(::dlerror()),
                              "; build it again with ./ek parquet"));
  }
  const auto functions =
      reinterpret_cast<decltype(&evenkeel_parquet)>(::dlsym(handle, "evenkeel_parquet"));
  const auto* const plugin = functions == nullptr ? nullptr : functions();
  if (plugin == nullptr || plugin->version != kParquetVersion) {
    refuse_parquet(path, text(library, " is of another version; build it again with ./ek parquet"));
  }
  return *plugin;
}

/// A text that the plug-in writes.
class PluginMessage {
 public:
  EvenkeelMessage room() { return {text_.data(), text_.size()}; }
  std::string text() const { return printable_line(text_.data()); }

 private:
  std::array<char, 512> text_{};
};

/// The number of a column; refuses a name that the file does not have.
std::int64_t column_named(const EvenkeelParquet& plugin, void* file, const std::string& path,
                          const std::string& name) {
  std::vector<std::string> names;
  const auto count = plugin.column_count(file);
  names.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) names.emplace_back(plugin.column_name(file, i));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return found - names.begin();
  std::sort(names.begin(), names.end());
  refuse_parquet(
      path, text("no column \"", name, "\"", did_you_mean(name, names), "; set data.text_key"));
}

}  // namespace

struct ParquetReader::File {
  const EvenkeelParquet& plugin;
  std::unique_ptr<void, void (*)(void*)> handle;
};

ParquetReader::ParquetReader(std::string path, const std::string& column) : path_(std::move(path)) {
  const auto& plugin = plugin_for(path_);
  PluginMessage message;
  auto* const handle = plugin.open(open_data_file(path_), message.room());
  if (handle == nullptr) {
    refuse_parquet(path_, text("must be parquet, but is not: ", message.text()));
  }
  file_ = std::make_unique<File>(File{plugin, {handle, plugin.close}});
  const auto number = column_named(plugin, handle, path_, column);
  if (plugin.select(handle, number, message.room()) != 0) {
    refuse_parquet(path_, text("the column \"", column, "\" must hold strings, but is of type ",
                               message.text(), "; set data.text_key"));
  }
}

ParquetReader::~ParquetReader() = default;

bool ParquetReader::next(const std::function<void(std::string_view document)>& use) {
  PluginMessage message;
  EvenkeelStrings strings = {};
  const int answer = file_->plugin.next(file_->handle.get(), &strings, message.room());
  if (answer < 0) refuse_parquet(path_, text("cannot be read: ", message.text()));
  if (answer == 0) return false;
  for (std::int64_t i = 0; i < strings.count; ++i) {
    const std::string_view document(strings.data[i], static_cast<std::size_t>(strings.sizes[i]));
    check_utf8(document, text(path_, ", row ", strings.rows[i]), 0);
    use(document);
  }
  return true;
}

void read_parquet(const std::string& path, const std::string& column,
                  const std::function<void(std::string_view document)>& use) {
  ParquetReader reader(path, column);
  while (reader.next(use)) {
  }
}

}  // namespace evenkeel::data
