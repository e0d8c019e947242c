// SPDX-License-Identifier: MIT
// Published measurements of collectives, which Orrery's answers are held against: one table a file of
// configs/validation/nccl. docs/validation.md lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/options.h"
#include "core/units.h"
#include "study/table_files.h"
#include "study/validate/measured/measured.h"
#include "workload/calls/operation.h"

namespace orrery::study {

enum class TimedPart : std::uint8_t {
  kCalls,    // calls one behind the other, with what their launch costs
  kKernels,  // kernels of a profile, without their launch
};

// Column of a row from which the time was taken.
enum class ValidationColumn : std::uint8_t { kInPlace, kOutOfPlace, kMedian };

// Collection of published tables: the first is of 2020 to 2025, all-reduces for the most part; the second of 2025 and
// 2026, all operations; the third of systems and launches that those have not.
enum class TableCollection : std::uint8_t { kFirst, kSecond, kThird };

inline constexpr std::array<TableCollection, 3> kAllTableCollections = {
    TableCollection::kFirst, TableCollection::kSecond, TableCollection::kThird};

struct ValidationRow {
  Bytes bytes;  // as workload::CallSize says
  Duration time{};
};

struct ValidationTable : MeasuredTable {
  TableCollection collection = TableCollection::kFirst;
  std::string source;
  std::string cluster;  // of configs/clusters; empty if the source says too little, and then nothing is scored
  std::string machine;  // the cluster for people: its name, of one that is written out "azure-ndv4 by ethernet"
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;
  workload::CallOperation operation;
  TimedPart timed = TimedPart::kCalls;
  std::string nccl;                               // its version; empty if not known
  std::optional<collectives::LaunchMode> launch;  // only where the source says so
  std::string launch_source;                      // how the source says so
  ValidationColumn column = ValidationColumn::kInPlace;
  std::string column_reason;
  std::vector<std::string> forced;  // algorithms and protocols that NCCL was held to: "Tree", "LL"
  std::string why_off;              // why predictions are far off; empty if not known
  std::vector<ValidationRow> rows;  // by ascending size

  static constexpr std::string_view kFolder = "validation/nccl";
};

std::string_view name_of(TimedPart part);
std::string_view name_of(ValidationColumn column);
std::string_view name_of(TableCollection collection);

void read_table(Section& section, ValidationTable& table);

}  // namespace orrery::study
