// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>

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

Exit show(const Common& common, const std::string& name) {
  auto sources = common.sources();
  if (!name.empty()) sources.scheme = name;
  const auto config = config::resolve(sources);
  const auto scheme = config::bind(config.scheme, config::shape_of(config, data::kByteVocabulary));
  const auto rows = train::embedding_rows(config.model, scheme.shape.vocabulary);
  const auto counts = nn::count(nn::declare(scheme, rows, scheme.tied.value_or(config.model.tied)));
  print_words(scheme.words);
  std::printf("\n%s\n", norm::diagram(scheme).c_str());
  std::printf("%-14s %s of %s parameters (preset %s: %lld layers, width %lld, %lld heads)\n",
              "norms", with_commas(counts.norms).c_str(), with_commas(counts.total).c_str(),
              config.preset.c_str(), static_cast<long long>(scheme.shape.layers),
              static_cast<long long>(scheme.shape.width),
              static_cast<long long>(scheme.shape.heads));
  for (const auto& warning : norm::validate(scheme)) {
    std::printf("%-14s %s: %s\n", "warning", warning.code.c_str(), warning.explanation.c_str());
  }
  for (const auto& missing : norm::not_run_yet(scheme)) {
    std::printf("%-14s this version cannot run %s\n", "not yet", missing.c_str());
  }
  return Exit::done;
}

}  // namespace

Verb add_schemes(CLI::App& program) {
  struct Options {
    Common common;
    std::vector<std::string> words;  // [], or "show" and a name
  };
  const auto options = std::make_shared<Options>();
  auto* const app = program.add_subcommand("schemes", "list normalization schemes, or show one");
  add_common(*app, options->common);
  app->add_option("words", options->words, "show NAME|FILE")->type_name("");
  app->footer(kExamples);
  return {app, [options] {
            const auto& words = options->words;
            if (words.empty()) return list(options->common);
            if (words.size() != 2 || words[0] != "show") {
              throw Error(Exit::usage, "schemes: wanted nothing, or `show NAME|FILE`");
            }
            return show(options->common, words[1]);
          }};
}

}  // namespace evenkeel::cli
