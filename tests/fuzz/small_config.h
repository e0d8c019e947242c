// SPDX-License-Identifier: MIT
// Configurations that a fuzzer may read: those that name no other file and whose fabrics are built in no time.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "core/config/tree.h"

namespace orrery::fuzz {

inline constexpr std::uint64_t kMostDevices = 256;  // larger fabrics are sound, but slow to build

// Whether the reader would open another file.
inline bool names_a_file(const ConfigValue& value) {
  return std::ranges::any_of(value.items, names_a_file) ||
         std::ranges::any_of(value.entries, [](const ConfigEntry& entry) {
           return (!folder_of_key(entry.key).empty() && entry.value.scalar.find_first_of("/.") != std::string::npos) ||
                  names_a_file(entry.value);
         });
}

// A bound on the devices and NICs that the text asks for.
inline std::uint64_t devices_of(const ConfigValue& value) {
  std::uint64_t devices = 1;
  for (const ConfigValue& item : value.items) devices = std::min(devices * devices_of(item), kMostDevices + 1);
  for (const ConfigEntry& entry : value.entries) {
    const bool counts = entry.key == "size" || entry.key == "nodes" || entry.key == "devices" || entry.key == "count" ||
                        entry.key.ends_with("uplinks") || entry.key == "global_links";
    std::uint64_t number = 1;
    if (counts)
      std::from_chars(entry.value.scalar.data(), entry.value.scalar.data() + entry.value.scalar.size(), number);
    devices *= std::clamp<std::uint64_t>(number, 1, kMostDevices + 1) * devices_of(entry.value);
    devices = std::min(devices, kMostDevices + 1);
  }
  return devices;
}

inline bool fits_a_fuzzer(const ConfigValue& value) {
  return !names_a_file(value) && devices_of(value) <= kMostDevices;
}

}  // namespace orrery::fuzz
