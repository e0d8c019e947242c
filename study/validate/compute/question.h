// A CSV file of measured layers of the user's own, to be held against the model (study/validate/compute/validation.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/validate/compute/table.h"

namespace orrery {

struct ComputeQuestion {
  std::string file;      // CSV, see study/validate/compute/layer_csv.h
  std::string device;    // of every row; empty: the one of the shipped table with the row's `gpu`
  std::string software;  // with `device`; empty: kernels of a micro-benchmark
};

// The file's rows as tables of fp16, one for each of its GPUs, and with the software and constants of the shipped one.
// InputError if it cannot be read, or if a row is of no known GPU.
std::vector<ComputeTable> compute_tables_of(const ComputeQuestion& question, std::span<const ComputeTable> shipped,
                                            const ConfigFiles& files);

}  // namespace orrery
