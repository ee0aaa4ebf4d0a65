// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
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

/// Watches the steps of a run and reports failures:
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
/// It refuses an update after `nonfinite`, and after `spike` and `explosion` unless health.on_spike
/// is "warn". Its state is part of the checkpoint, so a resumed run reports the same events.
/// \source docs/health.md
class HealthMonitor {
 public:
  /// Model and parameters must outlive it.
  /// \param planned  optimizer steps of the run: initial values may depend on it
  /// \param clip     optimizer.clip: the largest gradient norm of an update; 0: none
  HealthMonitor(const config::Health& options, const nn::Model& model,
                const nn::Parameters& parameters, std::int64_t planned, double clip);

  /// A step whose gradient is known and whose update is not made yet.
  struct PendingUpdate {
    std::int64_t step = 0;  // from 1
    const data::Batch* batch = nullptr;
    std::int64_t first_sequence = 0;  // number of the batch's first sequence in the run
    const std::vector<at::Tensor>* gradients = nullptr;  // one flat buffer a parameter group
  };

  /// Checks a step before its update.
  /// \return false if the update must not be made
  bool check_step(const PendingUpdate& pending, const StepResult& result);

  /// Returns the events since the last call, and forgets them.
  std::vector<HealthEvent> take();

  /// The state for a checkpoint.
  nlohmann::json state() const;

  /// Restores a state of state().
  void restore(const nlohmann::json& state);

 private:
  void run_health_check(const PendingUpdate& pending, const StepResult& result);
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
  std::int64_t last_gradient_spike_ = 0;  // the step of the last gradient spike reported; 0: none
  L2NormsByName baseline_norms_;          // at the last health check
  double first_loss_ = 0;                 // 0: none yet
  bool explosion_reported_ = false;
  std::set<std::string> reported_;  // slow failures that last: reported once until they are over
  std::vector<HealthEvent> events_;
};

}  // namespace evenkeel::train
