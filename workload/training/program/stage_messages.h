// SPDX-License-Identifier: MIT
// Messages of a program: between pipeline stages, and round a context-parallel group.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "workload/training/layers/layer_program.h"
#include "workload/training/program/program_writer.h"
#include "workload/training/program/stage_program.h"

namespace orrery::workload {

// Passes keys and values round a context-parallel group beside the attention over them (Liu et al. 2023): in line,
// block after block. Each is computed while the next one comes and goes on to the neighbour. A block's
// gradients come in while it is computed and go on with this rank's part; after the last hop they are where the block
// belongs.
void write_ring(const RingExchange& ring, const std::string& name, ProgramWriter& writer);

// True if a stage goes on only when what it sent has left.
bool waits_for_sends(const TrainingSpec& training);

// Writes the messages between a stage and its neighbours, before and behind its passes.
//
// A receive is posted before the stage waits for what it sent: with the send of the pass before (batch_isend_irecv of
// both, as Megatron's one-forward-one-backward schedule does), or, where stages are a circle or do not wait for what
// they send, a pass earlier. Otherwise stages that wait for one another to receive would do so for ever.
class StageMessages {
 public:
  // Both outlive it.
  StageMessages(const StageRequest& request, ProgramWriter& writer) : request_(request), writer_(writer) {}

  // The first receives of an iteration are posted where it begins.
  void begin_iteration();
  // Receives the inputs of all `passes` beside one another; what comes next waits for all of them.
  void receive(std::span<const Pass> passes);
  // Hands on the results of all `passes`, which are done.
  void send(std::span<const Pass> passes);

 private:
  // True if a receive is posted together with the send of the pass before.
  bool is_paired() const;
  std::size_t most_ahead() const;
  const ProgramWriter::Nodes& posted(const Pass& pass) const;
  bool is_end(const Pass& pass, bool towards_next) const;
  bool is_end_of_dual(bool inward) const;
  Peer neighbour(const Pass& pass, bool is_next) const;
  std::int64_t tag_of(const Pass& pass) const;

  const StageRequest& request_;
  ProgramWriter& writer_;
  // The ends of the latest pass, before its sends, of the one before, and so on.
  std::deque<ProgramWriter::Nodes> computed_ = std::deque<ProgramWriter::Nodes>(most_ahead() + 1);
};

}  // namespace orrery::workload
