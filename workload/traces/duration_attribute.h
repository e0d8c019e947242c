// How long a node takes, in a trace. Chakra's own field counts whole microseconds. What that cannot say is in an
// attribute of ours, `duration_picos`: the exact duration, or 0 for a node that is meant to take no time.
#pragma once

#include <optional>

#include "core/units.h"
#include "workload/chakra/attributes.h"
#include "workload/chakra/chakra.pb.h"

namespace orrery {

inline constexpr const char* kDurationPicos = "duration_picos";

// Rounded to the nearest microsecond, but never to zero; the exact figure besides where that is another one. `duration`
// is above zero.
void set_duration(Duration duration, chakra::Node& node);
// Says that the node is meant to take no time.
void set_no_duration(chakra::Node& node);

struct TraceDuration {
  std::optional<Duration> duration{};
  bool says_none = false;  // the node is meant to take no time
  // The two differ by more than a microsecond, or only one of them is zero: some tool has changed one of them. The
  // microseconds count.
  bool disagree = false;
};

// `micros` is Chakra's own field. InputError when the attribute is no integer.
TraceDuration read_duration(std::optional<Duration> micros, const ChakraAttributes& attributes);

}  // namespace orrery
