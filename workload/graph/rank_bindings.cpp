// SPDX-License-Identifier: MIT
#include "workload/graph/rank_bindings.h"

#include <algorithm>

namespace orrery::workload {

const RankDetails& RankBinding::details() const {
  static const RankDetails none;
  return shared_details ? *shared_details : none;
}

RankDetails& RankBinding::own_details() {
  if (!shared_details)
    shared_details = std::make_shared<RankDetails>();
  else if (shared_details.use_count() > 1)
    shared_details = std::make_shared<RankDetails>(*shared_details);
  return *shared_details;
}

RankBindings::RankBindings(Period period, std::vector<Repeated> first) {
  if (period.any()) {
    period_ = period;
    first_ = std::move(first);
  } else {
    for (Repeated& repeated : first) list_.push_back(std::move(repeated.binding));
  }
}

const RankBinding RankBindings::operator[](std::size_t rank) const {
  if (first_.empty()) return list_[rank];
  const auto number = static_cast<std::uint32_t>(rank);
  const Repeated& repeated = first_[place(rank)];
  RankBinding binding = repeated.binding;
  const std::uint32_t digit = period_.digit(number);
  if (digit == 0) return binding;
  for (std::size_t slot = 0; slot < binding.communicators.size(); ++slot)
    binding.communicators[slot] =
        GroupId(index_of(binding.communicators[slot]) + index_of(repeated.steps[slot]) * digit);
  for (RankId& peer : binding.peers) peer = RankId(index_of(peer) + digit * period_.stride);
  return binding;
}

std::uint32_t RankBindings::slot_of(std::size_t rank, GroupId group) const {
  if (first_.empty()) {
    const IdList<GroupId>& groups = list_[rank].communicators;
    return static_cast<std::uint32_t>(std::ranges::find(groups, group) - groups.begin());
  }
  const Repeated& repeated = first_[place(rank)];
  const std::uint32_t digit = period_.digit(static_cast<std::uint32_t>(rank));
  const auto slots = static_cast<std::uint32_t>(repeated.binding.communicators.size());
  std::uint32_t slot = 0;
  while (slot < slots &&
         index_of(repeated.binding.communicators[slot]) + index_of(repeated.steps[slot]) * digit != index_of(group))
    ++slot;
  return slot;
}

std::vector<RankBinding>& RankBindings::list() {
  if (first_.empty()) return list_;
  const std::size_t ranks = size();
  list_.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) list_.push_back(std::as_const(*this)[rank]);
  first_ = {};
  period_ = {};
  return list_;
}

}  // namespace orrery::workload
