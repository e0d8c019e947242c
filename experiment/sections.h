// SPDX-License-Identifier: MIT
// The sections of an experiment, as their readers leave them; read_experiment() calls those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/libraries.h"
#include "collectives/nccl/constants_config.h"
#include "core/collective_kind.h"
#include "core/config/config.h"
#include "core/machine_kind.h"
#include "experiment/calls/call.h"
#include "network/config/cluster.h"
#include "network/fabric/fabric.h"
#include "system/devices/device.h"
#include "system/devices/perturbation.h"
#include "system/network_model.h"
#include "system/plans/plan.h"
#include "workload/calls/operation.h"
#include "workload/import/format.h"
#include "workload/import/layers/layers.h"
#include "workload/traces/load_job.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::experiment {

// --- cluster

// Readers of the cluster's parts that belong to this layer: the devices, one for each type of nodes, and constants of a
// library measured on the cluster. Both are filled in while the cluster is read, and outlive the result.
network::ClusterReaders cluster_parts(std::vector<system::DeviceSpec>& devices,
                                      collectives::NcclConstantList& measured);

// Checks the parts and forgets them.
network::ClusterReaders unused_cluster_parts();

// --- workload

// Profiles of torch.profiler, and the execution traces of the same step.
struct ProfileSource {
  std::vector<std::string> files;
  bool symmetric = false;  // some ranks stand for all
};

// A text workload that is run as it stands: a table of layers of ASTRA-sim 1.0 or SimAI, or a GOAL schedule.
struct TextSource {
  std::string file;
  Location where;                                  // of the key that names it
  std::optional<workload::WorkloadFormat> format;  // nothing: a table of layers, whose format the file tells
  workload::LayersOptions layers{};
};

// Traces, profiles or texts to replay, a call, or a model to train.
struct WorkloadSource {
  workload::ChakraSource trace;
  std::optional<ProfileSource> profile;
  std::optional<TextSource> text;
  std::optional<CallSource> call;
  std::optional<workload::TrainingSpec> training;
  system::ComputeOptions compute;
  std::optional<Location> kernels_of_node;  // where those that dispatch tokens connect the ranks of one node only

  bool is_traced() const { return !training && !call && !profile && !text; }
  // The files that its work is read from; none of a model and of a call. InputError for a prefix without traces.
  std::vector<std::string> files() const;
};

// The job of an experiment, or one of several.
struct JobSource {
  std::string name;  // different from those of the others; empty of an only one
  WorkloadSource workload;
  Duration start{};  // none of its operations starts before
};

// Reads `workload` or `jobs`.
std::vector<JobSource> read_jobs(Section& experiment, const JobMachine& machine);

// Devices of each node that "devices(0,1,4,5)" names, as CUDA_VISIBLE_DEVICES has them; none of another placement.
std::vector<std::uint32_t> devices_of_each_node(std::string_view placement);

// Facts of a cluster that jobs depend on; `devices`: by type of its nodes. `experiment` has the placement.
JobMachine job_machine(const Section& experiment, const network::Fabric& fabric,
                       std::span<const system::DeviceSpec> devices);

// The largest micro-batch with which a job without a pipeline fits in memory, of those that divide the batch of a
// replica; 1 with a pipeline, and where none fits. All else of the job is known.
std::int64_t chosen_micro_batch(const workload::TrainingSpec& training, const JobMachine& machine);

// Notes keys of the cluster that act by what its jobs are, before it is read: copies of what a job offloads take the
// devices' PCIe links, whatever joins the devices.
void note_acting_keys(Section& experiment);

// Says which keys of the software and the cluster change nothing in these jobs, which are sound. `devices`: by type of
// the cluster's nodes.
void find_idle_keys(Section& section, std::span<const JobSource> jobs, std::span<const system::DeviceSpec> devices);

// The same of constants of NCCL: those of a library that is not in use, those that the cluster's own replace, and those
// of machines that the cluster has not. `machines`: by type of its nodes.
void find_idle_constants(Section& section, bool has_nccl, std::span<const MachineKind> machines);

// --- perturb

// The links of `fabric`, if there is one, become as `perturb.links` says. Not every model lets them change over time.
system::Perturbation read_perturbation(Section& perturb, system::NetworkModel model,
                                       std::optional<network::Fabric>& fabric);

// --- reliability

enum class FailureUnit : std::uint8_t { kDevice, kNode, kJob };

// Reliability of the hardware: how often it fails, and what a failure costs (`orrery goodput`).
struct Reliability {
  double mtbf = 0;  // seconds; of one device or node, or of the job as a whole
  FailureUnit per = FailureUnit::kDevice;
  double restart = 0;                // seconds until the job computes again
  std::optional<double> write;       // seconds for which a checkpoint stops the job
  std::optional<Bandwidth> storage;  // or how fast all of it is written together
  std::optional<double> interval;    // seconds of work between checkpoints; without it the best
  Location where;                    // of the section
};

Reliability read_reliability(Section& section);

// --- collectives

// Number of algorithms in a list of `collectives.algorithms`, and its location.
struct NamedAlgorithms {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::size_t count = 0;
  std::vector<std::size_t> in_network{};  // the dimensions whose switches have to add up
  Location where;
};

// A dimension of the cluster, as far as algorithms are named for it.
struct DimensionKind {
  std::string text;        // "16 switch"
  bool can_add_up = true;  // its switches: those of `dims` do where an algorithm asks for it
  bool joins_nodes = false;
};

// Facts that determine the library if the configuration does not name it.
struct LibraryHints {
  std::optional<collectives::LibraryKind>
      machine;                   // what its collectives run on; nothing: not known, for want of a sound cluster
  std::optional<Maker> maker{};  // of its devices, likewise
  std::optional<Location> asks_for_steps;   // where `network.granularity: step` stands, if it does
  const network::Fabric* fabric = nullptr;  // null: not known either
};

// NCCL (RCCL) for GPUs of a real cluster, fixed for other devices and for dimensions.
collectives::LibraryKind library_of(const MachineKind& machine, bool is_real_cluster);

// Reads `collectives` into `options`; returns the lists of `algorithms` whose names are right. The granularity is read
// after it: the library decides which there are.
std::vector<NamedAlgorithms> read_collectives(Section& section, const LibraryHints& hints,
                                              system::CollectiveOptions& options);

// Reports the lists that are not as long as the cluster has dimensions, and those that ask for switches that add up
// where there are none.
void check_algorithms(std::span<const NamedAlgorithms> named, std::span<const DimensionKind> dimensions,
                      Diagnostics& diagnostics);

// Reads `granularity` of `network`.
void read_granularity(Section& network, system::CollectiveOptions& options);

struct Placement;  // experiment/experiment.h
// Reads `placement`: the device of each rank.
void read_placement(Section& section, Placement& placement);

}  // namespace orrery::experiment
