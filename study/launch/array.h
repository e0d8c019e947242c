// SPDX-License-Identifier: MIT
// A job array of Slurm that is watched until all of its work is there, whatever becomes of its tasks: those that end
// before their work is done (they fail, lose their node, run out of time) are submitted again. What is done is known by
// its results, never by what Slurm says of a task.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "study/launch/slurm.h"

namespace orrery::study {

struct ArrayWork {
  // Takes the results that have come; for each task, how many are missing.
  std::function<std::vector<std::size_t>()> collect;
  std::function<bool()> is_stopped;
  std::function<void(const std::string&)> tell;  // a line for people
};

// Until nothing is missing. A task is submitted again unless `retries` + 1 times one after the other it has brought no
// result. Tasks of the same job name that wait or run already are taken for those of this array. Slurm may be out of
// reach for ten minutes. False if it was stopped: then the tasks are cancelled. InputError when a task brings nothing
// any more, once the others have ended, when results cannot be taken, or when Slurm refuses the array.
bool run_array(const SlurmArray& array, std::size_t retries, const ArrayWork& work);

// Cancels what there is of the array, and waits until it has ended; how many tasks there were.
std::size_t end_array(const SlurmArray& array, const std::function<bool()>& is_stopped);

}  // namespace orrery::study
