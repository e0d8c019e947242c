// SPDX-License-Identifier: MIT
#include "astra/cast.h"

#include <numeric>

namespace orrery::astra {

Cast Cast::every_rank(const Job& job) {
  Cast cast;
  cast.ranks_.resize(job.ranks.size());
  std::iota(cast.ranks_.begin(), cast.ranks_.end(), 0);
  cast.agents_ = cast.ranks_;
  return cast;
}

Cast Cast::folded(const Inputs&, const Job& job) { return every_rank(job); }

Address Cast::send_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const {
  if (!folded_) return {peer, agent};
  return {ends_[agent][slot].agent, ends_[agent][slot].slot};
}

Address Cast::receive_address(std::uint32_t agent, std::uint32_t slot, std::uint32_t peer) const {
  return {agent, folded_ ? slot : peer};
}

}  // namespace orrery::astra
