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

void read_parquet(const std::string& path, const std::string& column,
                  const std::function<void(std::string_view document)>& use) {
  const auto& plugin = plugin_for(path);
  PluginMessage message;
  const std::unique_ptr<void, void (*)(void*)> file(
      plugin.open(open_data_file(path), message.room()), plugin.close);
  if (!file) refuse_parquet(path, text("must be parquet, but is not: ", message.text()));
  const auto number = column_named(plugin, file.get(), path, column);
  if (plugin.select(file.get(), number, message.room()) != 0) {
    refuse_parquet(path, text("the column \"", column, "\" must hold strings, but is of type ",
                              message.text(), "; set data.text_key"));
  }
  EvenkeelStrings strings = {};
  for (;;) {
    const int answer = plugin.next(file.get(), &strings, message.room());
    if (answer < 0) refuse_parquet(path, text("cannot be read: ", message.text()));
    if (answer == 0) return;
    for (std::int64_t i = 0; i < strings.count; ++i) {
      const std::string_view document(strings.data[i], static_cast<std::size_t>(strings.sizes[i]));
      check_utf8(document, text(path, ", row ", strings.rows[i]), 0);
      use(document);
    }
  }
}

}  // namespace evenkeel::data
