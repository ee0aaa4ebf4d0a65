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

/// Watches the steps of a run and names what goes wrong. What it does never changes a step but by
/// `health.on_spike`; its state is part of the checkpoint.
class HealthMonitor {
 public:
  /// Model and parameters must outlive it.
  /// \param clip  optimizer.clip: a gradient that it hardly touches is no spike
  HealthMonitor(const config::Health& options, const nn::Model& model,
                const nn::Parameters& parameters, std::int64_t planned, double clip);

  /// A step whose gradient is known and whose update is not made yet.
  struct PendingUpdate {
    std::int64_t step = 0;  // from 1
    const data::Batch* batch = nullptr;
    std::int64_t first_sequence = 0;  // the number of the batch's first sequence
    const std::vector<at::Tensor>* gradients = nullptr;
  };

  /// Checks a step. \return false if the update must not be made
  bool check_step(const PendingUpdate& pending, const StepResult& result);

  /// The events since the last call.
  std::vector<HealthEvent> take();

  nlohmann::json state() const;
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
  std::set<std::string>
      reported_;  // slow failures that last: each is reported once until it is over
  std::vector<HealthEvent> events_;
};

}  // namespace evenkeel::train
