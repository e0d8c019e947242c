// SPDX-License-Identifier: MIT
// Direct: every message goes straight from the rank that has the data to the rank that wants it. Peers are taken in
// shifted order (+1, +2, ...), so that no two ranks begin with the same peer; send i of a rank goes i+1 ahead and is
// receive i there. With a window of W, send i waits for the release of send i-W.
#include <array>

#include "collectives/program.h"

namespace orrery::collectives {
namespace {

// An all-to-all never starts n-1 different messages at once unless it is asked to.
constexpr std::uint32_t kAllToAllWindow = 8;

std::uint32_t to_all(const Layout& layout, std::uint32_t) { return layout.ranks - 1; }
std::uint32_t to_all_twice(const Layout& layout, std::uint32_t) { return 2 * (layout.ranks - 1); }
std::uint32_t one_elsewhere(const Layout& layout, std::uint32_t rank) { return rank == layout.root ? 0 : 1; }
std::uint32_t all_at_root(const Layout& layout, std::uint32_t rank) {
  return rank == layout.root ? layout.ranks - 1 : 0;
}

std::uint32_t peer(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return ahead(layout, rank, index + 1);
}

Step to_peer(const Layout& layout, std::uint32_t rank, std::uint32_t index, Bytes bytes, Combine combine) {
  Step step = make_step(peer(layout, rank, index), index, 1, bytes, combine);
  if (layout.window > 0) step.after_send = earlier(index, layout.window);
  return step;
}

Step all_gather(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return to_peer(layout, rank, index, layout.piece, Combine::kCopy);
}

Step reduce_scatter(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return to_peer(layout, rank, index, layout.piece, Combine::kReduce);
}

Step all_to_all(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return to_peer(layout, rank, index, layout.weight_of(rank), Combine::kCopy);
}

// All-reduce: once a rank's own part of the sum is complete, it goes to all others. The last parts of the others' sums
// may still be leaving then: the window is of both.
Step all_reduce(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  const std::uint32_t peers = layout.ranks - 1;
  if (index < peers) return reduce_scatter(layout, rank, index);
  Step step = all_gather(layout, rank, index - peers);
  step.slot += peers;
  step.needs = {0, peers};
  if (layout.window > 0) step.after_send = earlier(index, layout.window);
  return step;
}

// Broadcast and scatter: the root sends, everybody else has one receive.
Step from_root(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  Step step = to_peer(layout, rank, index, layout.piece, Combine::kCopy);
  step.slot = 0;
  return step;
}

Step to_root(const Layout& layout, std::uint32_t rank, Bytes bytes, Combine combine) {
  return make_step(layout.root, distance(layout, rank, layout.root) - 1, 1, bytes, combine);
}

Step reduce(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return to_root(layout, rank, layout.piece, Combine::kReduce);
}

Step gather(const Layout& layout, std::uint32_t rank, std::uint32_t) {
  return to_root(layout, rank, layout.weight_of(rank), Combine::kCopy);
}

std::vector<PieceId> whole(const Layout&, std::uint32_t, std::uint32_t) { return {0}; }
std::vector<PieceId> own(const Layout&, std::uint32_t rank, std::uint32_t) { return {rank}; }

std::vector<PieceId> the_peers(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {peer(layout, rank, index)};
}

std::vector<PieceId> all_to_all_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return {PieceId{rank} * layout.ranks + peer(layout, rank, index)};
}

std::vector<PieceId> all_reduce_pieces(const Layout& layout, std::uint32_t rank, std::uint32_t index) {
  return index < layout.ranks - 1 ? the_peers(layout, rank, index) : own(layout, rank, index);
}

constexpr Program complete_exchange(Program program) {
  program.is_complete_exchange = true;
  return program;
}

using enum CollectiveKind;
constexpr std::array kPrograms = {
    complete_exchange(
        {kAllReduce, Split::kPerRank, to_all_twice, to_all_twice, all_reduce, all_reduce_pieces, "2(a + c/b)"}),
    Program{kReduce, Split::kWhole, one_elsewhere, all_at_root, reduce, whole, "a + S/b"},
    complete_exchange({kAllGather, Split::kPerRank, to_all, to_all, all_gather, own, "a + S/b"}),
    Program{kGather, Split::kPerRank, one_elsewhere, all_at_root, gather, own, "a + S/b"},
    Program{kScatter, Split::kPerRank, all_at_root, one_elsewhere, from_root, the_peers, "a + c/b"},
    Program{kBroadcast, Split::kWhole, all_at_root, one_elsewhere, from_root, whole, "a + S/b"},
    complete_exchange({kAllToAll, Split::kPerRank, to_all, to_all, all_to_all, all_to_all_pieces,
                       "a + ceil((n-1)/W) c/b, W = 8", kAllToAllWindow}),
    complete_exchange({kReduceScatter, Split::kPerRank, to_all, to_all, reduce_scatter, the_peers, "a + c/b"}),
    complete_exchange({kBarrier, Split::kPerRank, to_all, to_all, all_gather, own, "a"}),
};

}  // namespace

const Program* direct(CollectiveKind kind) { return program_of(kPrograms, kind); }

}  // namespace orrery::collectives
