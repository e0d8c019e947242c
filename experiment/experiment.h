// SPDX-License-Identifier: MIT
// An experiment: a job on a cluster, as its configuration file describes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/ids.h"
#include "core/machine_kind.h"
#include "experiment/sections.h"
#include "network/config/cluster.h"
#include "network/fabric/fabric.h"
#include "system/devices/device.h"
#include "system/network_model.h"
#include "system/plans/group_library.h"
#include "system/simulation.h"
#include "workload/training/layers/layer_program.h"

namespace orrery::experiment {

class JobCache;  // experiment/job_cache.h

enum class PlacementKind : std::uint8_t { kPacked, kDense, kStrided, kRandom, kList, kOfNodes };

// Placement: the device that each rank runs on.
struct Placement {
  PlacementKind kind = PlacementKind::kPacked;
  std::uint64_t seed = 0;           // kRandom
  std::vector<std::uint32_t> list;  // kList: device by rank; kOfNodes: of each node
  std::uint32_t of_node = 0;        // kPacked: the first so many devices of each node; 0: all
  Location where;
  std::size_t jobs = 1;    // whose ranks they are
  Location devices_at{};   // what says how many devices there are
  bool has_nodes = false;  // that is a number of nodes
};

struct Experiment {
  std::string file;
  ConfigValue resolved;                     // the configuration with every file, --set and default filled in
  std::vector<system::DeviceSpec> devices;  // by type of the fabric's nodes
  network::Fabric fabric;
  std::vector<JobSource> jobs;  // at least one; none after read_machine
  Placement placement;
  std::optional<Reliability> reliability;
  system::NetworkModel network = system::kDefaultNetworkModel;
  system::SimulationOptions simulation;
  std::vector<MachineKind> machine_kinds;  // by type of the fabric's nodes
  std::unique_ptr<const system::NcclLibrary>
      nccl;                            // what the options of the simulation refer to; null with another library
  std::vector<IdleKey> idle_keys{};    // that change nothing here, and why
  const ConfigFiles* files = nullptr;  // that its names were looked up in, and that outlive it
  JobCache* made_jobs = nullptr;       // shared with other experiments, and outlives it; null: none are
  std::optional<std::vector<std::string>> settings{};  // that changed `file`; nothing where it is more than these

  const system::DeviceSpec& device_of(DeviceId device) const { return devices[fabric.type_of(device)]; }
  MachineKind machine_kind() const { return common_machine(machine_kinds); }
  // "a100-sxm-80gb"; "8 x a100-sxm-80gb, 8 x h100-sxm".
  std::string devices_text() const { return system::devices_text(devices, fabric.devices_of_types()); }
};

// Reads `file`, an experiment or the result of a run of one, applies the `settings` (a.b=v), and checks everything.
// Throws InputError with all problems; warnings go to `diagnostics`.
Experiment load_experiment(const std::string& file, const std::vector<std::string>& settings, const ConfigFiles& files,
                           Diagnostics& diagnostics);

// The second half of it: an experiment from what `file` and the settings came to.
Experiment read_experiment(const std::string& file, ConfigValue root, const ConfigFiles& files,
                           Diagnostics& diagnostics);

// Fills in the defaults of an experiment, for settings that are relative to them. `file` and `files` outlive it.
ResolveConfig resolver(const std::string& file, const ConfigFiles& files);

// An experiment without a workload, whose job is made in memory: `root` has a cluster and, where they are not as by
// default, collectives and network. `name` stands for the file.
Experiment read_machine(const std::string& name, ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics);

// Makes the network that the experiment asks for. The experiment outlives it.
system::Simulation::NetworkFactory network_of(const Experiment& experiment);

// Every key of the configuration, in the order of docs/config.md.
std::vector<KeyDescription> describe_configuration(const ConfigFiles& files);

// InputError when there are more ranks than devices.
void check_rank_count(const Placement& placement, std::uint32_t ranks, const network::Fabric& fabric);
// The device of each of `ranks` ranks. InputError when there are more ranks than devices or the list does not fit.
// packed without of_node, and dense: rank i on device i; strided: round-robin over nodes; random: by the seed, the same
// on every machine; of nodes: node by node on the devices of the list.
std::vector<DeviceId> place_ranks(const Placement& placement, std::uint32_t ranks, const network::Fabric& fabric);

// Use of nodes by which the innermost groups of a job of a model stay inside them, some devices of each being idle.
struct Packing {
  workload::GroupFamily family;  // of the groups that need it
  std::uint32_t of_node = 0;     // devices in use of each node
  std::uint32_t per_node = 0;    // all of them
  std::int64_t nodes = 0;        // that the job needs so
};
// Nothing where the experiment is not one job of a model, where its groups are in nodes anyway, or where the fabric is
// not one of nodes.
std::optional<Packing> packing_wanted(const Experiment& experiment);
// The packing that ranks have: that one, if placement is `packed` and the cluster has the nodes for it.
std::optional<Packing> packing_of(const Experiment& experiment);
// The same, were its job spread like that.
std::optional<Packing> packing_of(const Experiment& experiment, const workload::Parallelism& parallel);
// place_ranks() of the ranks of all jobs, packed as packing_of() says.
std::vector<DeviceId> place_jobs(const Experiment& experiment, std::uint32_t ranks);

}  // namespace orrery::experiment
