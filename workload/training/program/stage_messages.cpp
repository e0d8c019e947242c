// SPDX-License-Identifier: MIT
#include "workload/training/program/stage_messages.h"

namespace orrery::workload {
namespace {

// True if the message goes towards the turning point: forward in the first of two chunks, backward in the second.
bool is_inward(const Pass& pass, bool towards_next) { return towards_next == (pass.chunk == 0); }

}  // namespace

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
    gradients.push_back(writer.compute(name, i == 0 ? ring.own_cost : ring.cost));
    if (ring.has_gradients) {
      writer.send_beside("gradients of " + name, next, ring.bytes, 0, gradients);
      gradients.assign(1, writer.receive_beside("gradients of " + name, previous, ring.bytes, 0, gradients));
    }
    held = coming;
  }
  if (ring.has_gradients) writer.join(gradients.front());
}

// Megatron-Core waits for what it sends, but between chunks. The programs of V-shaped schedules and of ZB-H2, whose
// stages run ahead of one another, do not.
bool waits_for_sends(const TrainingSpec& training) {
  if (is_v_shaped(training.schedule) || training.schedule == ScheduleKind::kZeroBubbleH2) return false;
  return training.schedule == ScheduleKind::kOneForwardOneBackward || !training.software.overlap_pipeline;
}

void StageMessages::receive(std::span<const Pass> passes) {
  std::size_t received = 0;
  for (const Pass& pass : passes) {
    const bool forward = pass.kind == PassKind::kForward;
    if (pass.kind == PassKind::kWeight || is_end(pass, !forward)) continue;
    const char* name = forward ? "receive activations" : "receive gradients";
    const ProgramWriter::Within beside(writer_, {pass, -1, PassRole::kBeside});
    writer_.join(
        writer_.receive_beside(name, neighbour(pass, !forward), request_.boundary, tag_of(pass), posted(pass)));
    ++received;
  }
  for (std::size_t i = 0; request_.gathers_boundary && i < received; ++i)
    writer_.collective("stage boundary gather", GroupFamily::kTensor, CollectiveKind::kAllGather, request_.boundary);
}

void StageMessages::send(std::span<const Pass> passes) {
  const ProgramWriter::Nodes after = writer_.tail();
  computed_.push_front(after);
  if (computed_.size() > most_ahead() + 1) computed_.pop_back();
  for (const Pass& pass : passes) {
    const bool forward = pass.kind == PassKind::kForward;
    if (pass.kind == PassKind::kWeight || is_end(pass, forward)) continue;
    const char* name = forward ? "send activations" : "send gradients";
    const ProgramWriter::Within beside(writer_, {pass, -1, PassRole::kBeside});
    const NodeId node = writer_.send_beside(name, neighbour(pass, forward), request_.boundary, tag_of(pass), after);
    if (waits_for_sends(*request_.training)) writer_.join(node);
  }
}

void StageMessages::begin_iteration() { computed_.assign(most_ahead() + 1, writer_.tail()); }

bool StageMessages::is_paired() const { return request_.training->schedule == ScheduleKind::kOneForwardOneBackward; }

// Micro-batches that come round to the next chunk before a longer group than the pipeline is through with this one. A
// forward and a backward pass take turns, so that each is two passes.
std::size_t StageMessages::most_ahead() const {
  const TrainingSpec& training = *request_.training;
  if (training.schedule != ScheduleKind::kInterleaved) return 1;
  return 1 + 2 * static_cast<std::size_t>(training.group() - training.parallel.pipeline());
}

// Ends behind which the receive of a pass's input is posted. What comes round from the other end of the pipeline waits
// for its turn in a longer group; the receive is posted when it is sent (Megatron-Core keeps a list of such inputs).
const ProgramWriter::Nodes& StageMessages::posted(const Pass& pass) const {
  const std::int64_t last = request_.training->parallel.pipeline() - 1;
  const bool comes_round = request_.stage == (pass.kind == PassKind::kForward ? 0 : last);
  return computed_[is_paired() ? 0 : comes_round ? most_ahead() : 1];
}

// True if no stage comes behind the pass in this direction: it is of the pipeline's last virtual stage, or of its
// first.
bool StageMessages::is_end(const Pass& pass, bool towards_next) const {
  if (is_v_shaped(request_.training->schedule)) return is_end_of_dual(is_inward(pass, towards_next));
  const std::int64_t stages = request_.training->parallel.pipeline();
  const std::int64_t last = stages * request_.training->virtual_stages - 1;
  return pass.chunk * stages + request_.stage == (towards_next ? last : 0);
}

// The first rank has the first and the last stage. At the turning point a rank goes on by itself (DualPipeV), or its
// counterpart of the other direction does (DualPipe).
bool StageMessages::is_end_of_dual(bool inward) const {
  const Parallelism& parallel = request_.training->parallel;
  return inward ? !parallel.both_ways && request_.stage + 1 == parallel.depth() : request_.stage == 0;
}

// Two stages have the same rank as the previous and the next one, so that messages both ways wait for one another.
Peer StageMessages::neighbour(const Pass& pass, bool is_next) const {
  if (is_v_shaped(request_.training->schedule))
    return {is_inward(pass, is_next) ? PeerKind::kNextStage : PeerKind::kPreviousStage};
  return {is_next || request_.training->parallel.pipeline() == 2 ? PeerKind::kNextStage : PeerKind::kPreviousStage};
}

// Two stages are each the next and the previous one of the other, so that what goes forward and what goes backward meet
// between the same ranks; and so do they where one chunk goes forward the other way.
std::int64_t StageMessages::tag_of(const Pass& pass) const {
  const TrainingSpec& training = *request_.training;
  if (is_v_shaped(training.schedule)) return pass.kind == PassKind::kBackward ? 1 : 0;
  return training.parallel.pipeline() == 2 && training.virtual_stages > 1 && pass.kind == PassKind::kBackward ? 1 : 0;
}

}  // namespace orrery::workload
