#include "system/plans/nccl_library.h"

namespace orrery {

Aggregate NcclLibrary::transfer(CollectiveKind kind, Bytes bytes, std::uint32_t, const GroupLayout& layout) const {
  return choice(kind, bytes, layout.shape).transfer;
}

PointToPoint NcclLibrary::point_to_point(Bytes bytes, bool is_same_node, Duration) const {
  const NcclSend sent = send(bytes, is_same_node);
  return {sent.latency, sent.bytes};
}

NcclTiming NcclLibrary::choice(CollectiveKind kind, Bytes bytes, const GroupShape& shape) const {
  return fastest_nccl_timing({kind, bytes, &shape, machine_}, options_, constants_);
}

std::string NcclLibrary::name() const { return "nccl " + to_text(options_.version); }

NcclSend NcclLibrary::send(Bytes bytes, bool is_same_node) const {
  return nccl_send(bytes, is_same_node, machine_, options_, constants_);
}

}  // namespace orrery
