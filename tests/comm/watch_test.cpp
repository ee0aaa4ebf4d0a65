// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/base/host_name.h"
#include "evenkeel/base/print.h"
#include "evenkeel/comm/join.h"
#include "evenkeel/comm/network.h"

// Real processes: a lost rank ends them.
namespace evenkeel::comm {
namespace {

/// How a rank ended.
struct Ended {
  int code = -1;     // exit code; -1: by a signal
  std::string says;  // standard error
};

constexpr std::chrono::seconds kNever{60};

/// \param collective  limit of a call in which ranks do not come
JoinOptions quick(std::chrono::seconds collective = kNever) {
  return {.connect_timeout = kNever,
          .heartbeat_timeout = std::chrono::seconds(2),
          .collective_timeout = collective};
}

/// A process that runs `body` with its group.
class RankProcess {
 public:
  RankProcess(int rank, int ranks, const ListeningSocket& socket,
              const std::function<void(Group&)>& body, const JoinOptions& options) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDERR_FILENO);
      run(rank, ranks, socket, body, options);
    }
    close(ends[1]);
    from_ = ends[0];
  }

  pid_t process() const { return process_; }

  /// Waits for the end.
  Ended wait() {
    Ended ended;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(from_, buffer, sizeof buffer)) > 0;)
      ended.says.append(buffer, static_cast<std::size_t>(size));
    close(from_);
    int status = 0;
    waitpid(process_, &status, 0);
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    return ended;
  }

 private:
  [[noreturn]] static void run(int rank, int ranks, const ListeningSocket& socket,
                               const std::function<void(Group&)>& body,
                               const JoinOptions& options) {
    Place place = {.launcher = Launcher::own,
                   .rank = rank,
                   .ranks = ranks,
                   .address = "127.0.0.1",
                   .port = socket.port};
    if (rank == 0) place.listen_fd = socket.fd;
    if (rank != 0) close(socket.fd);
    try {
      const at::NoGradGuard no_grad;
      auto group = join(place, options, {});
      body(group);
      group.leave();
    } catch (const Error& error) {
      print_message(error.what());
      _exit(static_cast<int>(error.exit()));
    }
    _exit(0);
  }

  pid_t process_ = -1;
  int from_ = -1;
};

TEST(Join, EndsWhereTheServerAcceptsAndDoesNotAnswer) {
  const auto socket = listen_on_loopback();  // connections wait in its queue
  RankProcess rank(1, 2, socket, [](Group&) {}, {.connect_timeout = std::chrono::seconds(1)});
  const auto ended = rank.wait();
  close(socket.fd);
  EXPECT_EQ(ended.code, 75);
  EXPECT_EQ(ended.says, text("evenkeel: MASTER_ADDR: 127.0.0.1:", socket.port,
                             " accepts connections, but has not answered for 1 s; is rank 0 "
                             "stopped?\n"));
}

/// Three ranks that run `body`, by rank.
/// \param options  of each rank
std::vector<Ended> three_ranks(
    const std::function<void(Group&)>& body,
    const std::function<void(const std::vector<pid_t>&)>& act = {},
    const std::function<JoinOptions(int)>& options = [](int) { return quick(); }) {
  const auto socket = listen_on_loopback();
  std::vector<RankProcess> ranks;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back(rank, 3, socket, body, options(rank));
    processes.push_back(ranks.back().process());
  }
  close(socket.fd);
  if (act) act(processes);
  std::vector<Ended> ended;
  for (auto& each : ranks) ended.push_back(each.wait());
  return ended;
}

/// Steps of exchanges; the rank `lost` sends itself a signal at step 5.
std::function<void(Group&)> lost_at_step_5(int lost, int signal) {
  return [=](Group& group) {
    group.set_run_folder("runs/x");
    for (int step = 1; step < 1000; ++step) {
      group.report({.step = step, .checkpoint = step - 1});
      if (step == 5 && group.rank() == lost) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2200));  // a heartbeat says step 5
        ::raise(signal);
      }
      group.all_gather_scalars(at::full({1}, 1.0, at::kDouble));
    }
  };
}

/// All ranks but `lost` end with 75, and the lowest of them names it.
void expect_named(const std::vector<Ended>& ended, int lost) {
  const std::size_t speaker = lost == 0 ? 1 : 0;
  const auto name = text("evenkeel: rank ", lost, " (", host_name(), ", process ");
  for (std::size_t rank = 0; rank < ended.size(); ++rank) {
    if (rank == static_cast<std::size_t>(lost)) continue;
    EXPECT_EQ(ended[rank].code, 75) << rank << ": " << ended[rank].says;
    EXPECT_EQ(ended[rank].says.starts_with(name), rank == speaker)
        << rank << ": " << ended[rank].says;
  }
  const auto& says = ended[speaker].says;
  EXPECT_NE(says.find(" is lost: not heard of for "), std::string::npos) << says;
  // On a busy machine the heartbeat with step 5 may be late.
  EXPECT_TRUE(std::regex_search(
      says, std::regex(" s, was at step [45]; the last checkpoint is step [34]; go on with: "
                       "evenkeel train --ranks 3 --run runs/x\n")))
      << says;
}

TEST(Watch, NamesARankThatWasKilled) {
  expect_named(three_ranks(lost_at_step_5(2, SIGKILL)), 2);
}

TEST(Watch, NamesRankZeroWithTheStoreThatItServes) {
  expect_named(three_ranks(lost_at_step_5(0, SIGKILL)), 0);
}

TEST(Watch, NamesARankThatIsStopped) {
  const auto ended =
      three_ranks(lost_at_step_5(1, SIGSTOP), [](const std::vector<pid_t>& processes) {
        std::this_thread::sleep_for(std::chrono::seconds(6));
        kill(processes[1], SIGKILL);
      });
  expect_named(ended, 1);
}

// Rank 1 often hears rank 2 for the last time some time before the store's last answer.
TEST(Watch, NamesRankZeroWhenItIsStoppedAndAnotherRankBeatsRarely) {
  const auto ended = three_ranks(
      lost_at_step_5(0, SIGSTOP),
      [](const std::vector<pid_t>& processes) {
        std::this_thread::sleep_for(std::chrono::seconds(8));
        kill(processes[0], SIGKILL);
      },
      [](int rank) {
        auto options = quick();
        if (rank == 2) options.heartbeat_timeout *= 2;  // and twice the time between heartbeats
        return options;
      });
  expect_named(ended, 0);
}

TEST(Watch, NamesARankThatSendsHeartbeatsButDoesNotCome) {
  for (const char* const activity : {"step ", "the evaluation after step "}) {
    const auto ended = three_ranks(
        [activity](Group& group) {
          group.report({.step = 152});
          group.set_activity(activity);
          if (group.rank() == 2) std::this_thread::sleep_for(std::chrono::seconds(20));
          group.all_gather_scalars(at::full({1}, 1.0, at::kDouble));
        },
        {}, [](int) { return quick(std::chrono::seconds(3)); });
    for (const auto& each : ended) EXPECT_EQ(each.code, 75) << each.says;
    const auto& says = ended[0].says;
    EXPECT_TRUE(says.starts_with(text("evenkeel: rank 2 (", host_name(), ", process "))) << says;
    EXPECT_TRUE(
        says.ends_with(text(") sends heartbeats, but has not come to ", activity, "152 for 3 s\n")))
        << says;
  }
}

TEST(Watch, EndsAllRanksWithTheErrorOfOne) {
  const auto ended = three_ranks([](Group& group) {
    if (group.rank() == 1) {
      const Error error(Exit::data, "a.txt: is no text");
      if (group.fail(error.exit(), error.what())) throw error;
      _exit(1);
    }
    group.all_gather_scalars(at::full({1}, 1.0, at::kDouble));
  });
  for (const auto& each : ended) EXPECT_EQ(each.code, 65) << each.says;
  EXPECT_EQ(ended[0].says + ended[1].says + ended[2].says, "a.txt: is no text\n");
}

TEST(Watch, EndsInGoodOrder) {
  const auto ended = three_ranks([](Group& group) { group.barrier("here"); });
  for (const auto& each : ended) EXPECT_EQ(each.code, 0) << each.says;
}

}  // namespace
}  // namespace evenkeel::comm
