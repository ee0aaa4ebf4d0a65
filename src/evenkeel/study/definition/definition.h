// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What a study file says: a grid of runs, and claims about them (docs/studies.md).
namespace evenkeel::study {

/// One value of an axis: how it is called, and what it sets.
struct AxisValue {
  std::string label;
  std::vector<std::string> settings;  // as after --set: "schedule.peak=0.002"
};

/// One dimension of the grid. `name` is the key that its values set, or a word of the file's own
/// where the values are tables of keys.
struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

/// Some arms: axis -> label. An axis that is not named may have any value.
using Selection = std::map<std::string, std::string>;

/// A number that a run comes to; less is better, of all that are no probe's.
struct Measure {
  enum class Kind {
    val_loss,
    val_gap,
    loss,
    val_wrong,  // share of the answers got wrong, of a text that has some
    ood_loss,   // of data.ood
    ood_wrong,
    step_time,  // ln of the median milliseconds of a step: times are compared by their ratio
    probe
  };
  /// What a profile over blocks comes to.
  enum class Reduction { slope, steepness, spread, mean, largest, first, last };
  Kind kind = Kind::val_loss;
  std::string probe, part;  // of probes.jsonl: "grad_norm", "block"
  std::int64_t step = 0;    // 0: the last one that was probed
  Reduction reduction = Reduction::mean;
  std::string name() const;             // "validation loss", "slope of grad_norm at step 100"
  std::string unit() const;             // as reports show it: "nats per token", "ms"
  std::string difference_unit() const;  // the same of a difference: "nats per token", "%"
  bool operator==(const Measure&) const = default;
};

/// Something that is said of the runs, and can turn out wrong.
struct Claim {
  enum class Kind {
    lower,       // the measure is lower in `of` than in `than`
    equivalent,  // they differ by less than `margin`
    trains,      // fewer than half of the runs of `of` fail
    fails,       // more than half of them do
    further,     // along an axis `of` trains up to a larger value than `than`
  };
  Kind kind = Kind::lower;
  std::string says;  // a sentence
  Selection of, than;
  Selection at;  // where it is looked at; everywhere without it
  Measure measure;
  double margin = 0;  // of `equivalent`
  std::string along;  // of `further`: an axis whose labels are numbers
  double paper = std::numeric_limits<double>::quiet_NaN();  // `of` less `than`, as published
  std::string source;                                       // where: "Table 13"
};

/// The search for each arm's own best value of one key.
struct SearchConfig {
  std::string key;                  // "schedule.peak"
  std::vector<std::string> values;  // TOML
  std::vector<double> rungs;        // shares of the run's steps; after each the better half stays
  std::int64_t seed = 0;            // of the search: none of the grid's
};

/// A study at one size.
struct Study {
  std::string name;  // of the file: "placement"
  std::string size;  // "smoke"
  std::string title, question, source;
  std::vector<std::string> settings;  // of all runs; "preset=NAME" may be the first
  std::vector<Axis> axes;             // without the seeds
  std::vector<std::int64_t> seeds;
  std::optional<SearchConfig> tune;
  Measure measure;
  Selection baseline;      // every other arm is compared with it; may be empty
  double fails_above = 0;  // a run whose last validation loss is higher has failed; nats
  bool exclusive = false;  // TOML key `alone`: one run at a time, so that steps can be timed
  double minutes = 0;      // no run is started later than this; 0: no limit
  std::string power_law = "none";  // or "parameters": fit the measure against their number
  std::vector<Claim> claims;
  std::string text;  // the file
};

/// A label as a number, "1e-3" or "16"; empty if it is none.
std::optional<double> number_of(const std::string& label);

/// The sizes that a study file has, in its order; \throws as parse_study()
std::vector<std::string> sizes_of(const std::string& toml, const std::string& path);

/// \param toml  the content of a file, `path` its name for messages; `size` must be one of its
///              sizes, or empty if it has none
/// \throws Error (usage): unknown keys, empty grids, claims about arms that the grid does not have
Study parse_study(const std::string& toml, const std::string& path, const std::string& size);

/// Sets a key of all runs beside the file: `--set KEY=VALUE`. It replaces what [settings] says of
/// it.
/// \throws Error (usage) if an axis, the search or `seeds` decides it
void add_setting(Study& study, const std::string& setting);

/// Seeds in place of the file's: `--seeds 12` are 1 to 12, `--seeds 9-16` those from 9 to 16, for a
/// claim that others have suggested.
/// \param argument  "12" or "9-16"
/// \throws Error (usage) if one of them is the search's
void set_seeds(Study& study, const std::string& argument);
inline constexpr std::int64_t kMaxSeeds = 1000;

}  // namespace evenkeel::study
