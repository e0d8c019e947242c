// SPDX-License-Identifier: MIT
#include "workload/training/program/program_writer.h"

#include <algorithm>
#include <array>

namespace orrery::workload {
namespace {

// Position of `value` in `values`; appends it if it is not there.
template <class T>
std::uint32_t position_in(std::vector<T>& values, const T& value) {
  const auto known = std::ranges::find(values, value);
  const auto position = static_cast<std::uint32_t>(known - values.begin());
  if (known == values.end()) values.push_back(value);
  return position;
}

}  // namespace

GraphNode with_cost(const Cost& cost, GraphNode node) {
  if (cost.time == Duration::zero()) return node;
  node.kind = NodeKind::kCompute;
  node.duration = cost.time, node.flops = cost.flops, node.bytes = cost.bytes;
  if (cost.host.launches > Duration::zero()) node.host = cost.host;
  const Int128 bound = Int128{cost.processor_bound.count()} * kWholeShare / cost.time.count();
  if (!cost.has_own_processors) node.processor_bound = static_cast<std::uint32_t>(bound);
  return node;
}

void ProgramWriter::begin_iteration() {
  if (!has_begun_) initial_ = count_;
  if (has_begun_) ++iteration_;
  has_begun_ = true;
  is_marked_ = false;
  if (count_ > initial_) iteration_starts_.push_back(NodeId(count_));
}

NodeId ProgramWriter::compute(std::string_view name, const Cost& cost) {
  const NodeId node = compute_beside(name, cost, tail_);
  tail_.assign(1, node);
  return node;
}

NodeId ProgramWriter::collective(std::string_view name, GroupFamily family, CollectiveKind kind, Bytes bytes) {
  const NodeId node = collective_beside(name, family, kind, bytes, tail_);
  tail_.assign(1, node);
  return node;
}

NodeId ProgramWriter::host(std::string_view name, Duration time, bool synchronises) {
  const GraphNode node{
      .kind = NodeKind::kHostCompute, .duration = time, .host = HostWork{.synchronises = synchronises}};
  tail_.assign(1, write(name, node, tail_));
  return tail_.front();
}

NodeId ProgramWriter::compute_beside(std::string_view name, const Cost& cost, const Nodes& after) {
  return write(name, with_cost(cost, {}), after);
}

NodeId ProgramWriter::collective_beside(std::string_view name, GroupFamily family, CollectiveKind kind, Bytes bytes,
                                        const Nodes& after) {
  HostWork host = launch_of(family);
  host.synchronises = kind == CollectiveKind::kBarrier;
  return write(
      name, {.kind = NodeKind::kCollective, .bytes = bytes, .collective = kind, .slot = slot_of(family), .host = host},
      after);
}

NodeId ProgramWriter::send_beside(std::string_view name, Peer peer, Bytes bytes, std::int64_t tag, const Nodes& after) {
  return write(name, transfer(NodeKind::kSend, peer, bytes, tag), after);
}

NodeId ProgramWriter::receive_beside(std::string_view name, Peer peer, Bytes bytes, std::int64_t tag,
                                     const Nodes& after) {
  return write(name, transfer(NodeKind::kReceive, peer, bytes, tag), after);
}

NodeId ProgramWriter::host_beside(std::string_view name, Duration time, const Nodes& after) {
  if (time == Duration::zero()) return write(name, {}, after);
  return write(name, {.kind = NodeKind::kHostCompute, .duration = time}, after);
}

NodeId ProgramWriter::copy_beside(std::string_view name, NodeKind kind, Bytes bytes, Duration time,
                                  const Nodes& after) {
  if (time == Duration::zero()) return write(name, {}, after);
  return write(name, {.kind = kind, .duration = time, .bytes = bytes}, after);
}

NodeId ProgramWriter::load_beside(std::string_view name, Bytes bytes, const Nodes& after) {
  return write(name, {.kind = NodeKind::kMemoryLoad, .bytes = bytes}, after);
}

NodeId ProgramWriter::store_beside(std::string_view name, Bytes bytes, const Nodes& after) {
  return write(name, {.kind = NodeKind::kMemoryStore, .bytes = bytes}, after);
}

std::uint32_t ProgramWriter::stretch_from(std::uint32_t first) {
  stretch_sizes_.push_back(count_ - first);
  return graph_.add_stretch({NodeId(first), count_ - first, tail_});
}

NodeId ProgramWriter::repeat(std::uint32_t stretch) {
  const NodeId node = write("", {.kind = NodeKind::kCompute, .repetition = Repetition{stretch, false}}, tail_);
  written_out_size_ += stretch_sizes_[stretch] - 1;
  tail_.assign(1, node);
  return node;
}

NodeId ProgramWriter::rest_beside(std::uint32_t stretch, NodeId repetition) {
  const NodeId node = write("", {.kind = NodeKind::kCompute, .repetition = Repetition{stretch, true}}, {repetition});
  --written_out_size_;
  return node;
}

StageProgram ProgramWriter::take() && {
  ExecutionGraph graph = std::move(graph_).build();
  std::vector<std::uint64_t> ids;
  for (std::uint32_t i = 0; i < count_ && !graph.stretches().empty(); ++i) ids.push_back(graph.number(NodeId(i)));
  NodeLabels labels(std::move(ids), std::move(names_), texts_);
  const bool tagged = std::ranges::any_of(tags_, [](std::int64_t tag) { return tag != 0; });
  return {std::move(graph),
          std::move(labels),
          std::move(communicators_),
          std::move(peers_),
          tagged ? std::move(tags_) : std::vector<std::int64_t>(),
          {},
          std::move(iteration_starts_),
          initial_,
          std::move(updates_),
          std::move(marks_),
          {},
          {}};
}

NodeId ProgramWriter::write(std::string_view name, const GraphNode& node, const Nodes& after) {
  return append(std::exchange(is_apart_, false) ? graph_.add_apart(node) : graph_.add(node), this->name(name), after);
}

NodeId ProgramWriter::again_beside(NodeId node, Name name, const Nodes& after) {
  return append(graph_.add_like(node), name, after);
}

NodeId ProgramWriter::append(NodeId node, Name name, const Nodes& after) {
  if (!is_marked_) mark();
  for (const NodeId before : after) graph_.depend(node, before);
  names_.push_back(name);
  ++count_;
  ++written_out_size_;
  return node;
}

ProgramWriter::Name ProgramWriter::name(std::string_view text) {
  const auto known = known_names_.find(text);
  if (known != known_names_.end()) return known->second;
  const auto name = static_cast<Name>(texts_.size());
  texts_.push_back(known_names_.emplace(text, name).first->first);
  return name;
}

// Marks are written where a node's place is not that of the node before.
void ProgramWriter::mark() {
  is_marked_ = true;
  const bool goes_on = !marks_.passes.empty() && marks_.passes.back().iteration == iteration_ &&
                       marks_.passes.back().pass == place_.pass;
  if (!goes_on) marks_.passes.push_back({written_out_size_, iteration_, place_.pass});
  const bool is_same_layer =
      !marks_.layers.empty() && marks_.layers.back().layer == place_.layer && marks_.layers.back().role == place_.role;
  if (!is_same_layer) marks_.layers.push_back({NodeId(count_), place_.layer, place_.role});
}

std::uint32_t ProgramWriter::slot_of(GroupFamily family) { return position_in(communicators_, family); }

std::uint32_t ProgramWriter::slot_of(Peer peer) { return position_in(peers_, peer); }

GraphNode ProgramWriter::transfer(NodeKind kind, Peer peer, Bytes bytes, std::int64_t tag) {
  tags_.push_back(tag);
  return {.kind = kind, .bytes = bytes, .slot = slot_of(peer), .host = launch_of(peer)};
}

// Graphs of kernels of constant sizes hold the collectives and messages between them.
HostWork ProgramWriter::launch_of_communication(bool is_within_layers) const {
  const bool is_captured = host_.graphs == GraphScope::kDense && is_within_layers;
  return {is_captured ? Duration::zero() : host_.launch_alone() * host_.communication};
}

HostWork ProgramWriter::launch_of(GroupFamily family) const {
  return launch_of_communication(family == GroupFamily::kTensor || family == GroupFamily::kContext);
}

HostWork ProgramWriter::launch_of(Peer peer) const {
  return launch_of_communication(peer.kind == PeerKind::kNextContext || peer.kind == PeerKind::kPreviousContext);
}

}  // namespace orrery::workload
