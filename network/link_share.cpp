#include "network/link_share.h"

#include "network/max_min.h"

namespace orrery {

Bandwidth rate_alone(const Fabric& fabric, const LinkLoad& load) {
  return Bandwidth(fill_rate(fabric.link(load.link).bandwidth.count(), load.weight()) * load.connections);
}

Duration transfer_alone(const Fabric& fabric, const LinkLoad& load) { return load.bytes / rate_alone(fabric, load); }

}  // namespace orrery
