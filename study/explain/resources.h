// SPDX-License-Identifier: MIT
// Resources of an experiment's cluster, found in the resolved configuration. Each improvement of one is nothing but
// settings (a.b=v) of that experiment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"

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

}  // namespace orrery::study
