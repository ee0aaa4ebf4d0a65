// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/verify.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/state_guard.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::verify {

namespace {

/// The tolerances of one file.
struct Tolerances {
  double logits = 0;   // largest error, absolute or scaled
  double tensors = 0;  // largest error of gradients, buffers and final parameters
  double scalars = 0;  // relative error
};

constexpr double kRateTolerance = 1e-12;  // the schedule is computed in float64 in both precisions

Tolerances tolerances_of(const Golden& golden, const VerifyOptions& options) {
  const bool exact = options.precision == nn::Precision::float64;
  if (std::holds_alternative<GoldenTrajectory>(golden.expected)) {
    return exact ? Tolerances{0, 1e-7, 1e-12} : Tolerances{0, 2e-5, 5e-6};
  }
  if (golden.layout == GoldenLayout::authors) {
    return exact ? Tolerances{1e-6, 2e-7, 1e-12} : Tolerances{7e-5, 2e-5, 2e-6};
  }
  return exact ? Tolerances{1e-10, 1e-10, 1e-12} : Tolerances{2e-5, 2e-5, 2e-5};
}

double finite_or_infinite(double error) {
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

/// The relative error |actual - expected| / |expected|; |actual| if `expected` is 0.
double relative_error(double actual, double expected) {
  const double difference = std::abs(actual - expected);
  return finite_or_infinite(expected == 0 ? difference : difference / std::abs(expected));
}

/// Collects the checks of one file.
class Comparison {
 public:
  Comparison(const Golden& golden, const VerifyOptions& options)
      : relative_(golden.layout == GoldenLayout::schemes), factor_(options.tolerance) {
    result_.file = golden.path;
    result_.scheme = golden.model.scheme.info.name;
    result_.precision = options.precision == nn::Precision::float64 ? "float64" : "float32";
  }

  void total(const std::string& quantity, double error, double tolerance) {
    result_.totals.push_back({quantity, error, tolerance * factor_});
  }
  void total(const std::string& quantity, const at::Tensor& actual, const at::Tensor& expected,
             double tolerance) {
    total(quantity, largest_error(actual, expected), tolerance);
  }
  void tensor(const std::string& quantity, const at::Tensor& actual, const at::Tensor& expected,
              double tolerance) {
    result_.tensors.push_back({quantity, largest_error(actual, expected), tolerance * factor_});
  }

  Verification result() && {
    std::stable_sort(result_.tensors.begin(), result_.tensors.end(),
                     [](const Check& a, const Check& b) { return a.error > b.error; });
    return std::move(result_);
  }

 private:
  double largest_error(const at::Tensor& actual, const at::Tensor& expected) const {
    const double error = (actual.to(at::kCPU, at::kDouble) - expected).abs().max().item<double>();
    const double scale = relative_ ? expected.abs().max().item<double>() : 1;
    return finite_or_infinite(scale > 0 ? error / scale : error);
  }

  bool relative_;
  double factor_;
  Verification result_;
};

/// The targets: targets[b, t] = ids[b, t + 1]; the last position has none.
at::Tensor next_tokens(const at::Tensor& ids) {
  auto targets = at::full_like(ids, data::kIgnoreIndex);
  targets.narrow(1, 0, ids.size(1) - 1).copy_(ids.narrow(1, 1, ids.size(1) - 1));
  return targets;
}

/// The number of scored tokens, B (T - 1).
std::int64_t scored_tokens(const at::Tensor& ids) {
  return ids.size(0) * (ids.size(1) - 1);
}

/// \param ids  [B, T], int64
data::Batch batch_of(const at::Tensor& ids) {
  const auto values = [](const at::Tensor& tensor) {
    const auto* const first = tensor.const_data_ptr<std::int64_t>();
    return std::vector<std::int64_t>(first, first + tensor.numel());
  };
  return {values(ids.contiguous()), values(next_tokens(ids).contiguous()), ids.size(0),
          scored_tokens(ids)};
}

constexpr nn::Pass kTraining = {.mode = nn::Mode::training};

Tensors clones_of(Tensors tensors) {
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  return tensors;
}

/// The loss in nats per token, in evaluation mode. \param ids  [B, T], int64
double mean_loss(const nn::Model& model, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  const auto sum = model.loss_sum(ids, next_tokens(ids)).item<double>();
  return sum / static_cast<double>(scored_tokens(ids));
}

/// Compares the float64 scalars of the authors' files. Gradient norms of single parameters are
/// compared in float64 only: relative to a small norm, the float32 error exceeds the tolerance.
void add_exact_scalars(const GoldenPass& pass, const at::Tensor& logits,
                       const nn::Parameters& parameters, double tolerance, Comparison& comparison) {
  double squares = 0, worst = 0;
  for (const auto& parameter : parameters.all()) {
    const double square =
        parameter.gradient_buffer.value().to(at::kDouble).square().sum().item<double>();
    squares += square;
    const double norm = pass.gradient_norms.at(parameter.name);
    worst = std::max(worst, relative_error(std::sqrt(square), norm));
  }
  comparison.total("logits, sum of squares",
                   relative_error(logits.square().sum().item<double>(), pass.logits_sum_of_squares),
                   tolerance);
  comparison.total("gradient norm", relative_error(std::sqrt(squares), pass.gradient_norm),
                   tolerance);
  if (parameters.precision() != nn::Precision::float64) return;
  comparison.total("gradient norm of each parameter", worst, tolerance);
}

/// Compares the loss terms and the routing of a mixture of experts.
void add_routing(const GoldenPass::Mixture& expected, double cross_entropy,
                 const nn::RouterLosses& router, const std::vector<nn::Routing>& routings,
                 const Tolerances& allowed, Comparison& comparison) {
  const auto loss = [&](const char* name, double actual, double reference) {
    comparison.total(name, relative_error(actual, reference), allowed.scalars);
  };
  loss("cross-entropy", cross_entropy, expected.cross_entropy);
  loss("load balancing loss", router.balance.item<double>() * expected.balance,
       expected.balance_loss);
  loss("router z-loss", router.z.item<double>() * expected.router_z, expected.router_z_loss);
  std::vector<at::Tensor> logits, chosen, counts;
  for (const auto& routing : routings) {
    logits.push_back(routing.logits);
    chosen.push_back(routing.assignment.top_experts);
    counts.push_back(routing.assignment.tokens_per_expert());
  }
  comparison.total("router logits", at::stack(logits), expected.router_logits, allowed.logits);
  const auto differing = [](const std::vector<at::Tensor>& actual, const at::Tensor& reference) {
    return (at::stack(actual).cpu() != reference).sum().item<double>();
  };
  constexpr double kNone = 0.5;  // for counts, which differ by at least 1
  comparison.total("selected experts that differ", differing(chosen, expected.selected_experts),
                   kNone);
  comparison.total("tokens per expert that differ", differing(counts, expected.tokens_per_expert),
                   kNone);
}

/// One forward and backward pass of the model. The gradients are in its parameters.
struct ComputedPass {
  double loss = 0, cross_entropy = 0;  // nats per token; cross_entropy: without auxiliary losses
  nn::RouterLosses router;
  std::vector<nn::Routing> routings;  // one per router
  at::Tensor logits;                  // [B, T, V], float64
  Tensors states;                     // buffers after the pass
};

ComputedPass compute(const Golden& golden, const GoldenPass& pass, VerifyModel& rebuilt) {
  const auto& model = rebuilt.model();
  auto& parameters = rebuilt.parameters();
  const nn::StateGuard states(parameters);  // restores the buffers
  ComputedPass computed;
  nn::Observer observer;
  observer.routing = [&](std::int64_t, const nn::Routing& routing) {
    computed.routings.push_back(routing);
  };
  auto& router = computed.router;
  auto loss =
      model.loss_sum(golden.ids, next_tokens(golden.ids),
                     {.mode = nn::Mode::training, .observer = &observer, .router = &router}) /
      static_cast<double>(scored_tokens(golden.ids));
  computed.cross_entropy = loss.item<double>();
  if (pass.mixture) {
    loss = loss + router.balance * pass.mixture->balance + router.z * pass.mixture->router_z;
  }
  loss.backward();
  parameters.accumulate_gradients();
  const at::NoGradGuard no_grad;
  computed.loss = loss.item<double>();
  computed.states = clones_of(parameters.states());
  states.restore();
  computed.logits = model.logits(model.hidden(golden.ids, kTraining)).to(at::kCPU, at::kDouble);
  return computed;
}

/// In float32 twice the tolerance for the gradient of a single value: it is what is left of a sum
/// over all activations, and its rounding error depends on the order of sums in the BLAS of the
/// processor.
double gradient_tolerance(const nn::Parameter& parameter, const Tolerances& allowed,
                          const VerifyOptions& options) {
  const bool is_exact = options.precision == nn::Precision::float64;
  return parameter.master.numel() == 1 && !is_exact ? 2 * allowed.tensors : allowed.tensors;
}

Verification compare(const Golden& golden, const GoldenPass& pass, const VerifyOptions& options,
                     VerifyModel& rebuilt) {
  const auto computed = compute(golden, pass, rebuilt);
  const auto& model = rebuilt.model();
  const auto& parameters = rebuilt.parameters();
  const at::NoGradGuard no_grad;
  const auto allowed = tolerances_of(golden, options);
  Comparison comparison(golden, options);
  comparison.total("logits", computed.logits, pass.logits, allowed.logits);
  comparison.total("loss", relative_error(computed.loss, pass.loss), allowed.scalars);
  if (golden.layout == GoldenLayout::authors) {
    add_exact_scalars(pass, computed.logits, parameters, allowed.scalars, comparison);
  }
  if (pass.mixture) {
    add_routing(*pass.mixture, computed.cross_entropy, computed.router, computed.routings, allowed,
                comparison);
  }
  if (pass.evaluation_logits.defined()) {
    comparison.total("logits in evaluation", model.logits(model.hidden(golden.ids)),
                     pass.evaluation_logits, allowed.logits);
  }
  for (const auto& [name, state] : computed.states) {
    comparison.tensor(name + " afterwards", state, pass.states.at(name), allowed.tensors);
  }
  for (const auto& parameter : parameters.all()) {
    comparison.tensor("gradient of " + parameter.name, parameter.gradient_buffer.value(),
                      pass.gradients.at(parameter.name),
                      gradient_tolerance(parameter, allowed, options));
  }
  return std::move(comparison).result();
}

Verification compare(const Golden& golden, const GoldenTrajectory& trajectory,
                     const VerifyOptions& options, VerifyModel& rebuilt) {
  auto& parameters = rebuilt.parameters();
  train::Learner learner(trajectory.optimizer, rebuilt.model(), parameters);
  const auto steps = golden.ids.size(0);
  const optim::Schedule schedule(trajectory.schedule, steps, golden.ids[0].numel());
  double loss = 0, norm = 0, rate = 0;
  for (std::int64_t s = 1; s <= steps; ++s) {
    const auto batch = batch_of(golden.ids[s - 1]);
    const auto actual = schedule.rate(s);
    const auto result = learner.train_step(batch, batch.rows, actual);
    const auto& expected = trajectory.steps.at(static_cast<std::size_t>(s - 1));
    rate = std::max(rate, relative_error(actual, expected.rate));
    loss = std::max(loss, relative_error(result.loss, expected.loss));
    norm = std::max(norm, relative_error(result.gradient_norm, expected.gradient_norm));
  }
  const double last = mean_loss(rebuilt.model(), golden.ids[steps - 1]);

  const auto allowed = tolerances_of(golden, options);
  Comparison comparison(golden, options);
  comparison.total(text("learning rate of ", steps, " steps"), rate, kRateTolerance);
  comparison.total("loss of each step", loss, allowed.scalars);
  comparison.total("gradient norm of each step", norm, allowed.scalars);
  comparison.total("loss after the last step", relative_error(last, trajectory.last_loss),
                   allowed.scalars);
  for (const auto& parameter : parameters.all()) {
    comparison.tensor("final " + parameter.name, parameter.master,
                      trajectory.final.at(parameter.name), allowed.tensors);
  }
  return std::move(comparison).result();
}

}  // namespace

bool Verification::passed() const {
  return worst().passed();
}

const Check& Verification::worst() const {
  const auto share = [](const Check& check) { return check.error / check.tolerance; };
  const auto* worst = &totals.front();
  for (const auto* const list : {&totals, &tensors}) {
    for (const auto& check : *list) {
      if (share(check) > share(*worst)) worst = &check;
    }
  }
  return *worst;
}

Verification verify(const Golden& golden, const VerifyOptions& options) {
  VerifyModel rebuilt(golden, options);
  return std::visit(
      [&](const auto& expected) { return compare(golden, expected, options, rebuilt); },
      golden.expected);
}

}  // namespace evenkeel::verify
