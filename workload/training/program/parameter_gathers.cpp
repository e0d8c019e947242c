// SPDX-License-Identifier: MIT
#include "workload/training/program/parameter_gathers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace orrery::workload {
namespace {

bool is_first_forward(const StageUnit& unit) {
  return unit.layer != nullptr && unit.pass.kind == PassKind::kForward && unit.pass.micro_batch == 0;
}

}  // namespace

ParameterGathers::ParameterGathers(const TrainingSpec& training, std::uint32_t stage, const ExchangeGroups& groups,
                                   ProgramWriter& writer)
    : training_(training), stage_(stage), groups_(groups), writer_(writer) {}

// Overlap of parameters needs overlap of gradients, as in Megatron-Core.
bool ParameterGathers::is_overlapped(const TrainingSpec& training) {
  return training.parallel.updates_shares() && training.software.overlap_parameters &&
         training.software.overlap_gradients;
}

bool ParameterGathers::is_aligned() const { return is_overlapped(training_) && training_.virtual_stages > 1; }

void ParameterGathers::begin_iteration(std::span<const StageUnit> units) {
  units_ = units;
  gathered_.clear();
  buckets_.clear();
  next_ = 0;
  if (is_overlapped(training_)) cut_buckets();
  if (!is_aligned()) return;
  gather_chunk(0);
  gather_chunk(1);
}

void ParameterGathers::cut_buckets() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!is_first_forward(units_[i])) continue;
    const std::int64_t full = has_buckets(training_, stage_, units_[i].pass.chunk)
                                  ? bucket_parameters(training_)
                                  : std::numeric_limits<std::int64_t>::max();
    const bool goes_on = !training_.exchanges_layers() && !buckets_.empty() &&
                         buckets_.back().parameters.total() < full &&
                         units_[buckets_.back().first].pass.chunk == units_[i].pass.chunk;
    if (!goes_on) buckets_.push_back({i, {}});
    buckets_.back().parameters += units_[i].layer->layer->parameters;
  }
}

void ParameterGathers::before(std::size_t unit) {
  if (training_.parallel.shares_parameters()) {
    gather_layer(unit);
    if (training_.software.overlap_gradients && unit + 1 < units_.size()) gather_layer(unit + 1);
    return;
  }
  if (is_aligned() || next_ == buckets_.size() || buckets_[next_].first != unit) return;
  gather(buckets_[next_]);
  if (++next_ < buckets_.size()) gather(buckets_[next_]);
}

void ParameterGathers::before_forward_pass(std::uint32_t number) {
  if (!is_aligned()) return;
  const auto stages = static_cast<std::uint32_t>(training_.parallel.pipeline());
  const std::uint32_t chunk = (number + stage_) / stages + 1;
  if ((number + stage_) % stages == 0 && chunk > 1) gather_chunk(chunk);
}

ProgramWriter::Nodes ParameterGathers::take(std::size_t unit) {
  const auto known = gathered_.find(unit);
  if (known == gathered_.end()) return {};
  ProgramWriter::Nodes nodes = std::move(known->second);
  gathered_.erase(known);
  return nodes;
}

void ParameterGathers::gather_chunk(std::uint32_t chunk) {
  for (Bucket& bucket : buckets_)
    if (units_[bucket.first].pass.chunk == chunk) gather(bucket);
}

void ParameterGathers::gather(Bucket& bucket) {
  if (std::exchange(bucket.is_gathered, true)) return;
  gather(bucket.first, bucket.parameters);
}

// Weight gradients alone need no parameters.
void ParameterGathers::gather_layer(std::size_t unit) {
  if (units_[unit].layer == nullptr || units_[unit].pass.kind == PassKind::kWeight || gathered_.contains(unit)) return;
  if (training_.keeps_gathered() && !is_first_forward(units_[unit])) return;
  const LayerProgram& layer = *units_[unit].layer->layer;
  gather(unit, layer.parameters + ParameterCount{layer.frozen, 0});
}

void ParameterGathers::gather(std::size_t unit, const ParameterCount& parameters) {
  ProgramWriter::Nodes& nodes = gathered_[unit];
  const ProgramWriter::Within beside(writer_, {units_[unit].pass, units_[unit].layer->number, PassRole::kBeside});
  const std::string name = prefix_of(*units_[unit].layer) + "parameters gather";
  for (const auto& [family, bytes] : calls_for(parameters))
    nodes.push_back(writer_.collective_beside(name, family, CollectiveKind::kAllGather, bytes, writer_.tail()));
}

void ParameterGathers::after_optimizer(const ParameterCount& parameters) {
  if (!training_.parallel.updates_shares() || is_overlapped(training_)) return;
  for (const auto& [family, bytes] : calls_for(parameters))
    writer_.collective("parameters gather", family, CollectiveKind::kAllGather, bytes);
}

std::vector<std::pair<GroupFamily, Bytes>> ParameterGathers::calls_for(const ParameterCount& parameters) const {
  std::vector<std::pair<GroupFamily, Bytes>> calls;
  for (const auto& [groups, count] :
       {std::pair(&groups_.dense, parameters.dense), {&groups_.expert, parameters.expert}})
    if (groups->shards > 1 && count > 0)
      calls.emplace_back(groups->shard, ceil_div(training_.gathered_parameters(count), groups->shards));
  return calls;
}

std::string prefix_of(const StageLayer& layer) {
  return layer.number < 0 ? std::string() : fmt::format("layer {} ", layer.number);
}

}  // namespace orrery::workload
