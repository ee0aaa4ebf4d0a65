// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::cli {

/// A Slurm job array whose tasks are workers of one study.
struct SlurmArray {
  std::string name;                  // of the job: "main-desk"
  std::filesystem::path executable;  // of this program, absolute
  std::filesystem::path folder;      // where the workers start, absolute
  std::vector<std::string> study;    // arguments of `study`: {"main", "--size", "desk"}
  std::size_t runs = 0;              // that are not finished
  int tasks = 1;                     // of the array
  int threads = 1;                   // of each job; as many runs train at once
  double run_bytes = 0;              // peak memory of the largest run
};

/// The batch script: `sbatch` reads it from its standard input or from a file.
std::string slurm_script(const SlurmArray& array);

}  // namespace evenkeel::cli
