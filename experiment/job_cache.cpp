// SPDX-License-Identifier: MIT
#include "experiment/job_cache.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"

namespace orrery::experiment {
namespace {

// Groups whose members are a lattice share what they have in common.
std::size_t memory_of(std::span<const workload::Communicator> groups) {
  std::size_t bytes = groups.size_bytes();
  std::set<const workload::Lattice*> lattices;
  for (const workload::Communicator& group : groups)
    if (const workload::Lattice* lattice = group.members.lattice())
      bytes += lattices.insert(lattice).second ? std::span(*lattice).size_bytes() : 0;
    else
      bytes += group.members.size() * sizeof(RankId);
  return bytes;
}

std::size_t memory_of(const workload::TrainingJob& made) {
  std::size_t bytes = memory_of(made.job.communicators);
  for (const workload::ExecutionGraph& graph : made.job.graphs) bytes += graph.memory_bytes();
  for (const workload::NodeLabels& labels : made.job.labels) bytes += labels.memory_bytes();
  const workload::RankBindings& ranks = made.job.ranks;
  for (std::uint32_t place = 0; place < ranks.size() / ranks.period().count; ++place) {
    const std::uint32_t rank = ranks.period().at(place);
    bytes += sizeof(workload::RankBinding) + ranks.communicator_count(rank) * sizeof(GroupId) +
             ranks.peer_count(rank) * sizeof(RankId);
  }
  for (const workload::ProgramMemory& program : made.facts.memory)
    bytes += program.changes.size() * sizeof(workload::MemoryChange);
  return bytes;
}

// The spec without what no job depends on: where keys stand, and a host that nothing goes to.
workload::TrainingSpec without_idle_parts(workload::TrainingSpec training) {
  training.where = {};
  training.locations.clear();
  if (!training.offload.any()) training.offload.host = {};
  return training;
}

}  // namespace

class JobCache::Answers final : public workload::OperatorTimes {
 public:
  // Asks `times`, and notes what they say. `times` outlives the generation.
  explicit Answers(const workload::OperatorTimes& times) : times_(&times), processors_(times.processors()) {}

  Duration time(const workload::Operator& op) const override {
    const auto known = times_of_.find(op);
    return known != times_of_.end() ? known->second : times_of_.emplace(op, times_->time(op)).first->second;
  }
  double measured(const workload::Operator& op) const override {
    const auto known = measured_.find(op);
    return known != measured_.end() ? known->second : measured_.emplace(op, times_->measured(op)).first->second;
  }
  std::int64_t processors() const override { return processors_; }

  // Generation is over.
  void stop_asking() { times_ = nullptr; }

  bool are_those_of(const workload::OperatorTimes& others) const {
    try {
      return others.processors() == processors_ &&
             std::ranges::all_of(times_of_, [&](const auto& one) { return others.time(one.first) == one.second; }) &&
             std::ranges::all_of(measured_, [&](const auto& one) { return others.measured(one.first) == one.second; });
    } catch (const InputError&) {  // of a device that does not compute in the precision
      return false;
    }
  }

 private:
  const workload::OperatorTimes* times_;
  const std::int64_t processors_;
  mutable std::map<workload::Operator, Duration> times_of_;
  mutable std::map<workload::Operator, double> measured_;
};

struct JobCache::Entry {
  Entry(workload::TrainingSpec of, workload::Loops form, const workload::OperatorTimes& times)
      : training(std::move(of)), loops(form), answers(times) {}

  // True but for what times answer.
  bool is_like(const Entry& other) const { return loops == other.loops && training == other.training; }

  const workload::TrainingSpec training;
  const workload::Loops loops;
  Answers answers;
  std::mutex making{};                                 // held until the job is made
  std::shared_ptr<const workload::TrainingJob> job{};  // null: it could not be
  std::size_t bytes = 0;                               // 0: not made yet
};

std::shared_ptr<const workload::TrainingJob> JobCache::get(const workload::TrainingSpec& training,
                                                           const workload::OperatorTimes& times,
                                                           workload::Loops loops) {
  const auto entry = std::make_shared<Entry>(without_idle_parts(training), loops, times);
  const std::lock_guard making(entry->making);
  Entries known;
  do {
    known = alike(*entry);
    for (const std::shared_ptr<Entry>& other : known) {
      const std::lock_guard lock(other->making);
      if (other->job == nullptr || !other->answers.are_those_of(times)) continue;
      was_used(other);
      return other->job;
    }
  } while (!add(entry, known));
  try {
    entry->job = std::make_shared<const workload::TrainingJob>(workload::generate_job(training, entry->answers, loops));
  } catch (...) {
    forget(entry);
    throw;
  }
  entry->answers.stop_asking();
  keep(entry, memory_of(*entry->job));
  return entry->job;
}

std::size_t JobCache::size() {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::size_t JobCache::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

JobCache::Entries JobCache::alike(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  Entries found;
  std::ranges::copy_if(entries_, std::back_inserter(found), [&](const auto& other) { return other->is_like(entry); });
  return found;
}

// Adds an entry that is none of `known`, all that are like it. False if others have come meanwhile.
bool JobCache::add(const std::shared_ptr<Entry>& entry, const Entries& known) {
  const std::lock_guard lock(mutex_);
  const bool has_others = std::ranges::any_of(entries_, [&](const std::shared_ptr<Entry>& other) {
    return other->is_like(*entry) && std::ranges::find(known, other) == known.end();
  });
  if (!has_others) entries_.push_front(entry);
  return !has_others;
}

void JobCache::was_used(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  const auto place = std::ranges::find(entries_, entry);
  if (place != entries_.end()) entries_.splice(entries_.begin(), entries_, place);
}

void JobCache::forget(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  std::erase(entries_, entry);
}

// Jobs under way count nothing yet, and stay; so does the new one, however large it is.
void JobCache::keep(const std::shared_ptr<Entry>& entry, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  entry->bytes = bytes;
  bytes_ += bytes;
  for (auto last = entries_.end(); bytes_ > most_bytes_ && last != entries_.begin();) {
    --last;
    if ((*last)->bytes == 0 || *last == entry) continue;
    bytes_ -= (*last)->bytes;
    last = entries_.erase(last);
  }
}

}  // namespace orrery::experiment
