// SPDX-License-Identifier: MIT
#include "experiment/cluster_parts.h"

namespace orrery::experiment {

network::ClusterReaders cluster_parts(system::DeviceSpec& device, collectives::NcclConstantList& measured) {
  return {[&device](Section& section) { device = system::read_device(section); },
          [&measured](Section& section) { measured = collectives::read_some_nccl_constants(section); }};
}

network::ClusterReaders unused_cluster_parts() {
  return {[](Section& section) { system::read_device(section); },
          [](Section& section) { collectives::read_some_nccl_constants(section); }};
}

}  // namespace orrery::experiment
