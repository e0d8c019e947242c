// SPDX-License-Identifier: MIT
// Published times of dispatch and combine, which the law of collectives/token_exchange.h is held against: one table a
// file of configs/validation/experts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/dispatch.h"
#include "core/error.h"
#include "core/units.h"
#include "study/table_files.h"
#include "study/validate/measured/measured.h"

namespace orrery::study {

// Both ways of the tokens of every rank.
struct MeasuredExchange {
  Location where;
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 1;  // of a node
  std::int64_t hidden = 1;
  std::int64_t tokens = 1;  // of a rank
  std::int64_t experts_per_token = 1;
  std::int64_t experts = 1;     // of all ranks, which divide them
  std::int64_t processors = 1;  // that the kernels took
  Duration dispatch{};
  Duration combine{};
};

struct ExpertTable : MeasuredTable {
  std::string source;
  std::string cluster;  // of configs/clusters
  DispatchLibrary library;
  std::array<double, 2> bytes_per_value{2, 2};  // dispatch, combine; with scales
  std::int64_t groups_per_token = 0;            // nodes that a token may go to; 0: all
  bool balanced = false;
  bool fitted = true;  // rates of the library were fitted to it; else `why_not` says why
  std::vector<MeasuredExchange> rows;

  static constexpr std::string_view kFolder = "validation/experts";
};

void read_table(Section& section, ExpertTable& table);

}  // namespace orrery::study
