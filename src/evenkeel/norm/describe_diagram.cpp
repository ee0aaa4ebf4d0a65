// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::norm {

namespace {

constexpr std::size_t kFirstColumn = 14;
constexpr std::size_t kSecondColumn = 14;

std::string padded(std::string word, std::size_t width) {
  word.resize(std::max(width, word.size() + 1), ' ');
  return word;
}

/// A number as a factor: in parentheses if it is a sum or learned.
std::string as_factor(const Number& number) {
  const auto* const fixed = std::get_if<Expression>(&number);
  const bool is_single =
      fixed != nullptr && fixed->formula().find_first_of("+-", 1) == std::string::npos;
  return is_single ? fixed->formula() : text("(", describe(number), ")");
}

bool is_one(const Number& number) {
  return number == Number(Expression(1));
}

/// The steps of a sublayer, joined by arrows.
class DiagramSteps {
 public:
  void add(const std::string& step) { line_ += text(line_.empty() ? "" : " -> ", step); }
  void add(const std::optional<Norm>& norm) {
    if (norm) add(describe(*norm));
  }
  std::string line() && { return std::move(line_); }

 private:
  std::string line_;
};

/// Appends the norms of q, k and v; consecutive equal norms form one step: "q, k: rms_norm per
/// head".
void describe_diagram_add_heads(DiagramSteps& steps, const Attention& attention) {
  const std::vector<std::pair<std::string, const std::optional<Norm>*>> slots = {
      {"q", &attention.q}, {"k", &attention.k}, {"v", &attention.v}};
  std::string names;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& [name, norm] = slots[i];
    if (!*norm) continue;
    names += text(names.empty() ? "" : ", ", name);
    const bool goes_on = i + 1 < slots.size() && *slots[i + 1].second == *norm;
    if (goes_on) continue;
    steps.add(text(names, ": ", describe(**norm)));
    names.clear();
  }
}

void add_sum(DiagramSteps& steps, const Residual& add, const std::optional<Norm>& residual) {
  if (!is_one(add.branch_scale)) steps.add(text("times ", as_factor(add.branch_scale)));
  std::string taps;
  for (const auto tap : add.skip) taps += text(taps.empty() ? "" : " + ", name_of(tap));
  if (!is_one(add.skip_scale)) {
    if (add.skip.size() > 1) taps = text("(", taps, ")");
    taps = text(as_factor(add.skip_scale), " * ", taps);
  }
  const bool has_decay = add.update == Update::geodesic && !is_one(add.angle_decay);
  steps.add(add.update == Update::add
                ? text("+ ", taps)
                : text(name_of(add.update), " step from ", taps,
                       has_decay ? text(", angle times ", as_factor(add.angle_decay)) : ""));
  steps.add(residual);
}

std::string attention_line(const Attention& attention) {
  DiagramSteps steps;
  steps.add(attention.input);
  describe_diagram_add_heads(steps, attention);
  std::string softmax = "attention";
  if (attention.score_scale) softmax += text(", scores times ", as_factor(*attention.score_scale));
  if (attention.softcap) softmax += text(", capped at ", attention.softcap->formula());
  steps.add(softmax);
  if (attention.context) steps.add(text("context: ", describe(*attention.context)));
  steps.add(attention.output);
  add_sum(steps, attention.add, attention.residual);
  return std::move(steps).line();
}

/// \param work  the operation of the sublayer: "feed-forward", "2 of 8 experts"
std::string feed_forward_line(const FeedForward& feed_forward, const std::string& work) {
  DiagramSteps steps;
  if (feed_forward.shares_input) steps.add("what attention reads");
  steps.add(feed_forward.input);
  const auto& factor = feed_forward.up_gate_scale;
  steps.add(factor ? text(work, ", up and gate times ", as_factor(*factor)) : work);
  if (feed_forward.hidden) steps.add(text("hidden: ", describe(*feed_forward.hidden)));
  steps.add(feed_forward.output);
  add_sum(steps, feed_forward.add, feed_forward.residual);
  return std::move(steps).line();
}

std::string ends(const std::optional<Norm>& norm, const Number& scale,
                 const std::optional<Expression>& softcap) {
  DiagramSteps steps;
  steps.add(norm);
  if (!is_one(scale)) steps.add(text("times ", as_factor(scale)));
  if (softcap) steps.add(text("capped at ", softcap->formula()));
  auto line = std::move(steps).line();
  return line.empty() ? "-" : line;
}

std::string block_lines(const Block& block, std::size_t first, std::size_t last,
                        const std::string& work) {
  const auto name = first == last ? text("block ", first) : text("blocks ", first, "-", last);
  std::string lines = text(padded(name, kFirstColumn), padded("attention", kSecondColumn),
                           attention_line(block.attention), "\n");
  lines += text(padded("", kFirstColumn), padded("feed-forward", kSecondColumn),
                feed_forward_line(block.feed_forward, work), "\n");
  if (block.damp) {
    lines +=
        text(padded("", kFirstColumn), padded("damp", kSecondColumn), describe(*block.damp), "\n");
  }
  return lines;
}

std::string second_stream(const Dual& dual) {
  const auto write = dual.write_y.formula() == "1"
                         ? "y + branch"
                         : text("y + ", dual.write_y.formula(), " * branch");
  const auto start = dual.y_init.formula() == "1" ? "x" : text(dual.y_init.formula(), " * x");
  return text(padded("second stream", kFirstColumn), "y starts as ", start, ", becomes ", write,
              " at each sublayer; sublayers read ", dual.reads_norm_of_y ? "x + norm(y)" : "x",
              "; at the end ", dual.norms_both_at_end ? "norm(norm(x) + norm(y))" : "x + norm(y)",
              "; norm: ", describe(dual.norm), "\n");
}

std::string describe_diagram_list(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += text(out.empty() ? "" : ", ", word);
  return out;
}

std::string hook_line(const Hook& hook) {
  std::string what = hook.kind;
  if (hook.threshold > 0) what += text(" at ", shortest(hook.threshold));
  if (!hook.weights.empty()) what += text(" of ", describe_diagram_list(hook.weights));
  if (!hook.axis.empty()) what += text(", along ", hook.axis);
  return text(padded("hook", kFirstColumn), what, "\n");
}

/// The scheme's distributions of initial weights and their factors, without defaults.
std::string start_lines(const Scheme& scheme) {
  std::string lines;
  const auto add = [&](const std::string& line) {
    lines += text(padded("start", kFirstColumn), line, "\n");
  };
  if (scheme.base_init != "default") add(text("base_init ", scheme.base_init));
  if (scheme.embedding_init != "default") add(text("embedding_init ", scheme.embedding_init));
  for (const auto& rule : scheme.init) {
    add(text(describe_diagram_list(rule.weights), " times ", as_factor(rule.factor)));
  }
  return lines;
}

}  // namespace

std::string diagram(const Scheme& scheme) {
  std::string out = text(padded("embedding", kFirstColumn),
                         ends(scheme.embedding_norm, scheme.embedding_scale, std::nullopt), "\n");
  const auto& blocks = scheme.blocks;
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t last = first;
    const auto has_router = [&](std::size_t i) {
      return scheme.shape.has_router(static_cast<std::int64_t>(i));
    };
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[first] &&
           has_router(last + 1) == has_router(first)) {
      ++last;
    }
    out += block_lines(blocks[first], first + 1, last + 1,
                       has_router(first) ? describe(scheme.shape.experts) : "feed-forward");
    first = last + 1;
  }
  if (scheme.parallel) out += text(padded("layout", kFirstColumn), "both sublayers at once\n");
  if (scheme.dual) out += second_stream(*scheme.dual);
  out += text(padded("final", kFirstColumn), ends(scheme.final, Expression(1), std::nullopt), "\n");
  out += text(padded("logits", kFirstColumn),
              ends(std::nullopt, scheme.logits_scale, scheme.logits_softcap), "\n");
  if (scheme.tied) out += text(padded("head", kFirstColumn), *scheme.tied ? "" : "un", "tied\n");
  for (const auto& rule : scheme.reparameterize) {
    out += text(padded("matrices", kFirstColumn), rule.rule, " of ",
                describe_diagram_list(rule.weights), "\n");
  }
  for (const auto& hook : scheme.hooks) out += hook_line(hook);
  return out + start_lines(scheme);
}

}  // namespace evenkeel::norm
