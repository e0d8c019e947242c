// SPDX-License-Identifier: MIT
#include "system/plans/plans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::system {
namespace {

constexpr std::size_t kFewSlots = 64;

std::uint64_t rank_and_group(RankId rank, GroupId group) {
  return std::uint64_t{index_of(rank)} << 32 | index_of(group);
}

// True if all links of each class are equally fast.
bool has_equal_links(const network::Fabric& fabric) {
  std::map<std::uint32_t, Bandwidth> bandwidths;
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    const network::Link& link = fabric.link(LinkId(i));
    if (bandwidths.try_emplace(link.link_class, link.bandwidth).first->second != link.bandwidth) return false;
  }
  return true;
}

// True if the plan of a call depends on more of its group than the layout.
bool differ_by_place(const CollectiveOptions& options, const network::Fabric& fabric) {
  return options.library == nullptr && options.order == DimensionOrder::kThemis &&
         (!options.logical_dimensions.empty() || !has_equal_links(fabric));
}

}  // namespace

CollectivePlans::CollectivePlans(const workload::Job& job, const workload::Matching& matching,
                                 const network::Fabric& fabric, std::span<const DeviceId> placement,
                                 const CollectiveOptions& options)
    : job_(job),
      matching_(matching),
      options_(options),
      dimensions_(collective_dimensions(fabric, options.logical_dimensions)),
      fabric_(fabric),
      differ_by_place_(differ_by_place(options, fabric)),
      placement_(placement),
      repeats_(options.library == nullptr ? Repeats{} : find_repeats(job, placement, fabric)) {
  if (options.library != nullptr && options.granularity == Granularity::kStep)
    throw InputError({}, "a library of collectives runs each call as one whole, not message by message",
                     "set network.granularity: phase");
  for (const workload::Communicator& communicator : job.communicators)
    if (communicator.exchange && options.library == nullptr)
      throw InputError({},
                       fmt::format("tokens are dispatched by '{}', which is timed with 'library: nccl' only",
                                   printable(communicator.exchange->library.name)),
                       "write dispatch: all-to-all, or leave out what asks for another library");
  for (std::uint32_t rank = 0; rank < job.ranks.size() && !job.ranks.period().any(); ++rank) {
    const std::uint32_t slots = job.ranks.communicator_count(rank);
    for (std::uint32_t slot = 0; slots > kFewSlots && slot < slots; ++slot)
      slots_of_many_.emplace(rank_and_group(RankId(rank), job.ranks.communicator(rank, slot)), slot);
  }
  lay_out_all(fabric);
  find_models();
}

std::uint32_t CollectivePlans::slot_of(RankId rank, GroupId group) const {
  if (const auto slots = job_.ranks.communicator_count(index_of(rank));
      slots > kFewSlots && !job_.ranks.period().any()) {
    const auto slot = slots_of_many_.find(rank_and_group(rank, group));
    return slot == slots_of_many_.end() ? slots : slot->second;
  }
  return job_.ranks.slot_of(index_of(rank), group);
}

std::vector<DeviceId> CollectivePlans::find_devices(GroupId group) const {
  std::vector<DeviceId> devices;
  devices.reserve(job_.communicators[index_of(group)].members.size());
  for (const RankId rank : job_.communicators[index_of(group)].members) devices.push_back(placement_[index_of(rank)]);
  return devices;
}

std::span<const DeviceId> CollectivePlans::devices(GroupId group) const {
  const auto [known, is_new] = devices_.try_emplace(index_of(group));
  if (is_new) known->second = find_devices(group);
  return known->second;
}

GroupId CollectivePlans::first_of(GroupId group) const {
  return repeats_.any() ? job_.communicators[index_of(group)].shifted_from.value_or(group) : group;
}

std::optional<TokenExchange> CollectivePlans::exchange_of(GroupId group) const {
  const std::shared_ptr<const TokenExchange>& exchange = job_.communicators[index_of(group)].exchange;
  return exchange ? std::optional(*exchange) : std::nullopt;
}

void CollectivePlans::lay_out_all(const network::Fabric& fabric) {
  const auto groups = static_cast<std::uint32_t>(job_.communicators.size());
  layout_of_.reserve(groups);
  group_layout_of_.resize(groups);
  std::vector<std::optional<bool>> exchanges(matching_.call_lists());  // by list of calls
  std::map<std::uint32_t, const CommunicatorLayout*> rings;            // by size
  for (std::uint32_t i = 0; i < groups; ++i) {
    if (options_.library == nullptr) {
      layout_of_.push_back(&shared(lay_out(devices(GroupId(i)), dimensions_)));
      continue;
    }
    if (const GroupId first = first_of(GroupId(i)); first != GroupId(i)) {
      layout_of_.push_back(layout_of_[index_of(first)]);
      group_layout_of_[i] = group_layout_of_[index_of(first)];
      continue;
    }
    const auto size = static_cast<std::uint32_t>(job_.communicators[i].members.size());
    const auto [ring, is_new] = rings.try_emplace(size);
    if (is_new) ring->second = &shared(logical_ring(size));
    layout_of_.push_back(ring->second);
    // Groups without calls need no plans; the largest, the world, is mostly one of them.
    const GroupId group{i};
    if (matching_.calls(group).empty()) continue;
    std::optional<bool>& of_list = exchanges[matching_.call_list(group)];
    if (!of_list)
      of_list = std::ranges::find(matching_.calls(group), CollectiveKind::kAllToAll, &workload::CollectiveCall::kind) !=
                matching_.calls(group).end();
    group_layout_of_[i] = group_layout(group, fabric, *of_list);
  }
}

// A layout is a matter of all messages among the members: worked out once for groups that lie alike.
const GroupLayout* CollectivePlans::group_layout(GroupId group, const network::Fabric& fabric, bool exchanges) {
  const workload::Members& members = job_.communicators[index_of(group)].members;
  if (const workload::Lattice* lattice = members.lattice();
      repeats_.any() && lattice != nullptr && repeats_.ranks.digit(index_of(members.back())) != 0) {
    std::vector<DeviceId> of_first;
    for (const RankId rank : members)
      if (repeats_.ranks.digit(index_of(rank)) == 0) of_first.push_back(placement_[index_of(rank)]);
    std::optional<std::vector<std::uint32_t>> congruence = fabric.congruence(of_first);
    ORRERY_ASSERT(congruence);  // nodes are alike
    congruence->push_back(exchanges ? 1 : 0);
    const auto [known, is_new] = layout_of_repeated_.try_emplace({lattice, std::move(*congruence)});
    if (is_new)
      known->second = &*group_layouts_.insert(options_.library->layout(find_devices(group), fabric, exchanges)).first;
    return known->second;
  }
  const std::vector<DeviceId> devices = find_devices(group);
  const auto lay_out = [&] {
    return &*group_layouts_.insert(options_.library->layout(devices, fabric, exchanges)).first;
  };
  std::optional<std::vector<std::uint32_t>> congruence = fabric.congruence(devices);
  if (!congruence) return lay_out();
  congruence->push_back(exchanges ? 1 : 0);
  const auto [known, is_new] = layout_of_congruent_.try_emplace(std::move(*congruence));
  if (is_new) known->second = lay_out();
  return known->second;
}

void CollectivePlans::find_models() {
  using Model = std::tuple<const CommunicatorLayout*, const GroupLayout*, std::uint32_t,  // and list of calls
                           std::optional<TokenExchange>, std::uint32_t>;
  std::map<Model, GroupId> models;
  for (std::uint32_t i = 0; i < layout_of_.size(); ++i) {
    if (const GroupId first = first_of(GroupId(i)); first != GroupId(i)) {
      model_of_.push_back(model_of_[index_of(first)]);
      continue;
    }
    const Model model{layout_of_[i], group_layout_of_[i], matching_.call_list(GroupId(i)), exchange_of(GroupId(i)),
                      differ_by_place_ ? i : 0};
    model_of_.push_back(models.try_emplace(model, GroupId(i)).first->second);
  }
}

const CommunicatorLayout& CollectivePlans::shared(CommunicatorLayout layout) {
  LayoutKey key{layout.sizes, layout.dimensions, layout.open, layout.position_of, layout.apart};
  return layouts_.try_emplace(std::move(key), std::move(layout)).first->second;
}

// A library plans a call whose sizes differ as if all were the largest.
const CollectivePlan& CollectivePlans::plan(GroupId group, std::uint32_t index) {
  const workload::CollectiveCall& call = matching_.calls(group)[index];
  if (!call.bytes_of_member.empty() && options_.library == nullptr) return uneven_plan(group, index);
  const PlanKey key{
      layout_of_[index_of(group)], group_layout_of_[index_of(group)],     call.kind, call.bytes, call.root,
      exchange_of(group),          differ_by_place_ ? index_of(group) : 0};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  return plans_.emplace(key, make_plan(group, call)).first->second;
}

std::uint32_t CollectivePlans::plan_number(GroupId group, std::uint32_t index) {
  const GroupId model = model_of(group);
  Numbering& numbers = numbers_[model];
  if (numbers.of_call.empty()) numbers.of_call.resize(matching_.calls(model).size());
  std::uint32_t& number = numbers.of_call[index];
  if (number == 0) {
    const auto next = static_cast<std::uint32_t>(numbers.of_plan.size());
    number = numbers.of_plan.try_emplace(&plan(model, index), next).first->second + 1;
  }
  return number - 1;
}

bool CollectivePlans::balanced_in_vain() const {
  const auto count = [&](CollectivePlan::Balance balance) {
    return std::ranges::count(plans_, balance, [](const auto& plan) { return plan.second.balance; });
  };
  return count(CollectivePlan::Balance::kNone) > 0 && count(CollectivePlan::Balance::kOrders) == 0;
}

const CollectivePlan& CollectivePlans::uneven_plan(GroupId group, std::uint32_t index) {
  const auto found = uneven_plans_.find({group, index});
  if (found != uneven_plans_.end()) return found->second;
  return uneven_plans_.emplace(std::pair(group, index), make_plan(group, matching_.calls(group)[index])).first->second;
}

// CollectiveCall::bytes is the largest size of a call whose sizes differ.
CollectivePlan CollectivePlans::make_plan(GroupId group, const workload::CollectiveCall& call) {
  const CommunicatorLayout& own = *layout_of_[index_of(group)];
  const PlanRequest request{call.kind, call.bytes, call.root, call.bytes_of_member.span()};
  if (options_.library != nullptr)
    return plan_transfer(request, own, *group_layout_of_[index_of(group)], *options_.library,
                         job_.communicators[index_of(group)].exchange.get());
  const GroupPlace place{fabric_, devices(group), differ_by_place_};
  const std::vector<DimensionAlgorithm> algorithms = choose_algorithms(call.kind, options_, own, dimensions_);
  if (algorithms.front().table != nullptr)
    return plan_collective(request, shared(logical_ring(own.size())), options_, algorithms, place);
  std::optional<CommunicatorLayout> merged = merge_axes(own, [&](std::uint32_t dimension) {
    return !std::ranges::find(algorithms, dimension, &DimensionAlgorithm::dimension)->algorithm.along_axes;
  });
  const CommunicatorLayout& used = merged ? shared(std::move(*merged)) : own;
  if (call.bytes_of_member.empty() || used.sizes.size() == 1)
    return plan_collective(request, used, options_, algorithms, place);
  const CommunicatorLayout& flat = shared(logical_ring(own.size()));
  return plan_collective(request, flat, options_, choose_algorithms(call.kind, options_, flat, dimensions_), place);
}

CallWay CollectivePlans::way(GroupId group, std::uint32_t index) const {
  const workload::CollectiveCall& call = matching_.calls(group)[index];
  const CommunicatorLayout& own = *layout_of_[index_of(group)];
  if (own.size() == 1) return {};
  if (options_.library == nullptr) {
    const std::vector<DimensionAlgorithm> algorithms = choose_algorithms(call.kind, options_, own, dimensions_);
    const DimensionAlgorithm& first = algorithms.front();
    const bool has_axes = algorithms.size() > 1 || (first.algorithm.along_axes && own.sizes.size() > 1);
    const bool is_flat = !call.bytes_of_member.empty() && first.table == nullptr && has_axes;
    if (!is_flat) return {name_of(algorithms), {}};
    return {name_of(choose_algorithms(call.kind, options_, logical_ring(own.size()), dimensions_)), {}};
  }
  const std::shared_ptr<const TokenExchange>& exchange = job_.communicators[index_of(group)].exchange;
  if (exchange && call.kind == CollectiveKind::kAllToAll) return {exchange->library.name, {}};
  return options_.library->way(call.kind, call.bytes, *group_layout_of_[index_of(group)]);
}

}  // namespace orrery::system
