// SPDX-License-Identifier: MIT
// One parameter server: everyone pushes the whole buffer to the root, which adds up, and everyone pulls the sum. The
// halves alone are the reduce and the broadcast of `direct`.
#include <array>

#include "collectives/algorithms/reduce_broadcast.h"

namespace orrery::collectives {

const Program* direct(CollectiveKind kind);
const Program* server(CollectiveKind kind);

namespace {

using enum CollectiveKind;

struct PushPull {
  static const Program& reduce() { return *direct(kReduce); }
  static const Program& broadcast() { return *direct(kBroadcast); }
  static SlotRange root_needs(const Layout& layout, std::uint32_t) { return {0, layout.ranks - 1}; }
};

constexpr std::array kPrograms = {reduce_broadcast::program<PushPull>(Split::kWhole, "2(a + S/b)")};

}  // namespace

const Program* server(CollectiveKind kind) {
  if (kind == kReduce || kind == kBroadcast) return direct(kind);
  return program_of(kPrograms, kind);
}

}  // namespace orrery::collectives
