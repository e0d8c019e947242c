// SPDX-License-Identifier: MIT
// A time that the simulation of a plan does not fall below, worked out without one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/collective_kind.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "system/devices/operator_model.h"
#include "workload/training/bounds/least_time.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// Lower bounds of plans on one cluster, one plan after the other. A plan takes no less than the ranks of any one of its
// pipelines, whose groups lie as the simulation lays them out, on any grid of devices; several pipelines are looked at.
class PlanBounds {
 public:
  // Bounds for the only job of `experiment`, which trains a model and outlives this.
  explicit PlanBounds(const Experiment& experiment);

  struct Bound {
    Bytes memory;     // of the fullest rank
    Bytes in_use;     // with libraries and what the allocator cannot use
    Bytes host;       // of the fullest rank, in the memory of its host
    Duration time{};  // of an iteration, at least; zero where nothing is known

    bool operator==(const Bound&) const = default;
  };
  // `plan` has passed check_training(). The time is worked out where the memory is no more than `most`, else zero.
  Bound of(const workload::TrainingSpec& plan, Bytes most);
  // A higher bound of the time than that, for more work: by the order of all passes of one pipeline, and what its
  // stages send to one another. No less than `least`, which is another bound.
  Duration refined(const workload::TrainingSpec& plan, Duration least);
  // Memory of a host for each of its devices, the least of all; nothing where it is not known.
  std::optional<Bytes> host_capacity() const { return host_.capacity; }

 private:
  // The operators on whichever type of device is fastest.
  class FastestDevice;

  // Groups that a rank is in, by family; null if it is in none or nothing is known of it.
  using Groups = std::array<const collectives::GroupShape*, workload::kGroupFamilyCount>;

  const collectives::GroupShape* shape_of(const workload::RankGrid& grid, workload::GroupFamily family,
                                          const workload::RankGrid::Place& place);
  std::uint32_t groups_of(const workload::TrainingSpec& training, const workload::RankGrid& grid,
                          const workload::RankGrid::Place& place, bool is_fullest);
  struct Pipeline {
    workload::PipelineRanks ranks;
    std::vector<DeviceId> devices;  // by stage; none where nothing is known of what they send

    bool is_like(const Pipeline& other) const {
      return ranks.groups == other.ranks.groups && ranks.load == other.ranks.load;
    }
  };
  // All that where the groups of a plan lie follows from.
  using Layout = std::vector<std::int64_t>;
  static Layout layout_of(const workload::TrainingSpec& training, std::size_t loads);
  // Some pipelines of the job, no two of them alike.
  const std::vector<Pipeline>& pipelines_of(const workload::TrainingSpec& training,
                                            const workload::StageRequests& requests);
  std::vector<Pipeline> make_pipelines(const workload::TrainingSpec& training, const workload::StageRequests& requests);
  // The plan on the fastest hosts.
  workload::TrainingSpec with_best_host(const workload::TrainingSpec& plan) const;
  workload::LeastCollective collectives();
  workload::LeastMessage message(DeviceId from, DeviceId to, Bytes bytes) const;
  // Devices of the ranks of a plan, of which it may have fewer.
  std::span<const DeviceId> placement_of(const workload::Parallelism& parallel);
  Duration least_collective(const collectives::GroupShape& shape, CollectiveKind kind, Bytes bytes);

  const Experiment& experiment_;
  const workload::HostMemory host_;            // fastest rates, and least capacity, of all types of devices
  std::vector<system::OperatorModel> models_;  // by type of device
  struct OperatorHash {
    std::size_t operator()(const workload::Operator& op) const;
  };
  // Times on the fastest device, of all plans together: most of their operators are those of others.
  std::unordered_map<workload::Operator, Duration, OperatorHash> operators_;
  // Device of each rank, keyed by the number of devices that plans use of each node (0: all); empty where nothing is
  // known of collectives.
  std::map<std::uint32_t, std::vector<DeviceId>> placements_;
  std::span<const DeviceId> placement_;  // of the plan
  // Layouts keyed by what groups of equal layout have in common (Fabric::congruence), or by their devices; and by
  // whether they exchange.
  std::map<std::pair<std::vector<std::uint32_t>, bool>, const collectives::GroupShape*> layouts_;
  std::set<collectives::GroupShape> shapes_;
  std::map<Groups, std::uint32_t> numbers_;
  std::vector<Groups> groups_;  // by number
  std::map<Layout, std::vector<Pipeline>> pipelines_;
  std::map<std::tuple<const collectives::GroupShape*, CollectiveKind, std::int64_t>, Duration> collectives_;
};

}  // namespace orrery::experiment
