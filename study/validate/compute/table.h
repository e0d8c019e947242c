// A table of measured times of operators on one device, from configs/validation/compute: operators of layers (a CSV
// file, study/validate/compute/layer_csv.h), or rates of matrix products. docs/compute.md shows how far off the model is on them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "study/validate/compute/layer_csv.h"
#include "system/devices/device.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery {

struct MeasuredProduct {
  Location where;
  Gemm product;
  double rate = 0;  // in FLOP/s
};

struct ComputeTable {
  std::string name;
  Location where;  // of the name
  std::string source;
  std::string measured;  // the machine, in the words of the source
  std::string gpu;       // as CSV files call it, in their column `gpu`
  DeviceSpec device;
  std::optional<SoftwareSpec> software;  // whose kernels were measured; nothing: those of a micro-benchmark
  Precision precision = Precision::kFp16;
  std::vector<std::string> fitted;  // constants of the device that were fitted to this table: keys of `compute`
  std::string layers_file;          // where the layers come from
  std::vector<LayerSample> layers;
  std::vector<MeasuredProduct> products;

  SoftwareRates rates() const;
};

// Reads `device` and `software` of a table.
void read_compute_machine(Section& section, ComputeTable& table);

// The text of a constant of a device's `compute`, "78.3 %"; nothing if there is no such constant.
std::optional<std::string> compute_constant_text(const ComputeSpec& compute, std::string_view name);

// Whether `file` is such a table rather than another configuration or a trace: by its keys.
bool is_compute_table(const std::string& file, const ConfigFiles& files);

// Reads a table and the CSV file beside it; problems go to `diagnostics`, and the table is not to be used after an
// error.
ComputeTable load_compute_table(const std::string& file, const std::vector<std::string>& settings,
                                const ConfigFiles& files, Diagnostics& diagnostics);

// All shipped tables, by name. InputError with all problems of all files.
std::vector<ComputeTable> list_compute_tables(const ConfigFiles& files);

}  // namespace orrery
