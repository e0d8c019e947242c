// SPDX-License-Identifier: MIT
#include "workload/training/program/stage_program.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workload/training/layers/layer_program.h"
#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/host_offload.h"
#include "workload/training/program/input_pipeline.h"
#include "workload/training/program/memory_need.h"
#include "workload/training/program/optimizer_step.h"
#include "workload/training/program/parameter_gathers.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_messages.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, 3> kPartNames = {"forward", "recompute", "backward"};

// Adds the layers of a pass, which go backward in reverse order. A stage without layers passes on what comes.
void add_pass(const StageRequest& request, const Pass& pass, std::uint32_t lane, std::vector<StageUnit>& units) {
  const std::vector<StageLayer>& chunk = request.chunks[pass.chunk];
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const std::size_t at = pass.kind == PassKind::kForward ? i : chunk.size() - 1 - i;
    units.push_back({pass, &chunk[at], i, i == 0, i + 1 == chunk.size(), lane});
  }
  if (chunk.empty()) units.push_back({pass, nullptr, 0, true, true, lane});
}

}  // namespace

// Passes that run side by side take turns, layer by layer: a kernel of either that is ready runs, the first one's
// rather, so that one computes while the other communicates (Megatron-Core's combined_1f1b). Under DualPipe they begin
// together, when the inputs of both have come, and hand on their results together, when both are through
// (deepseek-ai/DualPipe, _forward_backward_chunk).
std::vector<StageUnit> units_of_iteration(const StageRequest& request) {
  const std::vector<Pass> order = pipeline_order(pipeline_shape(*request.training), request.stage);
  std::vector<StageUnit> units, one, other;
  std::size_t count = 0;
  for (const Pass& pass : order) count += std::max<std::size_t>(request.chunks[pass.chunk].size(), 1);
  units.reserve(count);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!order[i].beside_next) {
      add_pass(request, order[i], 0, units);
      continue;
    }
    one.clear();
    other.clear();
    add_pass(request, order[i], 1, one);
    add_pass(request, order[++i], 2, other);
    const std::size_t first = units.size();
    for (std::size_t k = 0; k < std::max(one.size(), other.size()); ++k) {
      if (k < one.size()) units.push_back(one[k]);
      if (k < other.size()) units.push_back(other[k]);
    }
    units[first].opens = units.back().closes = {order[i - 1], order[i]};
  }
  return units;
}

bool exchanges_in(const Pass& pass, const TrainingSpec& training) {
  if (pass.kind == PassKind::kForward) return false;
  if (pass.splits) return false;
  if (pass.kind == PassKind::kBackward && splits_all(training.schedule)) return false;
  return (training.parallel.zero >= 2 && !training.keeps_gathered()) || !training.is_flushed() ||
         pass.micro_batch + 1 == training.chunk_micro_batches();
}

namespace {

// True if nothing outside depends on the inside of a pass, so that a pass of the same kind is its repetition. Exchanged
// gradients, gathered parameters and messages depend on it.
bool may_repeat(const Pass& pass, const StageRequest& request) {
  const TrainingSpec& training = *request.training;
  if (!request.repeats || training.overlaps() || training.offload.activations > 0) return false;
  if (training.parallel.shares_parameters() || exchanges_in(pass, training)) return false;
  if (ParameterGathers::is_overlapped(training) && pass.kind == PassKind::kForward && pass.micro_batch == 0)
    return false;
  const auto has_messages = [](const std::vector<Action>& actions) {
    return std::ranges::any_of(actions, [](const Action& a) { return std::holds_alternative<RingExchange>(a); });
  };
  return std::ranges::none_of(request.chunks[pass.chunk], [&](const StageLayer& layer) {
    return has_messages(layer.layer->forward) || has_messages(layer.layer->recompute) ||
           has_messages(layer.layer->backward);
  });
}

// Writes the layers of passes.
class LayerWriter {
 public:
  LayerWriter(const TrainingSpec& training, GradientSynchronisation& gradients, ProgramWriter& writer)
      : training_(training), gradients_(gradients), writer_(writer) {}

  // State of the pass that is being written.
  struct Line {
    ProgramWriter::Nodes before_collective;  // what the latest collective in line waits for
    std::optional<NodeId> beside_next;       // a collective beside which the next computation runs
  };
  Line& line() { return line_; }
  void begin_pass() { line_ = {writer_.tail(), {}}; }
  // The next node waits for that collective.
  void join_collective() {
    if (line_.beside_next) writer_.join(*line_.beside_next);
    line_.beside_next.reset();
  }

  void write(const StageUnit& unit) {
    const bool is_alone = unit.lane == 0 || unit.layer->beside_another == nullptr;
    const LayerProgram& layer = is_alone ? *unit.layer->layer : *unit.layer->beside_another;
    if (unit.pass.kind == PassKind::kForward) return write(unit, layer, LayerPart::kForward);
    if (unit.pass.kind == PassKind::kBackward) write(unit, layer, LayerPart::kRecompute);
    write(unit, layer, LayerPart::kBackward);
    const ProgramWriter::Within beside(writer_, PassRole::kBeside);
    if (training_.exchanges_layers() && exchanges_in(unit.pass, training_)) gradients_.flush();
  }

  std::vector<ActionNode> take_actions() { return std::move(actions_); }

  // Nodes of this iteration that run beside and that nothing has waited for: weight gradients.
  std::size_t beside() const { return beside_.size(); }
  void add_beside(NodeId node) { beside_.push_back(node); }
  void join_beside() {
    if (beside_.empty()) return;
    for (const NodeId node : beside_) writer_.join(node);
    writer_.compute("weight gradients done", {});
    beside_.clear();
  }

 private:
  void write(const StageUnit& unit, const LayerProgram& layer, LayerPart part) {
    const std::vector<Action>& actions = actions_of(layer, part);
    const std::vector<ProgramWriter::Name>& names = names_of(*unit.layer, actions, part);
    std::vector<std::optional<NodeId>>& nodes = nodes_[{&layer, part}];
    nodes.resize(actions.size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (!is_in_pass(actions[i], unit.pass.kind, unit.pass.splits)) continue;
      if (const auto* ring = std::get_if<RingExchange>(&actions[i])) {
        write_ring(*ring, std::string(writer_.text(names[i])), writer_);
        continue;
      }
      if (!nodes[i]) actions_.push_back({&layer, part, i, NodeId(writer_.size())});
      if (const auto* compute = std::get_if<Compute>(&actions[i]))
        write(unit.pass, *compute, names[i], nodes[i]);
      else
        write(std::get<Collective>(actions[i]), names[i], nodes[i]);
    }
  }

  // Writes an action's node behind `after`. `first`: the node that was written for the action first, and stands for it.
  NodeId write_node(const Compute& compute, ProgramWriter::Name name, const ProgramWriter::Nodes& after,
                    std::optional<NodeId>& first) {
    if (first) return writer_.again_beside(*first, name, after);
    writer_.next_apart();
    first = writer_.compute_beside(writer_.text(name), compute.cost, after);
    return *first;
  }
  NodeId write_node(const Collective& collective, ProgramWriter::Name name, std::optional<NodeId>& first) {
    if (first) return writer_.again_beside(*first, name, writer_.tail());
    writer_.next_apart();
    first = writer_.collective_beside(writer_.text(name), collective.family, collective.kind, collective.bytes,
                                      writer_.tail());
    return *first;
  }

  void write(const Pass& pass, const Compute& compute, ProgramWriter::Name name, std::optional<NodeId>& first) {
    if (compute.beside_collective && !compute.weight_gradient)
      return writer_.join(write_node(compute, name, line_.before_collective, first));
    const bool beside = compute.weight_gradient && pass.kind == PassKind::kBackward;
    const NodeId node = beside ? put_off(compute, name, first) : write_node(compute, name, writer_.tail(), first);
    if (beside) {
      add_beside(node);
    } else {
      writer_.go_on_behind(node);
      join_collective();
    }
    if (!exchanges_in(pass, training_)) return;
    const ProgramWriter::Within exchange(writer_, PassRole::kBeside);
    gradients_.ready(compute.finishes, node);
  }

  NodeId put_off(const Compute& compute, ProgramWriter::Name name, std::optional<NodeId>& first) {
    const ProgramWriter::Within beside(writer_, PassRole::kPutOff);
    return write_node(compute, name, compute.beside_collective ? line_.before_collective : writer_.tail(), first);
  }

  void write(const Collective& collective, ProgramWriter::Name name, std::optional<NodeId>& first) {
    line_.before_collective = writer_.tail();
    const NodeId node = write_node(collective, name, first);
    if (collective.beside_next)
      line_.beside_next = node;
    else
      writer_.go_on_behind(node);
  }

  // "layer 3 attention forward", action by action.
  const std::vector<ProgramWriter::Name>& names_of(const StageLayer& layer, const std::vector<Action>& actions,
                                                   LayerPart part) {
    const auto [known, added] = names_.try_emplace({layer.layer, layer.number, part});
    if (!added) return known->second;
    const std::string prefix = prefix_of(layer);
    for (const Action& action : actions) {
      const std::string& name = std::visit([](const auto& a) -> const std::string& { return a.name; }, action);
      known->second.push_back(
          writer_.name(fmt::format("{}{} {}", prefix, name, kPartNames[static_cast<std::size_t>(part)])));
    }
    return known->second;
  }

  const TrainingSpec& training_;
  GradientSynchronisation& gradients_;
  ProgramWriter& writer_;
  Line line_;
  ProgramWriter::Nodes beside_;
  std::map<std::tuple<const LayerProgram*, std::int64_t, LayerPart>, std::vector<ProgramWriter::Name>> names_;
  std::map<std::pair<const LayerProgram*, LayerPart>, std::vector<std::optional<NodeId>>>
      nodes_;  // first ones, by action
  std::vector<ActionNode> actions_;
};

class StageBuilder {
 public:
  StageBuilder(const StageRequest& request, const OperatorTimes& times) : request_(request), times_(times) {}

  StageProgram build() && {
    const std::vector<StageUnit> units = units_of_iteration(request_);
    write_initial_broadcast(training_, request_.group_sizes, parameters_, writer_);
    if (!training_.is_flushed()) run_unflushed(units);
    for (std::int64_t i = 0; training_.is_flushed() && i < training_.iterations; ++i) run_iteration(units);
    input_.finish();
    StageProgram program = std::move(writer_).take();
    program.actions = layers_.take_actions();
    std::move(memory_).take(program);
    return program;
  }

 private:
  void run_iteration(const std::vector<StageUnit>& units) {
    begin_iteration();
    messages_.begin_iteration();
    gathers_.begin_iteration(units);
    forward_passes_ = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      gathers_.before(i);
      run(units[i], i);
    }
    finish_iteration();
    end_iteration();
  }

  // An iteration begins with the forward pass of its first micro-batch, and ends with the update of its last.
  void run_unflushed(const std::vector<StageUnit>& units) {
    const std::int64_t micro_batches = training_.micro_batches();
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Pass& pass = units[i].pass;
      const bool is_forward = pass.kind == PassKind::kForward;
      if (is_forward && units[i].first && pass.micro_batch % micro_batches == 0) begin_iteration();
      run(units[i], i);
      if (is_forward && units[i].first) reads_.push_back(pass_.number);
      if (is_forward || !units[i].last) continue;
      finish_iteration();
      writer_.updates({reads_[pass.micro_batch], writer_.written_out_size() - 1});
      if ((pass.micro_batch + 1) % micro_batches == 0) end_iteration();
    }
  }

  void begin_iteration() {
    writer_.begin_iteration();
    if (training_.is_flushed()) copies_.begin_iteration();
    input_.begin_iteration();
  }

  void end_iteration() {
    write_checkpoint(training_, request_.group_sizes, parameters_, matrix_parameters(request_), iterations_++, writer_);
  }

  void run(const StageUnit& unit, std::size_t number) {
    const ProgramWriter::Within pass(writer_, {unit.pass, unit.layer == nullptr ? -1 : unit.layer->number});
    if (unit.lane > 0) enter(unit);
    if (unit.first) begin(unit);
    for (const NodeId node : gathers_.take(number)) writer_.join(node);
    if (unit.layer != nullptr && !pass_.is_repeated) write_layer(unit);
    if (unit.last) end(unit);
    if (unit.closes) leave_lanes(*unit.closes);
  }

  // Beside another pass a layer hands its memory over; else the whole pass takes it, see end().
  void write_layer(const StageUnit& unit) {
    if (unit.lane > 0 && unit.at != step_) give_back(unit.at);
    const std::vector<StageLayer>& chunk = request_.chunks[unit.pass.chunk];
    copies_.before(unit, chunk);
    const std::uint32_t number = writer_.written_out_size();
    layers_.write(unit);
    copies_.behind(unit);
    if (unit.lane == 0) return;
    MemoryPart part{unit.pass.chunk, unit.pass.kind, unit.pass.splits, false, static_cast<std::uint32_t>(unit.at)};
    memory_.takes(number, {part});
    part.is_given = true;
    to_give_.push_back(part);
  }

  // Behind a layer of both passes.
  void give_back(std::size_t next_step) {
    memory_.gives(writer_.written_out_size() - 1, std::exchange(to_give_, {}));
    step_ = next_step;
  }

  // True if two passes side by side begin when the inputs of both have come, and hand both results on together, as in
  // DeepSeek's programs. In other schedules each pass of a pair waits for its own input.
  bool meets_in_pairs() const { return runs_pairs(training_.schedule); }
  bool exchanges_alone(const StageUnit& unit) const { return unit.lane == 0 || !meets_in_pairs(); }

  // Begins the line of a pass that runs beside another; both lines start where the inputs of both have come.
  void enter(const StageUnit& unit) {
    const std::size_t lane = unit.lane - 1;
    if (unit.opens) {
      lane_ = lane;
      if (meets_in_pairs()) messages_.receive(*unit.opens);
      lanes_.fill(current_lane());
    }
    if (lane == lane_) return;
    lanes_[lane_] = current_lane();
    lane_ = lane;
    writer_.set_tail(lanes_[lane_].tail);
    layers_.line() = lanes_[lane_].line;
    pass_ = lanes_[lane_].pass;
  }

  // The next node waits for both lanes.
  void leave_lanes(const std::array<Pass, 2>& passes) {
    lanes_[lane_] = current_lane();
    std::set<NodeId> both;
    for (const Lane& lane : lanes_) both.insert(lane.tail.begin(), lane.tail.end());
    writer_.set_tail({both.begin(), both.end()});
    give_back(0);
    if (meets_in_pairs()) messages_.send(passes);
  }

  void begin(const StageUnit& unit) {
    if (exchanges_alone(unit)) messages_.receive({&unit.pass, 1});
    if (unit.pass.kind == PassKind::kForward) gathers_.before_forward_pass(forward_passes_++);
    layers_.begin_pass();
    gradients_.cut(has_buckets(training_, request_.stage, unit.pass.chunk));
    pass_ = {writer_.size(), writer_.written_out_size(), layers_.beside(),
             unit.lane == 0 && may_repeat(unit.pass, request_), false};
    const auto known = stretches_.find({unit.pass.chunk, unit.pass.kind, unit.pass.splits});
    if (!pass_.is_closed || known == stretches_.end()) return;
    const NodeId repetition = writer_.repeat(known->second.number);
    if (known->second.has_rest) layers_.add_beside(writer_.rest_beside(known->second.number, repetition));
    pass_.is_repeated = true;
  }

  void end(const StageUnit& unit) {
    if (!pass_.is_repeated) layers_.join_collective();
    if (pass_.is_closed && !pass_.is_repeated && writer_.size() > pass_.start)
      stretches_[{unit.pass.chunk, unit.pass.kind, unit.pass.splits}] = {writer_.stretch_from(pass_.start),
                                                                         layers_.beside() > pass_.beside};
    if (unit.lane == 0 && writer_.size() > pass_.start) book(unit.pass, pass_.number);
    if (exchanges_alone(unit)) messages_.send({&unit.pass, 1});
    const ProgramWriter::Within beside(writer_, PassRole::kBeside);
    if (exchanges_in(unit.pass, training_) && (parallel_.zero >= 2 || flushes_chunks())) gradients_.flush();
  }

  // Each chunk has buckets of its own.
  bool flushes_chunks() const {
    return training_.software.bucket_first && training_.software.overlap_gradients &&
           parallel_.exchange == ExchangeKind::kCollective;
  }

  // Memory of a pass that was written from node `number` on.
  void book(const Pass& pass, std::uint32_t number) {
    memory_.takes(number, {{pass.chunk, pass.kind, pass.splits, false}});
    memory_.gives(writer_.written_out_size() - 1, {{pass.chunk, pass.kind, pass.splits, true}});
  }

  void finish_iteration() {
    layers_.join_beside();
    gradients_.flush();
    for (const NodeId node : gradients_.take_done()) writer_.join(node);
    if (parallel_.exchange == ExchangeKind::kParameterServer) return gradients_.pull(parameters_);
    exchange_tied();
    write_matrices(request_, times_, writer_);
    write_update();
    gathers_.after_optimizer(parameters_);
    if (training_.software.step > Duration::zero()) writer_.host("step", training_.software.step, is_read());
  }

  // At the end of a step the host waits for the device, to read the loss and the norm of the gradients.
  bool is_read() const { return training_.is_flushed(); }

  // States on the host are updated beside those on the device.
  void write_update() {
    const ProgramWriter::Nodes before = writer_.tail();
    const Bytes traffic = offloaded_step(request_).rest;
    if (traffic.count() > 0) write_optimizer(traffic);
    for (const NodeId node : write_offloaded_update(request_, times_, before, writer_)) writer_.join(node);
  }

  void write_optimizer(Bytes traffic) {
    const HostSpec& host = training_.software.host;
    Cost cost = cost_of({ElementWise{ElementWiseKind::kOptimizer, traffic}}, times_, &host);
    cost.host.synchronises = is_read();
    writer_.compute("optimizer", cost);
  }

  // The first and the last stage add up the gradients of the embedding they share.
  void exchange_tied() {
    const std::int64_t stage = request_.stage;
    if (request_.tied == 0 || (stage != 0 && stage + 1 != parallel_.pipeline())) return;
    const Bytes bytes = ceil_div(size_of(training_.software.gradients) * request_.tied, groups_.dense.shards);
    writer_.collective("tied embedding gradients", GroupFamily::kEmbedding, CollectiveKind::kAllReduce, bytes);
  }

  const StageRequest& request_;
  const OperatorTimes& times_;
  const TrainingSpec& training_ = *request_.training;
  const Parallelism& parallel_ = training_.parallel;
  const ExchangeGroups groups_ = exchange_groups(parallel_, request_.group_sizes);
  const ParameterCount parameters_ = parameters_of(request_);
  ProgramWriter writer_{training_.software.host};
  GradientSynchronisation gradients_{training_, groups_, times_, writer_};
  InputPipeline input_{request_, writer_};
  ParameterGathers gathers_{training_, request_.stage, groups_, writer_};
  LayerWriter layers_{training_, gradients_, writer_};
  ActivationCopies copies_{training_, writer_};
  StageMessages messages_{request_, writer_};
  MemoryBook memory_{request_};
  std::uint32_t forward_passes_ = 0;  // of the iteration, so far
  std::int64_t iterations_ = 0;       // done
  std::vector<std::uint32_t> reads_;  // where micro-batches begin their forward pass, if the pipeline is not flushed
  struct OpenPass {
    std::uint32_t start = 0;   // first node
    std::uint32_t number = 0;  // its
    std::size_t beside = 0;    // how many nodes were beside before
    bool is_closed = false;    // nothing outside knows what is within
    bool is_repeated = false;
  };
  OpenPass pass_;
  struct Lane {
    ProgramWriter::Nodes tail;
    LayerWriter::Line line;
    OpenPass pass;
  };
  Lane current_lane() { return {writer_.tail(), layers_.line(), pass_}; }
  std::array<Lane, 2> lanes_;  // as they were left
  std::size_t lane_ = 0;       // that is written
  std::size_t step_ = 0;       // of both: the layer that is written, in the order of its pass
  MemoryBook::Parts to_give_;  // behind that
  struct PassStretch {
    std::uint32_t number = 0;
    bool has_rest = false;
  };
  std::map<std::tuple<std::uint32_t, PassKind, bool>, PassStretch> stretches_;  // by chunk, and whether it splits
};

}  // namespace

ParameterCount parameters_of(const StageRequest& request) {
  ParameterCount parameters;
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk) parameters += layer.layer->parameters;
  return parameters;
}

std::int64_t frozen_of(const StageRequest& request) {
  std::int64_t frozen = 0;
  for (const auto& chunk : request.chunks)
    for (const StageLayer& layer : chunk) frozen += layer.layer->frozen;
  return frozen;
}

StageProgram stage_program(const StageRequest& request, const OperatorTimes& times) {
  return StageBuilder(request, times).build();
}

}  // namespace orrery::workload
