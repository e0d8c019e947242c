// SPDX-License-Identifier: MIT
#include "report/rank_choice.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"

namespace orrery::report {
namespace {

[[noreturn]] void refuse_choice(const RankChoice& choice, std::string message, std::string hint) {
  throw InputError({choice.option}, std::move(message), std::move(hint));
}

std::optional<std::uint32_t> rank_number(std::string_view text) {
  const auto number = parse_whole_number(text);
  if (!number || *number < 0 || *number >= UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

RankChoice parse_rank_choice(std::string_view text, std::string_view option) {
  RankChoice choice{RankChoice::Kind::kList, {}, std::string(option)};
  if (text == "classes") choice.kind = RankChoice::Kind::kClasses;
  if (text == "all") choice.kind = RankChoice::Kind::kAll;
  if (choice.kind != RankChoice::Kind::kList) return choice;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view part = text.substr(at, text.find(',', at) - at);
    at += part.size() + 1;
    const std::size_t dash = part.find('-');
    const auto first = rank_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : rank_number(part.substr(dash + 1));
    if (!first || !last)
      refuse_choice(choice, fmt::format("'{}' is neither a rank nor a range of ranks", printable(part, 40)),
                    "write classes (one rank of each class), all, or ranks such as 0-7,16");
    if (*first > *last)
      refuse_choice(choice, fmt::format("the range {}-{} is empty", *first, *last),
                    fmt::format("write {}-{}", *last, *first));
    choice.ranges.emplace_back(*first, *last);
  }
  return choice;
}

void check_rank_choice(const RankChoice& choice, std::size_t ranks) {
  for (const auto& [first, last] : choice.ranges)
    if (last >= ranks)
      refuse_choice(choice, fmt::format("the job has no rank {}", std::max<std::size_t>(first, ranks)),
                    fmt::format("its {} are numbered from 0 to {}", counted(ranks, "rank"), ranks - 1));
}

std::vector<ChosenRank> chosen_ranks(const RankChoice& choice, std::span<const std::uint32_t> class_of_rank) {
  std::vector<ChosenRank> chosen;
  std::vector<std::size_t> place;  // in `chosen`, by class
  std::vector<bool> listed(choice.kind == RankChoice::Kind::kList ? class_of_rank.size() : 0);
  for (const auto& [first, last] : choice.ranges) std::fill(listed.begin() + first, listed.begin() + last + 1, true);
  for (std::uint32_t rank = 0; rank < class_of_rank.size(); ++rank) {
    if (choice.kind == RankChoice::Kind::kList && !listed[rank]) continue;
    if (choice.kind == RankChoice::Kind::kClasses) {
      place.resize(std::max<std::size_t>(place.size(), class_of_rank[rank] + 1), SIZE_MAX);
      std::size_t& of_class = place[class_of_rank[rank]];
      if (of_class != SIZE_MAX) {
        ++chosen[of_class].stands_for;
        continue;
      }
      of_class = chosen.size();
    }
    chosen.push_back({RankId(rank)});
  }
  return chosen;
}

}  // namespace orrery::report
