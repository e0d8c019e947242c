// SPDX-License-Identifier: MIT
#include "workload/training/program/gradient_synchronisation.h"

#include <algorithm>
#include <utility>

#include "workload/training/program/program_writer.h"

namespace orrery::workload {
namespace {

class ServerBuilder {
 public:
  ServerBuilder(const TrainingSpec& training, std::vector<Bytes> pushes, const OperatorTimes& times)
      : training_(training), pushes_(std::move(pushes)), answered_(static_cast<std::size_t>(training.parallel.data())) {
    std::int64_t gradients = 0;
    for (const Bytes bytes : pushes_) gradients += bytes.count() / size_of(training.software.gradients).count();
    parameters_ = training.parameter_size() * gradients;
    std::vector<Operator> update = {
        ElementWise{ElementWiseKind::kOptimizer,
                    training.optimizer.step_traffic(gradients, training.precision, training.software.optimizer)}};
    const Bytes sum = size_of(training.software.gradients) * (3 * gradients * training.parallel.data());
    if (!training.parallel.asynchronous) update.emplace_back(ElementWise{ElementWiseKind::kAccumulate, sum});
    update_ = cost_of(update, times);
  }

  StageProgram build() && {
    if (pushes_.empty()) writer_.compute("nothing to serve", {});  // a trace has at least one node
    if (pushes_.empty()) writer_.compute("idle", {});
    if (pushes_.empty()) return std::move(writer_).take();
    for (std::int64_t i = 0; i < training_.iterations; ++i) {
      writer_.begin_iteration();
      training_.parallel.asynchronous ? answer_each() : answer_all();
    }
    return std::move(writer_).take();
  }

 private:
  using Nodes = ProgramWriter::Nodes;

  Nodes receive_from(std::uint32_t worker) {
    Nodes received;
    for (const Bytes bytes : pushes_)
      received.push_back(writer_.receive_beside("gradients", {PeerKind::kServer, worker}, bytes, 0, answered_[worker]));
    return received;
  }

  void answer(std::uint32_t worker, NodeId updated) {
    answered_[worker] = {
        writer_.send_beside("parameters", {PeerKind::kServer, worker}, parameters_, 0, Nodes{updated})};
  }

  // One update with the sum of all workers' gradients.
  void answer_all() {
    Nodes received;
    for (std::uint32_t worker = 0; worker < answered_.size(); ++worker) {
      const Nodes from = receive_from(worker);
      received.insert(received.end(), from.begin(), from.end());
    }
    const NodeId updated = writer_.compute_beside("optimizer", update_, received);
    for (std::uint32_t worker = 0; worker < answered_.size(); ++worker) answer(worker, updated);
  }

  void answer_each() {
    for (std::uint32_t worker = 0; worker < answered_.size(); ++worker) {
      const std::optional<std::uint32_t> read =
          answered_[worker].empty() ? std::nullopt : std::optional(index_of(answered_[worker].front()));
      const NodeId updated = writer_.compute_beside("optimizer", update_, receive_from(worker));
      writer_.updates({read, index_of(updated)});
      answer(worker, updated);
    }
  }

  const TrainingSpec& training_;
  const std::vector<Bytes> pushes_;
  std::vector<Nodes> answered_;  // by worker: the latest answer
  Bytes parameters_;
  Cost update_;
  ProgramWriter writer_;
};

// Gradients that a flush sends at once: all, but to every server its share.
std::int64_t push_parameters(const TrainingSpec& training, std::int64_t parameters) {
  if (training.parallel.exchange != ExchangeKind::kParameterServer || training.software.overlap_gradients)
    return parameters;
  return (parameters + training.parallel.servers - 1) / training.parallel.servers;
}

// Bytes of the gradients of `parameters` for each server, push by push.
std::vector<std::vector<Bytes>> pushes_of_servers(const TrainingSpec& training, std::int64_t parameters) {
  const auto servers = static_cast<std::size_t>(training.parallel.servers);
  std::vector<std::vector<Bytes>> pushes(servers);
  const std::int64_t bucket =
      training.software.overlap_gradients ? bucket_parameters(training) : push_parameters(training, parameters);
  std::size_t number = 0;
  for (std::int64_t left = parameters; left > 0; left -= std::min(left, bucket), ++number)
    pushes[number % servers].push_back(size_of(training.software.gradients) * std::min(left, bucket));
  return pushes;
}

}  // namespace

ExchangeGroups exchange_groups(const Parallelism& parallel, const GroupSizes& sizes) {
  const auto size_in = [&](GroupFamily family) { return sizes[static_cast<std::size_t>(family)]; };
  using enum GroupFamily;
  if (parallel.zero == 0)
    return {{kData, 1, kData, size_in(kData)}, {kExpertData, 1, kExpertData, size_in(kExpertData)}};
  const ReplicaGroups expert{kExpertData, size_in(kExpertData), kExpertData, 1};
  if (parallel.shard_ranks() == parallel.replicas()) return {{kData, size_in(kData), kData, 1}, expert};
  return {{kShard, size_in(kShard), kReplicate, size_in(kReplicate)},
          {kExpertShard, size_in(kExpertShard), kExpertReplicate, size_in(kExpertReplicate)}};
}

std::int64_t updated_parameters(ParameterCount parameters, const ExchangeGroups& groups) {
  const auto share = [](std::int64_t count, std::int64_t shards) { return (count + shards - 1) / shards; };
  return share(parameters.dense, groups.dense.shards) + share(parameters.expert, groups.expert.shards);
}

GradientSynchronisation::GradientSynchronisation(const TrainingSpec& training, const ExchangeGroups& groups,
                                                 const OperatorTimes& times, ProgramWriter& writer)
    : training_(training), times_(times), writer_(writer), dense_{groups.dense, 0, {}}, expert_{groups.expert, 0, {}} {}

void GradientSynchronisation::ready(ParameterCount parameters, NodeId node) {
  const std::int64_t bucket = bucket_parameters(training_);
  const auto add = [&](Pending& pending, std::int64_t count) {
    if (count == 0) return;
    pending.parameters += count;
    pending.from.push_back(node);
    if (!training_.software.overlap_gradients || training_.exchanges_layers()) return;
    while (in_buckets_ && pending.parameters >= bucket) issue(pending, bucket);
  };
  // Servers do not tell them apart.
  const bool together = training_.parallel.exchange == ExchangeKind::kParameterServer;
  add(dense_, together ? parameters.total() : parameters.dense);
  add(expert_, together ? 0 : parameters.expert);
}

void GradientSynchronisation::flush() {
  for (Pending* pending : {&dense_, &expert_}) {
    const std::int64_t part = push_parameters(training_, pending->parameters);
    while (pending->parameters > 0) issue(*pending, std::min(part, pending->parameters));
  }
}

ProgramWriter::Nodes GradientSynchronisation::take_done() { return std::exchange(done_, {}); }

void GradientSynchronisation::issue(Pending& pending, std::int64_t parameters) {
  const Bytes bytes = size_of(training_.software.gradients) * parameters;
  pending.parameters -= parameters;
  if (training_.parallel.exchange == ExchangeKind::kParameterServer) return push_to_server(pending, bytes);
  ProgramWriter::Nodes after = take_from(pending);
  const std::int64_t copies = &pending == &expert_ ? training_.experts.redundant : 0;
  if (pending.groups.shards * pending.groups.replicas < 2 && copies == 0) return;
  if (!training_.software.overlap_gradients) {
    after.insert(after.end(), writer_.tail().begin(), writer_.tail().end());
    return writer_.set_tail({exchange(pending.groups, parameters, copies, std::move(after))});
  }
  done_.push_back(exchange(pending.groups, parameters, copies, std::move(after)));
}

NodeId GradientSynchronisation::exchange(const ReplicaGroups& groups, std::int64_t parameters, std::int64_t copies,
                                         ProgramWriter::Nodes after) {
  constexpr std::string_view kName = "gradients";
  const Bytes bytes = size_of(training_.software.gradients) * parameters;
  const Bytes prepared = training_.software.reduction * parameters;
  if (prepared.count() > 0)
    after.assign(1, writer_.compute_beside("gradients prepared",
                                           cost_of({ElementWise{ElementWiseKind::kAccumulate, prepared}}, times_,
                                                   &training_.software.host),
                                           after));
  if (groups.shards > 1)
    after.assign(1, writer_.collective_beside(kName, groups.shard, CollectiveKind::kReduceScatter, bytes, after));
  if (groups.replicas > 1)
    after.assign(1, writer_.collective_beside(kName, groups.replicate, CollectiveKind::kAllReduce,
                                              ceil_div(bytes, groups.shards), after));
  if (copies == 0) return after.front();
  // Copies of an expert lie on ranks of the expert-parallel group, which pass on and take sums as in an all-reduce of
  // as many bytes as a rank has of copies on average.
  const std::int64_t slots = training_.transformer()->experts + copies;
  return writer_.collective_beside("gradients of copies", GroupFamily::kExpert, CollectiveKind::kAllReduce,
                                   ceil_div(ceil_div(bytes, groups.shards) * copies, slots), after);
}

// Nodes that the pending gradients wait for. The last node's may go on into the next bucket.
ProgramWriter::Nodes GradientSynchronisation::take_from(Pending& pending) {
  const NodeId last = pending.from.back();
  ProgramWriter::Nodes nodes = std::exchange(pending.from, {});
  if (pending.parameters > 0) pending.from.push_back(last);
  return nodes;
}

// Buckets go to the servers in turn.
void GradientSynchronisation::push_to_server(Pending& pending, Bytes bytes) {
  const auto server = static_cast<std::uint32_t>(pushes_++ % static_cast<std::uint64_t>(training_.parallel.servers));
  const ProgramWriter::Nodes after = take_from(pending);
  done_.push_back(writer_.send_beside("gradients", {PeerKind::kServer, server}, bytes, 0, after));
}

void GradientSynchronisation::pull(ParameterCount parameters) {
  const std::vector<std::vector<Bytes>> pushes = pushes_of_servers(training_, parameters.total());
  const ProgramWriter::Nodes after = writer_.tail();
  for (std::uint32_t server = 0; server < pushes.size(); ++server) {
    Bytes pushed;
    for (const Bytes bytes : pushes[server]) pushed += bytes;
    if (pushed.count() == 0) continue;
    const Bytes pulled(pushed.count() / size_of(training_.software.gradients).count() *
                       training_.parameter_size().count());
    writer_.join(writer_.receive_beside("parameters", {PeerKind::kServer, server}, pulled, 0, after));
  }
  pushes_ = 0;
}

std::int64_t bucket_parameters(const TrainingSpec& training) {
  const SoftwareSpec& software = training.software;
  const Bytes bucket = std::max(software.bucket, software.bucket_of_replica * training.parallel.replicas());
  return std::max<std::int64_t>(1, bucket.count() / size_of(software.gradients).count());
}

bool has_buckets(const TrainingSpec& training, std::uint32_t stage, std::uint32_t chunk) {
  return !training.software.bucket_first || (stage == 0 && chunk == 0);
}

StageProgram server_program(const TrainingSpec& training, std::int64_t parameters, std::uint32_t server,
                            const OperatorTimes& times) {
  return ServerBuilder(training, pushes_of_servers(training, parameters)[server], times).build();
}

}  // namespace orrery::workload
