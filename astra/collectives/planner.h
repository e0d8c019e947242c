// SPDX-License-Identifier: MIT
// Division of a collective by ASTRA-sim: into chunks, each with a phase for every dimension, spread over queues.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "astra/collectives/algorithms.h"
#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

// Custom schedules, each file read once.
class CustomSchedules {
 public:
  struct Schedule {
    std::shared_ptr<const Program> program;
    std::shared_ptr<const std::vector<std::uint32_t>> peers;
  };
  // Schedule of a position; `ranks` is the number of ranks.
  const Schedule& schedule(const std::string& prefix, std::uint32_t position, std::uint32_t ranks);

 private:
  std::map<std::pair<std::string, std::uint32_t>, Schedule> schedules_;
};

// The collectives of one rank. Queues and trees are given out in turn.
class CollectivePlanner {
 public:
  CollectivePlanner(const Inputs& inputs, const Job& job, CustomSchedules& custom, std::uint32_t rank);

  // The chunks of a collective, each as its phases. InputError where ASTRA-sim would not come to an end.
  std::vector<std::vector<Phase>> plan(const Node& node, std::uint64_t group);

  std::uint32_t queue_count() const { return static_cast<std::uint32_t>(turns_.size()) * queues_; }

 private:
  struct Turns {  // of the queues of a dimension
    std::uint32_t all = 0;
    std::uint32_t first_half = 0;
    std::uint32_t last_half = 0;
  };
  enum class Half : std::uint8_t { kBoth, kFirst, kLast };
  // The dimensions that a collective goes through.
  struct Route {
    std::vector<Algorithm> algorithms;
    std::vector<std::uint32_t> dimensions{};  // of more than one rank, and involved
    const std::vector<std::uint32_t>* members = nullptr;
  };

  Route route_of(const Node& node, std::uint64_t group) const;
  Phase phase_of(const Route& route, std::uint32_t dimension, CommKind comm, CommKind whole, Half half,
                 std::uint64_t bytes);
  // True if the messages of an all-gather of this chunk have sizes of 64 bits.
  bool gathers(const Route& route, std::uint64_t bytes) const;
  std::vector<Phase> custom_phases(const std::string& prefix, const Route& route, CommKind comm);
  std::vector<Phase> phases_of(const Route& route, CommKind comm, std::uint64_t bytes);
  void take_queue(std::uint32_t dimension, Half half, Phase& phase);
  void check(const Route& route, std::uint32_t dimension, CommKind whole, std::uint32_t size) const;

  const Inputs& inputs_;
  const Job& job_;
  CustomSchedules& custom_;
  std::uint32_t rank_;
  std::uint32_t queues_;  // of each dimension
  std::vector<Turns> turns_;
  std::map<std::pair<CommKind, std::uint32_t>, bool> tree_is_odd_;  // by collective and dimension
};

}  // namespace orrery::astra
