// How long the compute nodes of a graph take: the measured duration, or the device's plain roofline.
#pragma once

#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "system/devices/device.h"
#include "workload/graph/job.h"

namespace orrery {

struct ComputeOptions {
  Precision precision = Precision::kBf16;
  bool prefer_roofline = false;  // FLOPs win over a measured duration where a node has both
};

// Whether a roofline says how long the node takes.
bool has_roofline_work(const ExecutionGraph& graph, NodeId node);

// Per node of `graph`; zero for nodes that are no computation. Host nodes take their measured duration only. InputError
// when FLOPs are to be timed and the device has no peak for the precision.
std::vector<Duration> compute_times(const ExecutionGraph& graph, const DeviceSpec& device,
                                    const ComputeOptions& options);

}  // namespace orrery
