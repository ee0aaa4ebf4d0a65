// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

void add_common(CLI::App& app, Common& common) {
  app.add_option("--preset", common.preset,
                 "sizes and recipe to start from (tiny, nano, 151m, ...)")
      ->type_name("NAME");
  app.add_option("--config", common.files, "configuration file; may be repeated, later wins")
      ->type_name("FILE");
  app.add_option("--scheme", common.scheme, "normalization scheme: a name or a .toml file")
      ->type_name("NAME|FILE");
  app.add_option("--set", common.sets, "one key, as in train.steps=2000; may be repeated")
      ->type_name("KEY=VALUE");
  app.add_option("--run", common.run, "run folder")->type_name("FOLDER");
  app.add_option("--device", common.device, "cpu")->type_name("DEVICE");
  app.add_flag("--json", common.json, "results as JSON on standard output");
  app.add_flag("--quiet", common.quiet, "only trouble and results");
  app.get_option("--config")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.get_option("--set")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void check_device(const Common& common) {
  if (common.device == "cpu") return;
  throw Error(Exit::usage, text("--device ", common.device,
                                ": this build runs on the cpu only; leave --device out"));
}

}  // namespace evenkeel::cli
