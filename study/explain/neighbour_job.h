// SPDX-License-Identifier: MIT
// A job whose neighbours are looked for, and the kinds of changes that there are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "study/explain/neighbours.h"
#include "study/search/plan.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

class NeighbourJob;

struct NeighbourKind {
  std::string_view name;
  void (*add)(NeighbourJob& job);  // all of its neighbours of this kind
  bool has_bound = false;          // as Neighbour has it
};

// Kinds that change keys of plans, as searches vary them; and all others.
std::span<const NeighbourKind> kinds_of_plans();
std::span<const NeighbourKind> kinds_of_settings();

class NeighbourJob {
 public:
  // All outlive it.
  NeighbourJob(const ConfigValue& workload, const ConfigValue& resolved, const workload::TrainingSpec& training);

  const workload::TrainingSpec& training() const { return training_; }
  const workload::TransformerSpec* transformer() const { return training_.transformer(); }
  const Plan& plan() const { return plan_; }
  const ConfigValue& resolved() const { return resolved_; }
  // Value at a path in the job's workload, such as "batch.micro"; null where it has none.
  const ConfigValue* at(std::string_view path) const;
  // A share or a number that may be left out: 0 then.
  double real(std::string_view path) const;

  void add(std::string name, std::vector<std::string> settings);
  void refuse(std::string name, std::string why);
  // The settings in which the plan differs from the job's; nothing where it does not.
  void add(std::string name, const Plan& plan);
  // Edits of the memory lever of that name, of this job or of one that is like it.
  void add_lever(std::string_view lever) { add_lever(lever, training_, {}); }
  void add_lever(std::string_view lever, const workload::TrainingSpec& like, const std::vector<std::string>& with);

  // All of both tables.
  std::vector<Neighbour> find() &&;

 private:
  const ConfigValue& workload_;
  const ConfigValue& resolved_;
  const workload::TrainingSpec& training_;
  const Plan plan_;
  const std::vector<std::string> own_;   // settings of the plan
  const NeighbourKind* kind_ = nullptr;  // whose neighbours are being added
  std::vector<Neighbour> list_;
};

}  // namespace orrery::study
