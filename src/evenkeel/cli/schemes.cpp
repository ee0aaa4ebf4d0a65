// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "evenkeel/base/number.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/scheme.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/nn/declare.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/validate.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  evenkeel schemes                                  the catalogue, by family
  evenkeel schemes show hybrid_norm_star            block by block, and what it adds
  evenkeel schemes show mine.toml --preset 151m     your own file, for a model of that size
A scheme is a TOML file; docs/schemes.md says how to write one.)";

void list_family(const std::string& family, const std::vector<norm::Words>& schemes) {
  std::printf("%s\n", family.c_str());
  for (const auto& words : schemes) {
    std::printf("  %-28s %s\n", words.name.c_str(), words.title.c_str());
    std::printf("  %-28s   %s;  %s\n", "", words.equation_attention.c_str(),
                words.equation_feed_forward.c_str());
  }
}

Exit list(const Common& common) {
  std::map<std::string, std::vector<norm::Words>> families;
  auto all = nlohmann::ordered_json::array();
  for (const auto& name : config::catalogue()) {
    const auto words = config::words_of(config::find_scheme(name));
    families[words.family].push_back(words);
    all.push_back({{"name", name},
                   {"family", words.family},
                   {"title", words.title},
                   {"attention", words.equation_attention},
                   {"feed_forward", words.equation_feed_forward},
                   {"source", words.source}});
  }
  if (common.json) {
    std::printf("%s\n", all.dump().c_str());
    return Exit::done;
  }
  std::printf(
      "n is a norm with its own parameters each time; A_qkv is attention with norms on q, k "
      "and v; F is the feed-forward half.\n\n");
  for (const auto& [family, schemes] : families) list_family(family, schemes);
  std::printf("\n%zu schemes; `evenkeel schemes show NAME` shows one block by block\n", all.size());
  return Exit::done;
}

void print_words(const norm::Words& words) {
  const auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) std::printf("%-14s %s\n", name, value.c_str());
  };
  line("scheme", words.name + (words.title.empty() ? "" : ": " + words.title));
  line("source", words.source);
  line("attention", words.equation_attention);
  line("feed-forward", words.equation_feed_forward);
  line("elsewhere", words.equation_other);
  line("note", words.note);
}

/// A scheme bound to the shape of a model.
struct Shown {
  std::string preset;
  norm::Scheme scheme;
  nn::Counts counts;
};

Shown shown(const Common& common) {
  const auto config = config::resolve(common.sources());
  auto scheme = config::bind(config.scheme, config::shape_of(config, data::kByteVocabulary));
  const auto rows = train::embedding_rows(config.model, scheme.shape.vocabulary);
  const auto counts = nn::count(nn::declare(scheme, rows, scheme.tied.value_or(config.model.tied)));
  return {config.preset, std::move(scheme), counts};
}

void print(const Shown& shown) {
  const auto& [preset, scheme, counts] = shown;
  print_words(scheme.words);
  std::printf("\n%s\n", norm::diagram(scheme).c_str());
  std::printf("%-14s %s of %s parameters (preset %s: %lld layers, width %lld, %lld heads)\n",
              "norms", with_commas(counts.norms).c_str(), with_commas(counts.total).c_str(),
              preset.c_str(), static_cast<long long>(scheme.shape.layers),
              static_cast<long long>(scheme.shape.width),
              static_cast<long long>(scheme.shape.heads));
  for (const auto& warning : norm::validate(scheme)) {
    std::printf("%-14s %s: %s\n", "warning", warning.code.c_str(), warning.explanation.c_str());
  }
  for (const auto& missing : norm::not_run_yet(scheme)) {
    std::printf("%-14s this version cannot run %s\n", "not yet", missing.c_str());
  }
}

nlohmann::ordered_json as_json(const Shown& shown) {
  const auto& [preset, scheme, counts] = shown;
  const auto& words = scheme.words;
  auto warnings = nlohmann::ordered_json::array();
  for (const auto& [code, explanation] : norm::validate(scheme)) {
    warnings.push_back({{"code", code}, {"explanation", explanation}});
  }
  return {{"name", words.name},
          {"family", words.family},
          {"title", words.title},
          {"attention", words.equation_attention},
          {"feed_forward", words.equation_feed_forward},
          {"elsewhere", words.equation_other},
          {"source", words.source},
          {"note", words.note},
          {"diagram", norm::diagram(scheme)},
          {"preset", preset},
          {"layers", scheme.shape.layers},
          {"width", scheme.shape.width},
          {"heads", scheme.shape.heads},
          {"parameters", counts.total},
          {"norm_parameters", counts.norms},
          {"warnings", warnings},
          {"not_yet", norm::not_run_yet(scheme)}};
}

Exit show(const Common& common) {
  const auto scheme = shown(common);
  if (common.json) {
    std::printf("%s\n", as_json(scheme).dump().c_str());
  } else {
    print(scheme);
  }
  return Exit::done;
}

}  // namespace

Verb add_schemes(CLI::App& program) {
  const auto common = std::make_shared<Common>();
  auto* const app = program.add_subcommand("schemes", "list normalization schemes, or show one");
  add_json(*app, *common);
  app->footer(kExamples);
  auto* const one = app->add_subcommand("show", "a scheme block by block");
  one->add_option("scheme", common->scheme, "a name or a .toml file")
      ->type_name("NAME|FILE")
      ->required();
  one->add_option("--preset", common->preset, "sizes of the model: tiny, nano, 151m, ...")
      ->type_name("NAME");
  add_changes(*one, *common);
  add_json(*one, *common);
  one->footer(kExamples);
  return {app, [common, one] { return one->parsed() ? show(*common) : list(*common); }};
}

}  // namespace evenkeel::cli
