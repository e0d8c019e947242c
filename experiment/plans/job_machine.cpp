// SPDX-License-Identifier: MIT
// Defaults of a job that leaves things out: the cluster as far as it matters, and its micro-batch.
#include <algorithm>
#include <vector>

#include "experiment/sections.h"
#include "workload/training/program/generate_job.h"

namespace orrery::experiment {
namespace {

// True if the job runs on the devices with libraries and what the allocator cannot use.
bool fits(const workload::TrainingSpec& training, const JobMachine& machine) {
  Diagnostics problems;
  workload::check_training(training, machine.devices, problems);
  if (problems.has_errors()) return false;
  const Bytes host = training.offload.host.capacity.value_or(Bytes::max());
  return std::ranges::all_of(workload::memory_needs(training), [&](const workload::MemoryNeed& need) {
    return need.in_use() <= machine.memory && need.host <= host;
  });
}

// Architecture whose software runs on systolic arrays of no generation that has a name: TPUs before Ironwood.
constexpr Architecture kSystolic = Architecture::kIronwood;

// Devices that a value of `placement` leaves to ranks.
std::int64_t placed_devices(const ConfigValue& placement, std::int64_t devices, std::int64_t of_node) {
  if (placement.kind == ConfigValue::Kind::kList) return static_cast<std::int64_t>(placement.items.size());
  const std::vector<std::uint32_t> chosen = devices_of_each_node(placement.scalar);
  return chosen.empty() ? devices : devices / of_node * static_cast<std::int64_t>(chosen.size());
}

}  // namespace

JobMachine job_machine(const Section& experiment, const network::Fabric& fabric,
                       std::span<const system::DeviceSpec> devices) {
  JobMachine machine;
  machine.is_known = true;
  machine.devices = fabric.device_count();
  machine.devices_per_node = fabric.dimensions().empty() ? machine.devices : fabric.dimensions().front().size;
  machine.room = machine.devices;
  if (const ConfigValue* placement = experiment.value("placement"))
    machine.room = std::min(machine.room, placed_devices(*placement, machine.devices, machine.devices_per_node));
  if (devices.empty()) return machine;
  machine.architecture = system::oldest_architecture(devices);
  if (machine.architecture == Architecture::kOther && devices.front().systolic) machine.architecture = kSystolic;
  machine.host = devices.front().host;
  machine.memory = std::ranges::min(devices, {}, &system::DeviceSpec::memory_capacity).memory_capacity;
  return machine;
}

std::int64_t chosen_micro_batch(const workload::TrainingSpec& training, const JobMachine& machine) {
  const std::int64_t data = training.parallel.data();
  if (training.parallel.pipeline() > 1 || !machine.is_known || training.global_batch % data != 0) return 1;
  // Samples of other models are checked to be at most so many at once.
  constexpr std::int64_t kMost = 1 << 18;
  const std::int64_t of_replica = training.global_batch / data;
  workload::TrainingSpec other = training;
  std::vector<std::int64_t> sizes;
  for (std::int64_t small = 1; small * small <= of_replica; ++small) {
    if (of_replica % small != 0) continue;
    for (const std::int64_t size : {small, of_replica / small})
      if (size <= kMost) sizes.push_back(size);
  }
  std::ranges::sort(sizes, std::ranges::greater());
  for (const std::int64_t size : sizes) {
    other.micro_batch = size;
    if (fits(other, machine)) return size;
  }
  return 1;
}

}  // namespace orrery::experiment
