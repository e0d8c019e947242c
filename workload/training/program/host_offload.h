// SPDX-License-Identifier: MIT
// Work with the host's memory beside a rank's passes: activations that go there in the forward pass and come back for
// the backward pass, and the update of optimizer states that are kept there (`workload.offload`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "workload/training/program/parameter_gathers.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"

namespace orrery::workload {

// Copies of layers' activations. At most two layers' are on the way: a layer two further on waits for the copy that
// frees its room, and the activations of a layer begin to come back when the backward pass of the layer two before it
// in that pass is through.
class ActivationCopies {
 public:
  // All outlive it.
  ActivationCopies(const TrainingSpec& training, ProgramWriter& writer) : training_(training), writer_(writer) {}

  void begin_iteration() { out_.clear(), back_.clear(); }
  // Before and behind what a unit computes; `layers`: of its chunk.
  void before(const StageUnit& unit, std::span<const StageLayer> layers);
  void behind(const StageUnit& unit);

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::size_t>;  // chunk, micro-batch, layer

  void fetch(const StageUnit& unit, std::span<const StageLayer> layers, std::size_t layer);

  const TrainingSpec& training_;
  ProgramWriter& writer_;
  std::map<Key, NodeId> out_;   // copies to the host
  std::map<Key, NodeId> back_;  // and those back
};

// Share of the optimizer's step that works on states in the host's memory.
struct OffloadedStep {
  std::int64_t parameters = 0;
  std::int64_t bucket = 1;  // parameters at a time
  Bytes down{0};            // of all, and of what comes up
  Bytes up{0};
  Bytes on_host{0};    // memory traffic of the host's processors
  Bytes on_device{0};  // and of the device, of offloaded states
  Bytes rest{0};       // and of the others
};
OffloadedStep offloaded_step(const StageRequest& request);

// Least time of the offloaded part of the step: of the copies one way, of those the other way, and of the host, which
// run beside one another.
Duration offloaded_time(const StageRequest& request);

// Writes the offloaded part of the update behind the tail; the nodes that wait for nothing else.
ProgramWriter::Nodes write_offloaded_update(const StageRequest& request, const OperatorTimes& times,
                                            const ProgramWriter::Nodes& after, ProgramWriter& writer);

// Bytes of a rank in the memory of its host: states, gradients on their way, activations at their peak.
Bytes host_bytes(const StageRequest& request);

// Updates of offloaded states by the device, bucket by bucket: memory traffic, and how many buckets have it.
struct DeviceUpdates {
  Bytes traffic{0};
  std::int64_t times = 0;
};
std::vector<DeviceUpdates> device_updates(const OffloadedStep& step);

// States that the host has.
Bytes offloaded_states(const StageRequest& request);

// Bytes beside the device's own states: those of two buckets, where the device updates them.
Bytes states_on_the_way(const StageRequest& request);

}  // namespace orrery::workload
