// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/run_scheme.h"

#include <algorithm>
#include <new>

#include "evenkeel/base/error.h"
#include "evenkeel/report/block_figure.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

/// The result of a function; nullopt after any exception but std::bad_alloc. A run folder may be
/// damaged, or of another version.
template <typename Function>
auto unless_it_throws(const Function& function) -> std::optional<decltype(function())> {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<config::Config> run_config(const Run& run) {
  if (!run.config) return std::nullopt;
  // Without these keys the text is no run.toml of this program, and the defaults would be invented.
  for (const char* key : {"model.layers", "model.width", "train.batch"}) {
    if (value_of(run.settings, key).empty()) return std::nullopt;
  }
  return unless_it_throws([&] { return config::read_back(*run.config, "run.toml"); });
}

std::optional<norm::Scheme> run_scheme(const Run& run) {
  constexpr std::int64_t kBytes = 257;  // the smallest vocabulary of a tokenizer of this program
  constexpr std::int64_t kMostLayers = 4096;
  const auto config = run_config(run);
  if (!config || config->model.layers > kMostLayers) return std::nullopt;
  return unless_it_throws([&] {
    const auto vocabulary = std::max(config->model.vocabulary, kBytes);
    return config::bind(config->scheme, config::shape_of(*config, vocabulary));
  });
}

std::string run_scheme_figure(const Run& run) {
  const auto scheme = run_scheme(run);
  if (!scheme) return "";
  const auto drawn = unless_it_throws([&] { return block_figure(*scheme); });
  if (!drawn) return "";
  return element("div", *drawn, "scroll scheme-figure") + "\n";
}

}  // namespace evenkeel::report
