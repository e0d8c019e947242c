// SPDX-License-Identifier: MIT
#include "collectives/program.h"

#include <algorithm>

namespace orrery::collectives {

const Program* program_of(std::span<const Program> programs, CollectiveKind kind) {
  const auto found = std::ranges::find(programs, kind, &Program::kind);
  return found == programs.end() ? nullptr : &*found;
}

std::vector<PieceId> pieces_of_ranks(const Layout& layout, std::uint32_t first, std::uint32_t count) {
  std::vector<PieceId> pieces(count);
  for (std::uint32_t i = 0; i < count; ++i) pieces[i] = ahead(layout, first, i);
  return pieces;
}

}  // namespace orrery::collectives
