// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_scheme.h"

#include <cmath>
#include <map>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/norm/scheme_relation.h"

namespace evenkeel::convert {

namespace {

constexpr const char* kImportedName = "imported";
constexpr const char* kPaperDistribution = "trunc_normal(1/sqrt(2.5*d), 3)";
constexpr const char* kLastMatrices = R"(["attention.output", "feed_forward.down"])";

/// A norm as TOML. \param has_gain  false: without gain and bias
std::string norm_toml(const OlmoNorms& norms, bool has_gain, bool per_head) {
  const bool has_bias = norms.has_bias && has_gain;
  std::string out = text("{ kind = \"", norms.kind, "\", epsilon = ", shortest(norms.epsilon));
  const char* const affine = !has_gain ? "none" : has_bias ? "vector+bias" : "vector";
  out += text(", affine = \"", affine, "\"");
  return out + (per_head ? ", scope = \"head\" }" : " }");
}

using Slots = std::map<std::string, std::string>;  // key -> TOML

/// The keys of a sublayer that are equal in all layers.
Slots common_slots(const OlmoNorms& norms, bool is_attention) {
  Slots out;
  if (norms.after) out["output"] = norm_toml(norms, norms.has_gain, false);
  if (!is_attention) return out;
  const auto inner = norm_toml(norms, norms.has_inner_gain, true);
  if (norms.query) out["q"] = inner;
  if (norms.key) out["k"] = inner;
  if (norms.value) out["v"] = inner;
  if (norms.context) out["context"] = inner;
  if (norms.full_qk) out["q"] = out["k"] = norm_toml(norms, norms.has_inner_gain, false);
  return out;
}

/// The input norm and the skip path of a sublayer, "none" and "stream" included.
Slots switched_slots(const OlmoNorms& norms, bool has_norm, bool is_skip_normed) {
  has_norm = has_norm && !norms.after;
  return {{"input", has_norm ? norm_toml(norms, norms.has_gain, false) : "\"none\""},
          {"skip", has_norm && is_skip_normed ? "\"normed\"" : "\"stream\""}};
}

std::string slots_toml(const Slots& slots, const char* separator) {
  std::string out;
  for (const auto& [key, value] : slots) {
    out += text(out.empty() ? "" : separator, key, " = ", value);
  }
  return out;
}

/// The norms as TOML. The first layer with other switches than the last begins the patches.
std::string placement_toml(const OlmoNorms& norms) {
  const auto& common = norms.layers.back();
  auto attention = common_slots(norms, true);
  attention.merge(switched_slots(norms, common.attn_norm, common.attn_residual));
  auto feed_forward = common_slots(norms, false);
  feed_forward.merge(switched_slots(norms, common.ffn_norm, common.ffn_residual));
  const auto norm = norm_toml(norms, norms.has_gain, false);
  std::string out = text("final = ", norm, "\n");
  if (norms.embedding) out += text("embedding = { norm = ", norm, " }\n");
  out += text("attention = { ", slots_toml(attention, ", "), " }\n", "feed_forward = { ",
              slots_toml(feed_forward, ", "), " }\n");
  for (std::size_t i = 0; i < norms.layers.size(); ++i) {
    const auto& own = norms.layers[i];
    if (own == common) continue;
    out += text("[[layers]]\nwhere = [", i + 1, "]\nattention = { ",
                slots_toml(switched_slots(norms, own.attn_norm, own.attn_residual), ", "),
                " }\nfeed_forward = { ",
                slots_toml(switched_slots(norms, own.ffn_norm, own.ffn_residual), ", "), " }\n");
  }
  return out;
}

/// The number as an expression: "3", not "3.0".
std::string expression_of(double number) {
  return norm::Expression(number).formula();
}

/// "trunc_normal(0.02, 3)"; the distribution of the paper by its expression.
std::string distribution_toml(double deviation, const std::optional<double>& cutoff,
                              const norm::Shape& shape) {
  constexpr double kPaper = 2.5, kCut = 3, kRounding = 1e-6;
  const double paper = 1 / std::sqrt(kPaper * static_cast<double>(shape.width));
  if (cutoff == kCut && std::fabs(deviation / paper - 1) < kRounding) return kPaperDistribution;
  if (!cutoff) return text("normal(", expression_of(deviation), ")");
  return text("trunc_normal(", expression_of(deviation), ", ", expression_of(*cutoff), ")");
}

/// The distribution of the embedding, as in reset_parameters() of OLMo's model.
/// \param base  that of the matrices
std::string embedding_toml(const OlmoInit& init, const norm::Shape& shape,
                           const std::string& base) {
  if (init.embedding_deviation) {
    return distribution_toml(*init.embedding_deviation, init.cutoff, shape);
  }
  if (init.scales_embedding && init.function == "full_megatron") {
    const double root = std::sqrt(static_cast<double>(shape.width));
    return distribution_toml(init.deviation * root, init.cutoff, shape);
  }
  return base;
}

/// Initial weights as the keys of a scheme, and as a word of model.init.
struct InitText {
  std::string toml;                 // base_init = ..., embedding_init = ..., init = ...
  std::optional<std::string> word;  // nullopt: model.init has no such word
  bool has_other_head = false;
};

InitText init_text(const OlmoInit& init, const norm::Shape& shape, bool tied) {
  const bool is_mitchell = init.function == "mitchell";
  const auto base = is_mitchell ? text("trunc_normal(1/sqrt(d), ", expression_of(*init.cutoff), ")")
                                : distribution_toml(init.deviation, init.cutoff, shape);
  const bool is_paper = base == kPaperDistribution;
  const auto embedding = embedding_toml(init, shape, base);
  const auto embedding_key = embedding == kPaperDistribution
                                 ? std::string()  // the default of a scheme
                                 : text("embedding_init = \"", embedding, "\"\n");
  InitText out;
  if (init.function == "normal") {
    out.toml = text("base_init = \"", base, "\"\n", embedding_key);
    if (embedding == base) out.word = is_paper ? "normal" : base;
    return out;
  }
  if (is_mitchell) {
    out.toml = text("base_init = \"", base, "\"\n", embedding_key,
                    "init = [{ weights = [\"attention.output\"], factor = \"1/sqrt(2*l)\" }, ",
                    "{ weights = [\"feed_forward.down\"], factor = \"sqrt(d/f)/sqrt(2*l)\" }]\n");
    return out;
  }
  EK_ASSERT(init.function == "full_megatron");
  // The untied head has 1/sqrt(d), which our mixtures have with base_init "default".
  const bool is_default = !tied && shape.is_mixture() && is_paper;
  out.toml = text("base_init = \"", is_default ? "default" : base, "\"\n", embedding_key,
                  "init = [{ weights = ", kLastMatrices, ", factor = \"1/sqrt(2*N)\" }]\n");
  if (is_paper && !is_default && embedding == base) out.word = "megatron";
  out.has_other_head = !tied && !is_default;
  return out;
}

/// The first catalogue scheme of the same function, if possible with the same initial weights.
struct CatalogueMatch {
  config::SchemeSource source;
  bool has_same_start = false;
};

/// The schemes of the catalogue, which are read once.
const std::vector<config::SchemeSource>& catalogue_schemes() {
  static const auto all = [] {
    std::vector<config::SchemeSource> schemes;
    for (const auto& name : config::catalogue()) schemes.push_back(config::find_scheme(name));
    return schemes;
  }();
  return all;
}

std::optional<CatalogueMatch> match_in_catalogue(const norm::Scheme& scheme) {
  const auto own = norm::fingerprint(scheme);
  std::optional<CatalogueMatch> match;
  for (const auto& source : catalogue_schemes()) {
    try {
      const auto print = norm::fingerprint(config::bind(source, scheme.shape));
      if (print.function != own.function) continue;
      if (print.start == own.start) return CatalogueMatch{source, true};
      if (!match) match = CatalogueMatch{source, false};
    } catch (const Error&) {
      continue;  // a scheme that this shape does not permit
    }
  }
  return match;
}

}  // namespace

OlmoScheme olmo_scheme(const OlmoNorms& norms, const OlmoInit& init, const norm::Shape& shape,
                       bool tied) {
  const auto start = init_text(init, shape, tied);
  OlmoScheme out;
  out.has_other_head = start.has_other_head;
  out.source = config::inline_scheme(start.toml + placement_toml(norms), "");
  out.source.name = kImportedName;
  const auto match = match_in_catalogue(config::bind(out.source, shape));
  if (match && match->has_same_start) {
    out.source = match->source;
  } else if (match && start.word) {
    out.source = match->source;
    out.init = *start.word;
  } else if (match) {
    out.source = config::inline_scheme(
        text("extends = ", config::in_quotes(match->source.name), "\n", start.toml), "");
  }
  return out;
}

}  // namespace evenkeel::convert
