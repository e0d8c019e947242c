// SPDX-License-Identifier: MIT
// Synchronisation of the gradients of all replicas: all-reduced, or reduced and scattered if optimizer states are
// shared (ZeRO), in buckets during the backward pass or all at the end; or sent to parameter servers.
#pragma once

#include <cstdint>

#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::workload {

// Groups that exchange and share a rank's dense, or expert, parameters.
struct ReplicaGroups {
  GroupFamily shard = GroupFamily::kData;  // that share them under ZeRO
  std::int64_t shards = 1;
  GroupFamily replicate = GroupFamily::kData;  // that have the same share
  std::int64_t replicas = 1;
};

struct ExchangeGroups {
  ReplicaGroups dense;
  ReplicaGroups expert;
};
ExchangeGroups exchange_groups(const Parallelism& parallel, const GroupSizes& sizes);

// Parameters of which a rank keeps the optimizer's states: its share where they are divided.
std::int64_t updated_parameters(ParameterCount parameters, const ExchangeGroups& groups);

class GradientSynchronisation {
 public:
  // All outlive it.
  GradientSynchronisation(const TrainingSpec& training, const ExchangeGroups& groups, const OperatorTimes& times,
                          ProgramWriter& writer);

  // Cuts the gradients: those ready from here on go in buckets, or all at once.
  void cut(bool in_buckets) { in_buckets_ = in_buckets; }
  // The gradients of so many parameters are complete with `node`.
  void ready(ParameterCount parameters, NodeId node);
  // Exchanges what is still to be exchanged.
  void flush();
  // Takes the nodes that the optimizer waits for, and forgets them.
  ProgramWriter::Nodes take_done();

  // The parameters that the servers have updated.
  void pull(ParameterCount parameters);

 private:
  struct Pending {
    ReplicaGroups groups;
    std::int64_t parameters = 0;
    ProgramWriter::Nodes from{};  // whose gradients they are
  };

  void issue(Pending& pending, std::int64_t parameters);
  static ProgramWriter::Nodes take_from(Pending& pending);
  void push_to_server(Pending& pending, Bytes bytes);
  // `copies`: redundant experts among those whose gradients they are.
  NodeId exchange(const ReplicaGroups& groups, std::int64_t parameters, std::int64_t copies,
                  ProgramWriter::Nodes after);

  const TrainingSpec& training_;
  const OperatorTimes& times_;
  ProgramWriter& writer_;
  Pending dense_;
  Pending expert_;
  ProgramWriter::Nodes done_;
  std::uint32_t pushes_ = 0;
  bool in_buckets_ = true;
};

// Parameters exchanged together: the bucket in numbers of gradients, at least one.
std::int64_t bucket_parameters(const TrainingSpec& training);

// True if the gradients of a chunk of a stage's layers go in buckets; false if all go at once, when they are there.
bool has_buckets(const TrainingSpec& training, std::uint32_t stage, std::uint32_t chunk);

// Program of parameter server `server`: it takes gradients from every worker, updates its share of the parameters, and
// answers. Its peer slot w is worker w (PeerKind::kServer with that number).
StageProgram server_program(const TrainingSpec& training, std::int64_t parameters, std::uint32_t server,
                            const OperatorTimes& times);

}  // namespace orrery::workload
