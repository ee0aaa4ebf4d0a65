// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace evenkeel::comm {

enum class Launcher {
  none,      // one process
  torchrun,  // or whatever sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
  srun,
  mpirun,
  own,  // launch() of comm/launch.h
};

/// "torchrun", "srun", "mpirun", "--ranks"; empty for none.
std::string launcher_name(Launcher launcher);

/// Which rank of how many this process is, and where it meets the other ranks.
struct Place {
  Launcher launcher = Launcher::none;
  int rank = 0;
  int ranks = 1;
  int local_ranks = 0;             // ranks on this machine; 0: unknown
  std::string address;             // the machine of rank 0, a name or an IP address
  std::uint16_t port = 29500;      // of rank 0
  bool has_agent_store = false;    // torchrun serves the store; otherwise rank 0 does
  std::optional<int> listen_fd;    // rank 0 of launch(): the listening socket of the store
  std::optional<int> loss_fd;      // of launch(): a byte means that the ranks end because of a loss
  bool is_port_of_parent = false;  // mpirun without PMIX: the port follows from the parent process
  std::string ranks_variable = "WORLD_SIZE";  // where the number of ranks is from, for messages
  int tasks_of_job = 1;  // of a job of Slurm whose srun did not start this process
};

/// The value of an environment variable; nullopt: not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// How to cure that processes of mpirun do not meet: each has the port of another parent where a
/// wrapper script started it. Begins with "; "; empty for other launchers.
std::string cure_of_port(const Place& place);

/// The environment of this process.
Environment process_environment();

/// Reads what a launcher says. The first row whose variables are set counts:
///
/// | launcher      | variables                                                                  |
/// | ------------- | -------------------------------------------------------------------------- |
/// | torchrun, own | RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT               |
/// | mpirun        | OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE; PMI_RANK, PMI_SIZE               |
/// | srun          | SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_ID, SLURM_JOB_NODELIST              |
///
/// MASTER_ADDR and MASTER_PORT also count under mpirun and srun. Without them the address is the
/// first host of SLURM_JOB_NODELIST, or this machine if all ranks of mpirun are on it; the port
/// follows from the number of the job.
/// \throws Error (usage, exit code 64) if variables are missing, no numbers, or contradict
Place place_of(const Environment& environment);

/// The number of this process on its machine: LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK,
/// MPI_LOCALRANKID or SLURM_LOCALID, the first that is set; 0 without a launcher.
/// \throws Error (usage, exit code 64) if the variable has other text than a number
int local_rank_of(const Environment& environment);

/// The first host of a list as Slurm writes it: "a[03-05,9],b7" -> "a03".
std::string first_host(const std::string& list);

}  // namespace evenkeel::comm
