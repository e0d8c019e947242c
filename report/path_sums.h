// SPDX-License-Identifier: MIT
// Sums of a critical path's steps, and ways that it goes again and again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/units.h"
#include "report/critical_path.h"
#include "report/rank_history.h"

namespace orrery::report {

// Piece of a path and the place of its first step among those of others.
struct NumberedPiece {
  PathPiece piece;
  std::size_t number = 0;
};

// Sums of steps.
struct PathSums {
  std::vector<std::pair<std::string_view, PathSum>> parts;  // views of literals, of the job's and the result's names
  std::vector<std::pair<NodeId, Duration>> operations;      // steps one by one, but for those that histories hold
  std::map<RankId, PathOfRank> ranks;
  std::map<LinkId, PathOfLink> links;
  std::map<decltype(PathPiece{}.place()), NumberedPiece> pieces;
  Duration latency{};

  PathSum& part(std::string_view what) {
    const auto known = std::ranges::find(parts, what, &std::pair<std::string_view, PathSum>::first);
    return known != parts.end() ? known->second : parts.emplace_back(what, PathSum{}).second;
  }

  // Adds sums so many times, but for `operations`.
  void add(const PathSums& more, std::int64_t times) {
    for (const auto& [what, sum] : more.parts) part(what).add(sum * times);
    for (const auto& [rank, of_rank] : more.ranks) {
      PathOfRank& sum = ranks[rank];
      sum.time += of_rank.time * times;
      sum.compute += of_rank.compute * times;
      sum.hosting += of_rank.hosting * times;
      sum.launching += of_rank.launching * times;
      sum.late += of_rank.late * times;
    }
    for (const auto& [link, of_link] : more.links) {
      PathOfLink& sum = links[link];
      sum.moving += of_link.moving * times;
      sum.excess += of_link.excess * times;
      sum.waiting += of_link.waiting * times;
    }
    for (const auto& [place, one] : more.pieces) add(one, times);
    latency += more.latency * times;
  }

 private:
  void add(const NumberedPiece& more, std::int64_t times) {
    const auto [known, is_new] = pieces.try_emplace(more.piece.place(), NumberedPiece{{}, SIZE_MAX});
    NumberedPiece& sum = known->second;
    const PathPiece before = sum.piece;
    if (more.number < sum.number) sum = more;
    const auto scaled = [&](auto PathPiece::*of) { return before.*of + more.piece.*of * times; };
    sum.piece.steps = before.steps + more.piece.steps * static_cast<std::size_t>(times);
    sum.piece.time = scaled(&PathPiece::time);
    sum.piece.moving = scaled(&PathPiece::moving);
    sum.piece.latency = scaled(&PathPiece::latency);
    sum.piece.waiting = scaled(&PathPiece::waiting);
  }
};

// Way of the path through a stretch that a rank goes through again, and back, from one of its operations to another.
struct Way {
  std::uint32_t to = 0;  // offset of the operation at which it leaves
  std::int64_t times = 0;
  PathSums sums;  // of one time
};

}  // namespace orrery::report
