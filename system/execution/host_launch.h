// SPDX-License-Identifier: MIT
// Wait of a computation for its host, which launches kernels one after the other and may be behind the device.
#pragma once

#include <algorithm>

#include "core/units.h"

namespace orrery::system {

// Time by which a computation that is taken at `now` and takes `time` ends later because its host, which turns to it at
// `turns_to`, launches its kernels late. `launches` and `span` as in workload::HostWork. `nominal`: the time that the
// graph says it takes. One whose time is another has kernels that are as much longer or shorter.
inline Duration launch_wait(Duration launches, Duration span, Duration nominal, Duration time, Time turns_to,
                            Time now) {
  if (span == Duration::zero()) return Duration::zero();
  if (nominal != time && nominal > Duration::zero() && span > launches) {
    const Int128 kernels = Int128{(span - launches).count()} * time.count() / nominal.count();
    span = saturating_add(launches,
                          Duration(static_cast<std::int64_t>(std::min<Int128>(kernels, Duration::max().count()))));
  }
  const Duration ends = saturating_add(turns_to.time_since_epoch(), span);
  return std::max(Duration::zero(), ends - saturating_add(now.time_since_epoch(), time));
}

}  // namespace orrery::system
