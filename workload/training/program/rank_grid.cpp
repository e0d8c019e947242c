// SPDX-License-Identifier: MIT
#include "workload/training/program/rank_grid.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace orrery::workload {
namespace {

constexpr std::size_t at(ParallelDimension dimension) { return static_cast<std::size_t>(dimension); }

constexpr std::size_t kT = at(ParallelDimension::kTensor);
constexpr std::size_t kC = at(ParallelDimension::kContext);
constexpr std::size_t kD = at(ParallelDimension::kData);
constexpr std::size_t kP = at(ParallelDimension::kPipeline);

}  // namespace

RankGrid::RankGrid(const Parallelism& parallel)
    : parallel_(parallel), inner_(parallel.context_ring() > 1 ? parallel.context_by_heads() : 1), strides_{} {
  std::int64_t stride = 1;
  for (const ParallelDimension dimension : parallel.order) {
    strides_[at(dimension)] = stride;
    stride *= parallel.degree(dimension);
  }
  find_period();
}

// The least number of neighbours by which group_of() of every family moves evenly: by whole shards, experts and copies,
// or in the only shard that there is. Servers have all ranks as peers, so that nothing repeats.
void RankGrid::find_period() {
  const std::int64_t data = parallel_.data();
  repeated_ = data;
  if (parallel_.exchange == ExchangeKind::kParameterServer) return;
  const auto moves_evenly = [&](std::int64_t places) {
    const std::int64_t replicas = parallel_.context() * places, columns = parallel_.expert_columns();
    const std::int64_t all = parallel_.replicas(), shard = parallel_.shard_ranks(), expert = parallel_.expert;
    const std::int64_t expert_shard = parallel_.expert_shard_ranks();
    return data % places == 0 && replicas % inner_ == 0 && (replicas % shard == 0 || shard == all) &&
           columns * replicas % expert == 0 &&
           (columns * replicas / expert % expert_shard == 0 || expert_shard >= columns * all / expert);
  };
  for (std::int64_t places = 1; places < repeated_; ++places)
    if (moves_evenly(places)) repeated_ = places;
  repeats_ = static_cast<std::uint32_t>(data / repeated_);
}

std::int64_t RankGrid::step(GroupFamily family) const {
  if (repeats_ == 1) return 0;
  Place there{};
  there[kData] = repeated_;
  return group_of(family, there) - group_of(family, {});
}

RankGrid::Place RankGrid::place(std::int64_t rank) const {
  Place place{};
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = rank / strides_[i] % parallel_.degrees[i];
  return place;
}

std::int64_t RankGrid::rank_at(const Place& place) const {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < place.size(); ++i) rank += place[i] * strides_[i];
  return rank;
}

std::int64_t RankGrid::replica(const Place& place) const {
  const std::int64_t half = place[kP] < parallel_.depth() ? 0 : 1;
  return place[kC] + parallel_.context() * (place[kD] + parallel_.data() * half);
}

std::int64_t RankGrid::expert_replica(const Place& place) const {
  return place[kT] % parallel_.expert_columns() + parallel_.expert_columns() * replica(place);
}

std::int64_t RankGrid::group_size(GroupFamily family) const {
  const std::int64_t replicas = parallel_.replicas(), expert = parallel_.expert, shard = parallel_.shard_ranks();
  const std::int64_t expert_data = replicas * parallel_.expert_columns() / expert;
  const std::int64_t expert_shard = parallel_.expert_shard_ranks();
  const std::array<std::int64_t, kGroupFamilyCount> sizes = {parallel_.tensor(),
                                                             parallel_.context(),
                                                             expert,
                                                             replicas,
                                                             shard,
                                                             replicas / shard,
                                                             expert_data,
                                                             expert_shard,
                                                             expert_data / expert_shard,
                                                             parallel_.depth(),
                                                             ranks(),
                                                             inner_};
  return sizes[static_cast<std::size_t>(family)];
}

std::int64_t RankGrid::group_of(GroupFamily family, const Place& place) const {
  const std::int64_t t = parallel_.tensor(), p = parallel_.depth_of(place[kP]), replica = this->replica(place);
  const std::int64_t column = place[kT] + t * p;  // of ranks with the same parameters
  const std::int64_t columns = t * parallel_.depth();
  const std::int64_t expert = parallel_.expert, shard = parallel_.shard_ranks();
  // Column among ranks with the same experts; `expert_columns()` tensor ranks that each hold whole experts share one
  // column.
  const std::int64_t whole = parallel_.expert_columns();
  const std::int64_t expert_column = column / whole, expert_columns = columns / whole;
  const std::int64_t place_of_expert = expert_replica(place), expert_shard = parallel_.expert_shard_ranks();
  const std::int64_t part = place_of_expert % expert, copy = place_of_expert / expert;  // of the experts
  const std::array<std::int64_t, kGroupFamilyCount> groups = {
      replica + parallel_.replicas() * p,
      column + columns * (replica / parallel_.context()),
      expert_column + expert_columns * copy,
      column,
      column + columns * (replica / shard),
      column + columns * (replica % shard),
      expert_column + expert_columns * part,
      expert_column + expert_columns * (part + expert * (copy / expert_shard)),
      expert_column + expert_columns * (part + expert * (copy % expert_shard)),
      place[kT] + t * replica,
      0,
      column + columns * (replica / inner_)};
  return groups[static_cast<std::size_t>(family)];
}

bool RankGrid::is_in(GroupFamily family, const Place& place) const {
  return family != GroupFamily::kEmbedding || place[kP] == 0 || place[kP] + 1 == parallel_.pipeline();
}

std::vector<std::int64_t> RankGrid::reach(GroupFamily family, ParallelDimension dimension, const Place& place) const {
  using enum GroupFamily;
  const bool is_world = family == kWorld, is_embedding = family == kEmbedding, is_tensor = family == kTensor;
  const bool is_of_experts =
      family == kExpert || family == kExpertData || family == kExpertShard || family == kExpertReplicate;
  const bool is_all = dimension == ParallelDimension::kPipeline ? is_world || is_embedding
                      : dimension == ParallelDimension::kTensor ? is_world || is_tensor || is_of_experts
                                                                : !is_tensor && !is_embedding;
  if (is_all) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(parallel_.degree(dimension)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t own = place[at(dimension)];
  // The other half of a pipeline both ways has the same parameters.
  if (dimension == ParallelDimension::kPipeline && parallel_.both_ways) return {own, parallel_.pipeline() - 1 - own};
  return {own};
}

std::vector<RankId> RankGrid::members(GroupFamily family, const Place& place) const {
  if (!is_in(family, place)) return {};
  const std::int64_t group = group_of(family, place);
  std::vector<RankId> members;
  Place other = place;
  for (const std::int64_t p : reach(family, ParallelDimension::kPipeline, place))
    for (const std::int64_t d : reach(family, ParallelDimension::kData, place))
      for (const std::int64_t c : reach(family, ParallelDimension::kContext, place))
        for (const std::int64_t t : reach(family, ParallelDimension::kTensor, place)) {
          other[kP] = p, other[kD] = d, other[kC] = c, other[kT] = t;
          if (is_in(family, other) && group_of(family, other) == group)
            members.push_back(RankId(static_cast<std::uint32_t>(rank_at(other))));
        }
  std::ranges::sort(members);
  return members;
}

namespace {

// Lattices that groups share, each once.
class Lattices {
 public:
  Members members(std::vector<RankId> ascending) {
    const std::optional<Lattice> lattice = find_lattice(ascending);
    return lattice ? Members(ascending.front(), shared(*lattice)) : Members(std::move(ascending));
  }

  // The members of digit 0, and so many times a period further.
  Members members(std::vector<RankId> ascending, const Period& period) {
    if (!period.any() || ascending.empty()) return members(std::move(ascending));
    if (std::optional<Lattice> lattice = find_lattice(ascending)) {
      lattice->push_back({period.count, period.stride});
      if (is_ascending(*lattice)) return Members(ascending.front(), shared(*lattice));
    }
    const std::vector<RankId> first = ascending;
    for (std::uint32_t digit = 1; digit < period.count; ++digit)
      for (const RankId rank : first) ascending.push_back(RankId(index_of(rank) + digit * period.stride));
    std::ranges::sort(ascending);
    return Members(std::move(ascending));
  }

 private:
  // Sorts axes by their strides and joins those of which one goes on where the other ends.
  static bool is_ascending(Lattice& lattice) {
    std::ranges::sort(lattice, {}, &LatticeAxis::stride);
    std::erase_if(lattice, [](const LatticeAxis& axis) { return axis.count == 1; });
    std::uint64_t reach = 0;
    for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
      if (lattice[axis].stride <= reach) return false;
      reach += std::uint64_t{lattice[axis].count - 1} * lattice[axis].stride;
      if (axis == 0 || lattice[axis].stride != lattice[axis - 1].stride * lattice[axis - 1].count) continue;
      lattice[axis - 1].count *= lattice[axis].count;
      lattice.erase(lattice.begin() + static_cast<std::ptrdiff_t>(axis--));
    }
    return true;
  }

  std::shared_ptr<const Lattice> shared(const Lattice& lattice) {
    std::shared_ptr<const Lattice>& known = known_[lattice];
    if (!known) known = std::make_shared<const Lattice>(lattice);
    return known;
  }

  std::map<Lattice, std::shared_ptr<const Lattice>> known_;
};

}  // namespace

std::vector<Communicator> RankGrid::groups(GroupFamily family, GroupId first) const {
  std::vector<Communicator> groups(static_cast<std::size_t>(group_count(family)));
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name = fmt::format("{}{}", name_of(family), i);
  const Period period = this->period();
  std::vector<std::vector<RankId>> of_first(groups.size());  // members of digit 0
  for (std::uint32_t i = 0; i < ranks() / period.count; ++i) {
    const std::uint32_t rank = period.at(i);
    const Place where = place(rank);
    if (is_in(family, where)) of_first[static_cast<std::size_t>(group_of(family, where))].push_back(RankId(rank));
  }
  Lattices lattices;
  const auto step = static_cast<std::size_t>(this->step(family));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (of_first[i].empty()) continue;
    groups[i].members = step == 0 ? lattices.members(std::move(of_first[i]), period) : lattices.members(of_first[i]);
    for (std::uint32_t digit = 1; step != 0 && digit < period.count; ++digit) {
      Communicator& group = groups[i + digit * step];
      group.members = groups[i].members.shifted(digit * period.stride);
      group.shifted_from = GroupId(index_of(first) + static_cast<std::uint32_t>(i));
    }
  }
  return groups;
}

std::int64_t RankGrid::block_of(GroupFamily family, std::int64_t most) const {
  const std::int64_t size = group_size(family);
  if (size == 1 || size > most) return 0;
  if (family == GroupFamily::kTensor && strides_[kT] == 1) return size;
  std::vector<std::int64_t> first(static_cast<std::size_t>(group_count(family)), -1), last(first);
  std::int64_t longest = 0;
  for (std::int64_t rank = 0; rank < ranks(); ++rank) {
    const auto group = static_cast<std::size_t>(group_of(family, place(rank)));
    if (first[group] < 0) first[group] = rank;
    last[group] = rank;
    longest = std::max(longest, rank - first[group] + 1);
    if (longest > most) return 0;
  }
  for (std::int64_t block = longest; block <= most; ++block) {
    std::size_t whole = 0;
    while (whole < first.size() && first[whole] / block == last[whole] / block) ++whole;
    if (whole == first.size()) return block;
  }
  return 0;
}

RankId RankGrid::peer(const Peer& peer, const Place& place) const {
  Place other = place;
  const auto shift = [&](std::size_t dimension, std::int64_t by) {
    const std::int64_t degree = parallel_.degrees[dimension];
    other[dimension] = (place[dimension] + by + degree) % degree;
  };
  switch (peer.kind) {
    case PeerKind::kNextStage:  // of pipelines that run both ways, towards the middle
      shift(kP, place[kP] < parallel_.depth() ? 1 : -1);
      break;
    case PeerKind::kPreviousStage:
      shift(kP, place[kP] < parallel_.depth() ? -1 : 1);
      break;
    case PeerKind::kNextContext:
      shift(kC, inner_);
      break;
    case PeerKind::kPreviousContext:
      shift(kC, -inner_);
      break;
    case PeerKind::kServer:
      return RankId(static_cast<std::uint32_t>(ranks() + peer.server));
  }
  return RankId(static_cast<std::uint32_t>(rank_at(other)));
}

GroupSizes group_sizes(const RankGrid& grid) {
  GroupSizes sizes{};
  for (std::size_t i = 0; i < kGroupFamilyCount; ++i) sizes[i] = grid.group_size(static_cast<GroupFamily>(i));
  return sizes;
}

}  // namespace orrery::workload
