#include "system/device.h"

#include <algorithm>

namespace orrery {

std::optional<FlopRate> DeviceSpec::peak(Precision precision) const {
  const auto of = [&](Precision p) { return peaks[static_cast<std::size_t>(p)]; };
  if (of(precision)) return of(precision);
  if (precision == Precision::kBf16) return of(Precision::kFp16);
  if (precision == Precision::kFp16) return of(Precision::kBf16);
  return std::nullopt;
}

DeviceSpec read_device(Section& section) {
  DeviceSpec device;
  device.name = section.required<std::string>("name", "name of the device, as results print it");
  section.required_section(
      "peak", "dense peak rates by precision; a precision that is left out is not supported", [&](Section& peak) {
        for (const Precision precision : kAllPrecisions)
          device.peaks[static_cast<std::size_t>(precision)] = peak.maybe<FlopRate>(name_of(precision), "dense peak");
        const bool none = std::ranges::none_of(kAllPrecisions, [&](Precision p) { return peak.has(name_of(p)); });
        if (none) peak.error("", "a device needs the peak of at least one precision", "for example bf16: 312 TFLOP/s");
      });
  section.required_section("memory", "the device's own memory (HBM)", [&](Section& memory) {
    device.memory_capacity = memory.required<Bytes>("capacity", "size");
    device.memory_bandwidth = memory.required<Bandwidth>("bandwidth", "peak bandwidth");
  });
  device.streaming_multiprocessors = static_cast<std::uint32_t>(
      section.optional_integer("streaming_multiprocessors", 0, {0, 4096}, "number of multiprocessors; 0 if not known"));
  device.architecture = static_cast<Architecture>(
      section.optional_choice("architecture", architecture_names(), 0, "generation of an NVIDIA or AMD GPU"));
  section.note("vendor", "for people");
  section.note("source", "where the figures come from");
  section.note("assumed", "figures that were not read in a source");
  return device;
}

Duration roofline_time(Flops flops, Bytes bytes, FlopRate peak, Bandwidth memory_bandwidth) {
  return std::max(flops / peak, bytes / memory_bandwidth);
}

}  // namespace orrery
