// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/rank_commands.h"

#include <algorithm>
#include <utility>

#include "evenkeel/train/gather_numbers.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

/// What Group::set_activity() takes.
const char* activity_of(RankCommand command) {
  switch (command) {
    case RankCommand::evaluate:
    case RankCommand::evaluate_tasks:
      return "the evaluation after step ";
    case RankCommand::save:
    case RankCommand::save_background:
    case RankCommand::finish_save:
      return "the checkpoint of step ";
    case RankCommand::wait:
    case RankCommand::step:
    case RankCommand::end:
      break;
  }
  return "step ";
}

}  // namespace

void RankCommands::send(RankCommand command, bool is_written) {
  are_written_ = is_written;
  if (group_.ranks() == 1) return;
  sent_ = std::chrono::steady_clock::now();
  exchange(command, is_written);
}

void RankCommands::keep_waiting() {
  constexpr auto kInterval = std::chrono::seconds(10);
  if (std::chrono::steady_clock::now() - sent_ >= kInterval) send(RankCommand::wait);
}

bool RankCommands::stop_wanted() const {
  return stops_ || train::stop_wanted();
}

bool RankCommands::save_wanted() {
  const bool own = train::save_wanted();
  return std::exchange(saves_, false) || own;
}

/// Every rank sends its command and its signals; the command of rank 0 counts.
RankCommand RankCommands::exchange(RankCommand command, bool is_written) {
  const bool saves = !group_.is_first() && train::save_wanted();
  const std::vector<double> mine = {static_cast<double>(command), train::stop_wanted() ? 1. : 0.,
                                    saves ? 1. : 0., is_written ? 1. : 0.,
                                    static_cast<double>(checkpoint_)};
  group_.set_activity("what follows step ");
  const auto all = gather_numbers(group_, mine);
  for (std::size_t row = 0; row < all.size(); row += mine.size()) {
    stops_ = stops_ || all[row + 1] > 0;
    saves_ = saves_ || all[row + 2] > 0;
    are_written_ = are_written_ && all[row + 3] > 0;
  }
  checkpoint_ = static_cast<std::int64_t>(all[4]);
  const auto agreed = static_cast<RankCommand>(static_cast<int>(all.front()));
  const bool is_save = agreed == RankCommand::save || agreed == RankCommand::save_background;
  if (is_save) saves_ = false;  // this checkpoint is what the signals asked for
  group_.set_activity(activity_of(agreed));
  return agreed;
}

RankTimer::RankTimer(comm::Group& group) : group_(group), exchanged_(group.seconds()) {}

RankTimes RankTimer::finish() {
  if (group_.ranks() == 1) return {};
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started_;
  RankTimes times{.exchange = group_.seconds() - exchanged_};
  times.computed = gather_numbers(group_, {taken.count() - times.exchange});
  const auto [fastest, slowest] = std::minmax_element(times.computed.begin(), times.computed.end());
  times.slowest = slowest - times.computed.begin();
  times.waited = *slowest - *fastest;
  return times;
}

}  // namespace evenkeel::train
