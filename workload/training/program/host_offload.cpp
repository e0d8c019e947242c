// SPDX-License-Identifier: MIT
#include "workload/training/program/host_offload.h"

#include <algorithm>
#include <cmath>

#include "workload/training/pipeline/holding.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/optimizer_step.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kMostBuckets = 64;  // of a step

Bytes share_of(Bytes bytes, std::int64_t part, std::int64_t all) {
  return all == 0 ? Bytes(0) : Bytes(static_cast<std::int64_t>(Int128{bytes.count()} * part / all));
}

Duration copy_time(Bytes bytes, const std::optional<Bandwidth>& bandwidth) {
  return bandwidth ? bytes / *bandwidth : Duration::zero();
}

// Parameters that the rank updates.
std::int64_t own_parameters(const StageRequest& request) {
  return updated_parameters(parameters_of(request), exchange_groups(request.training->parallel, request.group_sizes));
}

Bytes activations_of(std::span<const StageLayer> chunk) {
  Bytes sum;
  for (const StageLayer& layer : chunk)
    if (layer.is_offloaded) sum += layer.layer->saved;
  return sum;
}

}  // namespace

void ActivationCopies::before(const StageUnit& unit, std::span<const StageLayer> layers) {
  if (training_.offload.activations == 0 || unit.layer == nullptr) return;
  const Key key{unit.pass.chunk, unit.pass.micro_batch, unit.at};
  if (unit.pass.kind == PassKind::kForward) {
    if (unit.at < 2) return;
    const auto known = out_.find({unit.pass.chunk, unit.pass.micro_batch, unit.at - 2});
    if (known != out_.end()) writer_.join(known->second);
    return;
  }
  const std::size_t layer = layers.size() - 1 - unit.at;
  if (unit.first) fetch(unit, layers, layer);
  if (layer > 0) fetch(unit, layers, layer - 1);
  const auto known = back_.find({unit.pass.chunk, unit.pass.micro_batch, layer});
  if (known != back_.end()) writer_.join(known->second);
}

void ActivationCopies::behind(const StageUnit& unit) {
  if (unit.layer == nullptr || !unit.layer->is_offloaded || unit.pass.kind != PassKind::kForward) return;
  const Bytes bytes = unit.layer->layer->saved;
  const ProgramWriter::Within beside(writer_, PassRole::kBeside);
  out_[{unit.pass.chunk, unit.pass.micro_batch, unit.at}] =
      writer_.copy_beside(prefix_of(*unit.layer) + "activations to host", NodeKind::kCopyToHost, bytes,
                          copy_time(bytes, training_.offload.host.from_device), writer_.tail());
}

void ActivationCopies::fetch(const StageUnit& unit, std::span<const StageLayer> layers, std::size_t layer) {
  const Key key{unit.pass.chunk, unit.pass.micro_batch, layer};
  const auto out = out_.find(key);
  if (out == out_.end() || back_.contains(key)) return;
  const Bytes bytes = layers[layer].layer->saved;
  ProgramWriter::Nodes after = writer_.tail();
  after.push_back(out->second);
  const ProgramWriter::Within beside(writer_, {unit.pass, layers[layer].number, PassRole::kBeside});
  back_[key] = writer_.copy_beside(prefix_of(layers[layer]) + "activations to device", NodeKind::kCopyToDevice, bytes,
                                   copy_time(bytes, training_.offload.host.to_device), after);
}

OffloadedStep offloaded_step(const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  OffloadedStep step;
  step.rest = optimizer_traffic(request);
  const std::int64_t all = own_parameters(request);
  if (training.offload.states == 0 || all == 0 || training.parallel.exchange == ExchangeKind::kParameterServer)
    return step;
  step.parameters = std::clamp<std::int64_t>(std::llround(training.offload.states * static_cast<double>(all)), 0, all);
  step.bucket = std::max(bucket_parameters(training), (step.parameters + kMostBuckets - 1) / kMostBuckets);
  const Bytes states = share_of(optimizer_bytes(request), step.parameters, all);
  const Bytes moved = share_of(step.rest, step.parameters, all);
  step.rest -= moved;
  const Bytes gradients = size_of(training.software.gradients) * step.parameters;
  const Bytes parameters = training.parameter_size() * step.parameters;
  if (training.offload.on_host) {
    step.down = gradients, step.up = parameters;
    step.on_host = gradients + states * 2 + parameters;
  } else {
    step.down = step.up = states;
    step.on_device = moved;
  }
  return step;
}

Duration offloaded_time(const StageRequest& request) {
  const OffloadedStep step = offloaded_step(request);
  const HostMemory& host = request.training->offload.host;
  return std::max({copy_time(step.down, host.from_device), copy_time(step.up, host.to_device),
                   copy_time(step.on_host, host.update)});
}

// Buckets follow one another through the copy down, the host and the copy up, or through the copy up, the device and
// the copy down, of which no more than two are on the device.
ProgramWriter::Nodes write_offloaded_update(const StageRequest& request, const OperatorTimes& times,
                                            const ProgramWriter::Nodes& after, ProgramWriter& writer) {
  const OffloadedStep step = offloaded_step(request);
  const OffloadSpec& offload = request.training->offload;
  ProgramWriter::Nodes done;
  for (std::int64_t at = 0; at < step.parameters; at += step.bucket) {
    const std::int64_t count = std::min(step.bucket, step.parameters - at);
    const auto part = [&](Bytes bytes) { return share_of(bytes, count, step.parameters); };
    const auto down = [&](std::string_view name, const ProgramWriter::Nodes& before) {
      return writer.copy_beside(name, NodeKind::kCopyToHost, part(step.down),
                                copy_time(part(step.down), offload.host.from_device), before);
    };
    const auto up = [&](std::string_view name, const ProgramWriter::Nodes& before) {
      return writer.copy_beside(name, NodeKind::kCopyToDevice, part(step.up),
                                copy_time(part(step.up), offload.host.to_device), before);
    };
    if (offload.on_host) {
      const NodeId gradients = down("gradients to host", after);
      const NodeId updated =
          writer.host_beside("optimizer on host", copy_time(part(step.on_host), offload.host.update), {gradients});
      done.push_back(up("parameters to device", {updated}));
    } else {
      ProgramWriter::Nodes before = after;
      if (done.size() > 1) before.push_back(done[done.size() - 2]);
      const NodeId states = up("states to device", before);
      const NodeId updated =
          writer.compute_beside("optimizer",
                                cost_of({ElementWise{ElementWiseKind::kOptimizer, part(step.on_device)}}, times,
                                        &request.training->software.host),
                                {states});
      done.push_back(down("states to host", {updated}));
    }
  }
  return done;
}

std::vector<DeviceUpdates> device_updates(const OffloadedStep& step) {
  std::vector<DeviceUpdates> updates;
  if (step.on_device == Bytes(0)) return updates;
  const std::int64_t last = step.parameters % step.bucket;
  if (const std::int64_t times = step.parameters / step.bucket; times > 0)
    updates.push_back({share_of(step.on_device, step.bucket, step.parameters), times});
  if (last > 0) updates.push_back({share_of(step.on_device, last, step.parameters), 1});
  return updates;
}

Bytes offloaded_states(const StageRequest& request) {
  if (request.training->offload.states == 0) return Bytes(0);
  return share_of(optimizer_bytes(request), offloaded_step(request).parameters, own_parameters(request));
}

Bytes host_bytes(const StageRequest& request) {
  const OffloadSpec& offload = request.training->offload;
  if (!offload.any()) return Bytes(0);
  const OffloadedStep step = offloaded_step(request);
  Bytes bytes = offloaded_states(request);
  if (offload.on_host) bytes += step.down + step.up;
  const auto of_run = [&](std::span<const PassStep> steps) {
    Holding holding;
    for (const PassStep& pass : steps) {
      const Bytes activations = activations_of(request.chunks[pass.chunk]);
      if (pass.kind == PassKind::kForward) holding.book(activations, Bytes(0));
      if (pass.kind == PassKind::kBackward) holding.book(Bytes(0), activations);
    }
    return holding;
  };
  const std::vector<PassPhase> phases = pipeline_phases(pipeline_shape(*request.training), request.stage);
  return bytes + holding_of(phases, of_run).most;
}

Bytes states_on_the_way(const StageRequest& request) {
  if (request.training->offload.states == 0) return Bytes(0);
  const OffloadedStep step = offloaded_step(request);
  if (request.training->offload.on_host || step.parameters == 0) return Bytes(0);
  return share_of(step.up, std::min(2 * step.bucket, step.parameters), step.parameters);
}

}  // namespace orrery::workload
