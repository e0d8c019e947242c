// SPDX-License-Identifier: MIT
#include "workload/training/program/stage_program.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workload/training/layers/layer_program.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/program/parameter_gathers.h"
#include "workload/training/program/program_writer.h"

namespace orrery::workload {
namespace {

// How keys and values pass round a context-parallel group beside the attention over them (Liu et al. 2023): in line,
// block after block. Each is computed while the next one comes and goes on to the neighbour. A block's
// gradients come in while it is computed and go on with this rank's part; after the last hop they are where the block
// belongs.
void write_ring(const RingExchange& ring, const std::string& name, ProgramWriter& writer) {
  const Peer next = {PeerKind::kNextContext}, previous = {PeerKind::kPreviousContext};
  ProgramWriter::Nodes held = writer.tail(), gradients;
  for (std::int64_t i = 0; i < ring.blocks; ++i) {
    ProgramWriter::Nodes coming = held;
    if (i + 1 < ring.blocks) {
      writer.send_beside(name, next, ring.bytes, 0, held);
      coming.assign(1, writer.receive_beside(name, previous, ring.bytes, 0, held));
    }
    if (i > 0)
      for (const NodeId node : held) writer.join(node);
    gradients.push_back(writer.compute(name, ring.cost));
    if (ring.has_gradients) {
      writer.send_beside("gradients of " + name, next, ring.bytes, 0, gradients);
      gradients.assign(1, writer.receive_beside("gradients of " + name, previous, ring.bytes, 0, gradients));
    }
    held = coming;
  }
  if (ring.has_gradients) writer.join(gradients.front());
}

enum class Direction : std::uint8_t { kForward, kRecompute, kBackward };

constexpr std::array<std::string_view, 3> kDirectionNames = {"forward", "recompute", "backward"};

using Unit = StageUnit;

class StageBuilder {
 public:
  StageBuilder(const StageRequest& request, const OperatorTimes& times)
      : request_(request),
        training_(*request.training),
        parallel_(training_.parallel),
        times_(times),
        gradients_(training_, request.group_sizes, writer_),
        dense_(dense_groups(parallel_, request.group_sizes)),
        expert_(expert_groups(parallel_, request.group_sizes)),
        gathers_(training_, request.stage, dense_, expert_, writer_) {
    for (const auto& chunk : request.chunks)
      for (const StageLayer& layer : chunk) parameters_ += layer.layer->parameters;
  }

  StageProgram build() && {
    const std::vector<Unit> units = units_of_iteration();
    for (std::int64_t i = 0; i < training_.iterations; ++i) run_iteration(units);
    return std::move(writer_).take();
  }

 private:
  using Nodes = ProgramWriter::Nodes;

  // Layers go backward in reverse order. A stage without layers passes on what comes.
  std::vector<Unit> units_of_iteration() const {
    std::vector<Unit> units;
    const PipelineShape shape = pipeline_shape(training_);
    for (const Pass& pass : pipeline_order(shape, request_.stage)) {
      const std::vector<StageLayer>& chunk = request_.chunks[pass.chunk];
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        const std::size_t at = pass.kind == PassKind::kForward ? i : chunk.size() - 1 - i;
        units.push_back({pass, &chunk[at], i == 0, i + 1 == chunk.size()});
      }
      if (chunk.empty()) units.push_back({pass, nullptr, true, true});
    }
    return units;
  }

  void run_iteration(const std::vector<Unit>& units) {
    writer_.begin_iteration();
    gathers_.begin_iteration(units);
    forward_passes_ = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      gathers_.before(i);
      run(units[i], i);
    }
    finish_iteration();
  }

  bool shares_parameters() const { return parallel_.zero == 3; }
  bool updates_shares() const { return parallel_.zero == 1 || parallel_.zero == 2; }

  void run(const Unit& unit, std::size_t number) {
    if (unit.first) begin(unit);
    for (const NodeId node : gathers_.take(number)) writer_.join(node);
    if (unit.layer != nullptr && !pass_.is_repeated) run_layer(unit);
    if (unit.last) end(unit);
  }

  void begin(const Unit& unit) {
    if (unit.pass.kind != PassKind::kWeight) receive(unit);
    if (unit.pass.kind == PassKind::kForward) gathers_.before_forward_pass(forward_passes_++);
    before_collective_ = writer_.tail();
    pass_ = {writer_.size(), writer_.written_out_size(), beside_.size(), may_repeat(unit.pass), false};
    const auto known = stretches_.find({unit.pass.chunk, unit.pass.kind});
    if (!pass_.is_closed || known == stretches_.end()) return;
    const NodeId repetition = writer_.repeat(known->second.number);
    if (known->second.has_rest) beside_.push_back(writer_.rest_beside(known->second.number, repetition));
    pass_.is_repeated = true;
  }

  // Whether nothing outside knows what is within a pass, so that it is as another of its kind. Exchanged gradients and
  // gathered parameters do, and so do messages.
  bool may_repeat(const Pass& pass) const {
    if (!request_.repeats || shares_parameters() || exchanges_in(pass)) return false;
    if (ParameterGathers::is_overlapped(training_) && pass.kind == PassKind::kForward && pass.micro_batch == 0)
      return false;
    const auto has_messages = [](const std::vector<Action>& actions) {
      return std::ranges::any_of(actions, [](const Action& a) { return std::holds_alternative<RingExchange>(a); });
    };
    return std::ranges::none_of(request_.chunks[pass.chunk], [&](const StageLayer& layer) {
      return has_messages(layer.layer->forward) || has_messages(layer.layer->recompute) ||
             has_messages(layer.layer->backward);
    });
  }

  void end(const Unit& unit) {
    if (pass_.is_closed && !pass_.is_repeated && writer_.size() > pass_.start)
      stretches_[{unit.pass.chunk, unit.pass.kind}] = {writer_.stretch_from(pass_.start),
                                                       beside_.size() > pass_.beside};
    book_memory(unit);
    if (unit.pass.kind != PassKind::kWeight) send(unit);
    if (exchanges_in(unit.pass) && parallel_.zero >= 2) gradients_.flush();
  }

  // Gradients of a pass are exchanged as soon as they are there where replicas share them, else those of the last.
  bool exchanges_in(const Pass& pass) const {
    if (pass.kind == PassKind::kForward) return false;
    if (pass.kind == PassKind::kBackward && training_.schedule == ScheduleKind::kZeroBubble) return false;
    return parallel_.zero >= 2 || pass.micro_batch + 1 == training_.micro_batches();
  }

  void run_layer(const Unit& unit) {
    const LayerProgram& layer = *unit.layer->layer;
    switch (unit.pass.kind) {
      case PassKind::kForward:
        return run_actions(unit, layer.forward, Direction::kForward);
      case PassKind::kBackward:
        run_actions(unit, layer.recompute, Direction::kRecompute);
        run_actions(unit, layer.backward, Direction::kBackward);
        break;
      case PassKind::kWeight:
        run_actions(unit, layer.backward, Direction::kBackward);
        break;
    }
    if (shares_parameters() && exchanges_in(unit.pass)) gradients_.flush();
  }

  void run_actions(const Unit& unit, const std::vector<Action>& actions, Direction direction) {
    const std::vector<std::string>& names = names_of(*unit.layer, actions, direction);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto* compute = std::get_if<Compute>(&actions[i]);
      const bool put_off = compute != nullptr && compute->weight_gradient;
      if (training_.schedule == ScheduleKind::kZeroBubble && unit.pass.kind != PassKind::kForward &&
          put_off != (unit.pass.kind == PassKind::kWeight))
        continue;
      if (compute != nullptr)
        run_compute(unit, *compute, names[i]);
      else if (const auto* collective = std::get_if<Collective>(&actions[i]))
        run_collective(*collective, names[i]);
      else
        write_ring(std::get<RingExchange>(actions[i]), names[i], writer_);
    }
  }

  void run_compute(const Unit& unit, const Compute& compute, const std::string& name) {
    const bool beside = compute.weight_gradient && unit.pass.kind == PassKind::kBackward;
    const NodeId node = beside ? compute_beside(compute, name) : writer_.compute(name, compute.cost);
    if (exchanges_in(unit.pass)) gradients_.ready(compute.finishes, node);
  }

  NodeId compute_beside(const Compute& compute, const std::string& name) {
    beside_.push_back(
        writer_.compute_beside(name, compute.cost, compute.beside_collective ? before_collective_ : writer_.tail()));
    return beside_.back();
  }

  void run_collective(const Collective& collective, const std::string& name) {
    before_collective_ = writer_.tail();
    writer_.collective(name, collective.family, collective.kind, collective.bytes);
  }

  std::uint32_t virtual_stage(const Unit& unit) const {
    return unit.pass.chunk * static_cast<std::uint32_t>(parallel_.pipeline()) + request_.stage;
  }

  bool is_end(const Unit& unit, bool towards_next) const {
    const std::uint32_t at = virtual_stage(unit);
    return towards_next ? at + 1 == parallel_.pipeline() * training_.virtual_stages : at == 0;
  }

  // With two stages the next one is also the previous one, so that what goes forward and what goes backward meet
  // between the same ranks.
  std::int64_t tag_of(const Unit& unit) const {
    return parallel_.pipeline() == 2 && training_.virtual_stages > 1 && unit.pass.kind == PassKind::kBackward ? 1 : 0;
  }

  // Of two stages each is both: one rank, whose messages wait for one another.
  Peer neighbour(bool is_next) const {
    return {is_next || parallel_.pipeline() == 2 ? PeerKind::kNextStage : PeerKind::kPreviousStage};
  }

  void receive(const Unit& unit) {
    const bool forward = unit.pass.kind == PassKind::kForward;
    if (is_end(unit, !forward)) return;
    const Peer peer = neighbour(!forward);
    const char* name = forward ? "receive activations" : "receive gradients";
    writer_.join(writer_.receive_beside(name, peer, request_.boundary, tag_of(unit), writer_.tail()));
    if (request_.gathers_boundary)
      writer_.collective("stage boundary gather", GroupFamily::kTensor, CollectiveKind::kAllGather, request_.boundary);
  }

  void send(const Unit& unit) {
    const bool forward = unit.pass.kind == PassKind::kForward;
    if (is_end(unit, forward)) return;
    const Peer peer = neighbour(forward);
    const char* name = forward ? "send activations" : "send gradients";
    const NodeId node = writer_.send_beside(name, peer, request_.boundary, tag_of(unit), writer_.tail());
    if (!training_.software.overlap_pipeline) writer_.join(node);
  }

  void book_memory(const Unit& unit) {
    if (writer_.size() == pass_.start) return;
    const PassMemory memory = pass_memory(training_, request_.chunks[unit.pass.chunk], unit.pass.kind);
    writer_.takes(pass_.number, memory.taken);
    writer_.gives(writer_.written_out_size() - 1, memory.given);
  }

  void finish_iteration() {
    join_beside();
    gradients_.flush();
    for (const NodeId node : gradients_.take_done()) writer_.join(node);
    if (parallel_.exchange == ExchangeKind::kParameterServer) return gradients_.pull(parameters_);
    exchange_tied();
    const Bytes traffic = training_.software.optimizer * updated_parameters(parameters_, dense_, expert_);
    if (traffic.count() > 0)
      writer_.compute("optimizer", cost_of({ElementWise{ElementWiseKind::kOptimizer, traffic}}, times_));
    if (updates_shares() && !ParameterGathers::is_overlapped(training_)) gradients_.gather(parameters_);
  }

  void join_beside() {
    if (beside_.empty()) return;
    for (const NodeId node : beside_) writer_.join(node);
    writer_.compute("weight gradients done", {});
    beside_.clear();
  }

  // The first and the last stage add up the gradients of the embedding they share.
  void exchange_tied() {
    const std::int64_t stage = request_.stage;
    if (request_.tied == 0 || (stage != 0 && stage + 1 != parallel_.pipeline())) return;
    const Bytes bytes = ceil_div(size_of(training_.software.gradients) * request_.tied, dense_.shards);
    writer_.collective("tied embedding gradients", GroupFamily::kEmbedding, CollectiveKind::kAllReduce, bytes);
  }

  // "layer 3 attention forward", action by action.
  const std::vector<std::string>& names_of(const StageLayer& layer, const std::vector<Action>& actions,
                                           Direction direction) {
    const auto [known, added] = names_.try_emplace({layer.layer, layer.number, direction});
    if (!added) return known->second;
    const std::string prefix = prefix_of(layer);
    for (const Action& action : actions) {
      const std::string& name = std::visit([](const auto& a) -> const std::string& { return a.name; }, action);
      known->second.push_back(
          fmt::format("{}{} {}", prefix, name, kDirectionNames[static_cast<std::size_t>(direction)]));
    }
    return known->second;
  }

  const StageRequest& request_;
  const TrainingSpec& training_;
  const Parallelism& parallel_;
  const OperatorTimes& times_;
  ProgramWriter writer_;
  GradientSynchronisation gradients_;
  const ReplicaGroups dense_;
  const ReplicaGroups expert_;
  ParameterCount parameters_;
  ParameterGathers gathers_;
  std::uint32_t forward_passes_ = 0;  // of the iteration, so far
  Nodes before_collective_;           // what the latest collective in line waits for
  Nodes beside_;                      // weight gradients of this iteration that nothing has waited for
  struct OpenPass {
    std::uint32_t start = 0;   // first node
    std::uint32_t number = 0;  // its
    std::size_t beside = 0;    // how many of beside_ were there before
    bool is_closed = false;    // nothing outside knows what is within
    bool is_repeated = false;
  };
  OpenPass pass_;
  struct PassStretch {
    std::uint32_t number = 0;
    bool has_rest = false;
  };
  std::map<std::pair<std::uint32_t, PassKind>, PassStretch> stretches_;  // by chunk
  std::map<std::tuple<const LayerProgram*, std::int64_t, Direction>, std::vector<std::string>> names_;
};

}  // namespace

StageProgram stage_program(const StageRequest& request, const OperatorTimes& times) {
  return StageBuilder(request, times).build();
}

}  // namespace orrery::workload
