// SPDX-License-Identifier: MIT
#include "study/calibrate/kernel_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/config.h"
#include "core/config/quantity_text.h"

namespace orrery::study {
namespace {

// Memory that a driver shows is less than that of the data sheet by what it keeps for itself.
constexpr double kSameMemory = 0.15;

// Words of a name in lower case.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), is_digit = c >= '0' && c <= '9';
    if (is_letter || is_digit)
      words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find_if(words, [&](const std::string& w) { return w.starts_with(word); }) != words.end();
}

struct DevicePlace {
  std::string path;
  const ConfigValue* device = nullptr;
};

// Devices of all types of nodes, or that of a cluster of dimensions.
std::vector<DevicePlace> places_of_devices(const ConfigValue& cluster) {
  std::vector<DevicePlace> places;
  const auto add = [&](const ConfigValue& holder, const std::string& path) {
    if (const ConfigEntry* device = holder.find("device"); device && device->value.kind == ConfigValue::Kind::kMap)
      places.push_back({path + "device", &device->value});
  };
  add(cluster, "");
  if (const ConfigEntry* node = cluster.find("node")) add(node->value, "node.");
  if (const ConfigEntry* nodes = cluster.find("nodes"); nodes && nodes->value.kind == ConfigValue::Kind::kList) {
    std::size_t number = 0;
    for (const ConfigValue& type : nodes->value.items) {
      const ConfigEntry* node = type.find("node");
      add(node == nullptr ? type : node->value, fmt::format("nodes.{}.{}", number++, node == nullptr ? "" : "node."));
    }
  }
  return places;
}

template <class Spec, class Read>
Spec spec_of(ConfigValue value, const ConfigFiles& files, const Read& read) {
  Diagnostics diagnostics;
  ConfigContext context(files, diagnostics);
  Spec spec;
  read_config(value, context, [&](Section& section) { spec = read(section); });
  diagnostics.throw_if_errors();
  return spec;
}

system::DeviceSpec read_spec(const ConfigValue& device, const ConfigFiles& files) {
  return spec_of<system::DeviceSpec>(device, files, [](Section& section) { return system::read_device(section); });
}

std::string name_in(const ConfigValue& device) {
  const ConfigEntry* name = device.find("name");
  return name == nullptr ? std::string() : name->value.scalar;
}

// Compares what was measured with the device that the constants go to.
void check_device(const system::DeviceSpec& spec, const ConfigFiles& files, const MeasuredDevice& measured,
                  std::vector<Problem>& warnings) {
  const auto is_shipped = [&](const std::string& name) {
    const std::vector<std::string> names = files.names("devices");
    return std::ranges::find(names, name) != names.end();
  };
  const auto differ = [&](std::string message, std::string hint) {
    warnings.push_back({Severity::kWarning, {}, std::move(message), std::move(hint)});
  };
  if (!measured.name.empty() && !is_name_of(measured.name, spec.name)) {
    std::string text = fmt::format("measured on {}; the cluster has {}", printable(measured.name, 60), spec.name);
    std::vector<std::string> fitting;
    for (const std::string& name : files.names("devices"))
      if (is_name_of(measured.name, name)) fitting.push_back(name);
    if (is_shipped(spec.name) && !fitting.empty())
      throw InputError({}, std::move(text), fmt::format("--cluster names one with {}", fmt::join(fitting, " or ")));
    return differ(std::move(text), "the constants are those of the measured one");
  }
  const double there = static_cast<double>(measured.memory.count());
  const double here = static_cast<double>(spec.memory_capacity.count());
  if (there > 0 && std::abs(there / here - 1) > kSameMemory)
    differ(fmt::format("measured on a device of {}; {} has {}", rounded(measured.memory), spec.name,
                       rounded(spec.memory_capacity)),
           "another variant of it may have another bandwidth and clock");
}

}  // namespace

bool is_name_of(std::string_view measured, std::string_view device) {
  const std::vector<std::string> there = words_of(measured), here = words_of(device);
  if (here.empty() || there.empty()) return false;
  std::string_view model = here.front();
  bool has_model = false;
  for (std::size_t i = 0; i < there.size() && !has_model; ++i)
    has_model = there[i] == model || (i + 1 < there.size() && there[i] + there[i + 1] == model);
  if (!has_model) return false;
  const auto contradicts = [&](std::string_view a, std::string_view b) {
    return has_word(there, a) && !has_word(there, b) && has_word(here, b) && !has_word(here, a);
  };
  return !contradicts("pcie", "sxm") && !contradicts("sxm", "pcie") && !contradicts("nvl", "sxm");
}

FoundDevice find_device(const CalibratedMachine& machine, const ConfigFiles& files, const MeasuredDevice& measured,
                        std::vector<Problem>& warnings) {
  std::vector<DevicePlace> places = places_of_devices(machine.cluster);
  if (places.empty())
    throw InputError(machine.cluster.where, "the cluster has no device", "node: {device: h100-sxm, ...}");
  const bool mixes = std::ranges::any_of(
      places, [&](const DevicePlace& place) { return name_in(*place.device) != name_in(*places.front().device); });
  if (mixes) {
    std::vector<std::string> names;
    for (const DevicePlace& place : places) names.push_back(name_in(*place.device));
    std::erase_if(places, [&](const DevicePlace& place) { return !is_name_of(measured.name, name_in(*place.device)); });
    if (places.empty())
      throw InputError({},
                       fmt::format("the cluster has {}, and the measurement is {}", fmt::join(names, " and "),
                                   measured.name.empty() ? "of an unknown device"
                                                         : fmt::format("of {}", printable(measured.name, 60))),
                       "device.name of the measurement says which of them was measured");
  }
  FoundDevice found{read_spec(*places.front().device, files), {}};
  for (const DevicePlace& place : places)
    if (name_in(*place.device) == found.spec.name) found.paths.push_back(place.path);
  check_device(found.spec, files, measured, warnings);
  return found;
}

workload::SoftwareSpec software_of(const CalibratedMachine& machine, const ConfigFiles& files) {
  return spec_of<workload::SoftwareSpec>(machine.software, files,
                                         [](Section& section) { return workload::read_software(section); });
}

std::string path_of_rates(const workload::SoftwareSpec& software, Architecture architecture) {
  const std::vector<std::string> names = architecture_names();
  for (const Architecture of : {architecture, measured_as(architecture)})
    if (software.rates_of.contains(of)) return "rates_of." + names[static_cast<std::size_t>(of)];
  return "rates";
}

}  // namespace orrery::study
