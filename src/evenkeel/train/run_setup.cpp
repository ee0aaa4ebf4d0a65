// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_setup.h"

#include <algorithm>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/version.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/warnings.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/store/tokenizer_copy.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

bool caps_scores(const norm::Scheme& scheme) {
  return std::any_of(scheme.blocks.begin(), scheme.blocks.end(),
                     [](const norm::Block& block) { return block.attention.softcap.has_value(); });
}

/// Prints notes on unusual properties of a scheme, and on how the run adapts to its machine.
std::vector<std::string> notes_of(const config::Config& config, const RunSetup& setup) {
  const auto& scheme = setup.plan.scheme;
  auto notes = norm::leaks_of(scheme);
  if (config.model.recompute != setup.plan.recompute) {
    auto without = config;
    without.model.recompute = "none";
    const auto plan = plan::plan_of(without, setup.machine, setup.text.encoding->vocabulary());
    notes.push_back(text("model.recompute = \"auto\" is \"", setup.plan.recompute,
                         "\" here: a step takes about ", bytes_text(setup.plan.memory.total()),
                         ", with \"none\" ", bytes_text(plan.memory.total()), ", and ",
                         bytes_text(setup.machine.free_memory), " are free"));
  }
  const auto& tokenizer = setup.text.encoding->tokenizer();
  if (!tokenizer.text_changes().empty()) {
    notes.push_back(text("the tokenizer ", tokenizer.text_changes(),
                         ", as the package sentencepiece does: the model learns the changed text"));
  }
  if (config.kernels.attention == "flash" && caps_scores(scheme)) {
    notes.emplace_back(
        "scores are capped, which LibTorch's flash attention cannot do: attention is computed "
        "explicitly");
  }
  return notes;
}

void print_model(const config::Config& config, const plan::Plan& plan, Console& console) {
  const auto& counts = plan.counts;
  const auto& shape = plan.scheme.shape;
  console.info(text("model  ", config.scheme.name, ", ",
                    with_unit(static_cast<double>(counts.total)), " parameters (",
                    with_commas(counts.norms), " in norms), ", config.model.layers, " layer",
                    config.model.layers == 1 ? "" : "s", " of width ", config.model.width));
  if (!shape.is_mixture()) return;
  const auto active = static_cast<double>(plan.active_parameters);
  console.info(text("       ", norm::describe(shape.experts), ": ", with_unit(active),
                    " parameters work on a token"));
}

}  // namespace

config::Config config_of_run(config::Config config, const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::exists(config.data.tokenizer, none)) {
    auto& tokenizer = config.data.tokenizer;
    tokenizer = store::tokenizer_of_run(store::Directory(folder), tokenizer);
  }
  return config;
}

RunSetup set_up_run(const config::Config& config, const comm::Group& group) {
  const auto& placement = group.placement();
  RunSetup setup;
  setup.machine = configure_machine(config.train, placement.ranks_on_cores);
  data::check_unused_format(config);
  setup.text = data::load_corpora(config.data, config.model.context, config.model.vocabulary,
                                  [] { return stop_wanted(); });
  share_memory(setup.machine, group);
  setup.plan = plan::plan_of(config, setup.machine, setup.text.encoding->vocabulary());
  setup.config = plan::with_recompute(config, setup.plan);
  return setup;
}

void print_summary(const config::Config& config, const RunSetup& setup,
                   const std::filesystem::path& folder, Console& console) {
  console.info(text("evenkeel ", kVersion, " on ", setup.machine.description));
  console.info(text("text   ", data::description(setup.text.train)));
  console.info(text("valid  ", data::description(setup.text.validation)));
  const auto& encoding = *setup.text.encoding;
  if (!encoding.is_bytes()) {
    console.info(text("tokens ", encoding.tokenizer().path(), ", ", encoding.tokenizer().kind(),
                      ", vocabulary ", with_commas(encoding.vocabulary())));
  }
  print_model(config, setup.plan, console);
  const bool is_read_as_bytes =
      encoding.is_bytes() && setup.text.train.front().corpus.token_lengths != nullptr;
  if (is_read_as_bytes && config.model.vocabulary > data::kByteVocabulary) {
    console.info(text("note   text is read as bytes: no tokenizer was given for the vocabulary of ",
                      with_commas(config.model.vocabulary),
                      "; --set model.vocabulary=tokenizer makes the embedding that small"));
  }
  for (const auto& note : notes_of(config, setup)) console.info(text("note   ", note));
  console.info(text("run    ", folder.string()));
  for (const auto& warning : norm::unexpected_warnings(setup.plan.scheme)) {
    console.warn(text("warning ", warning.code, ": ", warning.explanation));
  }
  for (const auto& warning : setup.text.warnings) console.warn(text("warning: ", warning));
}

}  // namespace evenkeel::train
