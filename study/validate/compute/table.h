// SPDX-License-Identifier: MIT
// A table of measured times of operators on one device, from configs/validation/compute: operators of layers (a CSV
// file, study/validate/compute/layers.h), rates of matrix products, or times of kernels (CSV files, kernels.h).
// docs/compute.md shows how far off the model is on them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/table_files.h"
#include "study/validate/compute/layers.h"
#include "study/validate/measured/measured.h"
#include "system/devices/device.h"
#include "system/devices/kernel_table.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery::study {

struct MeasuredProduct {
  Location where;
  workload::Gemm product;
  double rate = 0;  // in FLOP/s
};

struct ComputeTable : MeasuredTable {
  std::string source;
  std::string gpu;  // as CSV files call it, in their column `gpu`
  system::DeviceSpec device;
  std::optional<workload::SoftwareSpec> software;  // whose kernels were measured; nothing: those of a micro-benchmark
  Precision precision = Precision::kFp16;
  std::vector<std::string> fitted;  // constants of the device that were fitted to this table: keys of `compute`
  std::string layers_file;          // where the layers come from
  std::vector<LayerSample> layers;
  std::vector<MeasuredProduct> products;
  std::vector<system::KernelSample> kernels;
  std::optional<Architecture>
      others;  // whose constants of the software predict the kernels when the device is left out

  workload::SoftwareRates rates() const;

  static constexpr std::string_view kFolder = "validation/compute";
};

// The text of a constant of a device's `compute`, "78.3 %"; nothing if there is no such constant.
std::optional<std::string> compute_constant_text(const system::ComputeSpec& compute, std::string_view name);

// Reads a table and the CSV file beside it.
void read_table(Section& section, ComputeTable& table);

struct ComputeQuestion {
  std::string file;      // CSV, see study/validate/compute/layers.h and kernels.h
  std::string device;    // of every row; empty: the one of the shipped table with the row's `gpu`
  std::string software;  // with `device`; empty: kernels of a micro-benchmark
};

// The file's rows as tables of fp16, one for each of its GPUs, and with the software and constants of the shipped one;
// rows of kernels as one table. InputError if it cannot be read, or if a row is of no known GPU.
std::vector<ComputeTable> compute_tables_of(const ComputeQuestion& question, std::span<const ComputeTable> shipped,
                                            const ConfigFiles& files);

}  // namespace orrery::study
