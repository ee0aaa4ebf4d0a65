// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

/// Labels on these axes.
Selection labels_on(const Arm& arm, const std::vector<std::string>& axes) {
  Selection out;
  for (const auto& axis : axes) out[axis] = arm.labels.at(axis);
  return out;
}

/// Arms with equal labels on these axes, in the order of the arms.
struct Group {
  Selection labels;
  std::vector<std::size_t> arms;
};
std::vector<Group> groups_of(const Results& results, const std::vector<std::size_t>& arms,
                             const std::vector<std::string>& axes) {
  std::vector<Group> groups;
  for (const auto at : arms) {
    auto labels = labels_on(results.arms[at], axes);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& group) { return group.labels == labels; });
    if (found == groups.end()) found = groups.insert(groups.end(), {std::move(labels), {}});
    found->arms.push_back(at);
  }
  return groups;
}

/// The axes with several values, except `along`. An axis whose labels are words comes first: it
/// gets the colours.
std::vector<std::string> varied_axes(const Study& study, const std::string& along) {
  std::vector<std::string> text_axes, numeric_axes;
  for (const auto& axis : study.axes) {
    if (axis.values.size() < 2 || axis.name == along) continue;
    const bool is_number =
        std::all_of(axis.values.begin(), axis.values.end(),
                    [](const AxisValue& v) { return number_of(v.label).has_value(); });
    (is_number ? numeric_axes : text_axes).push_back(axis.name);
  }
  text_axes.insert(text_axes.end(), numeric_axes.begin(), numeric_axes.end());
  return text_axes;
}

/// The lowest mean of the arms; infinite without any.
double best_mean(const Results& results, const CurveSpec& spec) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto at : spec.arms) {
    const double mean = mean_value(results.arms[at]);
    if (mean < best) best = mean;
  }
  return best;
}

bool contains_baseline(const Results& results, const CurveSpec& spec) {
  return std::any_of(spec.arms.begin(), spec.arms.end(),
                     [&](std::size_t at) { return is_baseline(results.study, results.arms[at]); });
}

/// Whether a claim compares an arm of the curve.
bool is_in_claim(const Results& results, const CurveSpec& spec) {
  const auto& claims = results.study.claims;
  return std::any_of(spec.arms.begin(), spec.arms.end(), [&](std::size_t at) {
    const auto is_one_of = [&](const Selection& some) {
      return !some.empty() && matches(results.arms[at].labels, some);
    };
    return std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
      return is_one_of(claim.of) || is_one_of(claim.than);
    });
  });
}

bool is_among(const std::vector<std::size_t>& kept, std::size_t at) {
  return std::find(kept.begin(), kept.end(), at) != kept.end();
}

/// The curves with the lowest means and those with the highest, among those that are not `kept` and
/// have a finite mean.
std::vector<std::size_t> extremes(const Results& results, const Panel& panel,
                                  const std::vector<std::size_t>& kept, std::size_t lowest,
                                  std::size_t highest) {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < panel.curve_specs.size(); ++i) {
    const double mean = best_mean(results, panel.curve_specs[i]);
    if (std::isfinite(mean) && !is_among(kept, i)) ranked.emplace_back(mean, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (i < lowest || i + highest >= ranked.size()) out.push_back(ranked[i].second);
  }
  return out;
}

/// Curves of one colour get different patterns, as long as there are some.
void make_distinct(std::vector<CurveSpec>& curves) {
  for (std::size_t i = 0; i < curves.size(); ++i) {
    auto& style = curves[i].style;
    const auto is_taken = [&] {
      return std::any_of(curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const CurveSpec& other) {
                           return other.style.colour == style.colour &&
                                  other.style.dash == style.dash;
                         });
    };
    for (int tried = 1; tried < report::kDashes && is_taken(); ++tried) {
      style.dash = (style.dash + 1) % report::kDashes;
    }
  }
}

/// If there are too many curves: keeps those of the baseline and of the claims, as far as there is
/// room, and fills up with the lowest and the highest.
void keep_telling_curves(const Results& results, Panel& panel) {
  const auto all = panel.curve_specs.size();
  if (all <= kMaxCurves) return;
  std::vector<std::size_t> kept;
  const auto keep_those = [&](const auto& is_wanted) {
    const auto before = kept.size();
    for (std::size_t i = 0; i < all && kept.size() < kMaxCurves; ++i) {
      if (!is_among(kept, i) && is_wanted(results, panel.curve_specs[i])) kept.push_back(i);
    }
    return kept.size() > before;
  };
  const bool has_baseline = keep_those(contains_baseline);
  const bool has_claims = keep_those(is_in_claim);
  const std::size_t room = kMaxCurves - kept.size(), lowest = (room + 1) / 2;
  const auto others = extremes(results, panel, kept, lowest, room - lowest);
  panel.note = text("Of ", all, " curves: ", has_baseline ? "the baseline, " : "",
                    has_claims ? "those of claims, " : "", "the ", lowest, " lowest and the ",
                    room - lowest, " highest.");
  kept.insert(kept.end(), others.begin(), others.end());
  std::sort(kept.begin(), kept.end());
  std::vector<CurveSpec> selected;
  selected.reserve(kept.size());
  for (const auto at : kept) selected.push_back(std::move(panel.curve_specs[at]));
  make_distinct(selected);
  panel.curve_specs = std::move(selected);
}

/// The colour is the value of the first varied axis, in all charts. The pattern distinguishes the
/// other axes in this chart.
void colour(const Study& study, const std::vector<std::string>& varied, const Results& results,
            Panel& panel) {
  if (varied.empty()) return;
  const auto& leading = varied.front();
  const auto axis = std::find_if(study.axes.begin(), study.axes.end(),
                                 [&](const Axis& each) { return each.name == leading; });
  std::vector<Selection> rests;
  for (auto& spec : panel.curve_specs) {
    const auto& arm = results.arms[spec.arms.front()];
    const auto value =
        std::find_if(axis->values.begin(), axis->values.end(),
                     [&](const AxisValue& each) { return each.label == arm.labels.at(leading); });
    auto rest = labels_on(arm, varied);
    rest.erase(leading);
    auto found = std::find(rests.begin(), rests.end(), rest);
    if (found == rests.end()) found = rests.insert(rests.end(), std::move(rest));
    const auto index = static_cast<int>(value - axis->values.begin());
    const auto pattern = index / report::kColours + static_cast<int>(found - rests.begin());
    spec.style = {index % report::kColours, pattern % report::kDashes};
  }
}

Panel panel_of(const Results& results, const Group& group, const std::vector<std::string>& varied) {
  Panel panel;
  const auto& study = results.study;
  if (!group.labels.empty()) panel.where = labels_text(study, group.labels);
  for (const auto& [labels, arms] : groups_of(results, group.arms, varied)) {
    auto own = labels;
    for (const auto& [axis, label] : group.labels) own.erase(axis);
    panel.curve_specs.push_back({own.empty() ? "" : labels_text(study, own), arms, {}});
  }
  colour(study, varied, results, panel);
  keep_telling_curves(results, panel);
  return panel;
}

}  // namespace

std::vector<Panel> panels(const Results& results, const std::string& along, std::size_t most) {
  std::vector<std::size_t> all(results.arms.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto varied = varied_axes(results.study, along);
  std::vector<Group> groups = {{{}, all}};
  if (varied.size() > 1 && groups_of(results, all, varied).size() > kMaxCurves) {
    const std::vector<std::string> other_axes(varied.begin() + 1, varied.end());
    auto spread = groups_of(results, all, other_axes);
    if (spread.size() <= most) groups = std::move(spread);
  }
  std::vector<Panel> out;
  out.reserve(groups.size());
  for (const auto& group : groups) out.push_back(panel_of(results, group, varied));
  return out;
}

std::string run_counts_text(const std::vector<NamedArm>& arms,
                            const std::function<bool(const SeedRun&)>& is_counted) {
  std::string out;
  std::size_t found = 0;
  for (const auto& [name, arm] : arms) {
    const auto count = std::ranges::count_if(arm->seed_runs, is_counted);
    if (count == 0 || ++found > kMaxNamedArms) continue;
    out += text(out.empty() ? "" : "; ", name, " (", count, " of ", arm->seed_runs.size(), ")");
  }
  return found > kMaxNamedArms ? text(out, "; and ", found - kMaxNamedArms, " more") : out;
}

std::string unfinished_runs_note(const std::vector<NamedArm>& arms,
                                 const std::function<bool(const SeedRun&)>& is_drawn) {
  using State = SeedRun::State;
  constexpr std::array kWords = {std::pair(State::failed, "Failed"),
                                 std::pair(State::crashed, "Crashed"),
                                 std::pair(State::missing, "Missing")};
  std::string out;
  for (const auto& word : kWords) {
    const auto names = run_counts_text(arms, [&](const SeedRun& run) {
      return run.state == word.first && !(is_drawn && is_drawn(run));
    });
    if (!names.empty()) out += text(' ', word.second, ", not drawn: ", names, '.');
  }
  return out;
}

std::string unfinished_runs_note(const Results& results, const Panel& panel,
                                 const std::function<bool(const SeedRun&)>& is_drawn) {
  std::vector<NamedArm> arms;
  for (const auto& spec : panel.curve_specs) {
    for (const auto at : spec.arms) {
      const auto& arm = results.arms[at];
      arms.push_back({spec.name.empty() ? arm.name : spec.name, &arm});
    }
  }
  return unfinished_runs_note(arms, is_drawn);
}

}  // namespace evenkeel::study
