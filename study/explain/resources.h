// SPDX-License-Identifier: MIT
// Improvements of an experiment: the resources of its cluster, and the plans beside that of its job. Both are found in
// the resolved configuration, and each is nothing but settings (a.b=v) of that experiment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// Resource that is bought as one: all its keys are multiplied at once.
struct Resource {
  std::string name;  // "nvlink bandwidth"
  std::string now;   // the value of the first key, of peaks that of the job's precision, of launches that of the nodes'
                     // hosts: "300 GB/s"; empty of all links
  std::vector<std::string> keys;
  bool is_delay = false;  // less of it is better
  bool is_link = false;   // one of the links, not of a device nor all of them
};

// Degree of improvement of a resource.
enum class Better { kSlightly, kTwice };
// 1.1 or 2 of a resource; what a delay is divided by.
std::string_view factor_of(Better better);
// "cluster.node.fabric.bandwidth*=1.1"; of a delay the reciprocal.
std::vector<std::string> settings_of(const Resource& resource, Better better);

// Resources of a resolved experiment: bandwidth and latency of each class of links, the devices' peaks, memory and
// launches, and the time in which a job's host launches a kernel. Links of one name are one resource, whatever they
// belong to; NICs and what joins them to the devices are one beside each by itself, and so are all links together,
// because one may hold the other up.
std::vector<Resource> resources_of(const ConfigValue& resolved);

// A plan near that of the job.
struct Neighbour {
  std::string name;  // "tensor 4, data 8"
  std::vector<std::string> settings;
  std::string refusal = {};  // why there is none, if so
};

// Neighbours of a generated job's plan, if it is the only job: half and twice the tensor parallelism, on as many ranks,
// half and twice the micro-batch (one that was chosen is the largest already), other recomputation, other schedules of
// a pipeline; more kernels in CUDA graphs, if launching them takes time; other precisions of transformers' products
// that the devices have.
std::vector<Neighbour> neighbours_of(const ConfigValue& resolved, const workload::TrainingSpec* training);

}  // namespace orrery::study
