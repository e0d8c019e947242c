#include "workload/training/program/ring_program.h"

namespace orrery {

void write_ring(const PricedRing& ring, const std::string& name, ProgramWriter& writer) {
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

}  // namespace orrery
