// SPDX-License-Identifier: MIT
#include "collectives/layout.h"

#include <algorithm>
#include <bit>
#include <span>

#include "core/assert.h"

namespace orrery::collectives {
namespace {

bool may_differ(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
}

void check(const Request& request) {
  ORRERY_ASSERT(request.ranks > 0 && request.ranks <= kMostRanks && request.root < request.ranks);
  ORRERY_ASSERT(request.bytes >= Bytes(0));
  ORRERY_ASSERT(request.bytes_of_rank.empty() ||
                (request.bytes_of_rank.size() == request.ranks && may_differ(request.kind)));
  Bytes largest = request.bytes;
  for (const Bytes bytes : request.bytes_of_rank) {
    ORRERY_ASSERT(bytes >= Bytes(0));
    largest = std::max(largest, bytes);
  }
  require_countable(request.kind, request.ranks, largest);
}

// Number of pieces into which one rank's buffer is cut.
std::uint32_t parts_of(const Request& request, Split split) {
  switch (request.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
    case CollectiveKind::kBarrier:
      return 1;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
    case CollectiveKind::kAllToAll:
      return request.ranks;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
      break;
  }
  switch (split) {
    case Split::kWhole:
      return 1;
    case Split::kPerRank:
      return request.ranks;
    case Split::kPowerOfTwo:
      return std::bit_floor(request.ranks);
    case Split::kSegments:
      return kSegments;
  }
  ORRERY_ASSERT(false);
}

std::vector<Bytes> running_sum_of_pieces(std::span<const Bytes> bytes_of_rank, std::uint32_t parts) {
  std::vector<Bytes> sum = {Bytes(0)};
  sum.reserve(bytes_of_rank.size() + 1);
  for (const Bytes bytes : bytes_of_rank) sum.push_back(sum.back() + ceil_div(bytes, parts));
  return sum;
}

}  // namespace

Bytes Layout::weight(std::uint32_t first, std::uint32_t count) const {
  if (running_sum.empty()) return piece * count;
  if (count <= ranks - first) return running_sum[first + count] - running_sum[first];
  return running_sum[ranks] - running_sum[first] + running_sum[count - (ranks - first)];
}

Layout make_layout(const Request& request, Split split, std::uint32_t window) {
  check(request);
  Layout layout;
  layout.ranks = request.ranks;
  layout.root = request.root;
  layout.window = window;
  layout.descending = request.descending;
  layout.nearest_first = request.nearest_first;
  layout.parts = parts_of(request, split);
  layout.rounds = static_cast<std::uint32_t>(std::bit_width(request.ranks) - 1);
  layout.surplus = request.ranks - std::bit_floor(request.ranks);
  if (request.kind == CollectiveKind::kBarrier) return layout;
  if (request.bytes_of_rank.empty())
    layout.piece = ceil_div(request.bytes, layout.parts);
  else if (request.kind == CollectiveKind::kScatter)  // only the root's buffer is read
    layout.piece = ceil_div(request.bytes_of_rank[request.root], layout.parts);
  else
    layout.running_sum = running_sum_of_pieces(request.bytes_of_rank, layout.parts);
  return layout;
}

Layout make_layout(const Request& request, const MessageTable& table) {
  check(request);
  ORRERY_ASSERT(request.bytes_of_rank.empty());
  Layout layout;
  layout.ranks = request.ranks;
  layout.root = request.root;
  layout.table = &table;
  layout.buffer = request.bytes;
  return layout;
}

}  // namespace orrery::collectives
