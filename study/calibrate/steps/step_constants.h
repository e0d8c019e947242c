// SPDX-License-Identifier: MIT
// Constants of software and network that a measured step may determine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "study/calibrate/findings.h"

namespace orrery::study {

// A constant and what is in proportion to it: all are multiplied at once.
struct StepConstant {
  CalibratedFile file = CalibratedFile::kSoftware;
  std::vector<std::string> keys;  // in the file; the first names it
  ConstantUnit unit = ConstantUnit::kFactor;
  double before = 0;    // of the first
  double spread = 0;    // standard deviation of the logarithm of its true value, before any step was measured
  double least = 0.05;  // of factors on it
  double most = 20;

  const std::string& key() const { return keys.front(); }
};

// Constants of a resolved experiment whose values are above 0, but for the keys in `known`. `rates` is the path of the
// rates that its devices run with: "rates_of.hopper".
std::vector<StepConstant> step_constants(const ConfigValue& resolved, const std::string& rates,
                                         const std::vector<std::string>& known);

// Multiplies all values of a constant in an experiment, `digits` of them being kept.
void multiply(ConfigValue& experiment, const StepConstant& constant, double factor, const ConfigFiles& files,
              int digits = 12);
// Constants in the machine's own files; `resolved` is an experiment on it.
void multiply(CalibratedMachine& machine, const ConfigValue& resolved, const StepConstant& constant, double factor,
              const ConfigFiles& files);

// The value as its file writes it, times a factor: "31.5 us" of "30 us"; bytes are whole.
std::string multiplied_text(const std::string& text, double factor, int digits);

}  // namespace orrery::study
