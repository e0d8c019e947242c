// The constants of a software that were fitted to published training runs, by name: what `fitted` lists in
// configs/software, and what `orrery validate training` counts, and fits again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/machine_kind.h"
#include "workload/training/spec/software.h"

namespace orrery {

// "gemm", "flash", ...
std::string_view name_of(SoftwareConstant constant);

// Those that kernels of this architecture run with: of its own rates where the software has some, and of the software.
std::vector<SoftwareConstant> fitted_on(const SoftwareSpec& software, Architecture architecture);

// A factor, the share of the peak of flash attention forward, or bytes.
double value_of(const SoftwareSpec& software, Architecture architecture, SoftwareConstant constant);

// Of kTraffic all five factors; bytes are rounded to whole ones. Rates become the architecture's own.
void set_value(SoftwareSpec& software, Architecture architecture, SoftwareConstant constant, double value);

// "0.98", "60 B".
std::string value_text(SoftwareConstant constant, double value);

// The key `fitted` of a software, or of its rates on one architecture (`of_architecture`), which has been read.
std::vector<SoftwareConstant> read_fitted(Section& section, const SoftwareRates& rates, bool of_architecture);

}  // namespace orrery
