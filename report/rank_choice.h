// SPDX-License-Identifier: MIT
// Ranks that the tables of `run --out` contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace orrery::report {

struct RankChoice {
  enum class Kind : std::uint8_t { kClasses, kAll, kList };

  Kind kind = Kind::kClasses;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges{};  // kList: first and last, as they were written
  std::string option = "--ranks";                                 // that messages name
};

// "classes", "all", or ranks such as "0-7,16". InputError otherwise. `option`: where the text comes from.
RankChoice parse_rank_choice(std::string_view text, std::string_view option = "--ranks");

// InputError where the choice names ranks that a job of `ranks` ranks does not have.
void check_rank_choice(const RankChoice& choice, std::size_t ranks);

struct ChosenRank {
  RankId rank{};
  std::uint64_t stands_for = 1;  // ranks that behave alike, this one among them
};

// Ascending. By class: the lowest rank of each, for all of its class; otherwise every rank for itself.
// `class_of_rank`: Result's.
std::vector<ChosenRank> chosen_ranks(const RankChoice& choice, std::span<const std::uint32_t> class_of_rank);

}  // namespace orrery::report
