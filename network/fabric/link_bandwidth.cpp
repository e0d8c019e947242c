// SPDX-License-Identifier: MIT
#include "network/fabric/link_type.h"

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::network {
namespace {

Bandwidth checked(Section& section, std::string_view key, Bandwidth bandwidth) {
  if (bandwidth >= kLeastBandwidth || !section.has(key)) return bandwidth;
  section.error(key,
                fmt::format("{}.{}: {} is less than a link can have, {}", section.path(), key, to_text(bandwidth),
                            to_text(kLeastBandwidth)),
                "look for a unit that is missing its prefix, such as 'GB/s' or 'Gb/s'");
  return kLeastBandwidth;
}

}  // namespace

std::string derived_bandwidth_problem(std::string_view what, Int128 together, std::uint64_t links) {
  if (together > Bandwidth::max().count())
    return fmt::format("{} make more bandwidth together than can be counted", what);
  const auto each = static_cast<std::int64_t>(together / links);
  if (each >= kLeastBandwidth.count()) return {};
  return fmt::format("{} would have {} B/s {}, less than a link can have, {}", what, each,
                     links == 1 ? "together" : "each", to_text(kLeastBandwidth));
}

Bandwidth required_link_bandwidth(Section& section, std::string_view key, std::string_view meaning) {
  const std::size_t errors = section.errors();
  const Bandwidth bandwidth = section.required<Bandwidth>(key, meaning);
  return section.sound(errors) ? checked(section, key, bandwidth) : kLeastBandwidth;
}

Bandwidth optional_link_bandwidth(Section& section, std::string_view key, Bandwidth fallback, std::string_view meaning,
                                  std::string_view documented) {
  if (section.has(key)) return required_link_bandwidth(section, key, meaning);
  return section.optional<Bandwidth>(key, fallback, meaning, documented);
}

}  // namespace orrery::network
