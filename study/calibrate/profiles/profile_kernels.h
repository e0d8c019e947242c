// SPDX-License-Identifier: MIT
// Kernels of a profile: what kind each is, and how long those took whose operators say their sizes.
#pragma once

#include <string>
#include <vector>

#include "study/calibrate/kernel_timing.h"
#include "study/calibrate/profiles.h"
#include "workload/import/kineto/events.h"

namespace orrery::study {

struct ProfileKernels {
  std::vector<ProfiledKind> kinds;    // by operation of the trace
  std::vector<KernelTiming> timings;  // alike ones are one, with their median
  bool has_shapes = false;
  double products_known = 0;  // share of the time of products
};

// A kernel belongs to the operators that were open on the thread that launched it; the innermost one that is known
// says what it computes. Products of the backward pass are told apart by the layout in the kernel's name, as cuBLAS
// writes it ("..._tn", "..._NTT"), else by their order: autograd computes the input's gradient first.
ProfileKernels timed_kernels(const workload::KinetoTrace& trace, const std::string& file);

// 0 of none.
double median_of(std::vector<double> values);

}  // namespace orrery::study
