// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/study_slurm.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"

namespace evenkeel::cli {

namespace {

constexpr double kMemoryMargin = 1.1;
constexpr double kMebibyte = 1024.0 * 1024.0;

/// The name with a hyphen for each character that Slurm or a file name may not have.
std::string job_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '.'; }, '-');
  return "evenkeel-" + name;
}

}  // namespace

std::string slurm_script(const SlurmArray& array) {
  const double bytes = kMemoryMargin * array.run_bytes * array.threads;
  std::string study;
  for (const auto& word : array.study) study += " " + shell_word(word);
  return text(
      "#!/bin/bash\n"
      "# ",
      array.runs,
      " runs of a study. Each job is a worker, which takes runs that no other worker has.\n"
      "# Set --time, and --partition and --account where your cluster needs them. A job that "
      "reaches its\n"
      "# time saves its runs; another job, or the same script submitted again, resumes them.\n"
      "#SBATCH --job-name=",
      job_name(array.name),
      "\n"
      "#SBATCH --array=1-",
      array.tasks,
      "\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=",
      array.threads,
      "\n"
      "#SBATCH --mem=",
      std::llround(std::ceil(bytes / kMebibyte)),
      "M\n"
      "#SBATCH --time=24:00:00\n"
      "#SBATCH --signal=B:TERM@120\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=%x-%a.txt\n"
      "cd ",
      shell_word(array.folder.string()),
      " || exit 74\n"
      "exec ",
      shell_word(array.executable.string()), " study", study,
      " --workers --quiet --jobs \"$SLURM_CPUS_PER_TASK\"\n");
}

}  // namespace evenkeel::cli
