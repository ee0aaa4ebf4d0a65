// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/place.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <limits>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

namespace {

constexpr int kMostRanks = 1 << 16;
constexpr int kMostPort = std::numeric_limits<std::uint16_t>::max();
constexpr const char* kHowToStart = "start it with torchrun --no-python, srun or --ranks";

/// \throws Error (usage): "RANK must be a whole number from 0 to 65536, but is "x""
int number_of(const std::string& name, const std::string& value, int least, int most) {
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc() && stop == end && number >= least && number <= most) return number;
  throw Error(Exit::usage, text(name, " must be a whole number from ", least, " to ", most,
                                ", but is \"", value, "\""));
}

std::optional<int> optional_number(const Environment& environment, const std::string& name,
                                   int least, int most) {
  const auto value = environment(name);
  if (!value) return std::nullopt;
  return number_of(name, *value, least, most);
}

/// Reads rank and ranks from a pair of variables.
/// \return false unless both are set
bool read_ranks(Place& place, const Environment& environment, const std::string& rank_name,
                const std::string& ranks_name) {
  const auto rank = optional_number(environment, rank_name, 0, kMostRanks);
  const auto ranks = optional_number(environment, ranks_name, 1, kMostRanks);
  if (!rank || !ranks) return false;
  if (*rank >= *ranks) {
    throw Error(Exit::usage, text(rank_name, " is ", *rank, ", but ", ranks_name, " is ", *ranks,
                                  ": ranks go from 0 to ", *ranks - 1));
  }
  place.rank = *rank;
  place.ranks = *ranks;
  place.ranks_variable = ranks_name;
  return true;
}

/// \throws Error (usage) if one of two variables is set without the other
void check_both(const Environment& environment, const std::string& one, const std::string& other) {
  const bool has_one = environment(one).has_value();
  if (has_one == environment(other).has_value()) return;
  throw Error(Exit::usage, text(has_one ? one : other, " is set, but ", has_one ? other : one,
                                " is not; ", kHowToStart));
}

/// srun sets the variables of PMI, too; an mpirun inside a job of Slurm has other numbers.
bool has_pmi_of_srun(const Environment& environment) {
  const auto rank = environment("SLURM_PROCID"), ranks = environment("SLURM_NTASKS");
  return rank && ranks && rank == environment("PMI_RANK") && ranks == environment("PMI_SIZE");
}

/// Reads MASTER_ADDR and MASTER_PORT, if they are set.
void read_address(Place& place, const Environment& environment) {
  place.address = environment("MASTER_ADDR").value_or(place.address);
  if (const auto port = optional_number(environment, "MASTER_PORT", 1, kMostPort))
    place.port = static_cast<std::uint16_t>(*port);
}

/// A port that all processes of a job find: one of 10,000 from 20,000 on.
std::uint16_t port_of_job(const std::string& job) {
  constexpr std::uint32_t kFirst = 20000, kCount = 10000, kFactor = 31;
  std::uint32_t hash = 0;
  for (const char each : job) hash = hash * kFactor + static_cast<unsigned char>(each);
  return static_cast<std::uint16_t>(kFirst + hash % kCount);
}

void require_address(const Place& place, const char* how) {
  if (place.ranks == 1 || !place.address.empty()) return;
  throw Error(Exit::usage,
              text("MASTER_ADDR must be the machine of rank 0, but is not set; ", how));
}

Place place_of_torchrun(Place place, const Environment& environment) {
  place.launcher = environment("EVENKEEL_LAUNCHER") ? Launcher::own : Launcher::torchrun;
  place.local_ranks = optional_number(environment, "LOCAL_WORLD_SIZE", 1, kMostRanks).value_or(0);
  place.has_agent_store = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  constexpr int kMostDescriptors = 1 << 20;
  place.loss_fd = optional_number(environment, "EVENKEEL_LOSS_FD", 0, kMostDescriptors);
  if (place.rank == 0) {
    place.listen_fd = optional_number(environment, "EVENKEEL_STORE_FD", 0, kMostDescriptors);
  }
  require_address(place, kHowToStart);
  return place;
}

Place place_of_mpirun(Place place, const Environment& environment) {
  place.launcher = Launcher::mpirun;
  const bool has_port = environment("PMIX_NAMESPACE") || environment("MASTER_PORT");
  const char* const name =
      environment("OMPI_COMM_WORLD_LOCAL_SIZE") ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS";
  place.local_ranks = optional_number(environment, name, 1, kMostRanks).value_or(0);
  if (place.local_ranks == place.ranks && place.address.empty()) place.address = "127.0.0.1";
  require_address(place, "add -x MASTER_ADDR=HOST (Open MPI) or -genv MASTER_ADDR HOST (MPICH)");
  place.is_port_of_parent = !has_port;
  if (!has_port && place.local_ranks > 0 && place.local_ranks != place.ranks) {
    throw Error(Exit::usage,
                "MASTER_PORT must be set for ranks on several machines, because this launcher "
                "names no job; add -genv MASTER_PORT 29500 (MPICH, Intel MPI)");
  }
  return place;
}

/// Whether srun started this process, and not a script of sbatch or the shell of salloc: those have
/// the variables of a task, too, but no step or one of Slurm's reserved numbers.
bool is_task_of_srun(const Environment& environment) {
  constexpr std::uint32_t kFirstReserved = 0xFFFFFF00;
  const auto step = environment("SLURM_STEP_ID").value_or("");
  std::uint32_t number = 0;
  const char* const end = step.data() + step.size();
  const auto [stop, error] = std::from_chars(step.data(), end, number);
  return error == std::errc() && stop == end && number < kFirstReserved;
}

Place place_of_srun(Place place, const Environment& environment) {
  place.launcher = Launcher::srun;
  // SLURM_NTASKS_PER_NODE is only the most that a machine may have: names of machines are counted.
  if (place.address.empty()) {  // a step may have some machines of the job
    const auto step = environment("SLURM_STEP_NODELIST");
    place.address = first_host(step ? *step : environment("SLURM_JOB_NODELIST").value_or(""));
  }
  require_address(place, "srun sets SLURM_STEP_NODELIST, from which it would follow");
  return place;
}

}  // namespace

std::string launcher_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::none:
      return "";
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::srun:
      return "srun";
    case Launcher::mpirun:
      return "mpirun";
    case Launcher::own:
      return "--ranks";
  }
  return "";
}

std::string cure_of_port(const Place& place) {
  if (!place.is_port_of_parent) return "";
  return "; the port follows from the parent process: set MASTER_PORT (-genv MASTER_PORT 29500), "
         "or "
         "let a wrapper script start the program with exec";
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Place place_of(const Environment& environment) {
  Place place;
  // Images of notebooks set WORLD_SIZE=1 alone, which says nothing about a launcher.
  const bool is_single = !environment("RANK") && environment("WORLD_SIZE") == "1";
  if (!is_single) check_both(environment, "RANK", "WORLD_SIZE");
  if (read_ranks(place, environment, "RANK", "WORLD_SIZE")) {
    read_address(place, environment);
    return place_of_torchrun(place, environment);
  }
  const bool is_mpi =
      read_ranks(place, environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") ||
      (!has_pmi_of_srun(environment) && read_ranks(place, environment, "PMI_RANK", "PMI_SIZE"));
  if (is_mpi) {
    const auto job = environment("PMIX_NAMESPACE");
    place.port = port_of_job(job.value_or(std::to_string(::getppid())));
    read_address(place, environment);
    return place_of_mpirun(place, environment);
  }
  if (read_ranks(place, environment, "SLURM_PROCID", "SLURM_NTASKS")) {
    if (!is_task_of_srun(environment)) return Place{.tasks_of_job = place.ranks};
    place.port = port_of_job(environment("SLURM_JOB_ID").value_or("") + "." +
                             environment("SLURM_STEP_ID").value_or(""));
    read_address(place, environment);
    return place_of_srun(place, environment);
  }
  return place;
}

int local_rank_of(const Environment& environment) {
  for (const char* const name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const auto number = optional_number(environment, name, 0, kMostRanks)) return *number;
  }
  return 0;
}

std::string first_host(const std::string& list) {
  const auto stop = list.find_first_of("[,");
  auto host = list.substr(0, stop);
  if (stop == std::string::npos || list[stop] == ',') return host;
  const auto end = list.find_first_of("-,]", stop);
  if (end == std::string::npos) return host;
  host += list.substr(stop + 1, end - stop - 1);
  const auto close = list.find(']', end);
  if (close == std::string::npos) return host;
  return host + list.substr(close + 1, list.find_first_of("[,", close) - close - 1);
}

}  // namespace evenkeel::comm
