#include "system/folding/uniform_rings.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::uint64_t kNobody = UINT64_MAX;
constexpr std::uint64_t kShared = UINT64_MAX - 1;

// A member that sends in the calls of a communicator. Its own calls follow one another; those of others may still be
// under way when it goes on to the next.
std::uint64_t sender(GroupId group, std::uint32_t member) { return std::uint64_t{index_of(group)} << 32 | member; }

// Who uses each link: a sender, if nobody else does.
class LinkUsers {
 public:
  explicit LinkUsers(const Fabric& fabric) : fabric_(fabric), user_(fabric.link_count(), kNobody) {}

  void use(DeviceId from, DeviceId to, std::uint64_t user) {
    for (const LinkId link : route(from, to)) {
      std::uint64_t& known = user_[index_of(link)];
      known = known == kNobody || known == user ? user : kShared;
    }
  }
  std::uint64_t user(LinkId link) const { return user_[index_of(link)]; }
  const std::vector<LinkId>& route(DeviceId from, DeviceId to) {
    fabric_.route(from, to, route_);
    return route_;
  }

 private:
  const Fabric& fabric_;
  std::vector<std::uint64_t> user_;
  std::vector<LinkId> route_;  // scratch
};

// Uniform rings that do not wait for one another: one, or one each way round.
bool is_uniform_ring(const Pattern& pattern) {
  return !pattern.plan->phases.empty() && std::ranges::all_of(pattern.plan->phases, [](const PlannedPhase& phase) {
    return phase.phase.after.empty() && !phase.is_whole() && phase.schedule().is_uniform_ring();
  });
}

bool is_private(const Pattern& pattern, GroupId group, std::span<const DeviceId> devices, LinkUsers& users) {
  std::vector<LinkId> crossed;
  bool is_alone = true;
  for_each_message(pattern, [&](const PatternMessage& message) {
    const std::vector<LinkId>& route = users.route(devices[message.from], devices[message.to]);
    const auto is_own = [&](LinkId link) { return users.user(link) == sender(group, message.from); };
    is_alone = is_alone && !route.empty() && std::ranges::all_of(route, is_own);
    crossed.insert(crossed.end(), route.begin(), route.end());
  });
  std::ranges::sort(crossed);
  return is_alone && std::ranges::adjacent_find(crossed) == crossed.end();
}

}  // namespace

PrivateRings::PrivateRings(const Job& job, const Fabric& fabric, std::span<const DeviceId> placement,
                           const CollectivePlans& plans, const Patterns& patterns, Granularity granularity) {
  const auto groups = static_cast<std::uint32_t>(job.communicators.size());
  bool has_uniform_rings = false;
  for (std::uint32_t group = 0; group < groups; ++group) {
    private_.emplace_back(patterns.of(GroupId(group)).size());
    has_uniform_rings = has_uniform_rings || std::ranges::any_of(patterns.of(GroupId(group)), is_uniform_ring);
  }
  if (granularity == Granularity::kPhase || !has_uniform_rings) return;
  LinkUsers users(fabric);
  for (std::uint32_t group = 0; group < groups; ++group)
    for (const Pattern& pattern : patterns.of(GroupId(group))) {
      const std::span<const DeviceId> devices = plans.devices(GroupId(group));
      for_each_message(pattern, [&](const PatternMessage& message) {
        users.use(devices[message.from], devices[message.to], sender(GroupId(group), message.from));
      });
    }
  // A peer that only sends counts as one that is sent to as well: what is not found to be private is simulated in full.
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (const RankId peer : job.ranks[rank].peers) users.use(placement[rank], placement[index_of(peer)], kShared);
  for (std::uint32_t group = 0; group < groups; ++group)
    for (std::uint32_t i = 0; i < private_[group].size(); ++i) {
      const Pattern& pattern = patterns.of(GroupId(group))[i];
      private_[group][i] =
          is_uniform_ring(pattern) && is_private(pattern, GroupId(group), plans.devices(GroupId(group)), users);
    }
}

}  // namespace orrery
