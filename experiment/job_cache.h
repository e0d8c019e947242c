// SPDX-License-Identifier: MIT
// Generated jobs that experiments share. A job follows from its model and plan and from how long its operators take:
// experiments that differ in nothing else, such as rates of links, noise or failures, have one job, made once.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "workload/training/program/generate_job.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

class JobCache {
 public:
  // `most_bytes`: memory of the jobs that are kept, unless the last one alone takes more; of others, those that were
  // asked for last stay.
  explicit JobCache(std::size_t most_bytes = std::size_t{32} << 20) : most_bytes_(most_bytes) {}
  JobCache(const JobCache&) = delete;
  JobCache& operator=(const JobCache&) = delete;

  // generate_job() of these, or the equal job of before. Where keys stand in files does not matter to it. Any thread
  // may call; those that want the same job at once wait for it. What generate_job() throws comes out, and is not kept.
  std::shared_ptr<const workload::TrainingJob> get(const workload::TrainingSpec& training,
                                                   const workload::OperatorTimes& times, workload::Loops loops);
  // Number of jobs that are kept.
  std::size_t size();
  // Memory that they take, about.
  std::size_t bytes();

 private:
  // Answers that generation got from the times of operators. Times that give the same answers make the same job.
  class Answers;
  struct Entry;
  using Entries = std::vector<std::shared_ptr<Entry>>;

  Entries alike(const Entry& entry);
  bool add(const std::shared_ptr<Entry>& entry, const Entries& known);
  void was_used(const std::shared_ptr<Entry>& entry);
  void keep(const std::shared_ptr<Entry>& entry, std::size_t bytes);
  void forget(const std::shared_ptr<Entry>& entry);

  const std::size_t most_bytes_;
  std::mutex mutex_;                           // of all below
  std::list<std::shared_ptr<Entry>> entries_;  // last asked for first
  std::size_t bytes_ = 0;
};

}  // namespace orrery::experiment
