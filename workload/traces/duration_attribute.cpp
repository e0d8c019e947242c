#include "workload/traces/duration_attribute.h"

#include <algorithm>
#include <cstdint>

namespace orrery {
namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;
constexpr std::int64_t kMostMicroseconds = Duration::max().count() / kMicrosecond;

void add_picos(std::int64_t picos, chakra::Node& node) {
  chakra::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(kDurationPicos);
  attribute.set_int64_val(picos);
}

}  // namespace

void set_duration(Duration duration, chakra::Node& node) {
  const std::int64_t picos = duration.count();
  const std::int64_t nearest = picos / kMicrosecond + (picos % kMicrosecond >= kMicrosecond / 2 ? 1 : 0);
  const std::int64_t micros = std::clamp<std::int64_t>(nearest, 1, kMostMicroseconds);
  node.set_duration_micros(static_cast<std::uint64_t>(micros));
  if (micros * kMicrosecond != picos) add_picos(picos, node);
}

void set_no_duration(chakra::Node& node) { add_picos(0, node); }

TraceDuration read_duration(std::optional<Duration> micros, const ChakraAttributes& attributes) {
  const std::optional<std::int64_t> picos = attributes.integer(kDurationPicos);
  if (!picos) return {.duration = micros};
  const std::int64_t whole = micros ? micros->count() : 0;
  if (*picos == 0 && whole == 0) return {.says_none = true};
  if (*picos <= 0 || std::max(*picos, whole) - std::min(*picos, whole) > kMicrosecond)
    return {.duration = micros, .disagree = true};
  return {.duration = Duration(*picos)};
}

}  // namespace orrery
