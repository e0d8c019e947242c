// Fits the constants of the `nccl` library that are to be fitted (those with a `nominal` value in the library's file)
// to published tables, from their nominal values.
#pragma once

#include <span>
#include <vector>

#include "collectives/nccl/constants.h"
#include "collectives/nccl/constants_config.h"
#include "study/calibrate/prediction.h"
#include "study/validate/collectives/table.h"

namespace orrery {

struct RefitTable {
  const ValidationTable* table = nullptr;
  NcclBenchmark benchmark;
};

struct Refit {
  NcclConstants constants;
  std::vector<bool> determined;  // by constant of `nominal`
  std::vector<double> spread;    // relative standard error, likewise; infinite where not determined
};

// Each table counts the same in each band of sizes that it has, however many rows that is. Rows below 1 MiB of tables
// that do not say who launched the kernels do not count: launch decides these, and it is never fitted; nor do those of
// kernels of profiles, which wait for the last rank.
Refit refit(std::span<const RefitTable> tables, const NcclConstantsFile& library);

}  // namespace orrery
