// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/place.h"

#include <gtest/gtest.h>

#include <map>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {
namespace {

using Variables = std::map<std::string, std::string>;

Place place_in(const Variables& variables) {
  return place_of([&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

int local_rank_in(const Variables& variables) {
  return local_rank_of([&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

/// The message for these variables, whose exit code must be 64.
std::string error_in(const Variables& variables) {
  try {
    place_in(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "no error";
}

TEST(Place, IsOneRankWithoutALauncher) {
  const auto place = place_in({});
  EXPECT_EQ(place.launcher, Launcher::none);
  EXPECT_EQ(place.ranks, 1);
}

TEST(Place, IsOneRankWhereWorldSizeAloneIsOne) {
  EXPECT_EQ(place_in({{"WORLD_SIZE", "1"}}).launcher, Launcher::none);
  EXPECT_EQ(place_in({{"WORLD_SIZE", "1"}}).ranks, 1);
  EXPECT_EQ(error_in({{"RANK", "1"}, {"WORLD_SIZE", "1"}}),
            "RANK is 1, but WORLD_SIZE is 1: ranks go from 0 to 0");
}

TEST(Place, IsThatOfTorchrun) {
  const auto place = place_in({{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "a1"},
                               {"MASTER_PORT", "4711"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place.launcher, Launcher::torchrun);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.ranks, 4);
  EXPECT_EQ(place.local_ranks, 2);
  EXPECT_EQ(place.address, "a1");
  EXPECT_EQ(place.port, 4711);
  EXPECT_TRUE(place.has_agent_store);
}

TEST(Place, IsThatOfSrun) {
  const Variables variables = {{"SLURM_PROCID", "5"},          {"SLURM_NTASKS", "8"},
                               {"SLURM_NTASKS_PER_NODE", "4"}, {"SLURM_JOB_NODELIST", "gpu[07-08]"},
                               {"SLURM_JOB_ID", "123"},        {"SLURM_STEP_ID", "0"}};
  const auto place = place_in(variables);
  EXPECT_EQ(place.launcher, Launcher::srun);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.ranks, 8);
  EXPECT_EQ(place.local_ranks, 0) << "SLURM_NTASKS_PER_NODE may be more than the tasks";
  EXPECT_EQ(place.address, "gpu07");
  auto step = variables;
  step["SLURM_STEP_NODELIST"] = "gpu08";
  EXPECT_EQ(place_in(step).address, "gpu08");
  auto other_job = variables;
  other_job["SLURM_JOB_ID"] = "124";
  EXPECT_NE(place_in(other_job).port, place.port);
  auto with_pmi = variables;
  with_pmi["PMI_RANK"] = "5";
  with_pmi["PMI_SIZE"] = "8";
  EXPECT_EQ(place_in(with_pmi).launcher, Launcher::srun);
}

// A script of sbatch has no step, the shell of salloc a reserved one.
TEST(Place, IsOneRankInAJobWithoutSrun) {
  Variables variables = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "123"}};
  for (const char* const step : {"", "4294967290", "4294967291", "x"}) {
    if (*step != 0) variables["SLURM_STEP_ID"] = step;
    const auto place = place_in(variables);
    EXPECT_EQ(place.launcher, Launcher::none) << step;
    EXPECT_EQ(place.ranks, 1) << step;
    EXPECT_EQ(place.tasks_of_job, 8) << step;
  }
}

TEST(Place, IsThatOfMpirun) {
  const auto place = place_in({{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_NAMESPACE", "12345"},
                               {"SLURM_PROCID", "0"},  // of the job in which mpirun runs
                               {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(place.launcher, Launcher::mpirun);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.address, "127.0.0.1");
  EXPECT_EQ(place_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "a1"}}).address, "a1");
}

// A proxy process on each machine is the parent of MPICH's ranks there: it names no common port.
TEST(Place, OfMpichOnSeveralMachinesNeedsAPort) {
  Variables variables = {
      {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "a1"}};
  EXPECT_EQ(error_in(variables),
            "MASTER_PORT must be set for ranks on several machines, because this launcher names no "
            "job; add -genv MASTER_PORT 29500 (MPICH, Intel MPI)");
  variables["MASTER_PORT"] = "29500";
  EXPECT_EQ(place_in(variables).port, 29500);
}

// A wrapper script that does not use exec is the parent of its rank alone.
TEST(Place, OfMpichSaysHowToCureAPortOfTheParent) {
  const Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}};
  EXPECT_EQ(cure_of_port(place_in(variables)),
            "; the port follows from the parent process: set MASTER_PORT (-genv MASTER_PORT "
            "29500), or let a wrapper script start the program with exec");
  for (const auto* const name : {"MASTER_PORT", "PMIX_NAMESPACE"}) {
    auto named = variables;
    named[name] = "29500";
    EXPECT_EQ(cure_of_port(place_in(named)), "");
  }
}

TEST(Place, NamesVariablesThatContradict) {
  EXPECT_EQ(error_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
            "RANK is 4, but WORLD_SIZE is 4: ranks go from 0 to 3");
  EXPECT_EQ(error_in({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "2"}}),
            "SLURM_PROCID is 2, but SLURM_NTASKS is 2: ranks go from 0 to 1");
  EXPECT_EQ(error_in({{"RANK", "one"}, {"WORLD_SIZE", "4"}}),
            "RANK must be a whole number from 0 to 65536, but is \"one\"");
}

TEST(Place, NamesWhatIsMissing) {
  EXPECT_EQ(error_in({{"WORLD_SIZE", "4"}}),
            "WORLD_SIZE is set, but RANK is not; start it with torchrun --no-python, srun or "
            "--ranks");
  EXPECT_EQ(error_in({{"RANK", "0"}}),
            "RANK is set, but WORLD_SIZE is not; start it with torchrun --no-python, srun or "
            "--ranks");
  EXPECT_EQ(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "MASTER_ADDR must be the machine of rank 0, but is not set; start it with torchrun "
            "--no-python, srun or --ranks");
  EXPECT_EQ(error_in({{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
            "MASTER_ADDR must be the machine of rank 0, but is not set; add -x MASTER_ADDR=HOST "
            "(Open MPI) or -genv MASTER_ADDR HOST (MPICH)");
}

TEST(LocalRank, IsThatOfTheLauncher) {
  EXPECT_EQ(local_rank_in({}), 0);
  EXPECT_EQ(local_rank_in({{"LOCAL_RANK", "3"}, {"SLURM_LOCALID", "1"}}), 3);
  EXPECT_EQ(local_rank_in({{"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"SLURM_LOCALID", "0"}}), 2);
  EXPECT_EQ(local_rank_in({{"MPI_LOCALRANKID", "4"}}), 4);
  EXPECT_EQ(local_rank_in({{"SLURM_LOCALID", "5"}}), 5);
  try {
    local_rank_in({{"LOCAL_RANK", "x"}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "LOCAL_RANK must be a whole number from 0 to 65536, but is \"x\"");
  }
}

TEST(FirstHost, ExpandsListsOfSlurm) {
  EXPECT_EQ(first_host("a1"), "a1");
  EXPECT_EQ(first_host("a1,b2"), "a1");
  EXPECT_EQ(first_host("gpu[07-09,12],cpu1"), "gpu07");
  EXPECT_EQ(first_host("gpu[3,5]-ib,x"), "gpu3-ib");
  EXPECT_EQ(first_host(""), "");
}

}  // namespace
}  // namespace evenkeel::comm
