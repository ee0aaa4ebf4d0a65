// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/train/health/diagnosis.h"
#include "evenkeel/train/health/health_check.h"
#include "evenkeel/train/health/health_event.h"
#include "evenkeel/train/health/spike_detector.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::train {

/// Checks the steps of a run and reports failures:
///
/// | event          | condition                                             | at step         |
/// | -------------- | ----------------------------------------------------- | --------------- |
/// | nonfinite      | loss or gradient norm is NaN or infinite              | each            |
/// | explosion      | loss above twice the first one, in the first 20 steps | each            |
/// | spike          | loss is an outlier (SpikeDetector)                    | each            |
/// | gradient_spike | gradient norm is an outlier, above 10 times the clip  | each            |
/// | divergence     | loss above 1.1 times the first one                    | 1, 50, 100, ... |
/// | (HealthCheck)  | slow failures                                         | 1, 50, 100, ... |
///
/// Skips the update after `nonfinite`, and after `spike` and `explosion` unless health.on_spike is
/// "warn". Its state is part of the checkpoint, so a resumed run reports the same events.
/// \source docs/health.md
class HealthMonitor {
 public:
  /// \param model, parameters  must outlive the HealthMonitor
  /// \param planned  steps of the learning-rate schedule (T): initial values may depend on it
  /// \param clip     optimizer.clip, the maximum gradient norm of an update; 0: no clipping
  HealthMonitor(const config::Health& options, const nn::Model& model,
                const nn::Parameters& parameters, std::int64_t planned, double clip);

  /// A step between backward pass and update.
  struct PendingUpdate {
    std::int64_t step = 0;  // from 1
    const data::Batch* batch = nullptr;
    std::int64_t first_sequence = 0;               // index of the batch's first sequence in the run
    const data::TextEncoding* encoding = nullptr;  // decodes the batch; nullptr: no text is shown
    const std::vector<at::Tensor>* gradients = nullptr;  // one flat buffer per parameter group
    /// Completes `gradients` before they are read; empty: they are complete.
    std::function<void()> gather_gradients = {};
  };

  /// Checks a step before its update.
  /// \return false if the update must be skipped
  bool check_step(const PendingUpdate& pending, const StepResult& result);

  /// Returns and removes the events since the last call.
  std::vector<HealthEvent> take();

  /// The state of the monitor, for a checkpoint.
  nlohmann::json state() const;

  /// Restores the result of state().
  void restore(const nlohmann::json& state);

 private:
  /// An explosion or a spike of a step.
  struct Spike {
    bool found = false;
    bool applies = true;  // the update
  };
  Spike check_spike(const PendingUpdate& pending, const StepResult& result);
  void run_health_check(const PendingUpdate& pending, const StepResult& result, bool is_usual);
  bool should_report_gradient_spike(const PendingUpdate& pending, const StepResult& result);
  void report_nonfinite(const PendingUpdate& pending, const StepResult& result);
  bool report_spike(const PendingUpdate& pending, const std::string& kind, double baseline_loss,
                    std::string observation);
  void report(HealthEvent event) { events_.push_back(std::move(event)); }

  config::Health options_;
  const nn::Model* model_;
  const nn::Parameters* parameters_;
  SpikeDetector loss_, gradient_;
  HealthCheck health_check_;
  double clip_;
  std::int64_t last_gradient_spike_ = 0;  // step of the last reported gradient spike; 0: none
  L2NormsByName baseline_norms_;          // L2 norms at the last health check
  double first_loss_ = 0;                 // first finite loss; 0: none yet
  bool explosion_reported_ = false;
  std::set<std::string> reported_;  // current slow failures, which are reported only once
  std::vector<HealthEvent> events_;
};

}  // namespace evenkeel::train
