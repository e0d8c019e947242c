#include "experiment/cluster_parts.h"

namespace orrery {

ClusterReaders cluster_parts(DeviceSpec& device, NcclConstantList& measured) {
  return {[&device](Section& section) { device = read_device(section); },
          [&measured](Section& section) { measured = read_some_nccl_constants(section); }};
}

ClusterReaders unused_cluster_parts() {
  return {[](Section& section) { read_device(section); }, [](Section& section) { read_some_nccl_constants(section); }};
}

}  // namespace orrery
