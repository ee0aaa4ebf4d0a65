// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/warnings.h"

#include <algorithm>
#include <array>

#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

namespace {

bool is_learned(const Number& number) {
  return std::holds_alternative<Learned>(number);
}

bool is_bounded(const Norm& norm) {
  return row_of(norm.kind).operation == Operation::bounded;
}

/// True if the block's last sum has a post-add norm; in the parallel layout that norm is
/// attention's.
bool ends_in_residual_norm(const Scheme& scheme, const Block& block) {
  return scheme.parallel ? block.attention.residual.has_value()
                         : block.feed_forward.residual.has_value();
}

bool bare_value_path(const Scheme& scheme) {
  for (std::size_t i = 1; i < scheme.blocks.size(); ++i) {
    const auto& attention = scheme.blocks[i].attention;
    const bool bare_read = !attention.input && !ends_in_residual_norm(scheme, scheme.blocks[i - 1]);
    const bool bare_branch = !attention.v && !attention.context && !attention.output;
    const auto& add = attention.add;
    if (bare_read && bare_branch && add.update == Update::add && !is_learned(add.branch_scale)) {
      return true;
    }
  }
  return false;
}

bool bounded_without_embedding_scale(const Scheme& scheme) {
  if (scheme.embedding_scale != Number(Expression(1))) return false;
  const auto slots = slots_of(scheme);
  return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) {
    const bool reads_stream = slot.place == "attention.input" || slot.place == "feed_forward.input";
    return reads_stream && is_bounded(*slot.norm);  // the stream begins with the embedding
  });
}

bool clip_with_qk_norm(const Scheme& scheme) {
  const auto clips = [](const Hook& hook) { return hook.kind == "qk_clip"; };
  const auto norms = [](const Block& block) { return block.attention.q && block.attention.k; };
  return std::any_of(scheme.hooks.begin(), scheme.hooks.end(), clips) &&
         std::any_of(scheme.blocks.begin(), scheme.blocks.end(), norms);
}

bool deep_post_norm(const Scheme& scheme) {
  constexpr std::size_t kDeep = 16;
  const Number one = Expression(1);
  return scheme.blocks.size() > kDeep && !scheme.dual &&
         std::all_of(scheme.blocks.begin(), scheme.blocks.end(), [&](const Block& block) {
           return block.attention.residual && block.attention.add.skip_scale == one &&
                  block.feed_forward.residual && block.feed_forward.add.skip_scale == one;
         });
}

bool depth_scaled_twice(const Scheme& scheme) {
  const auto by_depth = [](const InitFactor& rule) {
    const auto& names = rule.factor.names();
    return names.contains("l") || names.contains("N") || names.contains("S");
  };
  const auto by_place = [](const std::optional<Norm>& norm) {
    return norm && (norm->out_scale.names().contains("l") || norm->gain_init.names().contains("l"));
  };
  return std::any_of(scheme.init.begin(), scheme.init.end(), by_depth) &&
         std::any_of(scheme.blocks.begin(), scheme.blocks.end(), [&](const Block& block) {
           return by_place(block.attention.input) || by_place(block.feed_forward.input);
         });
}

bool double_final_norm(const Scheme& scheme) {
  return scheme.final && !scheme.dual && !scheme.blocks.empty() &&
         ends_in_residual_norm(scheme, scheme.blocks.back());
}

struct Rule {
  const char* code;
  bool (*applies)(const Scheme&);
  const char* explanation;
};

constexpr std::array<Rule, 6> kRules = {{
    {"bare_value_path", bare_value_path,
     "attention reads a stream that no norm has touched, and neither v, the context nor the output "
     "is normed: the branch grows with the stream and may diverge; norm one of them"},
    {"bounded_without_embedding_scale", bounded_without_embedding_scale,
     "dyt and derf do not rescale their input, so rows as small as a fresh embedding stay small; "
     "state embedding.scale, such as { learned = \"scalar\", init = \"sqrt(d)\" }"},
    {"clip_with_qk_norm", clip_with_qk_norm,
     "norms on q and k undo what qk_clip does to their matrices; drop the hook or one of the "
     "norms"},
    {"deep_post_norm", deep_post_norm,
     "more than 16 blocks with a norm after every add pass little gradient to the lower ones; "
     "raise skip_scale as DeepNorm does, warm up longer, or move the norms"},
    {"depth_scaled_twice", depth_scaled_twice,
     "an input norm is scaled down by depth and so are initial weights, which together silence the "
     "upper blocks; keep one of the two"},
    {"double_final_norm", double_final_norm,
     "the last block already ends in a norm, so `final` norms a normed stream; drop one of them"},
}};

}  // namespace

std::vector<Warning> warnings_of(const Scheme& scheme) {
  std::vector<Warning> found;
  for (const auto& rule : kRules) {
    if (rule.applies(scheme)) found.push_back({rule.code, rule.explanation});
  }
  return found;
}

std::vector<Warning> unexpected_warnings(const Scheme& scheme) {
  auto found = warnings_of(scheme);
  const auto& expected = scheme.info.warnings;
  std::erase_if(found, [&](const Warning& warning) {
    return std::find(expected.begin(), expected.end(), warning.code) != expected.end();
  });
  return found;
}

std::vector<std::string> warning_codes() {
  std::vector<std::string> codes;
  codes.reserve(kRules.size());
  for (const auto& rule : kRules) codes.emplace_back(rule.code);
  return codes;
}

}  // namespace evenkeel::norm
