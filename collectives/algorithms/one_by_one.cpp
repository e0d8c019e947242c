// SPDX-License-Identifier: MIT
// Decentralised all-reduce: every rank sends its whole buffer to one rank after another, in shifted order, so that each
// gets one at a time; what a rank receives it adds up beside the buffer that it is sending. With shares instead of
// whole buffers, a sum at a time, it is `direct` with a window of one.
#include <array>

#include "collectives/program.h"

namespace orrery::collectives {

const Program* one_by_one(CollectiveKind kind);

namespace {

std::uint32_t to_all(const Layout& layout, std::uint32_t) { return layout.ranks - 1; }

Step all_reduce(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = make_step(ahead(layout, rank, index + 1), index, 1, layout.piece, Combine::kReduce);
  step.after_send = earlier(index, 1);
  return step;
}

std::vector<PieceId> whole(const Layout&, std::uint32_t, std::uint32_t) { return {0}; }

constexpr std::array kPrograms = {
    Program{CollectiveKind::kAllReduce, Split::kWhole, to_all, to_all, all_reduce, whole, "a + (n-1)S/b"},
};

}  // namespace

const Program* one_by_one(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
