// SPDX-License-Identifier: MIT
// A whole experiment from hostile text: parsed, changed by a setting, read. Nothing but problems may come out, each at
// a place that the text has. No file is touched: the folder of shipped configurations is not there, and inputs that
// name other files are passed over.
//
// The first line is a setting (a.b=v), the rest is the file.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/config/config.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "experiment/experiment.h"

namespace {

using namespace orrery;
using namespace orrery::experiment;
using namespace orrery::network;
using namespace orrery::collectives;
using namespace orrery::system;
using namespace orrery::workload;

constexpr std::uint64_t kMostDevices = 256;  // larger fabrics are sound, but slow to build

// Whether the reader would open another file.
bool names_a_file(const ConfigValue& value) {
  return std::ranges::any_of(value.items, names_a_file) ||
         std::ranges::any_of(value.entries, [](const ConfigEntry& entry) {
           return (!folder_of_key(entry.key).empty() && entry.value.scalar.find_first_of("/.") != std::string::npos) ||
                  names_a_file(entry.value);
         });
}

// A bound on the devices and NICs that the text asks for.
std::uint64_t devices_of(const ConfigValue& value) {
  std::uint64_t devices = 1;
  for (const ConfigValue& item : value.items) devices *= devices_of(item);
  for (const ConfigEntry& entry : value.entries) {
    const bool counts = entry.key == "size" || entry.key == "nodes" || entry.key == "devices" || entry.key == "count" ||
                        entry.key.ends_with("uplinks") || entry.key == "global_links";
    std::uint64_t number = 1;
    if (counts)
      std::from_chars(entry.value.scalar.data(), entry.value.scalar.data() + entry.value.scalar.size(), number);
    devices *= std::clamp<std::uint64_t>(number, 1, kMostDevices + 1) * devices_of(entry.value);
    devices = std::min(devices, kMostDevices + 1);
  }
  return std::min(devices, kMostDevices + 1);
}

bool fits_a_fuzzer(const ConfigValue& value) { return !names_a_file(value) && devices_of(value) <= kMostDevices; }

void check_problems(const Diagnostics& diagnostics, std::string_view text) {
  const auto lines = std::ranges::count(text, '\n') + 1;
  for (const Problem& problem : diagnostics.problems()) {
    ORRERY_ASSERT(!problem.message.empty());
    ORRERY_ASSERT(problem.where.line >= 0 && problem.where.line <= lines);
    const std::string said = to_string(problem);
    ORRERY_ASSERT(std::ranges::all_of(said, [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }));
  }
}

// Routes between the first few devices lead there, link by link.
void check_routes(const Fabric& fabric) {
  const std::uint32_t devices = std::min(fabric.device_count(), 12U);
  std::vector<LinkId> route;
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      fabric.route(DeviceId(from), DeviceId(to), route);
      VertexId at{from};
      for (const LinkId link : route) {
        ORRERY_ASSERT(fabric.ends(link).from == at);
        at = fabric.ends(link).to;
      }
      ORRERY_ASSERT(at == VertexId(to));
    }
  }
}

void read(ConfigValue root, const ConfigFiles& files, Diagnostics& diagnostics) {
  try {
    const Experiment experiment = read_experiment("fuzz.yaml", std::move(root), files, diagnostics);
    ORRERY_ASSERT(!diagnostics.has_errors());
    const std::uint32_t devices = experiment.fabric.device_count();
    ORRERY_ASSERT(devices >= 1);
    check_routes(experiment.fabric);
    place_ranks(experiment.placement, devices, experiment.fabric);
    ORRERY_ASSERT(!to_json(experiment.resolved).dump().empty());
  } catch (const InputError& error) {
    ORRERY_ASSERT(!error.problems().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line_end = std::min(input.find('\n'), input.size());
  const std::string setting(input.substr(0, line_end));
  const std::string_view text = input.substr(std::min(line_end + 1, input.size()));
  const ConfigFiles files("shipped-configurations-that-are-not-there");

  Diagnostics diagnostics;
  ConfigValue root = parse_config(text, "fuzz.yaml", diagnostics);
  check_problems(diagnostics, text);
  if (!fits_a_fuzzer(root)) return 0;
  if (!setting.empty()) {
    Diagnostics of_setting;
    ConfigValue changed = root;
    apply_setting(changed, setting, files, of_setting);
    check_problems(of_setting, input);
    if (!of_setting.has_errors() && fits_a_fuzzer(changed)) root = std::move(changed);
  }
  if (!diagnostics.has_errors()) read(std::move(root), files, diagnostics);
  check_problems(diagnostics, text);
  return 0;
}
