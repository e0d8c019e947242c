#include "workload/training/program/parameter_server.h"

#include "workload/training/program/gradient_synchronisation.h"
#include "workload/training/program/program_writer.h"

namespace orrery {
namespace {

class ServerBuilder {
 public:
  ServerBuilder(const TrainingSpec& training, std::vector<Bytes> pushes, const OperatorTimes& times)
      : training_(training), pushes_(std::move(pushes)), answered_(static_cast<std::size_t>(training.parallel.data())) {
    std::int64_t gradients = 0;
    for (const Bytes bytes : pushes_) gradients += bytes.count() / size_of(training.software.gradients).count();
    parameters_ = training.parameter_size() * gradients;
    std::vector<Operator> update = {ElementWise{ElementWiseKind::kOptimizer, training.software.optimizer * gradients}};
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
    for (std::uint32_t worker = 0; worker < answered_.size(); ++worker)
      answer(worker, writer_.compute_beside("optimizer", update_, receive_from(worker)));
  }

  const TrainingSpec& training_;
  const std::vector<Bytes> pushes_;
  std::vector<Nodes> answered_;  // by worker: the latest answer
  Bytes parameters_;
  Cost update_;
  ProgramWriter writer_;
};

}  // namespace

StageProgram server_program(const TrainingSpec& training, std::int64_t parameters, std::uint32_t server,
                            const OperatorTimes& times) {
  return ServerBuilder(training, pushes_of_servers(training, parameters)[server], times).build();
}

}  // namespace orrery
