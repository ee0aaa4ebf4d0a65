// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The definition of a study: a grid of runs, and claims about them (docs/studies.md).
namespace evenkeel::study {

/// One value of an axis: its label and its settings.
struct AxisValue {
  std::string label;
  std::vector<std::string> settings;  // as after --set: "schedule.peak=0.002"
};

/// One dimension of the grid. `name` is the key that its values set, or a free name if the values
/// are tables of keys.
struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

/// A subset of the arms: axis -> label. Axes without an entry may have any value.
using Selection = std::map<std::string, std::string>;

/// A number that is measured in each run. Lower is better, except for probes. Of a task's accuracy
/// that is its error rate, 1 - accuracy.
struct Measure {
  enum class Kind {
    val_loss,
    val_gap,
    loss,
    generalization_gap,  // validation loss less training loss
    val_wrong,           // error rate (1 - exact match), for texts with answers
    ood_loss,            // of data.ood
    ood_wrong,
    step_time,  // ln(median step time in ms), so that differences are log ratios
    task,       // a metric of a task, after the last step that it was scored at
    probe,
    loss_at,        // validation loss after a share of the steps
    steps_to_loss,  // share of the steps until the validation loss is at most a target; 1: never
    sweep           // one number of all runs of a seed along an axis; of claims and of
                    // Study::comparison
  };
  /// The number that a sweep gives (analysis/sweep.h).
  enum class Sweep { best, sensitivity, max_trainable };
  /// The reduction of a profile over layers to one number. Of the mean over layers at all probed
  /// steps: `drift`, its standard deviation; `change`, ln of the last over the first.
  enum class Reduction { slope, steepness, spread, mean, largest, first, last, drift, change };
  /// True: the reduction is of all probed steps.
  bool is_over_steps() const {
    return reduction == Reduction::drift || reduction == Reduction::change;
  }
  Kind kind = Kind::val_loss;
  std::string probe, part;  // fields of probes.jsonl: "grad_norm", "block"
  std::int64_t step = 0;    // step of the probe; 0: the last probed step
  Reduction reduction = Reduction::mean;
  double share = 0;                     // `loss_at`: of the planned steps, in (0, 1]
  double target = 0;                    // `steps_to_loss`: nats per token
  std::string axis;                     // `sweep`: an axis with numeric labels
  Sweep sweep = Sweep::best;            // `sweep`
  double cap = 0;                       // `sweep`: the loss of a failed run, and the largest
  std::string task, metric;             // `task`: a label; "len_norm", or "" for its own
  std::string name() const;             // "validation loss", "slope of grad_norm at step 100"
  std::string unit() const;             // in reports: "nats per token", "ms"
  std::string difference_unit() const;  // of a difference, in reports: "nats per token", "%"
  bool operator==(const Measure&) const = default;
};

/// True for whole numbers of steps of an axis, whose differences are far from normal: their p is
/// that of the sign-flip test.
inline bool uses_sign_flips(const Measure& measure) {
  return measure.kind == Measure::Kind::sweep && measure.sweep == Measure::Sweep::max_trainable;
}

/// A falsifiable claim about the runs. `of` is the arm, `than` the reference.
struct Claim {
  enum class Kind {
    lower,       // the measure is lower in `of` than in `than`
    equivalent,  // the measures of `of` and `than` differ by less than `margin`
    trains,      // fewer than half of the runs of `of` fail
    fails,       // more than half of the runs of `of` fail
    further,     // the largest stable value of the axis `along` is larger for `of`
  };
  Kind kind = Kind::lower;
  std::string says;  // a sentence
  Selection of, than;
  Selection at;  // restricts the claim to these values; empty: all
  // `lower`, `equivalent`: the difference of `of` and `than` at `at` is compared with that at
  // `than_at`; empty: with 0
  Selection than_at;
  Measure measure;
  double margin = 0;  // `equivalent`: in the unit of the measure
  // `equivalent`: both means must be below it, or the claim is not tested; infinity: no threshold
  double competence = std::numeric_limits<double>::infinity();
  std::string along;  // `further`: an axis with numeric labels
  double paper = std::numeric_limits<double>::quiet_NaN();  // published `of` minus `than`
  std::string source;                                       // place in the paper: "Table 13"
};

/// The search for the best value of one key, per arm.
struct SearchConfig {
  std::string key;                  // "schedule.peak"
  std::vector<std::string> values;  // TOML
  std::vector<double> rungs;        // fractions of the steps; each rung promotes the better half
  std::int64_t seed = 0;            // seed of the search, not in Study::seeds
  std::int64_t extend = 0;          // further values at most, while the best is at an end
};

/// Further values of an axis, near the best one of the arms that differ on it only, for all seeds.
/// Sweep::best is of all values; everything else is of those of the grid.
struct Refinement {
  std::string axis;         // positive numbers, values of the key of this name
  std::int64_t extend = 0;  // values beyond the ends of the grid at most
  double cap = 0;           // Measure::cap of the measures that use them
};

/// A study at one size.
struct Study {
  std::string name;  // name of the file: "placement"
  std::string size;  // "smoke"
  std::string title, question, source;
  std::vector<std::string> settings;  // settings of all runs; "preset=NAME" may be the first
  std::vector<Axis> axes;             // without the seeds
  std::vector<std::int64_t> seeds;
  std::optional<SearchConfig> tune;
  std::optional<Refinement> refine;  // TOML: refine
  Measure measure;
  Selection baseline;  // the arms that all other arms are compared with; may be empty
  std::optional<Measure> comparison;  // TOML: compare; a sweep, for comparisons with the baseline
  double fails_above = 0;  // a run with a higher last validation loss has failed; nats per token
  bool exclusive = false;  // TOML key `alone`: one run at a time, for step times
  double minutes = 0;      // no run starts after this time in the study; 0: no limit
  bool uses_bootstrap = false;  // TOML: test = "bootstrap"; else Student's t
  // TOML: correction = "benjamini_hochberg", of the comparisons with the baseline that no claim
  // contains; else Holm.
  bool controls_false_discoveries = false;
  std::optional<double> smallest_effect;  // of interest, in the unit of the measure; 0: none
  // TOML: val_loss_at; shares of the steps in (0, 1], rising, after which validation losses are
  // recorded and drawn.
  std::vector<double> loss_shares;
  std::string power_law = "none";  // "parameters": fit the measure against the number of parameters
  std::vector<Claim> claims;
  std::string text;  // content of the file
};

/// A scheme that the catalogue does not have: of a file, or changed by settings.
struct OwnScheme {
  std::string name;  // "mine"; of a second scheme of this name "mine, 2"
  std::string toml;  // merged with its parents: one line for each key
};

/// The measure of the comparisons with the baseline.
inline const Measure& compared_measure(const Study& study) {
  return study.comparison ? *study.comparison : study.measure;
}

/// The smallest difference of this measure that matters: that of the study for the study's own
/// measure, else 0.01 for losses in nats; nullopt without any.
std::optional<double> smallest_effect_of(const Study& study, const Measure& measure);
inline constexpr double kSmallestEffectNats = 0.01;

/// A label as a number, "1e-3" or "16"; nullopt if it is not numeric.
std::optional<double> number_of(const std::string& label);

/// The sizes of a study file, in the order of the file.
/// \throws as parse_study()
std::vector<std::string> sizes_of(const std::string& toml, const std::string& path);

/// Parses a study file.
/// \param toml  content of the file
/// \param path  name of the file, for messages
/// \param size  one of sizes_of(); "" if the file has none
/// \throws Error (usage) for unknown keys, empty grids, or claims about arms outside the grid
Study parse_study(const std::string& toml, const std::string& path, const std::string& size);

/// Applies `--set KEY=VALUE` to all runs. It replaces the value in [settings].
/// \throws Error (usage) if an axis, the search or `seeds` sets this key
void add_setting(Study& study, const std::string& setting);

/// Replaces the seeds of the file: `--seeds 12` means 1 to 12; `--seeds 9-16` means 9 to 16, for a
/// confirmatory test of a claim that seeds 1 to 8 suggested.
/// \param argument  "12" or "9-16"
/// \throws Error (usage) if a seed is that of the search
void set_seeds(Study& study, const std::string& argument);
inline constexpr std::int64_t kMaxSeeds = 1000;

}  // namespace evenkeel::study
