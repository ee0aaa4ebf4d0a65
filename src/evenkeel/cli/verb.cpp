// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/verb.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "evenkeel/base/json_dump.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/comm/place.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::cli {

config::Sources CommonOptions::sources_with_run() const {
  auto all = sources();
  if (!run) return all;
  const auto file = *run / "run.toml";
  if (!std::filesystem::exists(file)) {
    throw Error(Exit::no_checkpoint,
                text(run->string(), ": not a run folder (no run.toml); `evenkeel runs` lists them",
                     store::no_run_hint(*run)));
  }
  all.files.insert(all.files.begin(), file);
  return all;
}

void add_config_options(const Command& command, CommonOptions& common) {
  command
      .add_option("--preset", common.preset,
                  "model sizes and training recipe: tiny, nano, 151m, ...; default: tiny")
      .type_name("NAME");
  add_file_and_set_options(command, common);
  command
      .add_option("--scheme", common.scheme,
                  "normalization scheme or its file; default: hybrid_norm_star")
      .type_name("NAME|FILE");
}

void add_file_and_set_options(const Command& command, CommonOptions& common) {
  command
      .add_option("--config", common.files,
                  "TOML file of settings; may be repeated, later wins; default: none")
      .type_name("FILE")
      .not_empty()
      .repeated();
  command
      .add_option("--set", common.sets,
                  "sets a configuration key, as in train.steps=2000; may be repeated")
      .type_name("KEY=VALUE")
      .repeated();
}

void add_run(const Command& command, CommonOptions& common, const char* help) {
  command.add_option("--run", common.run, help).type_name("FOLDER").not_empty();
}

void add_device(const Command& command, CommonOptions& common) {
  command
      .add_option("--device", common.device,
                  "where to compute: auto, cpu, cuda or cuda:N; default: auto")
      .type_name("DEVICE");
}

void add_quantize(const Command& command, CommonOptions& common) {
  command
      .add_option("--quantize", common.quantize,
                  "int8: weights of linear layers in int8; default: as trained")
      .type_name("DTYPE")
      .one_of({"int8"});
}

void add_json(const Command& command, CommonOptions& common) {
  command.add_flag("--json", common.json, "results as JSON on standard output");
}

void add_quiet(const Command& command, CommonOptions& common) {
  command.add_flag("--quiet", common.quiet, "print only errors and the result");
}

void name_device(const CommonOptions& common) {
  const bool is_auto = common.device == "auto";
  // Where nothing depends on it, other programs' LOCAL_RANK may have any text.
  const bool counts = (common.device == "cuda" || is_auto) && ops::gpu_count() > 0;
  const int local_rank = counts ? comm::local_rank_of(comm::process_environment()) : 0;
  ops::name_compute_device(ops::parse_device(common.device, local_rank));
  if (is_auto && !ops::gpu_error().empty()) {
    print_message(text("warning: no GPU can be used: ", ops::gpu_error(),
                       "; the CPU computes. --device cpu hides this warning"));
  }
}

void use_device(const CommonOptions& common) {
  name_device(common);
  ops::set_compute_device(ops::compute_device());
}

std::string terminal_safe(const std::string& text) {
  return ::isatty(STDOUT_FILENO) == 0 ? text : printable(text);
}

void warn_of_unreadable(const std::vector<std::filesystem::path>& folders) {
  constexpr std::size_t kMostNamed = 3;
  const auto named = std::min(folders.size(), kMostNamed);
  for (std::size_t at = 0; at < named; ++at) {
    print_message(text("warning: ", folders[at].string(),
                       ": cannot be read, so runs in it are not shown; check its permissions"));
  }
  const auto more = folders.size() - named;
  if (more == 0) return;
  print_message(
      text("warning: and ", more, more == 1 ? " more folder" : " more folders", " cannot be read"));
}

void print_path(const std::filesystem::path& path) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  print_bytes((is_terminal ? printable_line(path.string()) : path.string()) + "\n");
}

void print_json(const nlohmann::ordered_json& result, int indent) {
  print("%s\n", json_dump(result, indent).c_str());
}

}  // namespace evenkeel::cli
