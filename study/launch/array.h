// SPDX-License-Identifier: MIT
// A job array of Slurm that is watched until all of its work is there, whatever becomes of its tasks: those that end
// before their work is done (they fail, lose their node, run out of time) are submitted again. What is done is known by
// its results, never by what Slurm says of a task.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/launch/slurm.h"

namespace orrery::study {

class ArrayWatch {
 public:
  using Tell = std::function<void(const std::string&)>;       // a line for people
  using Collect = std::function<std::vector<std::size_t>()>;  // takes results; how many each task still owes

  // A task is submitted again unless `retries` + 1 times one after the other it has brought no result.
  ArrayWatch(SlurmArray array, std::size_t retries, std::function<bool()> is_stopped, Tell tell)
      : array_(std::move(array)), retries_(retries), is_stopped_(std::move(is_stopped)), tell_(std::move(tell)) {}

  // Waits until nothing is missing; may be called again with other results, of as many tasks. Submits the array where
  // there is need, with `is_beginning` also tasks that will have results missing only later; tasks of the same job name
  // that wait or run already are taken for its own. Slurm may be out of reach for ten minutes. Returns false if it was
  // stopped: then the tasks are cancelled. InputError when a task brings nothing any more, once the others have ended,
  // when results cannot be taken, or when Slurm refuses the array.
  bool wait(const Collect& collect, bool is_beginning = false);
  // Cancels the tasks that are left, whose work is done.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    std::string job;  // the last one
    bool is_under_way = false;
    bool is_adopted = false;   // how long it has run before, and on what, nobody knows
    std::size_t missing = 0;   // when it was submitted
    std::size_t failures = 0;  // one after the other
  };

  bool watch(const Collect& collect);
  Clock::duration part_of_time(int divisor, Clock::duration least, Clock::duration most) const;
  bool nothing_missing() const;
  bool given_up(const Task& task) const { return task.failures > retries_; }
  void adopt(std::vector<SlurmTask> alive);
  void submit_missing(bool with_others = false);
  void query(const Collect& collect);
  void take_ended();
  void tell_ended(const std::vector<std::size_t>& ended);
  void tell_waiting();
  [[noreturn]] void fail() const;
  bool stop();
  void try_cancel();

  const SlurmArray array_;
  const std::size_t retries_;
  const std::function<bool()> is_stopped_;
  const Tell tell_;
  std::vector<std::size_t> missing_;  // of each task
  std::vector<Task> tasks_;
  std::vector<SlurmTask> alive_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point answered_ = begun_;
  bool told_silence_ = false;
  std::optional<Clock::time_point> waiting_since_;
  std::string told_reason_;
};

// Cancels what there is of the array, and waits until it has ended; how many tasks there were.
std::size_t end_array(const SlurmArray& array, const std::function<bool()>& is_stopped);

}  // namespace orrery::study
