// SPDX-License-Identifier: MIT
// Requests to Slurm, by its own programs: job arrays submitted (sbatch), watched (squeue, scontrol) and cancelled
// (scancel). No accounting database is needed. InputError with Slurm's own words wherever it refuses or does not
// answer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::study {

struct SlurmArray {
  std::string name;                    // of the job
  std::string script;                  // the file that every task runs
  std::string logs;                    // folder, absolute
  std::string partition;               // empty: Slurm's default
  std::string time_limit;              // of a task; empty: the partition's
  std::size_t at_a_time = 0;           // tasks; 0: as many as fit
  unsigned cores = 1;                  // of a task
  std::vector<std::string> arguments;  // more of sbatch's
};

// A task of an array that waits or runs.
struct SlurmTask {
  std::string job;  // of the array
  std::size_t index = 0;
  std::string state;   // "PENDING", "RUNNING", ...
  std::string reason;  // why it waits

  bool waits() const { return state == "PENDING"; }
};

// InputError where Slurm's programs are not installed.
void check_slurm();

// "0-3,7": ascending numbers as sbatch's --array has them.
std::string index_ranges(std::span<const std::size_t> indices);

// Submits the tasks; the number of their job.
std::string submit(const SlurmArray& array, std::span<const std::size_t> tasks);

// All tasks of jobs of that name that have not ended.
std::vector<SlurmTask> tasks_of(const std::string& name);
// From squeue's lines, as tasks_of() asks for them.
std::vector<SlurmTask> tasks_in(std::string_view lines);

void cancel(const std::string& name);

// "FAILED, exit code 2:0": how a task ended, as long as Slurm knows; else nothing.
std::string end_of(const std::string& job, std::size_t index);

std::string log_of(const SlurmArray& array, const std::string& job, std::size_t index);

}  // namespace orrery::study
