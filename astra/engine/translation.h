// SPDX-License-Identifier: MIT
// Translations of the ranks of a network with one dimension under which a job looks the same. Ranks are cut into
// periods, stages of a pipeline for example, and all are moved by the same multiple of a stride, either around their
// periods or by an exclusive or with their bits. The devices and links of the network look the same, too: a rotation of
// all ranks as one period keeps the distances of a Ring, and any exchange of NPUs those of a Switch and of a
// FullyConnected. A block is `stride` ranks in a row; the ranks of the first block of each period stand for those of
// all its blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "astra/input/inputs.h"
#include "astra/input/program.h"

namespace orrery::astra {

class Translation {
 public:
  enum class Kind : std::uint8_t { kRotation, kExclusiveOr };

  // `period` divides the number of ranks, and `stride` the period; for the exclusive or these are powers of two.
  Translation(Kind kind, std::uint32_t period, std::uint32_t stride) : kind_(kind), period_(period), stride_(stride) {}

  std::uint32_t agents(std::uint32_t ranks) const { return ranks / period_ * stride_; }
  // Number of the rank that stands for this one, among those that do for any, and that rank of a number.
  std::uint32_t agent_of(std::uint32_t rank) const { return rank / period_ * stride_ + rank % stride_; }
  std::uint32_t rank_of(std::uint32_t agent) const { return agent / stride_ * period_ + agent % stride_; }
  std::uint32_t block_of(std::uint32_t rank) const { return rank % period_ / stride_; }

  // Place of `rank` after the translation by `by` ranks, less than a period.
  std::uint32_t moved(std::uint32_t rank, std::uint32_t by) const {
    if (kind_ == Kind::kExclusiveOr) return rank ^ by;
    return rank - rank % period_ + ahead(rank % period_, by, period_);
  }
  // Place of `rank` as seen from `other`, when that is moved to the rank that stands for it.
  std::uint32_t seen_from(std::uint32_t other, std::uint32_t rank) const {
    const std::uint32_t by = block_of(other) * stride_;
    return moved(rank, kind_ == Kind::kExclusiveOr || by == 0 ? by : period_ - by);
  }
  // A block of a period, moved by so many blocks, and moved back.
  std::uint32_t block_moved(std::uint32_t block, std::uint32_t by) const {
    return kind_ == Kind::kExclusiveOr ? block ^ by : ahead(block, by, period_ / stride_);
  }
  std::uint32_t block_moved_back(std::uint32_t block, std::uint32_t by) const {
    if (kind_ == Kind::kExclusiveOr) return block ^ by;
    return block < by ? block + (period_ / stride_ - by) : block - by;
  }

 private:
  static std::uint32_t ahead(std::uint32_t from, std::uint32_t by, std::uint32_t count) {
    return from < count - by ? from + by : from - (count - by);
  }

  Kind kind_;
  std::uint32_t period_;
  std::uint32_t stride_;
};

// A translation, and the group that stands for each group that is called.
struct JobSymmetry {
  Translation translation;
  std::map<std::uint64_t, std::uint64_t> group_of;
};

// The one with the fewest ranks that stand for others; none where nothing but standing still leaves the job as it is.
std::optional<JobSymmetry> find_symmetry(const Inputs& inputs, const Job& job);

}  // namespace orrery::astra
