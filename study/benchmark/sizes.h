// The sizes of a benchmark as nccl-tests takes them: -b 8 -e 16G -f 2, or -i 1M for steps of equal length.
#pragma once

#include <string>
#include <vector>

#include "core/units.h"
#include "study/benchmark/operation.h"

namespace orrery {

// As written on the command line; an empty text was not given. `factor` and `increment` are not both given.
struct BenchmarkSizes {
  std::string first{};      // -b; 32M
  std::string last{};       // -e; as -b
  std::string factor{};     // -f; 2
  std::string increment{};  // -i
};

// From `first` to at most `last`, each the one before times `factor` (rounded down) or plus `increment`. Sizes are
// whole bytes; K, M, G and T are 2^10, 2^20, 2^30 and 2^40. InputError names the option that is wrong.
std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes);

// Those of an operation: a barrier has none, which is one row of size 0; InputError where a size was given.
std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes, const BenchmarkOperation& operation);

}  // namespace orrery
